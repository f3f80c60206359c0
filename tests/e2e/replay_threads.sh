#!/usr/bin/env bash
# Programs with concurrent threads and processes: replayed without a divergence by one thread, and
# by as many as were recorded.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1
times=${REPLAY_TIMES:-4} # number of recordings of each program

record() {
	timeout 120 "$VERBATIM" record --device soft -o "$t" -- "$@" >"$tmp/log" 2>&1 ||
		{ cat "$tmp/log"; return 1; }
}

# The last recording is replayed, both ways.
comes_again() {
	local threads
	for threads in serial recorded; do
		timeout 120 "$VERBATIM" replay --device soft --threads $threads "$t" \
			>"$tmp/out" 2>&1 ||
			{ echo "--threads $threads: status $?"; cat "$tmp/out"; return 1; }
		says "posts of [1-9]" "$tmp/out" || return
	done
}

overlapping() { # program, its subject
	local i
	for ((i = 0; i < times; i++)); do
		record "$@" && comes_again || return
	done
}

try "four threads post to one queue pair" overlapping "$apps/overlap" posts
try "four threads post receives to one queue pair" overlapping "$apps/overlap" receives
try "a region goes while it is written to" overlapping "$apps/overlap" dereg
try "a queue pair is stopped while it is sent to" overlapping "$apps/overlap" stop
try "a process is killed while it is sent to" overlapping "$apps/killed_peer"

# The destroy ends as late as it can: the recorded order is not that of the times.
late_dereg_comes_before_what_failed_by_it() {
	record "$apps/overlap" dereg && "$VERBATIM" unpack -o "$tmp/late.db" "$t" || return
	sqlite3 "$tmp/late.db" "UPDATE call SET
			begin = (SELECT max(time) - 1 FROM post),
			end = (SELECT max(time) + 1000000 FROM poll)
		WHERE verb = 'ibv_dereg_mr'" || return
	mv "$tmp/late.db" "$t"
	comes_again
}

# The recorder notices the end of a process long after it.
killed_process_ends_with_its_last_evidence() {
	record "$apps/killed_peer" && "$VERBATIM" unpack -o "$tmp/late.db" "$t" || return
	sqlite3 "$tmp/late.db" "UPDATE process SET end = end + 1000000000
		WHERE ending = 'killed'" || return
	mv "$tmp/late.db" "$t"
	comes_again
}

# Posts and polls of a recording are lost: the replay ends, and reports what did not come.
lost_events_are_not_waited_for_without_end() {
	local threads status
	record "$apps/overlap" posts && "$VERBATIM" unpack -o "$tmp/lost.db" "$t" || return
	sqlite3 "$tmp/lost.db" "DELETE FROM post WHERE thread > 1 AND n % 5 = 0;
		DELETE FROM poll WHERE n % 11 = 0" || return
	for threads in serial recorded; do
		timeout 60 "$VERBATIM" replay --device soft --timeout 1 --threads $threads \
			"$tmp/lost.db" >"$tmp/out" 2>&1
		status=$?
		is "--threads $threads" $status 1 || { cat "$tmp/out"; return 1; }
		says "ibv_poll_cq: wc" "$tmp/out" || return
	done
}

# Threads that poll without a pause, all of them on one processor.
one_thread_plays_where_processors_are_few() {
	local way said=("one thread replayed" "no divergence" "no divergence")
	local ways=("" "--threads recorded" "--pace x1000")
	record "$both" ib_send_bw --use_old_post_send -F -n 500 -b || return
	for way in 0 1 2; do
		env -u VERBATIM_THREADS timeout 120 taskset -c "$(first_processor)" "$VERBATIM" \
			replay --device soft ${ways[way]} "$t" >"$tmp/out" 2>&1 ||
			{ cat "$tmp/out"; return 1; }
		says "${said[way]}" "$tmp/out" || return
		[ $way = 0 ] || ! grep -q "one thread replayed" "$tmp/out" || return
	done
}

first_processor() {
	taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/'
}

try lost_events_are_not_waited_for_without_end
try late_dereg_comes_before_what_failed_by_it
try killed_process_ends_with_its_last_evidence

if command -v ib_send_bw >/dev/null; then
	try "ib_send_bw both ways" overlapping "$both" ib_send_bw --use_old_post_send -F -n 500 -b
	try one_thread_plays_where_processors_are_few
	try "ib_write_lat" overlapping "$both" ib_write_lat --use_old_post_send -F -n 500
else
	skip "perftest" "it is not installed"
fi
exit $failed
