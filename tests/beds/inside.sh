# Shared by the scripts that beds run inside a system of their own, where /apply-action is. Each line that they print begins
# with "ok:" or "FAIL:".

PATH=/usr/sbin:/usr/bin:/sbin:/bin
export DEBIAN_FRONTEND=noninteractive
id=

# take ACTION [NAME VALUE]...
take() {
	id=$(/apply-action /state "$@" 2> /error) && return
	echo "FAIL: $*: $(cat /error)"
	tail -n 20 "$(ls -dt /state/*/ | head -n 1)output"
	exit 1
}

refused() {
	if /apply-action /state "$@" > /dev/null 2> /error; then echo "FAIL: not refused: $*"; exit 1; fi
	echo "ok: refused: $(cat /error)"
}

# back: undo what was taken last
back() {
	/apply-action /state undo "$id" || { echo "FAIL: undo of $id"; tail -n 20 "/state/$id/output"; exit 1; }
}

# same WHAT GOT WANTED
same() {
	if [ "$2" = "$3" ]; then echo "ok: $1: $2"; else echo "FAIL: $1: got '$2', wanted '$3'"; exit 1; fi
}
