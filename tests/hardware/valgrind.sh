#!/usr/bin/env bash
# A program under valgrind on Soft-RoCE, with libraries that do not tell memcheck what the device
# writes: what memcheck reports of it bare, and nothing of it when it is recorded with its data.
. tests/hardware/lib/machine.sh
in_machine -t 1800
use_device rxe0
command -v valgrind >/dev/null || { echo "skip valgrind: not installed"; exit 0; }

memcheck=(valgrind -q --error-exitcode=99 --log-file="$tmp/log.%p")

# Uses of undefined bytes that the program itself made: libraries have their own.
count_uses() { # what records it
	rm -f "$tmp"/log.*
	timeout 900 "$@" tests/e2e/lib/both "${memcheck[@]}" ibv_rc_pingpong -c -n 3 "${ibv[@]}" \
		>"$tmp/out" 2>&1
	cat "$tmp"/log.* | grep -A1 'uninitialised' | grep -c 'pingpong'
}

received_bytes_are_defined() {
	local bare recorded
	bare=$(count_uses env)
	recorded=$(count_uses "$VERBATIM" record -q --payload=hash -o "$t" --)
	echo "    rxe: $bare uses of undefined bytes bare, $recorded recorded" >"$tmp/uses"
	is recorded "$recorded" 0 || { cat "$tmp"/log.* "$tmp/out"; return 1; }
}
try "what rxe writes is defined" received_bytes_are_defined
cat "$tmp/uses"
exit $failed
