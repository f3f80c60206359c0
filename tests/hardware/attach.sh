#!/usr/bin/env bash
# Programs that nobody recorded hang on Soft-RoCE, each for another reason, as in
# tests/e2e/attach.sh: verbatim attach says what each waits for. A full queue is not among them:
# rxe frees the places of requests without a completion. Prints how long each description took: on
# an emulated machine 0.2 to 0.6 s, where /bin/true takes 0.1 s; if it has too few processors, some
# seconds, in which rxe may end the retries of the first program.
. tests/hardware/lib/machine.sh
in_machine -t 3000
use_device rxe0
needs "$apps/cm_hung"
cd "$tmp" || exit 1
export TEST_GID=${ibv[3]}

concludes() { # words [option...]
	local words=$1 begin=${EPOCHREALTIME/./}
	shift
	"$VERBATIM" attach "$@" $pid >out || return
	echo "    $reason: $(((${EPOCHREALTIME/./} - begin) / 1000)) ms" >>times
	sed -n 2p out >first && says "$words" first
}

waits_for() { # reason words [command...]
	local line status words=$2
	reason=$1
	shift 2
	rm -f ready && mkfifo ready
	"$@" "$apps/cm_hung" $reason >ready 2>err &
	pid=$!
	read -rt 100 line <ready && is "its line" "$line" ready && await concludes "$words"
	status=$?
	[ $status = 0 ] || cat first out
	kill $pid 2>/dev/null
	wait $pid 2>/dev/null
	return $status
}

AWAIT_SECONDS=60
try "receiver not ready" waits_for rnr 'not ready (RNR): queue pair .* has 1 request outstanding'
try "lost wake-up" waits_for wakeup 'lost wake-up: waits for an event, but 1 completion'
try "dead peer" waits_for peer 'or whose process has ended'
try "lost credit" waits_for credit 'waits for a message: queue pair .* has 4 receives posted'
try "connection manager" waits_for cm 'rdma_get_cm_event() for an event of the connection manager'
try "destroy that waits" waits_for destroy 'ibv_destroy_cq() until .* acknowledged'
try "limit of memory" waits_for memlock 'RLIMIT_MEMLOCK is 64 KiB' \
	setpriv --bounding-set=-ipc_lock
try "wrong state" waits_for state 'in state INIT'
try "deadlock of two threads" waits_for deadlock 'is in a deadlock: it waits for the mutex'
cat times
exit $failed
