# Replay of a part of a trace; the objects alive at its end are those of the model.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
EVENTS=${EVENTS:-10} SEED=${SEED:-$RANDOM}
mkdir scratch && export TMPDIR=$tmp/scratch

replay() { timeout 100 "$VERBATIM" replay "$@" >out 2>err; }
replays() { replay "$@"; is "$* $?" "$* 0" && says "no divergence" out || { cat err; return 1; }; }

# Random events of a trace, the same for equal seeds.
some_events() { # TRACE N
	"$VERBATIM" sql $1.db "WITH e AS (SELECT thread, n FROM post
		UNION SELECT thread, n FROM poll UNION SELECT thread, n FROM call
		WHERE depth = 0 AND NOT ours AND end NOT NULL)
		SELECT event(thread, n) FROM e
		ORDER BY (thread * 7919 + n + $SEED) * 2654435761 % 1000003 LIMIT $2"
}

until_an_event_what_the_model_says_is_alive() { # TRACE EVENTS
	local event
	while read -r event; do
		replays --to $event --report report.json $1.db &&
			python3 "$root/tests/e2e/replay/alive.py" "$VERBATIM" $1.db $event \
				report.json &&
			"$VERBATIM" trim -o cut.db --to $event $1.db >out &&
			replay -f json cut.db &&
			is "$(jq -c ".counts.seen, .counts.posts" out)" \
				"$(jq -c ".counts.seen, .counts.posts" report.json)" ||
			{ echo "--to $event of $1.db, seed $SEED"; return 1; }
	done < <(some_events $1 $2)
}

from_an_event_the_rest_replays() { # TRACE EVENTS
	local event
	while read -r event; do
		replays --from $event $1.db && says "^from $event: no divergence" out &&
			"$VERBATIM" trim -o cut.db --from $event $1.db >/dev/null &&
			is "$(sed -n 's/^replayed [^:]*: //p' out)" \
				"$(timeout 100 "$VERBATIM" replay cut.db |
					sed -n 's/^replayed [^:]*: //p')" ||
			{ echo "--from $event of $1.db, seed $SEED"; return 1; }
	done < <(some_events $1 $2)
}

# Start a replay that waits: $pid is the process with the objects.
start_waiting() { # OPTION...
	rm -f err out answer
	mkfifo answer
	timeout 100 "$VERBATIM" replay --wait "$@" <answer >out 2>err &
	waiting=$!
	exec 7>answer
	await grep -q "holds the objects until Enter" err &&
		pid=$(sed -n 's/.*replay: process \([0-9]*\) holds.*/\1/p' err)
}

end_waiting() { # STATUS
	exec 7>&-
	wait $waiting
	is $? ${1:-0}
}

a_debugger_finds_them() {
	local event qp
	event=$("$VERBATIM" sql rc.db "SELECT event(thread, n) FROM poll WHERE thread = 1
		ORDER BY n LIMIT 1 OFFSET 300")
	start_waiting --to $event rc.db || return
	qp=$(sed -n 's/^  qp1\/1  RTS  \(0x[0-9a-f]*\).*/\1/p' err)
	gdb -nx -batch -p $pid -ex 'p replay_moment->nobjects' \
		-ex "p ((struct ibv_qp *)$qp)->state" -ex "p ((struct ibv_qp *)$qp)->qp_type" \
		-ex 'p replay_moment->objects[replay_moment->nobjects - 1].name' \
		>gdb.out 2>&1 </dev/null
	echo >&7
	end_waiting 0 && says '^\$1 = 10$' gdb.out && says '^\$2 = IBV_QPS_RTS$' gdb.out &&
		says '^\$3 = IBV_QPT_RC$' gdb.out && says '^\$4 = "qp1/2"' gdb.out &&
		says "^until $event: no divergence" out
}

a_signal_ends_the_wait() {
	start_waiting --to $post rc.db && kill -INT $pid && end_waiting 0 &&
		says "^until $post: no divergence" out
}

a_deadline_ends_the_wait() {
	mkfifo quiet && exec 7<>quiet || return
	timeout 100 "$VERBATIM" replay --wait --deadline 5s rc.db <&7 >out 2>err; is $? 3 || return
	exec 7>&-
	cat out err >both.out && says "deadline" both.out
}

the_end_of_the_input_is_no_enter() {
	rm -f err # output of the last one
	timeout 100 "$VERBATIM" replay --wait rc.db </dev/null >out 2>err &
	waiting=$!
	await grep -q "holds the objects until Enter" err &&
		pid=$(sed -n 's/.*replay: process \([0-9]*\) holds.*/\1/p' err) &&
		kill -0 $pid && kill -TERM $pid && wait $waiting && says "^no divergence" out
}

# A run that hung: the awaited requests are named, in the trace and in the replay.
a_hang_is_found_at_its_last_event() {
	local last receive
	"$VERBATIM" record -q -o hang.db "$apps/in_vain" 2>/dev/null
	last=$("$VERBATIM" sql hang.db "SELECT event(thread, n) FROM post
		ORDER BY time DESC LIMIT 1")
	start_waiting --to $last --record again.db hang.db || return
	receive=$("$VERBATIM" query -f json hang.db "outstanding on qp1/1" |
		jq -r '.answers[].outstanding[].request')
	says "^  qp1/1  RTS  .*1 receive under way since $last$" err || return
	echo >&7
	end_waiting 0 && is "$receive" "$last[0]" &&
		"$VERBATIM" query again.db "outstanding on qp1" >answer.out 2>&1 &&
		says "receive" answer.out
}

only_one_side_meets_a_made_peer() {
	replays --only process=1 rc.db && says "^only process=1: no divergence" out &&
		says "^made 1 peer" out && replays --only qp1/2 --last 50 rc.db
}

rounds_are_counted_and_timed() {
	replay --loop 5 --warmup 2 -f json rc.db
	is "$(jq -c '.rounds | [.warmup, .wanted, .done, .differing, .least <= .median,
		.median <= .most, .least > 0]' out)" '[2,5,7,0,true,true,true]' &&
		replays --loop 5 --warmup 2 rc.db && says "^7 rounds: no divergence" out &&
		says "^5 rounds after 2 to warm up: replayed in " out
}

rounds_that_differ_are_counted() {
	"$VERBATIM" unpack -o bad.db rc.db && sqlite3 bad.db "UPDATE wc SET byte_len = 7
		WHERE thread = 1 AND n = (SELECT max(n) FROM wc
			WHERE thread = 1 AND opcode = 128)" &&
		replay --loop 3 bad.db
	is $? 1 && says "^3 rounds, of which 3 differ, the first round 1: 1 divergence" out &&
		{ replay --loop 3 --fail-fast bad.db; is $? 1; } &&
		says "^1 of 3 rounds\|^0 of 3 rounds\|partial" out
}

# Verb by verb as recorded, plus the engine's own queries of the device.
the_trace_of_a_replay_compares() {
	"$VERBATIM" replay --record again.db rc.db >out 2>err; is $? 0 &&
		says "^no divergence" out &&
		{ "$VERBATIM" diff -f json rc.db again.db >diff.json || is $? 1; } &&
		is "$(jq '[.changes[] | select(.section == "structure" and
			.verdict == "regression")] | length' diff.json)" 0 &&
		is "$("$VERBATIM" sql again.db "SELECT count(*) FROM wr")" \
			"$("$VERBATIM" sql rc.db "SELECT count(*) FROM wr")" &&
		is "$("$VERBATIM" sql again.db "SELECT count(*) FROM wc")" \
			"$("$VERBATIM" sql rc.db "SELECT count(*) FROM wc")" &&
		is "$(jq -r '.changes[] | select(.section == "environment") | .what' diff.json)" \
			"command" && replays again.db
}

a_recorded_replay_keeps_its_status() {
	"$VERBATIM" replay --record again.db bad.db >out 2>err; is $? 1 && says "^1 divergence" out
}

wrong_use_is_refused() {
	local options
	for options in "--to 9:1 rc.db" "--to noon rc.db" "--from 1:900 --to 1:800 rc.db" \
		"--from 1:900 --last 3 rc.db" "--only 3 rc.db" "--only process=3 rc.db" \
		"--only qp=qp2 rc.db" "--only =qp1 rc.db" "--only qp= rc.db" "--loop 0 rc.db" \
		"--loop x rc.db" "--last 0 rc.db" "--from 1:900 --to 1:800 --record x.db rc.db" \
		"--record x.db --report x.db rc.db"; do
		replay $options; is "$options $?" "$options 2" && is "$(grep -c . err)" 1 ||
			{ cat err; return 1; }
	done
}

# A failing replay destroys neither the recording nor an older trace.
what_is_there_stays() {
	cp rc.db kept.db && cp rc.db older.db || return
	local options
	for options in "--record kept.db kept.db" "--report kept.db kept.db" \
		"--record older.db --to 9:1 rc.db" "--record older.db --only qp=qp2 rc.db" \
		"--record older.db --from 1:9 --last 3 rc.db"; do
		replay $options; is "$options $?" "$options 2" && is "$(grep -c . err)" 1 ||
			{ cat err; return 1; }
	done
	replay --record older.db gone.db; is $? 4 && { replay --record older.db out; is $? 3; } &&
		{ replay --record older.db --tolerate gone.txt rc.db; is $? 4; } &&
		cmp rc.db kept.db && cmp rc.db older.db
}

what_every_round_leaves_out_is_no_difference() {
	"$VERBATIM" record -q -o every.db "$apps/every_verb" >/dev/null 2>&1
	replay --loop 3 every.db; is $? 1 &&
		says "^3 rounds: no divergence; [0-9]* of [0-9]* calls left out" out &&
		says "^3 rounds: replayed in" out
}

nothing_is_left_behind() {
	is "$(ls scratch)" "" && start_waiting --to $post rc.db &&
		is "$(ls scratch | wc -l)" 1 && kill -TERM $pid && end_waiting 0 &&
		is "$(ls scratch)" ""
}

needs "$VERBATIM" "$apps/two_threads" "$apps/in_vain" "$apps/every_verb"
"$VERBATIM" record -q -o rc.db "$both" ibv_rc_pingpong -n 400 >/dev/null &&
	"$VERBATIM" record -q -o events.db "$both" ibv_rc_pingpong -n 200 -e >/dev/null &&
	"$VERBATIM" record -q -o srq.db "$both" ibv_srq_pingpong -n 300 >/dev/null &&
	"$VERBATIM" record -q -o ud.db "$both" ibv_ud_pingpong -n 300 >/dev/null &&
	"$VERBATIM" record -q -o two.db "$apps/two_threads" 300 >/dev/null ||
	not_ok "record" "exit status $?"
post=$("$VERBATIM" sql rc.db "SELECT event(thread, n) FROM post WHERE n >= 300 LIMIT 1")
for t in ${TRACES:-rc events srq ud two}; do
	try_in_turn "$t: until an event what the model says is alive" \
		until_an_event_what_the_model_says_is_alive $t $((EVENTS / 5))
	try "$t: from an event the rest replays" from_an_event_the_rest_replays $t $((EVENTS / 5))
done
if command -v gdb >/dev/null; then try a_debugger_finds_them
else skip "a debugger finds them" "no gdb"; fi
try a_signal_ends_the_wait
try a_deadline_ends_the_wait
try the_end_of_the_input_is_no_enter
try a_hang_is_found_at_its_last_event
try only_one_side_meets_a_made_peer
try rounds_are_counted_and_timed
try rounds_that_differ_are_counted
try the_trace_of_a_replay_compares
try a_recorded_replay_keeps_its_status
try wrong_use_is_refused
try what_is_there_stays
try what_every_round_leaves_out_is_no_difference
try nothing_is_left_behind
exit $failed
