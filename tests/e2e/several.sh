# Two traces of a job, one from a machine whose clock is 10 s ahead and 50 ppm fast, read as one by
# the commands that can; the others refuse.
. tests/e2e/lib/try.sh
needs "$apps/far_end"
cd "$tmp" || exit 1

cat >apart <<'END'
#!/bin/bash
last=${!#}
[ "$last" = localhost ] && { t=b.db; export VERBATIM_TEST_CLOCK="10 50"; } || t=a.db
exec "$VERBATIM" record -q -o $t -- "$@"
END
chmod +x apart
"$both" ./apart "$apps/far_end" good >out 2>&1 || { cat out; exit 1; }
sqlite3 b.db "UPDATE meta SET value = 'another' WHERE key = 'recorder_boot'"

refuses() { # exit status, expected text; command
	local status=$1 what=$2
	shift 2
	"$VERBATIM" "$@" >out 2>err
	is "exit $?" "exit $status" && is "lines" "$(grep -vc "its clock is" err)" 1 &&
		says "$what" err
}

the_clock_is_reported_once() {
	"$VERBATIM" dump a.db b.db >out 2>err
	is "$(grep -c "^verbatim: b.db: its clock is 10.* s ahead.*, +- " err)" 1
}
all_events_of_both_are_there() {
	is "$("$VERBATIM" dump a.db b.db 2>/dev/null | wc -l)" \
		"$({ "$VERBATIM" dump a.db; "$VERBATIM" dump b.db; } 2>/dev/null | wc -l)"
}
they_are_in_order() {
	"$VERBATIM" dump a.db b.db -f json 2>/dev/null >out.json
	jq -es 'map(.time_ns) | . == sort' out.json >/dev/null || { echo "not in order"; return 1; }
	is "$(jq -r '.trace' out.json | sort -u | xargs)" "a.db b.db"
}
# Each message: the n-th post of one end is before the n-th receive of the other.
a_message_is_posted_before_it_arrives() {
	jq -es '
		def times(t; k; f): [.[] | select(.trace == t and .kind == k) | . as $e | f |
			$e.time_ns];
		def sends(t): times(t; "post"; select(.verb == "ibv_post_send") |
			.requests[] | select(.opcode == "IBV_WR_SEND"));
		def arrivals(t): times(t; "poll"; .completions[]? |
			select(.opcode == "IBV_WC_RECV"));
		(sends("a.db") | length) == 20 and
		([sends("a.db"), arrivals("b.db")] | transpose | all(.[0] < .[1])) and
		([sends("b.db"), arrivals("a.db")] | transpose | all(.[0] < .[1]))' out.json \
		>/dev/null || { echo "not so in: $(head -c 2000 out.json)"; return 1; }
}
an_event_by_its_name() {
	local id
	id=$("$VERBATIM" sql b.db "SELECT thread || ':' || n FROM call WHERE verb LIKE
		'%create_qp%'")
	"$VERBATIM" dump b.db "$id" | head -1 | sed 's/.*\(ibv_create_qp\)/\1/' >alone
	"$VERBATIM" dump a.db b.db "b.db:$id" 2>/dev/null | head -1 |
		sed 's/.*\(ibv_create_qp\)/\1/' >joint
	is "$(cat joint)" "$(cat alone)" && says "^ibv_create_qp" joint &&
		"$VERBATIM" dump a.db b.db --around "b.db:$id" -C 2 2>/dev/null >out &&
		is "$(grep -c "^> .* b.db:$id " out)" 1 &&
		is "of b" "$(grep -c ' b.db:' out)" 5 && two_of_a_before_and_after
}
# It may have begun, or ended, just then; if it begins later, it has none.
two_of_a_before_and_after() {
	local n=$(grep -c ' a.db:' out) last=$(grep -o 'b.db:[0-9:]*' out | tail -1)
	[ $n -ge 2 ] && [ $n -le 4 ] && return
	[ $n -eq 0 ] && "$VERBATIM" dump a.db b.db 2>/dev/null | sed "/ $last /q" >until &&
		! grep -q ' a.db:' until || { echo "$n of a:"; cat out; return 1; }
}
peers_are_named() {
	"$VERBATIM" dump a.db b.db --verb modify_qp 2>/dev/null >out
	says "dest_qp_num=0x[0-9a-f]*<a.db process 1 qp1>" out &&
		says "dest_qp_num=0x[0-9a-f]*<b.db process 1 qp1>" out
}
what_is_not_clear_is_refused() {
	refuses 2 "name the trace of the event, as in a.db:1:3" dump a.db b.db 1:3 &&
		refuses 2 "the traces have no event c.db:1:3" dump a.db b.db c.db:1:3 &&
		refuses 2 "only one trace: write the event as 1:3" dump b.db b.db:1:3 &&
		refuses 2 "each trace has its own numbers" dump a.db b.db -p 1 &&
		refuses 3 "a.db is given twice" dump a.db a.db
}
# One trace alone and both together give the same results for its end.
query_is_of_one_of_them() {
	"$VERBATIM" query b.db state of qp1 at 1:37 >alone
	"$VERBATIM" query a.db b.db state of qp1 at b.db:1:37 2>/dev/null >joint
	says "^qp1 of b.db process 1" joint &&
		is "$(sed -E 's/b\.db:1:/1:/g; s/b\.db //g; s/ at [0-9.]+ ms/ at T/g' joint)" \
			"$(sed -E 's/ at [0-9.]+ ms/ at T/g' alone)"
}
query_follows_a_message_to_the_other() {
	local id
	id=$("$VERBATIM" sql b.db "SELECT thread || ':' || n FROM wr WHERE opcode = 2 LIMIT 1")
	"$VERBATIM" query a.db b.db path of "b.db:$id" 2>/dev/null >out
	says "post  *b.db:$id .*IBV_WR_SEND" out &&
		says "receive  *a.db:1:.*a.db process 1 qp1, 64 bytes: IBV_WC_SUCCESS" out
}
query_names_the_trace_of_each() {
	"$VERBATIM" query a.db b.db peer of qp1 in b.db process 1 2>/dev/null >out
	says "peer  *qp1 of a.db process 1 (far_end)" out || return
	"$VERBATIM" query a.db b.db registered at end -f json 2>/dev/null >out &&
		jq -e . out >/dev/null
}
query_refuses_what_is_not_clear() {
	refuses 2 "name the trace of the event, as in a.db:1:37" \
		query a.db b.db state of qp1 at 1:37 &&
		refuses 2 "several traces: name the trace of the process, as in 'a.db process 1'" \
			query a.db b.db peer of qp1 in process 1 &&
		refuses 2 "the traces have no b.db process 7" \
			query a.db b.db peer of qp1 in b.db process 7
}
others_take_one() {
	local each
	for each in stat info sql replay; do
		refuses 2 "$each: only one trace can be given: 'b.db' is another" \
			$each a.db b.db || return
	done
}

try the_clock_is_reported_once
try all_events_of_both_are_there
try they_are_in_order
try a_message_is_posted_before_it_arrives
try an_event_by_its_name
try peers_are_named
try what_is_not_clear_is_refused
try query_is_of_one_of_them
try query_follows_a_message_to_the_other
try query_names_the_trace_of_each
try query_refuses_what_is_not_clear
try others_take_one
