#!/usr/bin/env bash
# The round trip: a program is recorded, its trace is replayed under the recorder, and the trace of
# the replay has the same verbs with the same results, in the same order in each thread
# (replay/same_verbs.py says what may differ). Programs are replayed serially and with threads in
# turn, some once more at the recorded pace; one in six programs has its turn in each run.
# ROUND_TIMES=50 records each program 50 times; LONG=1 replays all, each both ways, with more
# messages.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
same_verbs=$root/tests/e2e/replay/same_verbs.py
times=${ROUND_TIMES:-1} messages=$(share 60 200)
for each in sqlite3 python3 ibv_rc_pingpong; do
	command -v $each >/dev/null || { skip all "$each is not installed"; exit 0; }
done
cd "$tmp" || exit 1

record() {
	rm -f t.db t.plain
	timeout 120 "$VERBATIM" record --device soft -o t.db -- "$@" >log 2>&1 &&
		"$VERBATIM" unpack -o t.plain t.db >>log 2>&1 || { tail -3 log; return 1; }
}

# TRACE OPTIONS: replayed, and the replay recorded into again.plain
replay_recorded() {
	rm -f again.db again.plain
	timeout 120 "$VERBATIM" record --device soft -o again.db -- "$VERBATIM" replay \
		--device soft --report "$tmp/report" "$@" >out 2>&1 ||
		{ echo "replay ${*:2}: status $?"; head -5 out; return 1; }
	"$VERBATIM" unpack -o again.plain again.db
}

# The last recording is replayed.
comes_again() { # options
	replay_recorded t.db "$@" && timeout 120 python3 "$same_verbs" t.plain again.plain report \
		>verdict || { echo "replay $*: $(cat verdict)"; return 1; }
}

comes_round() { # program
	local i threads
	for ((i = 0; i < times; i++)); do
		record "$@" || return
		for threads in $(share $turn "serial recorded"); do
			comes_again --threads $threads $pace || return
		done
	done
}
turn=recorded pace=

# comes_round, the other way than that before
try_round() { # name, function and its arguments
	[ $turn = serial ] && turn=recorded || turn=serial
	try "$@"
}

# a program of librdmacm, whose client may come before the server listens
cm_comes_round() { # server's command, client's
	comes_round bash -c "
		timeout 60 $1 >server 2>&1 & server=\$!
		until timeout 60 $2 >client 2>&1; do
			kill -0 \$server 2>/dev/null || exit 1
		done
		wait \$server"
}

of_both() { # programs with two ends, one a line: which may not be installed
	local line
	while read -r line; do
		line=${line/-n 200/-n $messages}
		in_turn || continue
		if command -v ${line%% *} >/dev/null; then
			try_round "$line" comes_round "$both" $line
		else
			skip "$line" "it is not installed"
		fi
	done
}

of_both <<-'END'
	ibv_rc_pingpong -n 200
	ibv_rc_pingpong -n 200 -e
	ibv_rc_pingpong -n 200 -t
	ibv_uc_pingpong -n 200
	ibv_ud_pingpong -n 200
	ibv_srq_pingpong -n 200
	ibv_srq_pingpong -n 200 -e
	ibv_xsrq_pingpong
	ib_send_lat --use_old_post_send -F -n 200
	ib_send_lat --use_old_post_send -F -n 100 -e
	ib_send_lat -F -n 100
	ib_send_bw --use_old_post_send -F -n 200 -b
	ib_send_bw --use_old_post_send -F -n 200 -c UD
	ib_send_bw --use_old_post_send -F -n 100 --use-srq -q 4
	ib_send_bw -F -n 200 -c UC
	ib_write_bw --use_old_post_send -F -n 200
	ib_write_bw -F -n 200 -q 4
	ib_write_lat -F -n 200
	ib_read_bw --use_old_post_send -F -n 200
	ib_read_lat -F -n 200
	ib_atomic_bw -F -n 200
	ib_atomic_lat --use_old_post_send -F -n 200
END

export UCX_NET_DEVICES=verbatim0:1 UCX_TLS=rc_verbs,ud_verbs:aux
of_both <<-'END'
	ucx_perftest -t ucp_put_bw -s 8 -n 200 -w 20
	ucx_perftest -t ucp_fadd -s 8 -n 200 -w 20
	ucx_perftest -t tag_lat -s 1000000 -n 20 -w 2
END
# replay_peer has these each day
[ -z "${LONG:-}" ] || of_both <<-'END'
	ucx_perftest -t tag_bw -s 8 -n 200 -w 20
	ucx_perftest -t ucp_get -s 8 -n 200 -w 20
END
UCX_TLS=ud_verbs
of_both <<<"ucx_perftest -t tag_lat -s 8 -n 100 -w 10"

next_port
if command -v rping >/dev/null; then
	try_round "rping" cm_comes_round "rping -s -C 5 -a 127.0.0.1 -p $port" \
		"rping -c -C 5 -a 127.0.0.1 -p $port"
	next_port
	try_round "ucmatose" cm_comes_round "ucmatose -c 4 -p $port" \
		"ucmatose -c 4 -p $port -s 127.0.0.1"
else
	skip "programs of librdmacm" "they are not installed"
fi

if command -v mpicc >/dev/null && mpicc -o ranks "$root/tests/e2e/replay/ranks.c" 2>log; then
	for UCX_TLS in rc_verbs,ud_verbs:aux,self ud_verbs,self; do
		in_turn || continue
		try_round "MPI of 4 ranks, $UCX_TLS" comes_round mpirun --oversubscribe -np 4 \
			--mca pml ucx --mca osc ucx -x UCX_TLS -x UCX_NET_DEVICES \
			./ranks $(share 15 50)
	done
else
	skip "MPI of 4 ranks" "no MPI"
fi

turn=recorded
for each in posts receives dereg; do
	try_in_turn "threads: $each" comes_round "$apps/overlap" $each
done
try "a killed process" comes_round "$apps/killed_peer"
pace="--pace recorded"
try_round "at its pace: ibv_rc_pingpong" comes_round "$both" ibv_rc_pingpong -n 100 -e
try_round "at its pace: threads" comes_round "$apps/overlap" posts
pace=

# Programs with one mistake each, and their correct twins: the results recur.
mistakes_come_again() { # kind, their number
	local each which threads
	set -- "$2" "$apps/$1"_00?
	[ $# -gt $1 ] || { echo "only $(($# - 1)) programs"; return 1; }
	for each in "${@:2}"; do for which in bad good; do
		timeout 60 "$VERBATIM" record --device soft -o t.db -- "$each" $which >log 2>&1
		for threads in $(share recorded "serial recorded"); do
			timeout 60 "$VERBATIM" replay --device soft --allow-partial \
				--threads $threads t.db >out 2>&1 && continue
			echo "$each $which --threads $threads: $(head -3 out)"
			return 1
		done
	done; done
}

try_in_turn "mistakes of lives come again" mistakes_come_again life 9
try_in_turn "mistakes of states come again" mistakes_come_again state 8
try_in_turn "mistakes of queues come again" mistakes_come_again queue 6

# The comparison finds differences: the replay's trace is altered, in its events of recorded thread
# 1. @post, @poll, @notify, @modify are one of these each: "thread = T AND n = N".
prepare_alterations() {
	local of
	record "$both" ibv_rc_pingpong -n 80 -e && comes_again || return
	mv again.plain whole.plain
	of=$(sqlite3 whole.plain "SELECT id FROM thread WHERE comm = 'thread 1'")
	local alone="opcode = 128 AND (SELECT count(*) FROM wc o
		WHERE o.thread = wc.thread AND o.n = wc.n) = 1" # in its poll
	place() { # table, which of its rows: the one in the middle
		local n
		n=$(sqlite3 whole.plain "SELECT n FROM $1 WHERE thread = $of AND $2 ORDER BY n
			LIMIT 1 OFFSET (SELECT count(*) / 2 FROM $1 WHERE thread = $of AND $2)")
		[ "$n" ] && echo "thread = $of AND n = $n" || { echo "no $1 where $2" >&2; false; }
	}
	post=$(place post "verb LIKE '%send'") && poll=$(place wc "$alone") &&
		notify=$(place notify 1) && modify=$(place call "verb = 'ibv_modify_qp'")
}

is_found() { # expected text, SQL
	local sql=$2
	sql=${sql//@post/$post} sql=${sql//@poll/$poll}
	sql=${sql//@notify/$notify} sql=${sql//@modify/$modify}
	cp whole.plain altered.plain
	is "rows altered" "$(sqlite3 altered.plain "$sql; SELECT total_changes() > 0")" 1 || return
	python3 "$same_verbs" t.plain altered.plain report >verdict
	is $? 1 && says "$1" verdict
}

# The engine replays the trace, so another trace gives another round.
an_altered_trace_is_not_the_same() {
	local each
	cp t.plain lacking.db || return
	for each in wr sge post; do
		sqlite3 lacking.db "DELETE FROM $each WHERE (thread, n) = (SELECT thread, n
			FROM post WHERE verb = 'ibv_post_recv' ORDER BY n DESC LIMIT 1)" || return
	done
	replay_recorded lacking.db || return
	python3 "$same_verbs" t.plain again.plain report >verdict
	is $? 1 && says "lacks .* ibv_post_recv\|where the next is .* ibv_post_recv" verdict
}

again="CREATE TEMP TABLE x AS SELECT * FROM" later="(SELECT max(n) + 1 FROM post) + 100000"
if ! prepare_alterations >why 2>&1; then
	not_ok "alterations" "$(cat why)"
else
	try_in_turn "found: a post is missing" is_found "ibv_post_send" \
		"DELETE FROM post WHERE @post"
	try_in_turn "found: a call is missing" is_found "ibv_modify_qp" \
		"DELETE FROM call WHERE @modify"
	try_in_turn "found: a notification is missing" is_found "ibv_req_notify_cq" \
		"DELETE FROM notify WHERE @notify"
	try_in_turn "found: a completion is missing" is_found "of request" \
		"DELETE FROM wc WHERE @poll"
	try_in_turn "found: the last completion is missing" is_found "lacks the completion" \
		"DELETE FROM wc WHERE (thread, n) = (SELECT thread, n FROM wc WHERE opcode = 128
		AND thread = (SELECT id FROM thread WHERE comm = 'thread 1') ORDER BY n DESC
		LIMIT 1)"
	try_in_turn "found: an event is missing" is_found "events of cq1 are missing" \
		"DELETE FROM call WHERE (thread, n) = (SELECT thread, n FROM call WHERE
		verb = 'ibv_get_cq_event' LIMIT 1)"
	try_in_turn "found: a post is added" is_found "the replay has .* ibv_post_send" \
		"$again post WHERE @post; UPDATE x SET n = $later; INSERT INTO post SELECT
		* FROM x"
	try_in_turn "found: a call is added" is_found "the replay has .* ibv_modify_qp" \
		"$again call WHERE @modify; UPDATE x SET n = $later; INSERT INTO ref SELECT
		thread, $later, path, kind, handle, object FROM ref WHERE @modify; INSERT
		INTO call SELECT * FROM x"
	try_in_turn "found: a completion is added" is_found "of request" \
		"$again wc WHERE @poll; UPDATE x SET i = 1; INSERT INTO wc(thread, n, i,
		time, cq, qp, wr_id, status, opcode, byte_len, imm, wc_flags) SELECT
		thread, n, i, time, cq, qp, wr_id, status, opcode, byte_len, imm, wc_flags
		FROM x"
	try_in_turn "found: a post is swapped with an arming" is_found "the replay has" \
		"UPDATE post SET time = (SELECT min(time) + 1 FROM notify WHERE time >
		post.time AND thread = post.thread) WHERE @post"
	try_in_turn "found: calls are swapped" is_found "the replay has" \
		"UPDATE call SET begin = (SELECT min(begin) - 1 FROM call c WHERE
		c.thread = call.thread AND c.verb = call.verb) WHERE @modify"
	try_in_turn "found: a poll comes after a post" is_found "replayed after" \
		"UPDATE wc SET time = (SELECT min(time) + 1 FROM post WHERE time > wc.time
		AND thread = wc.thread) WHERE @poll"
	try_in_turn "found: another thread posts" is_found "the replay has" \
		"UPDATE post SET thread = (SELECT id FROM thread WHERE comm = 'thread 2'),
		n = $later WHERE @post" # its n may be that of another post there
	try_in_turn "found: a post fails" is_found "ibv_post_send" \
		"UPDATE post SET ret = 12, bad = 1 WHERE @post"
	try_in_turn "found: a call fails" is_found "ibv_modify_qp" \
		"UPDATE call SET ret = 22, failed = 1, error = 22 WHERE @modify"
	try_in_turn "found: an arming fails" is_found "ibv_req_notify_cq" \
		"UPDATE notify SET ret = 22 WHERE @notify"
	try_in_turn "found: a result is another" is_found "ibv_create_qp" \
		"UPDATE call SET out = json_set(out, '\$.qp_init_attr.cap.max_send_wr', 7)
		WHERE verb = 'ibv_create_qp'"
	try_in_turn "found: an argument is another" is_found "ibv_modify_qp" \
		"UPDATE call SET args = json_set(args, '\$.attr.min_rnr_timer', 3) WHERE
		@modify"
	try_in_turn "found: another object is created from" is_found "the replay has" \
		"UPDATE ref SET object = 1 WHERE path = 'pd'"
	try_in_turn "found: another request" is_found "ibv_post_send" \
		"UPDATE wr SET opcode = 0 WHERE @post"
	try_in_turn "found: another flag" is_found "ibv_post_send" \
		"UPDATE wr SET send_flags = 0 WHERE @post"
	try_in_turn "found: another length" is_found "ibv_post_send" \
		"UPDATE sge SET length = 1 WHERE @post"
	try_in_turn "found: a status" is_found "completion [0-9]*: status 0, replayed 12" \
		"UPDATE wc SET status = 12 WHERE @poll"
	try_in_turn "found: an opcode" is_found "completion [0-9]*: opcode 128, replayed 129" \
		"UPDATE wc SET opcode = 129 WHERE @poll"
	try_in_turn "found: a length" is_found "completion [0-9]*: byte_len 4096, replayed 5" \
		"UPDATE wc SET byte_len = 5 WHERE @poll"
	try_in_turn "found: immediate data" is_found "completion [0-9]*: imm 0, replayed 9" \
		"UPDATE wc SET imm = 9, wc_flags = 2 WHERE @poll"
	try_in_turn "found: a request that completed before" is_found "of request" \
		"UPDATE wc SET wr_n = wr_n - 1 WHERE @poll"
	try_in_turn "found: a wr_id" is_found "wr_id 1, replayed 77" \
		"UPDATE wc SET wr_id = 77 WHERE @poll"
	try an_altered_trace_is_not_the_same
fi
exit $failed
