# Shared by the beds: each is a script that exits with 0, with 1 where something is wrong, and with 77 where it cannot run here.
# Usage in all of them: BED BINARY

set -euo pipefail
beds=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tests=$(dirname "$beds")
export PYTHONDONTWRITEBYTECODE=1

skip() {
	echo "skipped: $*"
	exit 77
}

need() {
	local program
	for program; do
		command -v "$program" > /dev/null || PATH=$PATH:/usr/sbin:/sbin command -v "$program" > /dev/null ||
			skip "no $program"
	done
}

fail() {
	echo "FAIL: $*"
	failed=1
}

# expect WHAT GOT WANTED
expect() {
	if [ "$2" = "$3" ] && [[ "$2" != *MISSING* ]]; then
		echo "ok: $1: $2"
	else
		fail "$1: got '$2', wanted '$3'"
	fi
}

failed=0
scratch=$(mktemp -d -t rocm-doctor-bed-XXXXXX)
chmod 755 "$scratch"
trap 'rm -rf --one-file-system "$scratch"' EXIT
binary=$(readlink -f "${1:?BINARY}")

# fact FILE PATH: one value of a facts document, as JSON.
fact() {
	python3 "$beds/json-path" "$1" "facts.$2"
}
