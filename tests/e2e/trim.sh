# A part of a trace is a trace: what is in it is as it was in the whole, and it replays.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
EVENTS=${EVENTS:-50} SEED=${SEED:-$RANDOM}

dump() { "$VERBATIM" dump "$@"; }
trim() { "$VERBATIM" trim -o cut.db "$@" >out 2>err; }
replays() { # TRACE OPTION...
	timeout 100 "$VERBATIM" replay "$@" >out 2>&1; is "replay $* $?" "replay $* 0" &&
		says "^no divergence" out || { cat out; return 1; }
}

all_of_it_is_the_same() { # TRACE
	trim $1.db; is $? 0 && dump cut.db | cmp - <(dump $1.db) &&
		is "$("$VERBATIM" check -f sarif cut.db | jq .runs[0].results)" \
			"$("$VERBATIM" check -f sarif $1.db | jq .runs[0].results)" &&
		is "$("$VERBATIM" sql cut.db "$counts")" "$("$VERBATIM" sql $1.db "$counts")"
}
counts="SELECT (SELECT count(*) FROM ref), (SELECT count(*) FROM object),
	(SELECT group_concat(polls || ' ' || completions || ' ' || empty) FROM poll_count),
	(SELECT sum(length(bytes)) FROM payload), (SELECT count(*) FROM frame)"

unpacked_traces_are_cut() {
	"$VERBATIM" unpack -o plain.db rc.db && trim plain.db && dump cut.db | cmp - <(dump rc.db)
}

payload_is_cut() {
	trim payload.db; is $? 0 && replays cut.db && says "compared what was received" out
}

# Events of a trace, at random but the same for a seed.
some_events() { # TRACE N
	"$VERBATIM" sql $1.db "WITH e AS (SELECT thread, n FROM post
		UNION SELECT thread, n FROM poll UNION SELECT thread, n FROM call
		WHERE depth = 0 AND NOT ours AND end NOT NULL)
		SELECT event(thread, n) FROM e
		ORDER BY (thread * 7919 + n + $SEED) * 2654435761 % 1000003 LIMIT $2"
}

# The time of an event, of a call that of its return.
time_of() { # TRACE THREAD N
	"$VERBATIM" sql $1 "SELECT coalesce((SELECT end FROM call WHERE thread = $2 AND n = $3),
		(SELECT time FROM post WHERE thread = $2 AND n = $3),
		(SELECT time FROM poll WHERE thread = $2 AND n = $3))"
}

alive() { # TRACE TIME
	"$VERBATIM" sql $1 "SELECT process, name FROM object WHERE created_at <= $2
		AND coalesce(destroyed_at, 1 << 62) > $2 ORDER BY 1, 2"
}

# The same answer of both, and of the part at its end as at that event.
same_answer() { # TRACE T:N QUESTION PROCESS
	"$VERBATIM" query --most 0 $1 "$3 at $2 in process $4" >whole.out 2>&1
	"$VERBATIM" query --most 0 cut.db "$3 at $2 in process $4" >cut.out 2>&1
	cmp -s whole.out cut.out || { echo "$3 at $2:"; diff whole.out cut.out; return 1; }
	"$VERBATIM" query --most 0 cut.db "$3 in process $4" 2>&1 | tail -n +2 >cut.out
	tail -n +2 whole.out | cmp -s - cut.out ||
		{ echo "$3 at the end:"; cat cut.out; return 1; }
}

# What the model says of all that lives at an event, in the whole and in the part.
is_state_at() { # TRACE T:N
	local time name process
	time=$(time_of $1 ${2/:/ }) && is "alive at $2" "$(alive cut.db 1\<\<61)" \
		"$(alive $1 $time)" || return
	while IFS='|' read -r name process; do
		same_answer $1 $2 "state of $name" $process &&
			same_answer $1 $2 "outstanding on $name" $process || return
	done < <("$VERBATIM" sql cut.db "SELECT name, process FROM object
		WHERE kind IN ('qp', 'srq') AND destroyed_at IS NULL
		ORDER BY kind = 'qp', id * $SEED % 13 LIMIT 3")
}

until_leaves_what_the_model_says() { # TRACE EVENTS
	local event
	while read -r event; do
		trim --until $event $1.db; is "$event $?" "$event 0" || { cat err; return 1; }
		{ is_state_at $1.db $event && replays cut.db; } ||
			{ echo "until $event of $1.db, seed $SEED"; return 1; }
	done < <(some_events $1 $2)
}

nothing_is_left_of_a_failure() {
	mkdir -p small && mount -t tmpfs -o size=200k none small || return
	"$VERBATIM" trim -o small/cut.db srq.db 2>err; local status=$?
	ls small >left
	umount small
	is $status 4 && is "$(cat left)" ""
}

an_older_trace_stays_until_the_new_one_is_whole() {
	cp rc.db old.db && head -c 100000 srq.db >half.db || return
	"$VERBATIM" trim -o old.db half.db 2>err; is $? 3 && cmp old.db rc.db &&
		"$VERBATIM" trim -o old.db --until 1:300 rc.db >/dev/null &&
		dump old.db >/dev/null && is "$(ls ./*.part 2>/dev/null)" ""
}

wrong_use_is_refused() {
	local options
	for options in "rc.db" "-o rc.db rc.db" "-o x.db" "-o x.db --until 9:1 rc.db" \
		"-o x.db --until 7 rc.db" "-o x.db rc.db ud.db"; do
		"$VERBATIM" trim $options >out 2>err; is "$options $?" "$options 2" &&
			is "$(grep -c . err)" 1 && [ ! -e x.db ] || { cat err; return 1; }
	done
}

it_says_what_it_is() {
	trim --until 1:300 rc.db && "$VERBATIM" info cut.db >out &&
		says "^EXCERPT: until 1:300 of rc.db" out
}

needs "$VERBATIM" "$apps/two_threads" "$apps/payload"
"$VERBATIM" record -q -o rc.db "$both" ibv_rc_pingpong -n 1000 &&
	"$VERBATIM" record -q -o events.db "$both" ibv_rc_pingpong -n 300 -e &&
	"$VERBATIM" record -q -o srq.db "$both" ibv_srq_pingpong -n 1000 &&
	"$VERBATIM" record -q -o ud.db "$both" ibv_ud_pingpong -n 1000 &&
	"$VERBATIM" record -q -o two.db "$apps/two_threads" 1000 &&
	"$VERBATIM" record -q --payload full -o payload.db "$apps/payload" >/dev/null ||
	not_ok "record" "exit status $?"
for t in rc events srq ud two; do
	try "all of $t is the same" all_of_it_is_the_same $t
	try "$t until an event" until_leaves_what_the_model_says $t $((EVENTS / 5))
done
try unpacked_traces_are_cut
try payload_is_cut
try it_says_what_it_is
try wrong_use_is_refused
try an_older_trace_stays_until_the_new_one_is_whole
if unshare -m true 2>/dev/null; then try nothing_is_left_of_a_failure
else skip "nothing is left of a failure" "no mounts"; fi
exit $failed
