#!/usr/bin/env bash
# Two processes on the software device, on a link that the kernel impairs, which needs root.
# Programs on the wire, also beside Linux's Soft-RoCE: wire_matrix.sh. ROUNDS: requester_test.c.
. tests/hardware/lib/machine.sh
in_machine -t 3600

all_arrives_once_over_netem() {
	NETEM="delay 1ms loss 1% duplicate 1% reorder 5%" timeout 3000 "$requester" \
		>"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	! grep SKIPPED "$tmp/out"
}
requester=$BUILD/tests/shim/soft/network/requester_test
needs "$requester"
try all_arrives_once_over_netem
exit $failed
