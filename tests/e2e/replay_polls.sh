#!/usr/bin/env bash
# Completions of recorded programs, replayed: none differs, whatever their recorded order was.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
cd "$tmp" || exit 1

record() { # -o trace [--payload full] -- program
	timeout 120 "$VERBATIM" record --device soft "$@" >log 2>&1 || { cat log; return 1; }
}
replay() { timeout 120 "$VERBATIM" replay --device soft --timeout 3 "$@" >out 2>&1; }

# replays without a divergence
comes_again() { # trace
	replay "$1" || { echo "$1: status $?"; cat out; return 1; }
}

# many to one of several threads
shared_queues() { # argument
	local i
	for ((i = 0; i < $(share 2 5); i++)); do
		record -o t.db -- "$apps/shared_rq" "$@" && comes_again t.db || return
	done
}

# A message that waits only in the replay is sent from a buffer that already has the next one;
# different bytes are still found if the buffer was not posted again.
contents_of_shared_queues() {
	local i
	for ((i = 0; i < $(share 2 5); i++)); do
		record -o t.db --payload full -- "$apps/shared_rq" && comes_again t.db &&
			says "compared received contents [1-9]" out || return
	done
	differs "^  [0-9]*:[0-9]* ibv_poll_cq: wc\\[0\\].payload: recorded byte 50 of .* is 0xee" \
		"UPDATE payload SET bytes = CAST(substr(bytes, 1, 50) || x'ee' ||
		substr(bytes, 52) AS BLOB), hash = NULL
		WHERE kind = 'recv' AND i = 0 AND length(bytes) > 50 AND n % 4 = 0"
}

perftest_with_a_shared_queue() {
	record -o t.db -- "$both" ib_send_bw --use_old_post_send -F -n 1000 --use-srq &&
		comes_again t.db
}

# differs TEXT SQL: t.db, altered by SQL; @ stands for the event that $event selects
differs() {
	local at=
	rm -f x.db
	"$VERBATIM" unpack -o x.db t.db >log 2>&1 || { cat log; return 1; }
	[ -z "${event:-}" ] || at=$(sqlite3 x.db "$event")
	sqlite3 x.db "${2//@/${at/:/ AND n = }}" || return
	replay --faults none x.db
	is "status" $? 1 && says "${1//@/$at}" out
}

nth() { echo "SELECT thread || ':' || n FROM wc WHERE $1 ORDER BY time LIMIT 1 OFFSET 100"; }

record_pingpong() { record -o t.db -- "$both" "$@" -n 100; }

completion_of_no_queue_pair() {
	record_pingpong ibv_rc_pingpong || return
	local event
	event=$(nth "opcode = 128")
	differs "^  @ ibv_poll_cq: wc\[0\].qp_num: recorded 4242" \
		"UPDATE wc SET qp_num = 4242 WHERE thread = @"
}

datagram_of_another_sender() {
	record_pingpong ibv_ud_pingpong || return
	local event
	event=$(nth "opcode = 128")
	differs "^  @ ibv_poll_cq: wc\[0\].src_qp: recorded 4242" \
		"UPDATE wc SET src_qp = 4242 WHERE thread = @"
}

# the wr_ids of a pingpong repeat: only counts distinguish them
completion_that_the_trace_lacks() {
	record_pingpong ibv_rc_pingpong || return
	local event
	event=$(nth "opcode = 128")
	differs "^  @ ibv_poll_cq: wc\[0\]: recorded a completion that is not in the trace" \
		"DELETE FROM wc WHERE thread = @" &&
		differs "recorded 200 completions of its queue, but the trace has 199" \
			"DELETE FROM wc WHERE thread = @; DELETE FROM poll WHERE thread = @"
}

completion_that_is_not_asked_for() {
	record_pingpong ibv_rc_pingpong || return
	local event="SELECT thread || ':' || n FROM wr WHERE send_flags = 2 LIMIT 1 OFFSET 50"
	differs "replayed none: its request is unsignalled (request of @)" \
		"UPDATE wr SET send_flags = 0 WHERE thread = @"
}

wr_id_of_no_request() {
	record -o t.db -- "$both" ib_send_lat --use_old_post_send -F -n 200 || return
	local event
	event=$(nth "opcode = 128")
	differs "^  @ ibv_poll_cq: wc\[0\].wr_id: recorded 0x1092" \
		"UPDATE wc SET wr_id = 4242 WHERE thread = @"
}

service_level_of_a_datagram() {
	record_pingpong ibv_ud_pingpong || return
	local event
	event=$(nth "opcode = 128")
	differs "^  @ ibv_poll_cq: wc\[0\].sl: recorded 3, replayed 0" \
		"UPDATE wc SET sl = 3 WHERE thread = @"
}

hang_that_is_one_here() {
	record -o t.db -- "$apps/in_vain"
	comes_again t.db &&
		says "receive of 1:[0-9]* was outstanding .*: the hang is reproduced" out
}

# the queue is polled on, but the queue pair's completions are gone
destroyed_before_it_was_polled() {
	record -o t.db -- "$apps/in_vain" destroyed && comes_again t.db
}

hang_that_is_none_here() {
	record -o t.db -- "$apps/in_vain" sent
	comes_again t.db || return
	differs "ibv_post_recv: completion: recorded none, in [0-9]* empty polls" \
		"DELETE FROM wc WHERE wr_id = 1; UPDATE poll_count SET completions = 1;
		DELETE FROM poll WHERE (thread, n) NOT IN (SELECT thread, n FROM wc)"
}

# a byte of the received data, of all messages but the first and the last
another_byte() { # transport
	local at
	record -o t.db --payload full -- "$both" ibv_$1_pingpong -n 100 -c && comes_again t.db &&
		says "compared received contents" out || return
	local event="SELECT thread || ':' || n FROM payload WHERE kind = 'recv'
		ORDER BY time LIMIT 1 OFFSET 50"
	differs "^  @ ibv_poll_cq: wc\\[0\\].payload: recorded byte 50 of" \
		"UPDATE payload SET bytes = CAST(substr(bytes, 1, 50) || x'ee' ||
		substr(bytes, 52) AS BLOB) WHERE thread = @"
}

value_that_was_fetched() {
	record -o t.db --payload full -- "$both" ib_atomic_lat --use_old_post_send -F -n 100 &&
		comes_again t.db || return
	local event="SELECT thread || ':' || n FROM payload ORDER BY time LIMIT 1 OFFSET 50"
	differs "^  @ ibv_poll_cq: wc\\[0\\].payload: recorded 77 fetched, replayed [0-9]* " \
		"UPDATE payload SET bytes = x'4d00000000000000' WHERE thread = @"
}

# receives of a shared queue whose messages do not come are not further divergences
queue_pairs_that_are_not_connected() {
	record -o t.db -- "$both" ibv_srq_pingpong -q 4 -n 1000 || return
	differs "^8 divergences" "DELETE FROM call WHERE verb = 'ibv_modify_qp' AND
		json_extract(args, '\$.attr.qp_state') = 'IBV_QPS_RTR'" &&
		is "receives that differ" "$(grep -c 'ibv_post_srq_recv: ' out)" 0
}

# cut WHERE: x.db, without these events of t.db, and without the counts of polls
cut() {
	rm -f x.db
	"$VERBATIM" unpack -o x.db t.db >log 2>&1 || { cat log; return 1; }
	sqlite3 x.db "DELETE FROM wc WHERE $1; DELETE FROM poll WHERE $1;
		DELETE FROM wr WHERE (thread, n) IN (SELECT thread, n FROM post WHERE $1);
		DELETE FROM sge WHERE (thread, n) IN (SELECT thread, n FROM post WHERE $1);
		DELETE FROM post WHERE $1; DELETE FROM poll_count"
}

# It ends while some messages wait for the shared queue: in the replay others may consume its last
# requests.
shared_queue_that_is_cut() {
	record -o t.db -- "$apps/shared_rq" || return
	local part end
	for part in $(share "1 4" "1 2 3 4 5"); do
		end=$("$VERBATIM" sql t.db "SELECT time FROM poll ORDER BY time
			LIMIT 1 OFFSET (SELECT count(*) * $part / 6 FROM poll)") &&
			cut "time > $end" || return
		replay --allow-partial x.db || { echo "part $part: status $?"; cat out; return 1; }
	done
}

# Of two messages of a connection, the trace has only the poll of the later one: the thread that
# polled the earlier one was stopped before it could write that.
thread_that_is_cut_earlier() {
	local thread from to of="a.qp_num = b.qp_num AND a.opcode = 128 AND b.opcode = 128"
	IFS='|' read -r thread from to < <("$VERBATIM" sql t.db "SELECT a.thread, a.time, b.time
		FROM wc a JOIN wc b ON $of AND b.byte_len = a.byte_len + 1
		AND a.thread != b.thread AND a.time < b.time ORDER BY a.time LIMIT 1 OFFSET 3")
	[ -n "$thread" ] || { echo "one thread polled all"; return; }
	cut "(time > $to OR thread = $thread AND time >= $from)" || return
	local threads
	for threads in $(share recorded "serial recorded"); do
		replay --threads $threads --allow-partial x.db ||
			{ echo "$thread, $from, $to: status $?"; cat out; return 1; }
	done
}

needs "$apps/shared_rq" "$apps/in_vain"
try shared_queues
try_in_turn "shared queues, one wr_id" shared_queues same
try_in_turn contents_of_shared_queues
try_in_turn perftest_with_a_shared_queue
try hang_that_is_one_here
try destroyed_before_it_was_polled
if command -v sqlite3 >/dev/null; then
	try shared_queue_that_is_cut
	try thread_that_is_cut_earlier
	try completion_of_no_queue_pair
	try datagram_of_another_sender
	try completion_that_the_trace_lacks
	try completion_that_is_not_asked_for
	try wr_id_of_no_request
	try service_level_of_a_datagram
	try hang_that_is_none_here
	try_in_turn "another byte, RC" another_byte rc
	try_in_turn "another byte, UC" another_byte uc
	try_in_turn "another byte, UD" another_byte ud
	try value_that_was_fetched
	try queue_pairs_that_are_not_connected
fi

# The receive request comes 500 ms after the message, longer than the device waits by itself.
late_receives_of_a_slow_replay() { # options
	${CC:-cc} -I"$root" -I"$libs" -o late "$root/tests/replay/late_receive.c" -libverbs &&
		record -o t.db -- ./late && replay t.db --pace x0.1 "$@" || { cat out; return 1; }
}
try "late receives of a slow replay" late_receives_of_a_slow_replay $(share "" --processes)

# UCX: shared receive queues, datagrams of several senders, its own threads
ucx_ranks() { # transports
	local i
	for ((i = 0; i < $(share 1 3); i++)); do
		UCX_TLS=$1 UCX_NET_DEVICES=verbatim0:1 record -o t.db -- \
			mpirun --allow-run-as-root --oversubscribe -np 4 --mca pml ucx \
			-x UCX_TLS -x UCX_NET_DEVICES ./ranks $(share 15 50) &&
			comes_again t.db || return
	done
}

if command -v mpicc >/dev/null && command -v ucx_info >/dev/null &&
	mpicc -o ranks "$root/tests/e2e/replay/ranks.c" >log 2>&1; then
	try_in_turn "UCX ranks, RC" ucx_ranks rc_v,ud_v:aux,self
	try_in_turn "UCX ranks, UD" ucx_ranks ud_v,self
	# its queues are extended ones without optional fields, but polled by ibv_poll_cq()
	try_in_turn "another length, UCX" differs "byte_len: recorded 7, replayed" \
		"UPDATE wc SET byte_len = 7 WHERE opcode = 128 AND status = 0 AND i = 0"
else
	skip "UCX ranks" "no MPI over UCX"
fi
exit $failed
