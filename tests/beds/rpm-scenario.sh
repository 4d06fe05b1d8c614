# rpm-scenario.sh dnf|dnf5|zypper: what the bed rpm-packages plays in each of its systems.

. /inside.sh
manager=$1
case $manager in
zypper) configuration=/etc/zypp repositories=/etc/zypp/repos.d ;;
*) configuration="/etc/dnf /etc/yum.repos.d" repositories=/etc/yum.repos.d ;;
esac

# What rpm has, but for what the bed itself put there.
has() {
	rpm -qa --qf '%{name}-%{evr}\n' 2> /dev/null | grep -v '^gpg-pubkey\|^glibc' | sort | tr '\n' ' ' | sed 's/ $//'
}

# Names and contents of the manager's configuration, as one number.
files() {
	find $configuration -type f -exec sha256sum {} + | sort -k2 | sha256sum | cut -c1-16
}

refresh() {
	case $manager in
	zypper) zypper -q --non-interactive refresh ;;
	*) $manager -q makecache ;;
	esac > /output 2>&1 || { echo "FAIL: refresh"; cat /output; exit 1; }
}

# upgrade_all: whatever the manager thinks fit
upgrade_all() {
	case $manager in
	zypper) zypper -q --non-interactive update ;;
	*) $manager upgrade -y ;;
	esac > /output 2>&1 || true
}

locks() {
	case $manager in
	zypper) zypper -q locks ;;
	*) $manager versionlock list ;;
	esac 2> /dev/null | grep -c 'rocm-core\|rocblas'
}

# repository NAME FOLDER
repository() {
	printf '[%s]\nname=%s\nbaseurl=file:///repo/%s\nenabled=1\ngpgcheck=0\n' "$1" "$1" "$2" > "$repositories/$1.repo"
}

cat > /etc/os-release << 'END'
NAME="Rocky Linux"
ID="rocky"
ID_LIKE="rhel centos fedora"
VERSION_ID="9.6"
PLATFORM_ID="platform:el9"
PRETTY_NAME="Rocky Linux 9.6 (Blue Onyx)"
END
[ "$manager" != zypper ] || cat > /etc/os-release << 'END'
NAME="openSUSE Leap"
ID="opensuse-leap"
ID_LIKE="suse opensuse"
VERSION_ID="15.6"
PRETTY_NAME="openSUSE Leap 15.6"
END
# A host of rpm with this manager alone, and packages where a host of rpm has them.
rm -rf /var/lib/dpkg /etc/apt /var/lib/rpm /var/cache/dnf /var/cache/libdnf5 /var/cache/zypp
case $manager in
zypper) rm -rf /etc/yum.repos.d /etc/dnf /usr/bin/dnf /usr/bin/dnf5 ;;
*) rm -f /usr/bin/zypper ;;
esac
# What Debian adds to the managers, or leaves out: a repository of what was installed, SUSE's list of what may be there twice.
rm -f /etc/dnf/libdnf5-plugins/local.conf
mkdir -p /etc/zypp/multiversion.d
echo 'provides:multiversion(kernel)' > /etc/zypp/multiversion.d/kernel
[ "$manager" = zypper ] || rm -rf /etc/zypp
mkdir -p "$repositories" /etc/rpm /etc/pki/rpm-gpg /var/lib/rpm /opt
echo '%_dbpath /var/lib/rpm' > /etc/rpm/macros
rpm --initdb
rpm -i --nodeps --ignorearch /repo/distribution/x86_64/glibc-2.34-*.rpm 2> /dev/null
repository rocm repo.radeon.com/rocm/el9/6.4.3/main
repository amdgpu repo.radeon.com/amdgpu/6.4.3/el/9.6/main/x86_64
repository distribution distribution

refused package.install packages rocm-core release 6.4.0 from amd
refresh
before=$(files)

take package.install packages rocm-core,rocblas release 6.4.0 from amd
older="rocblas-4.4.0.60400-47.el9 rocm-core-6.4.0.60400-47.el9"
newer="rocblas-4.4.1.60403-128.el9 rocm-core-6.4.3.60403-128.el9"
same "an older release, exactly" "$(has)" "$older"
take package.install packages rocm-core,rocblas release 6.4.3 from amd
same "both to the newer one" "$(has)" "$newer"
back
same "both back, which is a downgrade" "$(has)" "$older"
take package.install packages rocminfo from amd
same "AMD's, though the distribution's number is higher" "$(has)" "$older rocminfo-1.0.0.60403-128.el9"
back
same "away again" "$(has)" "$older"
take package.install packages rocminfo from distribution
same "the distribution's" "$(has)" "$older rocminfo-6.2.1-3.el9"
back

take package.install packages amdgpu-dkms release 6.4.0 from amd
same "a version with an epoch" "$(has)" "amdgpu-dkms-1:6.10.5.60400-2109964.el9 $older"
take package.install packages amdgpu-dkms release 6.4.3 from amd
same "upgraded" "$(has)" "amdgpu-dkms-1:6.12.12.60403-2194681.el9 $older"
back
same "and back" "$(has)" "amdgpu-dkms-1:6.10.5.60400-2109964.el9 $older"
take package.remove packages amdgpu-dkms
same "removed" "$(has)" "$older"
back
same "back at its version, with its epoch" "$(has)" "amdgpu-dkms-1:6.10.5.60400-2109964.el9 $older"
take package.remove packages amdgpu-dkms

refused package.install packages rocm-core release 7.0.2 from amd
refused package.install packages rocm-core version 6.4.9.60409-1.el9
refused package.install packages rival version 1-1
refused package.remove packages rocm-core
same "nothing is lost or gained by what was refused" "$(has)" "$older"

if [ "$manager" = zypper ]; then
	rpm -i --nodeps --ignorearch /repo/distribution/x86_64/kernel-default-6*.rpm /repo/distribution/x86_64/kernel-default-devel-*.14.2.*.rpm 2> /dev/null
	take package.install packages kernel-default-devel kernel 6.4.0-150600.23.25-default
	same "the headers of the running kernel beside others" "$(rpm -q kernel-default-devel | sort | tr '\n' ' ')" \
		"kernel-default-devel-6.4.0-150600.23.14.2.x86_64 kernel-default-devel-6.4.0-150600.23.25.1.x86_64 "
	back
	same "they alone are away again" "$(rpm -q kernel-default-devel)" kernel-default-devel-6.4.0-150600.23.14.2.x86_64
	rpm -e kernel-default kernel-default-devel 2> /dev/null
else
	take package.install packages kernel-devel-5.14.0-570.12.1.el9_6.x86_64 named yes
	same "the headers of the running kernel, not of the newest" "$(rpm -q kernel-devel)" kernel-devel-5.14.0-570.12.1.el9_6.x86_64
	back
fi
same "as before" "$(has)" "$older"

take package.hold packages 'rocm-core rocblas'
same "locks that the manager itself sees" "$(locks)" 2
upgrade_all
same "an upgrade passes them over" "$(has)" "$older"
refused package.install packages rocm-core release 6.4.3 from amd
refused package.remove packages rocblas
held=$(files)
/apply-action /state package.hold packages 'rocm-core rocblas' > /dev/null 2>&1
same "what is held is not held twice" "$(files)" "$held"
back
same "no more locks" "$(locks)" 0
same "its files byte for byte" "$(files)" "$before"
upgrade_all
same "an upgrade takes them along now" "$(has)" "$newer"
take package.install packages rocm-core,rocblas release 6.4.0 from amd

take package.source name bed uri file:///repo/signed key file:///etc/pki/rpm-gpg/RPM-GPG-KEY-bed
source_id=$id
refused package.install packages trusted version 1-1
cp /key.asc /etc/pki/rpm-gpg/RPM-GPG-KEY-bed
rpm --import /etc/pki/rpm-gpg/RPM-GPG-KEY-bed
take package.install packages trusted version 1-1
same "a package with the key's signature" "$(has)" "$older trusted-1-1"
back
# Of a repository whose metadata is signed zypper takes any package that these name.
if [ "$manager" != zypper ]; then
	refused package.install packages untrusted version 1-1
	same "none without it" "$(has)" "$older"
fi
id=$source_id
back
same "no trace of the repository" "$(files)" "$before"

# Who fetches another key than AMD's gets none: curl is told to fetch a file here.
printf '#!/bin/sh\nfor last; do :; done\nwhile [ "$1" != --output ]; do shift; done\ncp /key.asc "$2"\n' > /usr/bin/curl.bed
mv /usr/bin/curl /usr/bin/curl.real
mv /usr/bin/curl.bed /usr/bin/curl
chmod 755 /usr/bin/curl
refused package.key keyring /etc/pki/rpm-gpg/RPM-GPG-KEY-rocm uri https://repo.radeon.com/rocm/el9/6.4.3/main
same "another key is not let in" "$(ls -A /etc/pki/rpm-gpg) $(rpm -qa 'gpg-pubkey*' | wc -l)" "RPM-GPG-KEY-bed 1"

# Another one at work is waited for: its package sleeps while it is put in place.
case $manager in
zypper) zypper --non-interactive install slow ;;
*) $manager install -y slow ;;
esac > /slow 2>&1 &
for try in 1 2 3 4 5 6 7 8 9 10; do
	[ ! -e /opt/slow-1-1/file ] || break
	sleep 0.5
done
rpm --dbpath /var/lib/rpm -q hipblas > /dev/null && echo "FAIL: hipblas is there already"
take package.install packages hipblas release 6.4.3 from amd
wait
same "done once another one was" "$(has)" "hipblas-2.4.0.60403-128.el9 $older slow-1-1"
back
id=
rpm -e slow 2> /dev/null

if [ "$manager" = zypper ]; then
	repository gone nowhere
	echo autorefresh=1 >> "$repositories/gone.repo"
	take package.install packages hipblas release 6.4.3 from amd
	same "done though one repository cannot be reached" "$(has)" "hipblas-2.4.0.60403-128.el9 $older"
	back
	rm "$repositories/gone.repo"
fi
same "the files of the manager in the end" "$(files)" "$before"

# The program itself, from the finding to the fix and back: one library is of another release than the rest.
take package.install packages rocm-core,rocblas release 6.4.3 from amd
take package.install packages hipblas release 6.4.0 from amd
mkdir -p /opt/rocm-6.4.3/.info /opt/rocm-6.4.3/lib
echo 6.4.3-128 > /opt/rocm-6.4.3/.info/version
ln -s /opt/rocm-6.4.3 /opt/rocm
skewed="hipblas-2.4.0.60400-47.el9 $newer"
same "packages of two releases" "$(has)" "$skewed"

# findings ID: how often it is found
findings() {
	/rocm-doctor check --format json 2> /dev/null | grep -c "\"id\": \"$1\"" || true
}

# fixed FINDING: mended by the program, which does just what its dry run says; the transaction is left in id
fixed() {
	same "$1 is found" "$(findings "$1")" 1
	/rocm-doctor fix --only "$1" --dry-run > /plan || { echo "FAIL: dry run of $1"; cat /plan; exit 1; }
	/rocm-doctor fix --only "$1" --yes > /done 2>&1 || { echo "FAIL: fix of $1"; cat /done; exit 1; }
	id=$(ls -t /var/lib/rocm-doctor | grep ^20 | head -n 1)
	same "what is run for $1 is what the dry run says" \
		"$(grep '^[$] ' "/var/lib/rocm-doctor/$id/output" 2> /dev/null)" "$(sed -n 's/^ *[$] /$ /p' /plan)"
	same "$1 is mended" "$(findings "$1")" 0
}

undone() {
	/rocm-doctor undo --yes > /done 2>&1 || { echo "FAIL: undo"; cat /done; exit 1; }
}

fixed runtime/version-skew
same "all of one release" "$(has)" "hipblas-2.4.0.60403-128.el9 $newer"
undone
same "the packages after undo" "$(has)" "$skewed"
fixed runtime/rocm-not-held
upgrade_all
same "an upgrade passes all of ROCm over" "$(has)" "$skewed"
undone
same "the files after undo" "$(files)" "$before"
