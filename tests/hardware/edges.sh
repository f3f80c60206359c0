#!/usr/bin/env bash
# Kernel devices in corner cases of the manual, compared with the software device, whose answers are
# in tests/e2e/edges/answers.txt: the same, except the differences in edges.list.
. tests/hardware/lib/machine.sh
in_machine -l both -t 400

# The answers of this device: those of the list before the software device's.
wanted() { # device
	awk -F: -v device="$1" '
		FILENAME ~ /list$/ { if (sub("^" device " ", "")) own[$1] = $0; next }
		{ print $1 in own ? own[$1] : $0 }' tests/hardware/edges.list \
		tests/e2e/edges/answers.txt
}

answers_are_known() { # device, the first of the machine; minimum number of answers
	timeout 180 "$apps/edges" >"$tmp/out" || { echo "exit status $?"; return 1; }
	[ "$(wc -l <"$tmp/out")" -ge "$2" ] || { cat "$tmp/out"; return 1; }
	diff <(wanted "$1" | head -n "$(wc -l <"$tmp/out")") "$tmp/out"
}

try "answers on rxe0" answers_are_known rxe0 30
rdma link delete rxe0
try "answers on siw0" answers_are_known siw0 10
exit $failed
