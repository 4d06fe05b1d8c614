#!/bin/bash
# build.sh check: install what the build needs, build, and examine this machine
# build.sh test:  the same with what the tests need, and run them
# build.sh build: build only; build.sh deps [test]: install packages only
#
# For Debian 12 and newer, Ubuntu 22.04 and newer, and systems with dnf. Packages are installed only where one is missing,
# with sudo where need be. The program is build/rocm-doctor; it needs no installation.

set -euo pipefail
cd "$(dirname "$0")"

apt_build="cmake ninja-build gcc libc6-dev pkg-config python3 libpci-dev libudev-dev libcjson-dev libelf-dev
	libzstd-dev liblzma-dev zlib1g-dev libsqlite3-dev"
apt_test="libcmocka-dev libkmod-dev binutils kmod zstd libc-bin strace"
dnf_build="cmake ninja-build gcc pkgconf-pkg-config python3 pciutils-devel systemd-devel cjson-devel
	elfutils-libelf-devel libzstd-devel xz-devel zlib-devel sqlite-devel"
dnf_test="libcmocka-devel kmod-devel binutils kmod zstd glibc strace"

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# missing LIST...: those that are not installed
missing() {
	local package
	for package; do
		if command -v dpkg-query > /dev/null; then
			dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed || echo "$package"
		else
			rpm -q --quiet --whatprovides "$package" || echo "$package"
		fi
	done
}

deps() {
	local packages
	# shellcheck disable=SC2046,SC2086
	if command -v apt-get > /dev/null; then
		packages=$(missing $apt_build ${1:+$apt_test})
		[ -n "$packages" ] || return 0
		echo "installing:" $packages
		as_root apt-get -q -o DPkg::Lock::Timeout=300 update || echo "some lists could not be fetched"
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -qy -o DPkg::Lock::Timeout=300 install \
			--no-install-recommends $packages
	elif command -v dnf > /dev/null; then
		packages=$(missing $dnf_build ${1:+$dnf_test})
		[ -n "$packages" ] || return 0
		echo "installing:" $packages
		# On RHEL and its rebuilds some of these are in EPEL and CRB.
		as_root dnf -qy install $packages
	else
		echo "build.sh: no apt-get and no dnf here; wanted are cmake, ninja, a C compiler, and the headers of libpci," \
			"libudev, cJSON, libelf, libzstd, liblzma, zlib and SQLite (for the tests: cmocka and libkmod)" >&2
	fi
}

build() {
	cmake -S . -B build -G Ninja -DRD_TESTS="${1:-OFF}" > build.log 2>&1 || { cat build.log >&2; exit 3; }
	cmake --build build
	rm -f build.log
}

case "${1:-help}" in
check)
	shift
	deps
	build
	exec build/rocm-doctor check "$@"
	;;
test)
	shift
	deps test
	build ON
	ctest --test-dir build --output-on-failure -j "$(nproc)" "$@"
	;;
build)
	build
	;;
deps)
	deps "${2:-}"
	;;
*)
	sed -n '2,7s/^# \{0,1\}//p' "$0"
	[ "${1:-help}" = help ] || exit 2
	;;
esac
