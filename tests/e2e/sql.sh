# verbatim sql: tables computed from the trace, its functions, and the input of queries.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
needs "$apps/depth" "$apps/every_verb" "$apps/incident_13" "$VERBATIM"

ask() { "$VERBATIM" sql "$@"; }
record() { # trace, program
	local trace=$1
	shift
	"$VERBATIM" record -q -o "$trace" -- "$@"
}

# The program's own counts.
is_what_the_program_counted() { # arguments of depth
	record d.db "$apps/depth" "$@" >counted || return
	sort -s -k1,2 counted >wanted
	ask d.db "SELECT name || ' ' || side || ' ' || depth FROM queue_depth" | sort -s -k1,2 >got
	cmp got wanted && [ "$(wc -l <wanted)" -gt 500 ] &&
		is doubts "$(ask d.db 'SELECT count(doubt) FROM queue_depth')" 0 &&
		is_what_the_device_counted "$@"
}
# The device refuses the rest of a list when its queue is full: the accepted part has just filled
# it. An SRQ has room again once a message has taken a receive, before its completion is polled.
is_what_the_device_counted() { # arguments of depth
	is "more than there is room for" \
		"$(ask d.db "SELECT count(*) FROM queue_depth WHERE depth > room
			AND name NOT LIKE 'srq%'")" 0 || return
	case $* in *wr*) return ;; esac # it accepts all of a list or nothing
	ask d.db "SELECT DISTINCT depth = room OR name LIKE 'srq%' AND depth > room
			FROM queue_depth d JOIN post p USING (thread, n)
			WHERE p.ret = $(errno ENOMEM) AND p.bad > 1
			AND d.object = p.object" >full &&
		is "when it is full" "$(cat full)" 1
}
errno() { python3 -c "import errno; print(errno.$1)"; }

for each in "rc 1" "rc 2 all" "rc 3 srq" "rc 4 srq all" "rc 5 wr" "rc 6 ex" "rc 7 wr ex srq" \
	"uc 8" "uc 9 all" "uc 10 srq" "uc 11 wr ex" "ud 12" "ud 13 all" "ud 14 srq" "ud 15 wr ex" \
	"xrc 16" "xrc 17 all" "xrc 18 wr" "xrc 19 ex"; do
	try "depth of queues: $each" is_what_the_program_counted $each
done

# The program sees them change below /sys, and the trace has them at its begin and its end.
counters_are_those_of_the_recording() {
	local port=/sys/class/infiniband/verbatim0/ports/1
	record c.db sh -c 'cat "$1"; "$2" bad; cat "$1"; cat "$3"' - \
		$port/hw_counters/local_ack_timeout_err "$apps/env_003" \
		$port/counters/port_rcv_data >out &&
		is "$(xargs <out)" "0 1 0" &&
		is "$(ask c.db "SELECT device, port, folder, name, first, last, change FROM counters
			WHERE merged = 0 ORDER BY name")" \
			"verbatim0|1|counters|link_downed|0|0|0
verbatim0|1|hw_counters|local_ack_timeout_err|0|1|1
verbatim0|1|hw_counters|rnr_nak_retry_err|0|0|0" || return
	record again.db "$apps/env_003" good &&
		is "of each recording" "$(ask again.db "SELECT sum(last) FROM counter")" 0 &&
		is "directories left" "$(ls "$VERBATIM_SESSIONS")" ""
}
counters_are_in_copies() {
	"$VERBATIM" trim --last 3 -o part.db c.db >/dev/null &&
		is "excerpt" "$(ask part.db "SELECT sum(change) FROM counters")" 1 &&
		"$VERBATIM" unpack -o plain.db c.db &&
		is "plain" "$(sqlite3 plain.db "SELECT sum(last) FROM counter")" 1 &&
		"$VERBATIM" merge -o both.db c.db again.db >/dev/null &&
		is "merged" "$(ask both.db "SELECT merged, sum(change), count(*) FROM counters
			GROUP BY merged" | xargs)" "1|1|3 2|0|3" &&
		says "port 1 of verbatim0 .c.db.: local_ack_timeout_err rose by 1" \
			<("$VERBATIM" check both.db | tr P p)
}
try counters_are_those_of_the_recording
try counters_are_in_copies

# For rdma-core's own test of receive side scaling, whose device has to be on RoCE: the depth
# is posts less completions, except where the queue ends.
depth_of_work_queues() {
	VERBATIM_SOFT_LINK=roce record rss.db /usr/bin/python3 "$root/tests/e2e/pyverbs.py" rss 1 \
		rss >out 2>&1 && says "^ok rss: .*test_rss_traffic" out || { cat out; return 1; }
	ask rss.db "WITH posted AS MATERIALIZED
			(SELECT p.object, w.thread, w.n FROM wr w JOIN post p USING (thread, n)),
		done AS MATERIALIZED
			(SELECT p.object, c.thread, c.n FROM wc c
				JOIN post p ON p.thread = c.wr_thread AND p.n = c.wr_n)
		SELECT count(DISTINCT object), count(*) > 500, max(depth) > 50, count(doubt),
			sum(depth <> (SELECT count(*) FROM posted p WHERE p.object = d.object
				AND p.thread = d.thread AND p.n <= d.n) -
				(SELECT count(*) FROM done c WHERE c.object = d.object
				AND c.thread = d.thread AND c.n <= d.n))
		FROM queue_depth d WHERE name LIKE 'wq%' AND NOT EXISTS
			(SELECT 1 FROM call c WHERE c.thread = d.thread AND c.n = d.n)" >got
	is "queues, rows, high, doubts, wrong" "$(cat got)" "8|1|1|0|0" &&
		is "of those that were destroyed" \
			"$(ask rss.db "SELECT count(*) FROM queue_depth d
				JOIN call c USING (thread, n)
				WHERE c.verb = 'ibv_destroy_wq' AND d.depth = 0")" 8
}
if [ -e /usr/share/doc/rdma-core/tests/test_rss_traffic.py.gz ]; then try depth_of_work_queues
else skip "depth of work queues" "the tests of rdma-core are not installed"; fi

record depth.db "$apps/depth" rc 11 >counted || exit 1
record every.db "$apps/every_verb" >out 2>&1
record both.db "$both" ibv_rc_pingpong -n 100 >out 2>&1 || exit 1

questions_have_the_answers_of_a_count() { # trace, queries that need one
	local trace=$1
	shift
	"$VERBATIM" unpack -o "plain_$trace" "$trace" &&
		python3 "$root/tests/e2e/sql.py" "$VERBATIM" "$root/docs" \
			"$trace" "plain_$trace" "$@"
}
try "questions: one queue pair" questions_have_the_answers_of_a_count depth.db \
	"Statuses by queue pair" "Control verbs while posting" "Percentiles by opcode and size" \
	"Outstanding depth over time" "Bytes registered over time" "Slow control verbs" \
	"Share inline" "Rate over time" "Requests that never completed"
try "questions: two processes" questions_have_the_answers_of_a_count both.db \
	"Statuses by queue pair" "The peer of each queue pair" "Bytes registered over time"


requests_are_the_work_requests() {
	local same="thread, n, i, time, wr_id, opcode, bytes, send_flags, rkey"
	is "$(ask depth.db "SELECT count(*) FROM (SELECT $same FROM requests EXCEPT
		SELECT thread, n, i, time, wr_id, opcode, bytes,
		CASE WHEN opcode IS NOT NULL THEN send_flags END, rkey FROM wr)")" 0 &&
		is "$(ask depth.db 'SELECT count(*) FROM requests')" \
			"$(ask depth.db 'SELECT count(*) FROM wr')"
}
try requests_are_the_work_requests
requests_have_the_completions_of_wc() {
	is "$(ask depth.db "SELECT count(*) FROM (SELECT thread, n, i, status, retired_thread,
		retired_n, retired_i, completed FROM requests WHERE status IS NOT NULL EXCEPT
		SELECT wr_thread, wr_n, wr_i, status, thread, n, i, time FROM wc)")" 0 &&
		is "$(ask depth.db 'SELECT count(status) FROM requests')" \
			"$(ask depth.db 'SELECT count(*) FROM wc')"
}
try requests_have_the_completions_of_wc

outcomes_are_all_there() {
	is "$(ask depth.db "SELECT group_concat(outcome, ' ') FROM
		(SELECT DISTINCT outcome FROM requests ORDER BY 1)")" \
		"completed destroyed error flushed refused reset retired"
}
try outcomes_are_all_there

regions_change_when_they_are_registered_again() {
	is "$(ask every.db "SELECT verb || ' ' || access || ' ' || (addr = iova) || ' ' ||
		(until > since) FROM mrs WHERE name = 'mr2' ORDER BY since" | paste -sd,)" \
		"ibv_reg_mr_iova 31 0 1,ibv_rereg_mr 1 0 1" &&
		is "$(ask every.db "SELECT count(*) FROM object WHERE kind = 'mr'")" \
			"$(ask every.db 'SELECT count(DISTINCT object) FROM mrs')"
}
try regions_change_when_they_are_registered_again

queue_pairs_have_what_was_asked_for() {
	is "$(ask depth.db 'SELECT name, type, state, max_send_wr, max_inline_data, path_mtu,
		rnr_retry, send_high, recv_high, peer_name FROM qps')" \
		"qp1|RC|RTS|24|64|1024|7|24|24|qp1" &&
		is "$(ask both.db 'SELECT count(*) FROM qps a JOIN qps b ON a.peer = b.object AND
			b.peer = a.object AND a.process <> b.process')" 2 &&
		is "$(ask depth.db 'SELECT sends FROM qps')" \
			"$(ask depth.db 'SELECT count(*) FROM wr WHERE opcode > -1 AND NOT bad')"
}
try queue_pairs_have_what_was_asked_for

failures_are_those_of_the_tables() {
	is "$(ask depth.db "SELECT count(*) FROM failures WHERE kind = 'completion'")" \
		"$(ask depth.db 'SELECT count(*) FROM wc WHERE status <> 0')" &&
		is "$(ask depth.db "SELECT DISTINCT kind || ' ' || code_name FROM failures
			WHERE kind = 'post'")" "post ENOMEM" &&
		is "$(ask every.db "SELECT code_name FROM failures WHERE verb = 'ibv_set_ece'")" \
			EOPNOTSUPP
}
try failures_are_those_of_the_tables

percentiles_are_exact() {
	local values="WITH RECURSIVE v(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM v LIMIT 101)"
	is "$(ask depth.db "$values SELECT median(x), percentile(x, 0), percentile(x, 100),
		percentile(x, 99), percentile(x, 12.5) FROM v")" "51.0|1.0|101.0|100.0|13.5" &&
		is "$(ask depth.db "SELECT median(x) FROM (SELECT NULL AS x)")" "" &&
		is "$(ask depth.db "SELECT median(x) FROM (SELECT 7 AS x UNION SELECT NULL)")" 7.0
}
try percentiles_are_exact
a_wrong_percentile_is_an_error() {
	local each
	for each in 101 -1 "'x'" NULL "x / 2"; do
		! ask depth.db "SELECT percentile(x, $each) FROM (SELECT 1 AS x UNION SELECT 4)" \
			>out 2>err || { echo "$each: $(cat out)"; return 1; }
		says 'percentile' err || return
	done
}
try a_wrong_percentile_is_an_error

stacks_have_names() {
	local create="verb = 'ibv_create_qp'"
	ask depth.db "SELECT stack(stack) FROM calls WHERE $create" >out &&
		says '^create_qp .*open_all.*(depth.c:[0-9]*.*) < main+0x.*(depth.c:[0-9]*)' out &&
		is "$(ask depth.db "SELECT symbol(ip) FROM frame JOIN calls USING (stack)
			WHERE $create ORDER BY i LIMIT 1" | cut -d' ' -f1)" create_qp &&
		is "$(ask depth.db "SELECT symbol(12) IS NULL, stack(0) IS NULL,
			stack(NULL) IS NULL, symbol('x') IS NULL")" "1|1|1|1"
}
try stacks_have_names

a_queue_is_named_by_number_or_name() {
	local id
	id=$(ask depth.db "SELECT object FROM qps") &&
		is "$(ask depth.db "SELECT count(*) FROM queue_depth($id)")" \
			"$(ask depth.db "SELECT count(*) FROM queue_depth('qp1')")" &&
		is "$(ask depth.db "SELECT count(*) > 0 FROM queue_depth(qps.object), qps")" 1 &&
		is "$(ask depth.db 'SELECT count(*) FROM queue_depth(99999)')" 0
}
try a_queue_is_named_by_number_or_name
an_unknown_queue_is_an_error() {
	! ask depth.db "SELECT * FROM queue_depth('qp9')" 2>err && says "no such object" err &&
		! ask both.db "SELECT * FROM queue_depth('qp1')" 2>err &&
		says "several processes have an object of this name" err
}
a_queue_is_named_with_its_process() {
	local process
	for process in $(ask both.db "SELECT process FROM qps WHERE name = 'qp1'"); do
		is "$(ask both.db "SELECT DISTINCT process || name
			FROM queue_depth('qp1/$process')")" "${process}qp1" || return
	done
	! ask both.db "SELECT * FROM queue_depth('qp1/$((process + 1))')" 2>err &&
		says "no such object" err
}
try a_queue_is_named_with_its_process
try an_unknown_queue_is_an_error

time_may_be_cut() {
	local all some
	all=$(ask depth.db "SELECT count(*) FROM queue_depth WHERE +time < 200000000") &&
		some=$(ask depth.db "SELECT count(*) FROM queue_depth WHERE time < 200000000") &&
		is "$some" "$all"
}
try time_may_be_cut

what_is_outstanding_ends_with_its_process() { # 4 of 8 receives are not polled when it is killed
	record ends.db "$apps/incident_13" >out 2>&1
	is "$(ask ends.db "SELECT name, side, outcome, count(*) FROM requests
		WHERE completed IS NULL GROUP BY 1, 2, 3")" "qp2|recv|ended|4" &&
		is "$(ask ends.db "SELECT name, side, depth, change, event IS NULL FROM queue_depth
			WHERE thread = 0")" "qp2|recv|0|-4|1"
}
try what_is_outstanding_ends_with_its_process
what_is_left_out_is_a_doubt() {
	"$VERBATIM" record -q --filter 1/2 -o part.db -- "$apps/depth" rc 12 >out || return
	is "$(ask part.db 'SELECT count(*) FROM requests WHERE doubt IS NULL' 2>err)" 0 &&
		is "$(ask part.db 'SELECT count(*) > 0 FROM requests' 2>err)" 1 &&
		says filter err
}
try what_is_left_out_is_a_doubt
a_reset_forgets() {
	is "$(ask depth.db "SELECT count(*) > 0 FROM requests WHERE outcome = 'reset'")" 1 &&
		is "$(ask depth.db "SELECT DISTINCT verb FROM queue_depth q JOIN call
			USING (thread, n) WHERE q.depth = 0 AND change < 0
			ORDER BY 1" | paste -sd' ')" \
			"ibv_destroy_qp ibv_modify_qp"
}
try a_reset_forgets
an_unpacked_trace_answers_the_same() {
	local each
	for each in requests queue_depth qps mrs calls failures posting completions; do
		ask depth.db "SELECT * FROM $each" >packed &&
			ask plain_depth.db "SELECT * FROM $each" >unpacked &&
			cmp packed unpacked && [ -s packed ] || return
	done
}
try an_unpacked_trace_answers_the_same
a_query_may_end_early() {
	local each
	for each in requests queue_depth qps failures; do
		is "$each" "$(ask depth.db "SELECT count(*) FROM (SELECT * FROM $each LIMIT 3)")" \
			$([ $each = qps ] && echo 1 || echo 3) || return
	done
}
try a_query_may_end_early

# A tree like that of a NIC, of which one counter rises while a program waits for events.
counters_are_stored_when_they_rise() {
	local file=tree/rxe0/ports/1/hw_counters/out_of_sequence
	mkdir -p "${file%/*}" && echo 5 >$file || return
	VERBATIM_SOFT_COUNTERS=$PWD/tree "$VERBATIM" record -q -o rise.db -- bash -c "
		ibv_asyncwatch -d verbatim0 & read -rt 1.5 <> <(:); echo 100 >$file
		read -rt 1.5 <> <(:); echo 817 >$file; kill %1" >out 2>&1
	is "$(ask rise.db "SELECT max(value), max(time) > 1000000000, count(*) > 0 FROM
		counter_sample WHERE name = 'out_of_sequence'")" '817|1|1' &&
		"$VERBATIM" check rise.db | tr -s '\n ' ' ' >checked
	says 'out_of_sequence rose by 812 [bf][er][fo][om].* [0-9.]* s (packets' checked &&
		is "$("$VERBATIM" stat --json rise.db |
			jq -c '.device_counters[] | [.device, .counter, .change]')" \
			'["rxe0/1","out_of_sequence",812]' &&
		"$VERBATIM" report -o rise.html rise.db && says '"counters":{"columns"' rise.html
}
try counters_are_stored_when_they_rise

tables_are_in_the_documentation() {
	local each columns page=$root/docs/TRACE-FORMAT.md
	ask depth.db --tables >tables || return
	tr '\n' ' ' <"$page" >format
	for each in requests qps peers calls mrs failures posting queue_depth processes stacks \
		findings; do
		columns=$(ask depth.db "SELECT group_concat(name, ', ') FROM
			pragma_table_xinfo('$each') WHERE hidden <> 1") &&
			grep -qF "\`$each($columns)\`" format ||
			{ echo "$each($columns) is not in $page"; return 1; }
		says "^$each: ." tables || return
	done
}
try tables_are_in_the_documentation
tables_that_an_older_version_did_not_have() {
	local old="$root/tests/conformance/rxe/rc.db"
	is "$(sqlite3 "$old" "SELECT count(*) FROM sqlite_master WHERE name = 'counter'")" 0 &&
		ask --tables "$old" >tables && says '^requests: ' tables &&
		says '^functions:' tables && ! grep '^counters*: ' tables || return
	for each in counter counters counter_sample; do
		ask "$old" "SELECT * FROM $each" 2>err
		is "status" $? 2 && says "no such table: $each: this trace does not have it" err ||
			return
	done
}
try tables_that_an_older_version_did_not_have
each_table_is_explained() {
	ask depth.db "SELECT name FROM sqlite_master WHERE type = 'table'
		AND name NOT LIKE 'sqlite%'" >names
	ask depth.db --tables >tables
	while read -r each; do says "^$each: ." tables || return; done <names
	[ "$(wc -l <names)" -gt 20 ]
}
try each_table_is_explained

queries_come_from_a_file_a_pipe_or_an_argument() {
	printf 'SELECT\n 1;\nSELECT 2' >q.sql
	is "$(ask depth.db --file q.sql | paste -sd' ')" "1 2" &&
		is "$(ask depth.db <q.sql | paste -sd' ')" "1 2" &&
		is "$(ask depth.db 'SELECT 1; SELECT 2' </dev/null | paste -sd' ')" "1 2"
}
try queries_come_from_a_file_a_pipe_or_an_argument
the_first_that_fails_ends_a_pipe() {
	printf 'SELECT 1;\nSELEKT;\nSELECT 2;\n' | ask depth.db >out 2>err
	is "$?" 2 && is "$(cat out)" 1 && says 'near "SELEKT"' err
}
try the_first_that_fails_ends_a_pipe
a_pipe_has_commands() {
	printf '.tables\n.quit\nSELECT 2;\n' | ask depth.db >out && says '^requests: ' out &&
		! grep -q '^2$' out && printf '.nothing\n' | ask depth.db 2>err &&
		says '.help' err
}
try a_pipe_has_commands
two_ways_to_ask_are_one_too_many() {
	ask depth.db --file q.sql 'SELECT 1' 2>err
	is $? 2 && says 'give only one of a query' err
}
try two_ways_to_ask_are_one_too_many
a_missing_file_is_an_error() {
	ask depth.db --file missing.sql 2>err; is $? 4 && says missing.sql err
}
try a_missing_file_is_an_error

at_a_terminal() { # input
	script -qec "stty -echo; '$VERBATIM' sql --color never depth.db" /dev/null <"$1" >screen
}
a_terminal_has_a_prompt_and_a_header() {
	printf 'SELECT 6 * 7\nAS answer;\nSELEKT;\nSELECT 43;\n.quit\n' >typed
	at_a_terminal typed || return
	says 'verbatim> ' screen && says ' answer.$' screen &&
		says '^42' screen && says 'near .SELEKT' screen && says '^43' screen
}
try a_terminal_has_a_prompt_and_a_header

the_tab_key_completes_names() {
	local keys=$'SELECT max(bytes) * 0 + 4711\nFROM requ\t;\n'
	keys+=$'.hel\twr\n.help requests.lat\t\n.quit\n'
	python3 "$root/tests/e2e/lib/on_terminal.py" 100 --keys "$keys" \
		env TERM=xterm "$VERBATIM" sql --color never depth.db >screen
	says '^4711' screen && says '^wr: each work request' screen &&
		says "no table or function 'requests.latency'" screen
}
# each table and function, in a trace that has its tables
each_table_has_an_example_that_runs() {
	local name n=0
	for name in $("$VERBATIM" sql --tables depth.db | sed -n 's/^\([a-z_]*\): .*/\1/p
			s/^\([a-z_]*\)(.*  .*/\1/p' | sort -u); do
		echo ".help $name" | "$VERBATIM" sql depth.db >helped || return
		says "^$name[(:]" helped && says '^  SELECT .*;$' helped || return
		sed -n 's/^  \(SELECT .*\)/\1/p' helped | "$VERBATIM" sql depth.db >out 2>err ||
			{ cat helped err; return 1; }
		n=$((n + 1))
	done
	[ $n -gt 50 ] || { echo "only $n"; return 1; }
	echo '.help no_such' | "$VERBATIM" sql depth.db 2>err
	says "no table or function 'no_such'" err
}
try the_tab_key_completes_names
try each_table_has_an_example_that_runs

the_extension_has_the_views_that_need_no_model() {
	local each query
	for each in calls mrs failures posting; do
		query="SELECT count(*) FROM $each"
		is "$each" "$(sqlite3 depth.db ".load $libs/libverbatim-sqlite" "$query")" \
			"$(ask depth.db "$query")" || return
	done
	is "$(sqlite3 depth.db ".load $libs/libverbatim-sqlite" \
		"SELECT median(duration) > 0, name(1) IS NOT NULL FROM calls LIMIT 1")" "1|1"
}
try the_extension_has_the_views_that_need_no_model


