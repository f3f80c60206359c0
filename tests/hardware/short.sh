#!/usr/bin/env bash
# A short part of the tests on a kernel device, for each `make test`: programs on Soft-RoCE are
# recorded with their own result, nothing lost or unseen, checked, and replayed there and on the
# software device.
. tests/hardware/lib/machine.sh
in_machine -t 1500 # shorter than the limit of scripts/run-tests
use_device rxe0

# all at once: starting a command takes a second here
whole() {
	is "lost, unseen, device" "$(sql "SELECT (SELECT coalesce(sum(events), 0) FROM loss),
		(SELECT group_concat(what) FROM coverage WHERE what NOT IN ('polls', 'direct')),
		(SELECT group_concat(DISTINCT name) FROM device)")" "0||rxe0"
}

replayed() {
	local each
	for each in rxe0 soft; do
		timeout 600 "$VERBATIM" replay --device $each "$t" >"$tmp/replayed" ||
			{ echo "on $each: $(head -20 "$tmp/replayed")"; return 1; }
	done
}

recorded() { # program, arguments
	rm -f "$t"
	timeout 600 "$VERBATIM" record -q -o "$t" -- tests/e2e/lib/both "$@" >"$tmp/out" 2>&1 ||
		{ echo "exit status $?: $(tail -5 "$tmp/out")"; return 1; }
	whole && "$VERBATIM" check "$t" >"$tmp/found" || { cat "$tmp/found"; return 1; }
	replayed
}

try "ibv_rc_pingpong on rxe" recorded ibv_rc_pingpong -n 20 "${ibv[@]}"
[ -z "${LONG:-}" ] || try "ib_write_lat on rxe" recorded ib_write_lat -n 50 "${perftest[@]}"
exit $failed
