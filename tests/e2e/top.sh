# Live statistics of a running program: totals equal those of stat, the screen is 80x24.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/guest" "$VERBATIM"
top() { timeout 120 "$VERBATIM" top "$@"; }
terminal() { # columns, options of on_terminal.py, command...
	TERM=${TERM_OF:-xterm} timeout 120 python3 "$root/tests/e2e/lib/on_terminal.py" "$@"
}

# A recording that does $1, waits for data in `go`, and does $2.
start_recording() { # first, then, options of record
	local first=$1 second=$2
	shift 2
	rm -f go samples over && mkfifo go && exec 4<>go
	"$VERBATIM" record -q -o t.db "$@" -- \
		bash -c "$first; read -t 100 -r line <go; $second" >out 2>err &
	recorder=$!
	await runs
}
runs() { [ -n "$recorder" ] && timeout 60 "$VERBATIM" top -b -n 1 $recorder >first 2>told; }
is_counted() { top -b -n 1 $recorder >first 2>told && grep -q ^SEND first; }
go_on() { echo on >&4; }
pingpong="$both ibv_rc_pingpong -n 1000"

data='_(post|poll|req_notify|wr)_|_(start|next|end)_poll'
totals_of_stat() {
	"$VERBATIM" stat -f json t.db | jq -c '[.posting.send.requests, .posting.receive.requests,
		.summary.completions, .summary.errors, .summary.sent_bytes, .summary.received_bytes,
		.summary.flushed,
		([.verbs[] | select(.verb | test("'"$data"'") | not) | .calls] | add),
		.waited.times, .waited.total_ns]'
}
totals_of_top() {
	tail -1 "$1" | jq -c '.all | [.data.requests, .data.receives, .data.completions,
		.data.errors, .data.sent_bytes, .data.received_bytes, .flushed, .calls,
		.waits, .waited_ns]'
}
registrations() {
	"$VERBATIM" sql t.db "SELECT count(*) FROM object WHERE kind = 'mr'"
}
# View from now to the end of the recording.
see_all() {
	top -b -f json $recorder >samples & local pid=$!
	await grep -q '"receives":[1-9]' samples && go_on && wait $pid || return
	wait $recorder
	[ $? -le 1 ] # of a check
}
# from the first event on, although the viewer attached only in the middle
totals_are_those_of_stat() { # options of record
	start_recording "$pingpong" "$both ib_send_bw -F -n 5000" "$@" && see_all || return
	is "totals" "$(totals_of_top samples)" "$(totals_of_stat)" &&
		is "phase" "$(tail -1 samples | jq -r .phase)" ended &&
		is "registrations" "$(tail -1 samples | jq .all.registered)" "$(registrations)" &&
		is "queues" "$(tail -1 samples | jq .queues_of_all)" 4 &&
		is "by queue" "$(tail -1 samples |
			jq -c '[.queues[].all.requests] | sort')" \
			"$("$VERBATIM" stat -f json t.db | jq -c '[.queues[].sends] | sort')"
}
errors_are_reported() {
	start_recording "$pingpong" "$apps/first_error" && see_all || return
	is "totals" "$(totals_of_top samples)" "$(totals_of_stat)" &&
		[ "$(tail -1 samples | jq .all.data.errors)" -gt 0 ]
}
a_sample_is_read_by_people() {
	start_recording "$pingpong" : && await is_counted || return
	top -b -n 2 $recorder >samples
	go_on
	wait $recorder
	is "longest" "$(awk 'length > 80' samples)" "" &&
		is "samples" "$(grep -c '^verbatim top' samples)" 2 &&
		for each in '^a second ' '^all ' '^program ' '^registered ' '^failed ' \
			'^recorded ' '^SEND ' '^qp1 '; do says "$each" samples || return; done
}

# The screen: the written text is compared, without the sequences that move the cursor.
screen_has_each_part() {
	start_recording "$pingpong" : && await is_counted || return
	terminal 80 --keys q "$VERBATIM" top $recorder >drawn
	is "status" $? 0 || return
	for each in 'verbatim top' 'a second' registered recorded 'from post to poll' SEND \
		'q end'; do
		sed 's/\x1b\[[0-9;?]*[a-zA-Z]/ /g' drawn | grep -aq "$each" ||
			{ echo "no '$each' in: $(cat -v drawn)"; return 1; }
	done
	# the alternate screen is entered and left, the cursor is shown again
	grep -aq $'\e\[?1049h.*\e\[?1049l' drawn && grep -aq $'\e\[?25h\|\e\[?12l\e\[?25h' drawn ||
		{ echo "not restored: $(cat -v drawn)"; return 1; }
	kill -0 $recorder && go_on && wait $recorder # which goes on
}
terminals_that_cannot_are_refused() {
	start_recording "$pingpong" : || return
	for each in dumb no-such-terminal; do
		TERM_OF=$each terminal 80 --keys q "$VERBATIM" top $recorder >drawn
		is "status with $each" $? 4 && says "batch" drawn || return
	done 2>/dev/null
	top $recorder >drawn 2>told </dev/null
	is "without a terminal" $? 4 && says "not a terminal" told && go_on && wait $recorder
}
live_shows_the_same() {
	terminal 80 bash -c '"$VERBATIM" record --live -o t.db -- '"$pingpong"' >out 2>err' >drawn
	is "status" $? 0 && grep -aq $'\e\[?1049l' drawn && says 'ended' drawn &&
		says '^registered ' drawn && says 't.db: 2 processes' err && says 'bytes in' out
}
program_has_ended() { [ -e ran ] && ! pgrep -x bash -P $recorder; }

# before the screen can be drawn, and before another viewer attaches
live_shows_what_is_over() {
	rm -f ran drawable
	terminal 80 --held drawable bash -c 'exec "$VERBATIM" record --live -o '"$tmp/l.db"' -- \
		bash -c "$0 calls 7; touch ran" >out 2>err' "$apps/guest" >drawn & local pid=$!
	await test -e ran && recorder=$(pgrep -of "^$VERBATIM record --live -o $tmp/l.db") &&
		await program_has_ended || return
	top -b sessions/* >late && says ', ended' late || { cat late; return 1; }
	touch drawable
	wait $pid
	is "status" $? 0 && says '^registered ' drawn && says 'ended' drawn && says 'l.db: ' err
}
# The terminal is closed; the program continues.
live_ends_with_its_terminal() {
	rm -f go ran drawn && mkfifo go && exec 4<>go
	terminal 80 bash -c 'exec "$VERBATIM" record --live -o '"$tmp/l.db"' -- \
		bash -c "trap \"\" HUP; $0 calls 7; touch ran
			read -t 100 -r line <go" >out 2>err' "$apps/guest" >drawn &
	await test -e ran && recorder=$(pgrep -of "^$VERBATIM record --live -o $tmp/l.db") &&
		await grep -q registered drawn && kill -KILL $(ps -o ppid= -p $recorder) || return
	await screen_has_ended && kill -0 $recorder && go_on && await says 'l.db: ' err &&
		"$VERBATIM" info l.db >info
}
screen_has_ended() { ! pgrep -f '^verbatim top' -P $recorder; }
live_ends_where_nothing_is_recorded() {
	terminal 80 bash -c '"$VERBATIM" record --live -o none/t.db -- true >out 2>err' >drawn
	is "status" $? 4 && is "lines" "$(wc -l <err)" 1 && says 'make none/t.db' err
}
live_does_not_write_over_the_program() {
	terminal 80 "$VERBATIM" record --live -o u.db -- "$apps/guest" calls 1 >drawn
	is "status" $? 2 && says 'another terminal' drawn && ! [ -e u.db ] || return
	setsid -w "$VERBATIM" record --live -o u.db -- "$apps/guest" calls 1 >out 2>err </dev/null
	is "status" $? 4 && says 'batch' err
}

nobody_records() {
	top -b 2>told
	is "status" $? 4 && says 'no recorder is running' told &&
		{ top -b 4194303 2>told; is "status" $? 4; } &&
		{ top -b "$tmp" 2>told; is "status" $? 4; } &&
		{ top -f json 2>told; is "status" $? 2; } &&
		{ top -b a b 2>told; is "status" $? 2; }
}
several_recorders_are_named() {
	local one two status
	mkfifo go
	"$VERBATIM" record -q -o a.db sh -c 'echo ready; read x <go; : one' >out1 & one=$!
	"$VERBATIM" record -q -o b.db sh -c 'echo ready; read x <go; : two' >out2 & two=$!
	await grep -q ready out1 && await grep -q ready out2 || return
	top -b 2>told; status=$?
	"$VERBATIM" snapshot $one 2>other # is selected by its PID
	exec 8<>go; echo >&8; echo >&8; wait $one $two; exec 8>&-; rm go
	is "status" $status 4 && is "lines" "$(wc -l <told)" 3 &&
		says '2 recorders are running: give the PID of one' told &&
		says " $one: a.db, of sh -c .*: one" told &&
		says " $two: b.db, of sh -c .*: two" told &&
		says 'a.db is neither a flight recording' other
}
a_recorder_that_is_killed_is_reported() {
	start_recording "$pingpong" "touch over" || return
	top -b -f json $recorder >samples 2>told & local pid=$! status
	await test -s samples && kill -KILL $recorder
	wait $pid; status=$?
	go_on && await test -e over || return # or it would take the data of the next program
	is "status" $status 4 && says "has died: see .verbatim info t.db" told &&
		"$VERBATIM" info t.db >info
}
a_page_that_is_cut_off_does_no_harm() {
	start_recording "$pingpong" "$pingpong" || return
	for each in sessions/*/session.vitals; do truncate -s 100 "$each"; done
	top -b -f json $recorder >samples 2>told
	is "status" $? 4 && says "^verbatim: " told && go_on || return
	wait $recorder && "$VERBATIM" check t.db >out && is "$("$VERBATIM" sql t.db \
		'SELECT count(*) FROM wc WHERE status = 0')" 8000
}

for each in totals_are_those_of_stat errors_are_reported a_sample_is_read_by_people \
	screen_has_each_part terminals_that_cannot_are_refused live_shows_the_same \
	live_shows_what_is_over live_ends_with_its_terminal \
	live_ends_where_nothing_is_recorded live_does_not_write_over_the_program \
	nobody_records several_recorders_are_named a_recorder_that_is_killed_is_reported \
	a_page_that_is_cut_off_does_no_harm; do
	try $each
done
try_in_turn "totals are those of stat beside a check" totals_are_those_of_stat --check
try_in_turn "totals are those of stat of a flight recorder" totals_are_those_of_stat --flight 64M
