# A job of eight ranks that hangs: `check` names the rank, its node, its queue pair and the place of
# its last verb on the first screen; and nobody in the same job without the mistake.
. tests/e2e/lib/try.sh
needs "$apps/ranks" "$apps/rank_threads"
cd "$tmp" || exit 1

record() { # mode [good]
	"$VERBATIM" record -q -o "$t" -- "$apps/ranks" "${RANKS:-8}" "$@" >out 2>&1
	is "status" $? "$([ "${2:-}" = good ] && echo 0 || echo 1)" || { cat out; return 1; }
}

# The first screen, without line breaks.
screen() { "$VERBATIM" check "$t" | head -24 | sed -n '/^stuck/,/^[a-j]/p' | tr -s '\n ' ' '; }

# Nobody is named.
is_well() { # mode
	record "$1" good && "$VERBATIM" check "$t" >out
	! grep -e stuck -e late out || { cat out; return 1; }
	is "$("$VERBATIM" check -f json "$t" |
		jq -c '.waits | [.waiting, (.blamed | length), (.links | length), .late]')" \
		"[0,0,0,null]"
}

has() { [[ $seen =~ $1 ]] || { echo "no '$1' in: $seen"; return 1; }; }

# rank 5, unless another is given, of node n1
names() { # mode, what it did, its place
	local seen
	record "$1" || return
	seen=$(screen)
	has "rank ${4:-5} \(node n1\) \(ranks\) $2" && has "[0-9]+ waits? for it" &&
		has "$3 \(ranks.c:[0-9]+\)" && has "-> rank ${4:-5} \(node n1\) qp[12]: " &&
		is "$("$VERBATIM" check -f json "$t" |
			jq -c '.waits.blamed | [length, .[0].processes[0].rank,
				.[0].processes[0].node]')" "[1,${4:-5},\"n1\"]"
}

# As stopped if the recorder had the time to see that.
a_rank_that_is_stopped() {
	names stopped "(was stopped|called no verb)" post_receive &&
		is "seen" "$(sql "SELECT count(DISTINCT process) FROM sample s JOIN thread t
			ON t.id = s.thread WHERE state = 'T'")" \
			"$("$VERBATIM" check "$t" | grep -c "was stopped by a signal from")"
}
a_rank_without_receives() {
	names no-receive "polls cq2 in vain .*: no outstanding request completes in it" post_send
}
a_rank_that_died() {
	names dead "was killed by SIGKILL at" post_receive || return
	"$VERBATIM" check "$t" >out
	says "^  rank 5 (node n1) by SIGKILL at" out &&
		says "^  7 ranks: 0-4, 6, 7 by SIGTERM at" out &&
		says "^LIFE-004.* rank 0 .* by signal 15.*; 6 more processes ended the same way" out
}
a_rank_that_sends_no_key() { names late-key "called no verb for" exchange_key; }
a_rank_that_lost_its_wakeup() {
	names lost-wakeup "does not poll cq2: 1 completion of qp2 had come to it" sleep_over_it &&
		"$VERBATIM" check "$t" | tr -s '\n ' ' ' >out &&
		says "it was armed after that, by [0-9:]*: a completion already in the CQ" out
}
a_rank_whose_send_queue_is_full() {
	names full-queue "has filled the send queue of qp1: 8 requests" post_send
}
a_rank_that_is_connected_to_another() {
	names wrong-peer "qp1 is connected to qp2 of rank 7 \(node n1\), whose peer is another" \
		post_send
}
a_rank_that_may_not_register() {
	names memlock "called no verb for .*ibv_reg_mr\(\), failed with ENOMEM" register_more 7
}
a_rank_that_runs_a_command() {
	names fork "called system\(\), .* and no verb since" post_receive
}
a_rank_that_does_not_poll() {
	names unread "does not poll cq2: [0-9] completions? of qp2 had come to it" post_send
}

# The same in SQL.
says_so_in_sql() {
	record dead || return
	is "blamed" "$(sql "SELECT r.rank, r.node, w.state, w.direct, w.total, w.name
		FROM waits w JOIN ranks r USING (process) WHERE total")" "5|n1|killed|2|7|" &&
		is "links" "$(sql "SELECT r.rank, w.name, p.rank, w.peer_name, w.why FROM waits w
			JOIN ranks r USING (process) JOIN ranks p ON p.process = w.peer_process
			WHERE w.state = 'waits' AND p.rank = 5 ORDER BY r.rank")" \
			$'4|qp1|5|qp2|send\n6|qp2|5|qp1|receive'
}

# A rank that is asked for a connection, or a datagram: who it is, what it did, and who waits.
names_in_connecting() { # mode, rank, its place, link
	local seen
	"$VERBATIM" record -q -o "$t" -- "$apps/cm_ranks" "$1" >out 2>&1
	is "status" $? 1 || { cat out; return 1; }
	seen=$(screen)
	has "rank $2 \(node n[01]\) \(cm_ranks\) called no verb for .* $3" && has "$4" || return
	"$VERBATIM" record -q -o "$t" -- "$apps/cm_ranks" "$1" good >out 2>&1 &&
		"$VERBATIM" check "$t" >out && ! grep -e ^stuck -e ^late out ||
		{ cat out; return 1; }
}
one=' 1 \(node n0\)' two=' 2 \(node n1\)'
a_rank_that_does_not_accept() {
	names_in_connecting no-accept 2 await_event \
		"$one qp1 -> rank$two: rdma_connect\(\) [0-9:]+, not accepted for .* connect_to"
}
a_rank_that_does_not_connect() {
	names_in_connecting no-connect 1 "" \
		"rank [02] \(node n[01]\) -> rank$one: no request for a connection for .* await"
}
a_rank_that_does_not_fetch_the_answer() {
	names_in_connecting no-establish 1 connect_to_rank \
		"$two qp1 -> rank$one qp1: rdma_accept\(\) [0-9:]+, not established for .* accept"
}
a_rank_that_does_not_answer_datagrams() {
	names_in_connecting no-datagram 2 post_receive \
		"$one qp1 -> rank$two qp1: 1 receive, no datagram has come for "
}

# It ends well, with one rank that is late in each step.
a_rank_that_is_slow() {
	local seen
	"$VERBATIM" record -q -o "$t" -- "$apps/ranks" 8 slow >out 2>&1 || { cat out; return 1; }
	seen=$("$VERBATIM" check "$t" | head -24 | tr -s '\n ' ' ')
	has "rank 5 \(node n1\) \(ranks\) qp1 was late 1[0-9] times, for [0-9.]* m?s" &&
		has "of 7 processes post_send \(ranks.c:" &&
		has "rank 6 \(node n1\) waited longest" &&
		is "$("$VERBATIM" check -f json "$t" | jq -c '.waits.late | [.rank, .node,
			.caused > .waited / 2, (.waiters | length)]')" '[5,"n1",true,7]' &&
		is "$(sql "SELECT r.rank FROM delays JOIN ranks r ON r.process = cause GROUP BY
			cause ORDER BY sum(ns) DESC LIMIT 1")" 5
}

# The same, and how it was late.
is_late_by() { # mode how words
	local seen
	"$VERBATIM" record -q -o "$t" -- "$apps/ranks" 8 "$1" >out 2>&1 || { cat out; return 1; }
	seen=$("$VERBATIM" check "$t" | head -24 | tr -s '\n ' ' ')
	has "rank 5 \(node n1\) \(ranks\) qp1 was late 1[0-9] times, for [0-9.]* m?s, $3" &&
		is "$("$VERBATIM" check -f json "$t" | jq -c ".waits.late |
			[.rank, .how.$2 > .caused / 2, all(.waiters[]; .how.$2 > .ns / 2)]")" \
			"[5,true,true]" &&
		is "$(sql "SELECT sum($2) > sum(ns) / 2 FROM delays JOIN ranks r ON
			r.process = cause WHERE r.rank = 5")" 1
}

# Each rank has its own recorder, which ends before it: all are alive at the end of their traces.
several_traces_of_a_job_are_one() {
	local seen
	cat >via <<-END
		#!/bin/sh
		exec "$VERBATIM" record -q -o r\$SLURM_PROCID.db -- "$apps/ranks" "\$@"
	END
	chmod +x via && RANKS_VIA=./via "$VERBATIM" run -- "$apps/ranks" 8 no-receive >out 2>&1
	is "status" $? 1 || { cat out; return 1; }
	seen=$("$VERBATIM" check r?.db 2>err | head -24 | tr -s '\n ' ' ')
	has "stuck \(7 of 8 processes wait\)" &&
		has "r5.db:1:[0-9]* rank 5 \(node n1\) \(ranks\) polls cq2 in vain" &&
		"$VERBATIM" merge -o job.db r?.db >out 2>&1 &&
		seen=$("$VERBATIM" check job.db | head -24 | tr -s '\n ' ' ') &&
		has "stuck \(7 of 8 processes wait\)" &&
		has "rank 5 \(node n1\) \(ranks\) polls cq2 in vain"
}

three_ranks_that_wait_for_each_other() {
	local seen of="qp[13] -> rank"
	record deadlock || return
	seen=$(screen)
	has "3 processes wait for each other, in a circle, and 5 for them" &&
		has "rank 2 \(node n0\) $of 3 \(node n0\) qp2: IBV_WR_SEND [0-9:]* for" &&
		has "rank 3 \(node n0\) $of 4 \(node n1\) qp2" &&
		has "rank 4 \(node n1\) $of 2 \(node n0\) qp3" &&
		has "no receive posted close_triangle|< close_triangle \(ranks.c:" &&
		is "$("$VERBATIM" check -f json "$t" |
			jq -c '.waits.blamed | [length, ([.[0].processes[].rank] | sort)]')" \
			"[1,[2,3,4]]"
}

# Jobs whose threads have queue pairs of their own: the thread is named, and nobody in the twin.
thread_ranks() { # mode [good]
	"$VERBATIM" record -q -o "$t" -- "$apps/rank_threads" "$@" >out 2>&1
	is "status" $? "$([ "${2:-}" = good ] && echo 0 || echo 1)" || { cat out; return 1; }
}
threads_are_well() { # mode
	thread_ranks "$1" good && "$VERBATIM" check "$t" >out
	! grep -e stuck -e late out || { cat out; return 1; }
}
side='thread [0-9]+ \(side, TID [0-9]+\)'
names_the_thread() { # mode
	local seen
	thread_ranks "$1" && seen=$(screen) || return
	has "rank 2 \(node n1\) \(rank_threads\) $side called no verb for" &&
		has "2 wait for it, [12] through others" &&
		has "-> rank 2 \(node n1\) $side qp[34]: " && has "rank_threads.c:" &&
		is "blamed" "$("$VERBATIM" check -f json "$t" | jq -c '.waits.blamed |
			[length, .[0].circle, .[0].processes[0].rank,
			.[0].processes[0].thread_name]')" '[1,false,2,"side"]' &&
		is "SQL" "$(sql "SELECT r.rank, s.comm FROM waits w JOIN ranks r USING (process)
			JOIN thread s ON s.id = w.thread WHERE w.total")" "2|side"
}
# Of the same process, the other thread waits, too, or goes on.
a_thread_that_holds_what_the_peer_of_another_waits_for() { names_the_thread held; }
a_thread_that_is_stuck_while_the_others_work() { names_the_thread stuck; }
threads_of_two_processes_that_wait_for_each_other() {
	local seen
	thread_ranks deadlock && seen=$(screen) || return
	has "2 threads wait for each other, in a circle" &&
		has "rank 1 \(node n0\) $side qp4 -> rank 2 \(node n1\) $side qp3: IBV_WR_SEND" &&
		has "rank 2 \(node n1\) $side qp3 -> rank 1 \(node n0\) $side qp4: IBV_WR_SEND" &&
		is "blamed" "$("$VERBATIM" check -f json "$t" | jq -c '.waits.blamed[] |
			select(.circle) | [.processes[] | "\(.rank) \(.thread_name)"] | sort')" \
			'["1 side","2 side"]'
}

for each in stopped no-receive dead late-key lost-wakeup full-queue wrong-peer memlock fork \
	deadlock unread slow late-poll register; do
	try "nobody is named in the twin of $each" is_well $each
done
try a_rank_that_is_stopped
try a_rank_without_receives
try a_rank_that_died
try a_rank_that_sends_no_key
try a_rank_that_lost_its_wakeup
try a_rank_whose_send_queue_is_full
try a_rank_that_is_connected_to_another
try a_rank_that_may_not_register
try a_rank_that_runs_a_command
try a_rank_that_does_not_poll
try a_rank_that_does_not_accept
try a_rank_that_does_not_connect
try a_rank_that_does_not_fetch_the_answer
try a_rank_that_does_not_answer_datagrams
try says_so_in_sql
try several_traces_of_a_job_are_one
try a_rank_that_is_slow
try "a rank that polls late" is_late_by late-poll poll \
	"with its polls: completions were in its CQs"
try "a rank that registers memory for each message" is_late_by register register \
	"as it registered memory"
for each in held stuck deadlock; do
	try "nobody is named in the twin of threads, $each" threads_are_well $each
done
try a_thread_that_holds_what_the_peer_of_another_waits_for
try a_thread_that_is_stuck_while_the_others_work
try threads_of_two_processes_that_wait_for_each_other
try three_ranks_that_wait_for_each_other
