#!/usr/bin/env bash
# Make C programs from recordings: they build without a warning and repeat the recording.
. tests/e2e/lib/try.sh
export VERBATIM_QUIET=1
cd "$tmp" || exit 1

# record NAME PROGRAM...: its two ends
record() {
	local name=$1
	shift
	timeout 120 "$VERBATIM" record -o "$name.db" -- "$both" "$@" >"$name.log" 2>&1 ||
		{ echo "recording: $(tail -1 "$name.log")"; return 1; }
}

# emit NAME: turns its trace into a source, and builds that
emit() {
	"$VERBATIM" emit "$1.db" -o "$1.c" && builds "$1"
}

builds() {
	${CC:-cc} -Wall -Wextra -Werror -o "$1" "$1.c" -libverbs &&
		{ ! command -v clang >/dev/null ||
			clang -Wall -Wextra -Werror -fsyntax-only "$1.c"; }
}

# runs NAME: ends with 0, on the software device
runs() { timeout 120 "$VERBATIM" run -- "./$1"; }

# NAME LINES PROGRAM...: at most that many lines. A pingpong has 390, each unusual order of events
# some more, and 10,000 without loops.
becomes_a_program() {
	local name=$1 most=$2 lines
	shift 2
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 1; }
	record "$name" "$@" && emit "$name" || return
	lines=$(wc -l <"$name.c")
	[ "$lines" -le "$most" ] || { echo "$lines lines"; return 1; }
	runs "$name"
}

# a recording of the program has no finding that the original lacks, but for late polls: these come
# of a busy machine
is_checked_as() { # name
	timeout 120 "$VERBATIM" record -o again.db -- "./$1" >again.log 2>&1 || return
	local new
	new=$(comm -13 <(findings "$1.db") <(findings again.db))
	[ -z "$new" ] || { echo "new findings: $new"; return 1; }
}
findings() {
	"$VERBATIM" check --format sarif "$1" | jq -r '.runs[0].results[].ruleId |
		select(. != "PERF-005")' | sort -u
}

# alter NAME SQL: NAME.db altered becomes program altered, which ends with 1 and names the event
altered_is_reported() { # name, table, where, set
	rm -f plain.db
	"$VERBATIM" unpack -o altered.db "$1.db" || return
	local event
	event=$(sqlite3 altered.db "SELECT thread || ':' || n FROM $2 WHERE $3 LIMIT 1 OFFSET 7")
	[ -n "$event" ] || { echo "no such row"; return 1; }
	sqlite3 altered.db "UPDATE $2 SET $4 WHERE thread = ${event%:*} AND n = ${event#*:}" &&
		emit altered || return
	runs altered >altered.out 2>&1
	is "exit status" $? 1 && says "^$event " altered.out
	rm -f altered.db
}

# The order of these recordings is the usual one.
pingpongs_are_short() {
	local name lines
	for name in rc uc ud; do
		lines=$("$VERBATIM" emit "$root/tests/conformance/soft/$name.db" | wc -l)
		[ "$lines" -gt 100 ] && [ "$lines" -lt 400 ] ||
			{ echo "$name: $lines lines"; return 1; }
	done
}
try pingpongs_are_short

try "rc_pingpong" becomes_a_program rc_pingpong 600 ibv_rc_pingpong
try "rc_pingpong is checked" is_checked_as rc_pingpong
try_in_turn "uc_pingpong" becomes_a_program uc_pingpong 1500 ibv_uc_pingpong
try_in_turn "ud_pingpong" becomes_a_program ud_pingpong 1500 ibv_ud_pingpong
try "xsrq_pingpong" becomes_a_program xsrq_pingpong 1500 ibv_xsrq_pingpong
try "a send waits for a peer that is connected later" \
	grep -E '^	await\("1:[0-9]+", &p2_qp1_rt[rs], ' xsrq_pingpong.c
# events of completion queues
try_in_turn "rc_pingpong -e" becomes_a_program rc_events 4000 ibv_rc_pingpong -e
try_in_turn "ib_send_bw -e" becomes_a_program perf 3000 ib_send_bw -e -F -n 200
try "srq_pingpong" becomes_a_program srq_pingpong 4000 ibv_srq_pingpong -n 200

# several objects of a kind, in a loop
try "queue pairs are an array" says 'p1_qp\[1 + i\] = ibv_create_qp(' srq_pingpong.c

# perftest, with the builders ibv_wr_*(), with lists of requests, with extended completion queues
for each in "ib_send_lat" "ib_send_lat --use_old_post_send" "ib_send_bw -c UD" \
	"ib_send_bw --use-srq -q 2" "ib_write_lat" "ib_write_bw -q 2" "ib_read_bw" "ib_atomic_bw" \
	"ib_send_lat -c XRC"; do
	try_in_turn "$each" becomes_a_program perf 3000 $each -F -n 200
done

# planted errors: two threads on one queue, keys, lengths, receivers that are not ready, queue pairs
# that do not respond, flushes
record_errors() {
	${CC:-cc} -o errors "$root/tests/replay/errors.c" -libverbs -lpthread &&
		"$VERBATIM" record -o failures.db -- ./errors >errors.log 2>&1
}
failures_become_a_program() { record_errors && emit failures && runs failures; }
# Each way in which a request may end: a refused one waits for its peer, one to a window for the
# bind of that.
two_ends_become_a_program() {
	cp "$root/tests/conformance/soft/two_ends.db" two_ends.db && emit two_ends &&
		runs two_ends >two_ends.log 2>&1 || { tail -n 1 two_ends.log; return 1; }
}
try_in_turn two_ends_become_a_program
try failures_become_a_program

app_becomes_a_program() { # name
	"$VERBATIM" record -o "$1.db" -- "$apps/$1" >"$1.log" 2>&1
	emit "$1" && runs "$1"
}
for each in posts threads two_threads overlap faulted payload killed_peer shared_rq mkey_005 \
	compl_003 late_event shared_channel; do
	try_in_turn "$each becomes a program" app_becomes_a_program $each
done

# A thread gets an event before its queue pair is destroyed, and sends a datagram after another
# thread has sent one to the same queue pair: the program waits for both, as the recorded one did.
# A long list of requests is an array: brackets nest 256 deep in clang.
what_threads_agreed_on_without_verbs_is_awaited() {
	app_becomes_a_program async_thread &&
		says '^	await("1:[0-9]*", &context1_get_async_event, 1);' async_thread.c &&
		says '^	await("2:[0-9]*", &qp[0-9]*_sends, 1);' async_thread.c &&
		says 'ibv_post_srq_recv(srq1, linked_recv(' async_thread.c
}
try_in_turn what_threads_agreed_on_without_verbs_is_awaited

# Of the messages that a killed process received, its peer saw the acknowledgement of the first ones
# alone. No device can be made to do that again: the rest is left out, which the program says.
lost_acknowledgements_become_a_program() {
	"$VERBATIM" record -o lost.db -- "$apps/killed_peer" polls >lost.log 2>&1 || return
	rm -f altered.db
	"$VERBATIM" unpack -o altered.db lost.db && sqlite3 altered.db "CREATE TEMP TABLE late AS
		SELECT thread, n, i, rank() OVER (PARTITION BY qp ORDER BY wr_n) AS nth FROM wc
		WHERE thread = (SELECT max(thread) FROM wc WHERE status <> 0);
		UPDATE wc SET status = iif(nth = 31, 12, 5) FROM late WHERE nth > 30 AND
		late.thread = wc.thread AND late.n = wc.n AND late.i = wc.i" || return
	emit altered && says "the process ended here" altered.c &&
		says "^ .*ibv_poll_cq, .*: the process was killed before it ack" altered.c || return
	for _ in 1 2 3; do runs altered || return; done
}
try lost_acknowledgements_become_a_program

# traces that cannot become a program are refused, and no file is written
refuses() { # text, options of emit
	local text=$1
	shift
	"$VERBATIM" emit "$@" -o never.c >refused.out 2>&1
	is "exit status" $? 3 && says "$text" refused.out && [ ! -e never.c ]
}
one_side_is_refused() {
	record_both_sides -n 20 && refuses "the peer is not in the trace" t.db
}
# the advice of the refusal: a replay supplies that end
one_side_and_a_made_end_are_a_program() {
	"$VERBATIM" record -q -o made.db -- "$VERBATIM" replay t.db >made.log 2>&1 || return
	emit made && runs made
}
rping_becomes_a_program() {
	command -v rping >/dev/null || { echo "rping is not installed"; return 1; }
	next_port
	timeout 120 "$VERBATIM" record -o rping.db -- bash -c "
		rping -s -C 10 -a 127.0.0.1 -p $port & server=\$!
		until rping -c -C 10 -a 127.0.0.1 -p $port; do
			kill -0 \$server || exit; sleep 0.02
		done
		wait" >rping.log 2>&1
	emit rping && runs rping
}
stored_becomes_a_program() { # name
	tar -xJf "$root/tests/stored/traces.tar.xz" "./$1.db" && emit "$1" && runs "$1"
}
two_sides_of_one_job_are_a_program() {
	"$VERBATIM" emit s.db t.db -o sides.c && builds sides && runs sides
}
a_verb_without_a_place_is_named() {
	VERBATIM_SOFT_LINK=roce "$VERBATIM" record -o every.db -- "$apps/every_verb" >every.log 2>&1
	refuses "ibv_reg_dmabuf_mr is not supported in a program" every.db
}
a_program_that_is_no_trace_is_refused() {
	"$VERBATIM" emit rc_pingpong.c >no.out 2>&1
	is $? 3
}
the_trace_is_not_overwritten() {
	"$VERBATIM" emit rc_pingpong.db -o rc_pingpong.db 2>no.out
	is $? 2 && says "is the trace itself" no.out
}
a_name_without_a_suffix_gets_one() {
	VERBATIM_QUIET=0 "$VERBATIM" emit rc_pingpong.db -o plain 2>no.out
	is $? 0 && says "the program is plain.c" no.out && [ -s plain.c ] && [ ! -e plain ] ||
		return
	VERBATIM_QUIET=0 "$VERBATIM" emit rc_pingpong.db -o other.txt 2>no.out
	is $? 0 && ! says "the program is" no.out >said && [ -s other.txt ] &&
		"$VERBATIM" emit rc_pingpong.db -o /dev/null
}
a_directory_that_is_not_there_is_reported() {
	"$VERBATIM" emit rc_pingpong.db -o no/such/file.c 2>no.out
	is $? 4 && is "$(wc -l <no.out)" 1
}
names_in_the_trace_are_data() {
	"$VERBATIM" unpack -o named.db rc_pingpong.db &&
		sqlite3 named.db "UPDATE process SET cmdline = 'x */ #error no
			/* ??/' || char(27) || '[2J'; UPDATE thread SET comm = '*/
			#error no'; UPDATE meta SET value = '*/
			#error ??/' || char(27) WHERE key = 'command'" &&
		emit named && ! grep -q $'\e' named.c
}
# numbers that no device has, and unknown names
altered_arguments() { # SQL of the table call
	"$VERBATIM" unpack -o arguments.db rc_pingpong.db && sqlite3 arguments.db "$1"
}
the_least_number_is_one() {
	altered_arguments "UPDATE call
		SET args = replace(args, ':500,', ':-9223372036854775808,')" &&
		emit arguments
}
a_name_that_is_not_known_is_refused() {
	altered_arguments "UPDATE call SET args = replace(args, 'IBV_QPS_RTR', 'IBV_QPS_NEW')" &&
		refuses "qp_state is not a known value" arguments.db
}
an_object_that_is_not_there_is_reported() {
	altered_arguments "DELETE FROM object WHERE id = (SELECT max(id) FROM object)" || return
	"$VERBATIM" emit --allow-partial arguments.db -o never.c >refused.out 2>&1
	is "exit status" $? 3 && [ ! -e never.c ]
}
arguments_that_cannot_be_read_may_be_left_out() {
	altered_arguments "UPDATE call SET args = '{' WHERE verb = 'ibv_destroy_cq'" &&
		refuses "ibv_destroy_cq: .* --allow-partial leaves it out" arguments.db &&
		"$VERBATIM" emit --allow-partial arguments.db -o part.c && builds part && runs part
}
a_connection_that_failed_is_a_program() {
	altered_arguments "UPDATE call SET failed = 1, ret = 22 WHERE args LIKE '%IBV_QPS_RTR%'" &&
		emit arguments
}
lists_without_requests_are_a_program() {
	altered_arguments "DELETE FROM wr; DELETE FROM sge" && emit arguments
}
a_queue_that_no_verb_made_is_refused() {
	altered_arguments "DELETE FROM call WHERE args LIKE '%max_send_wr%'" &&
		refuses "the verb that created qp1 is not in the trace" --allow-partial arguments.db
}
control_verbs_alone_are_a_program() {
	altered_arguments "DELETE FROM wr; DELETE FROM sge; DELETE FROM post; DELETE FROM wc;
		DELETE FROM poll" && emit arguments && runs arguments
}
peak='import resource, subprocess, sys
done = subprocess.run(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
sys.exit(done.returncode or peak > int(sys.argv[1]) and f"{peak} MB")'

# 600,000 events, and 500 lines
memory_is_of_the_program_and_not_of_its_events() {
	"$VERBATIM" record -q -o long.db -- "$apps/loop" counts 200000 >long.log 2>&1 ||
		{ cat long.log; return 1; }
	python3 -c "$peak" "${SAN:+4}64" "$VERBATIM" emit long.db -o long.c || return
	[ "$(wc -l <long.c)" -le 500 ] && builds long && runs long
}
the_program_may_go_to_standard_output() {
	"$VERBATIM" emit rc_pingpong.db >printed.c && cmp printed.c rc_pingpong.c
}
try the_program_may_go_to_standard_output
try_in_turn memory_is_of_the_program_and_not_of_its_events
try one_side_is_refused
try_in_turn one_side_and_a_made_end_are_a_program
try_in_turn rping_becomes_a_program
try_in_turn "acknowledgements without events" stored_becomes_a_program demo_bug
try_in_turn "a completion of a destroyed queue pair" stored_becomes_a_program life_005
try_in_turn two_sides_of_one_job_are_a_program
try a_verb_without_a_place_is_named
try a_program_that_is_no_trace_is_refused
try the_trace_is_not_overwritten
try a_name_without_a_suffix_gets_one
try a_directory_that_is_not_there_is_reported
try names_in_the_trace_are_data
try the_least_number_is_one
try a_name_that_is_not_known_is_refused
try an_object_that_is_not_there_is_reported
try arguments_that_cannot_be_read_may_be_left_out
try_in_turn a_connection_that_failed_is_a_program
try_in_turn lists_without_requests_are_a_program
try a_queue_that_no_verb_made_is_refused
try_in_turn control_verbs_alone_are_a_program
try_in_turn "an altered length" altered_is_reported rc_pingpong wc "opcode = 128" "byte_len = 5"
try_in_turn "an altered wr_id" altered_is_reported rc_pingpong wc "opcode = 0" "wr_id = 5"
try_in_turn "an altered status" altered_is_reported rc_pingpong wc "opcode = 0" "status = 12"
