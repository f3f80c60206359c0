# An excerpt of a trace is a trace: its contents are unchanged, and it can be replayed.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
EVENTS=${EVENTS:-$(share 8 50)} SEED=${SEED:-$RANDOM}

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

# `check`, `emit` and `report` of a part are those of its excerpt; only the name differs. Nothing is
# left of it.
commands_take_a_part() {
	local part
	mkdir -p parts
	for part in "--to 1:30" "--from 1:30" "--last 10"; do
		trim $part rc.db; is "$part $?" "$part 0" &&
			is "$part: $(TMPDIR=$tmp/parts "$VERBATIM" check -f sarif $part rc.db |
				jq -c .runs[0].results)" \
			"$part: $("$VERBATIM" check -f sarif cut.db | jq -c .runs[0].results)" &&
			TMPDIR=$tmp/parts "$VERBATIM" emit --allow-partial $part -o part.c rc.db &&
			"$VERBATIM" emit --allow-partial -o cut.c cut.db &&
			diff <(grep -v 'rc\.db' part.c) <(grep -v 'cut\.db' cut.c) || return
	done 2>err
	TMPDIR=$tmp/parts "$VERBATIM" report --last 10 -o page.html rc.db 2>err; is $? 0 &&
		says '"path":"rc.db, the last 10 events"' page.html &&
		is "left" "$(ls parts)" "" || return
	says '"trace":"rc.db, the last 10 events"' page.html &&
		! grep -q "$tmp/parts" page.html || return
	"$VERBATIM" report --last 10 -c rc.db -o x.html rc.db 2>err; is $? 2 &&
		says "compares whole traces" err && [ ! -e x.html ] || return
	"$VERBATIM" check --last 10 rc.db payload.db 2>err; is $? 2 &&
		says "take one trace" err || return
	"$VERBATIM" check --save --last 10 rc.db 2>err; is $? 2 && says "a whole trace" err
}

unpacked_traces_are_cut() {
	"$VERBATIM" unpack -o plain.db rc.db && trim plain.db && dump cut.db | cmp - <(dump rc.db)
}

payload_is_cut() {
	trim payload.db; is $? 0 && replays cut.db && says "compared received contents" out
}

# Chunks are looked up by their first and last number and time.
a_chunk_of_payload_is_found_by_its_bounds() {
	local column each='SELECT count(DISTINCT thread), 1'
	for column in time n; do
		each+=", (SELECT count(*) FROM payload WHERE $column >=
				(SELECT max($column) FROM payload)) > 0
			AND (SELECT count(*) FROM payload WHERE $column <=
				(SELECT min($column) FROM payload)) > 0"
	done
	trim payload.db; is $? 0 && is "$("$VERBATIM" sql cut.db "$each,
		min(time) < max(time) AND min(n) < max(n) FROM payload")" '1|1|1|1|1'
}

# Random events of a trace, the same for equal seeds.
some_events() { # TRACE N
	"$VERBATIM" sql $1.db "WITH e AS (SELECT thread, n FROM post
		UNION SELECT thread, n FROM poll UNION SELECT thread, n FROM call
		WHERE depth = 0 AND NOT ours AND end NOT NULL)
		SELECT event(thread, n) FROM e
		ORDER BY (thread * 7919 + n + $SEED) * 2654435761 % 1000003 LIMIT $2"
}

# The time of an event, for a call that of its return.
time_of() { # TRACE THREAD N
	"$VERBATIM" sql $1 "SELECT coalesce((SELECT end FROM call WHERE thread = $2 AND n = $3),
		(SELECT time FROM post WHERE thread = $2 AND n = $3),
		(SELECT time FROM poll WHERE thread = $2 AND n = $3))"
}

# Objects that were created and whose destruction has not returned.
alive() { # TRACE TIME
	"$VERBATIM" sql $1 "SELECT process, name FROM object o WHERE created_at <= $2
		AND coalesce((SELECT end FROM call WHERE thread = o.destroyed_thread
			AND n = o.destroyed_n), destroyed_at, 1 << 62) > $2 ORDER BY 1, 2"
}

# The same answer from both, and from the excerpt at its end as at that event.
same_answer() { # TRACE T:N QUESTION PROCESS
	"$VERBATIM" query --most 0 $1 "$3 at $2 in process $4" >whole.out 2>&1
	"$VERBATIM" query --most 0 cut.db "$3 at $2 in process $4" >cut.out 2>&1
	cmp -s whole.out cut.out || { echo "$3 at $2:"; diff whole.out cut.out; return 1; }
	"$VERBATIM" query --most 0 cut.db "$3 in process $4" 2>&1 | tail -n +2 >cut.out
	tail -n +2 whole.out | cmp -s - cut.out ||
		{ echo "$3 at the end:"; cat cut.out; return 1; }
}

# The state of all live objects at an event according to the model, in the whole and in the excerpt.
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
		trim --to $event $1.db; is "$event $?" "$event 0" || { cat err; return 1; }
		{ is_state_at $1.db $event && replays cut.db; } ||
			{ echo "until $event of $1.db, seed $SEED"; return 1; }
	done < <(some_events $1 $2)
}

# The excerpt has the requests that are outstanding on live objects in the whole trace.
has_outstanding() { # TRACE T:N
	local name process want have
	while IFS='|' read -r name process; do
		"$VERBATIM" query -f json --most 0 $1 \
			"outstanding on $name at $2 in process $process" |
			jq -r '.answers[].outstanding[]?.request' | sort >want
		"$VERBATIM" sql cut.db "SELECT event(thread, n) || '[' || i || ']' FROM wr" |
			sort >have
		[ -z "$(comm -23 want have)" ] || { comm -23 want have; return 1; }
	done < <("$VERBATIM" sql cut.db "SELECT name, process FROM object
		WHERE kind IN ('qp', 'srq') AND coalesce(destroyed_at, 1 << 62) >
			(SELECT value FROM meta WHERE key = 'cut')
		ORDER BY id * $SEED % 13 LIMIT 2")
}

# The rest is complete, and can be replayed.
# A time includes the same events as the event at that time.
a_time_cuts_as_its_event_does() { # TRACE T:N
	local time
	time=$(time_of $1 ${2/:/ })ns
	trim --from $2 $1 && mv cut.db event.db && trim --from $time $1 &&
		is "$(after event.db 1 0)" "$(after cut.db 1 0)" || return
	trim --to $2 $1 && mv cut.db event.db && trim --to $((${time%ns} + 1))ns $1 &&
		is "$(after event.db 1 0)" "$(after cut.db 1 0)" || return
	trim --from 9999s $1; is $? 2 && says "no events from 9999s on" err
}

from_an_event_the_rest_replays() { # TRACE EVENTS
	local event
	while read -r event; do
		trim --from $event $1.db; is "$event $?" "$event 0" || { cat err; return 1; }
		{ replays cut.db && has_outstanding $1.db $event &&
			is "$(after cut.db ${event/:/ })" "$(after $1.db ${event/:/ })"; } ||
			{ echo "from $event of $1.db, seed $SEED"; return 1; }
	done < <(some_events $1 $2)
}

after() { # TRACE THREAD N
	"$VERBATIM" sql $1 "SELECT sum(n), count(*) FROM (SELECT n FROM call WHERE thread = $2
		AND n >= $3 UNION ALL SELECT n FROM post WHERE thread = $2 AND n >= $3
		UNION ALL SELECT n FROM poll WHERE thread = $2 AND n >= $3)"
}

regions="SELECT count(*) FROM object WHERE kind = 'mr'"
what_is_gone_is_left_out() {
	trim --from 1:$("$VERBATIM" sql gone.db "SELECT max(n) FROM call WHERE depth = 0") gone.db
	is $? 0 && is "$("$VERBATIM" sql cut.db "$regions")" 0 &&
		is "$("$VERBATIM" sql gone.db "$regions")" 2 &&
		is "CQs that are not there" "$("$VERBATIM" sql cut.db "SELECT count(*)
			FROM poll_count WHERE cq NOT IN (SELECT id FROM object)")" 0
}

the_last_events_replay() {
	trim --last 100 events.db; is $? 0 && replays cut.db &&
		is "$("$VERBATIM" sql cut.db "SELECT count(*) FROM (SELECT time FROM post
			UNION ALL SELECT time FROM poll UNION ALL SELECT time FROM notify
			UNION ALL SELECT begin FROM call WHERE depth = 0 AND NOT ours), meta
			WHERE key = 'cut' AND time >= value")" 100
}

# More events are written than requested: the output says how many, and why.
what_is_from_before_is_counted() {
	trim --last 3 rc.db; is $? 0 && says "^  [0-9,]* of these are earlier events" out || return
	says ": $("$VERBATIM" sql cut.db "SELECT sum(begin < value) + sum(end < value)
		FROM call, meta WHERE key = 'cut'") of control verbs" out &&
		is "$(wc -l <out)" 2 && trim --to $post rc.db && is "$(wc -l <out)" 1
}

# The peer is synthesized, as for a recording of one side.
one_process_replays() { # TRACE
	trim --only process=1 $1.db; is $? 0 && replays cut.db && says "^made 1 peer" out &&
		is "$("$VERBATIM" sql cut.db "SELECT count(*) FROM wr WHERE process = 1")" \
			"$("$VERBATIM" sql $1.db "SELECT count(*) FROM wr WHERE process = 1")"
}

one_of_many_queue_pairs_replays() {
	trim --only qp3/1 srq.db; is $? 0 && replays cut.db &&
		is "$("$VERBATIM" sql cut.db "SELECT DISTINCT name(qp) FROM wc")" qp3 &&
		is "$("$VERBATIM" sql cut.db "SELECT count(*) FROM wc")" \
			"$("$VERBATIM" sql srq.db "SELECT count(*) FROM wc
				WHERE process = 1 AND name(qp) = 'qp3'")"
}

choices_add_up() {
	local t from until
	t=$("$VERBATIM" sql rc.db "SELECT id FROM thread WHERE process = 2")
	IFS='|' read -r from until < <("$VERBATIM" sql rc.db "SELECT min(n), max(n) FROM poll
		WHERE thread = $t AND n BETWEEN 1000 AND 2000")
	trim --only process=2 --from $t:$from --to $t:$until rc.db; is "$? $(cat err)" "0 " &&
		replays cut.db &&
		is "$("$VERBATIM" sql cut.db "SELECT min(n), max(n) FROM poll")" "$from|$until"
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
		"$VERBATIM" trim -o old.db --to $post rc.db >/dev/null &&
		dump old.db >/dev/null && is "$(ls ./*.part 2>/dev/null)" ""
}

wrong_use_is_refused() {
	local options
	for options in "rc.db" "-o rc.db rc.db" "-o x.db" "-o x.db --to 9:1 rc.db" \
		"-o x.db --to noon rc.db" "-o x.db --from 1:900 --to 1:800 rc.db" \
		"-o x.db --from 1:900 --last 3 rc.db" "-o x.db --only 3 rc.db" \
		"-o x.db --only process=3 rc.db" "-o x.db --only qp=qp2 rc.db" \
		"-o x.db --only qp1/9 rc.db" \
		"-o x.db --last 0 rc.db" "-o x.db rc.db ud.db"; do
		"$VERBATIM" trim $options >out 2>err; is "$options $?" "$options 2" &&
			is "$(grep -c . err)" 1 && [ ! -e x.db ] || { cat err; return 1; }
	done
}

it_says_what_it_is() {
	trim --to $post rc.db && "$VERBATIM" info cut.db >out &&
		says "^EXCERPT: until $post of rc.db" out
}

needs "$VERBATIM" "$apps/two_threads" "$apps/payload"
"$VERBATIM" record -q -o rc.db "$both" ibv_rc_pingpong -n 1000 &&
	"$VERBATIM" record -q -o events.db "$both" ibv_rc_pingpong -n 300 -e &&
	"$VERBATIM" record -q -o srq.db "$both" ibv_srq_pingpong -n 1000 &&
	"$VERBATIM" record -q -o ud.db "$both" ibv_ud_pingpong -n 1000 &&
	"$VERBATIM" record -q -o two.db "$apps/two_threads" 1000 &&
	"$VERBATIM" record -q -o gone.db "$apps/mkey_001" &&
	"$VERBATIM" record -q --payload full -o payload.db "$apps/payload" >/dev/null ||
	not_ok "record" "exit status $?"
post=$("$VERBATIM" sql rc.db "SELECT event(thread, n) FROM post WHERE n >= 300 LIMIT 1")
for t in rc events srq ud two; do
	try "all of $t is the same" all_of_it_is_the_same $t
	try "$t until an event" until_leaves_what_the_model_says $t $((EVENTS / 5))
	try "$t from an event" from_an_event_the_rest_replays $t $((EVENTS / 5))
	[ $t = two ] || try "one process of $t replays" one_process_replays $t
done
try a_time_cuts_as_its_event_does rc.db $post
try what_is_gone_is_left_out
try the_last_events_replay
try what_is_from_before_is_counted
try one_of_many_queue_pairs_replays
try choices_add_up
try unpacked_traces_are_cut
try commands_take_a_part
try payload_is_cut
try a_chunk_of_payload_is_found_by_its_bounds
try it_says_what_it_is
try wrong_use_is_refused
try an_older_trace_stays_until_the_new_one_is_whole
if unshare -m true 2>/dev/null; then try nothing_is_left_of_a_failure
else skip "nothing is left of a failure" "no mounts"; fi
exit $failed
