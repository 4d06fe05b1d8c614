#!/bin/bash
# Written by rocm-doctor fix --format sh. Read it before you run it.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
[ "$(id -u)" = 0 ] || { echo 'this changes the system: run it as root' >&2; exit 3; }

# put FILE MODE: standard input becomes FILE, by rename; what is there keeps owner and mode.
put() {
	local new="$1.rd-new"
	if [ -L "$1" ]; then echo "'$1' is a link" >&2; return 1; fi
	mkdir -p -- "$(dirname -- "$1")"
	if [ -e "$1" ]; then cp -a -- "$1" "$new"; else : >"$new"; chmod -- "$2" "$new"; fi
	cat >"$new"
	mv -fT -- "$new" "$1"
}

# let amdgpu load again: /etc/modprobe.d/gpu.conf
put /etc/modprobe.d/gpu.conf 0644 <<'END'
# it's "here" for a $(reason)
# rocm-doctor: blacklist amdgpu
END

# rebuild the initramfs
update-initramfs -u -k 6.11.0-26-generic

# load amdgpu
modprobe amdgpu
