# verbatim dump: its selection and output, against an independent computation.
. tests/e2e/lib/try.sh
needs "$VERBATIM" "$apps/first_error" "$apps/every_verb"
cd "$tmp" || exit 1

dump() { "$VERBATIM" dump "$@"; }
refuses() {
	local want=$1 status
	shift
	dump "$@" >out 2>err
	status=$?
	is status $status 2 && says "$want" err && is output "$(cat out)" ""
}
ids() { awk '{ print ($1 == ">" ? $3 : $2) }'; }

# Two ends and two threads in one trace; eight writes of which the second fails.
"$VERBATIM" record -q -o "$t" -- "$both" ibv_rc_pingpong -n 100 >/dev/null
"$VERBATIM" record -q -o errors.db "$apps/first_error" bad 8
dump "$t" >all
dump errors.db >errors
"$VERBATIM" record -q -o verbs.db "$apps/every_verb" >/dev/null 2>&1

# Line N of all, and of each thread C lines before and after it; threads that begin when all others
# have these are left out.
window() {
	awk -v n=$1 -v c=$2 'function full(t) {
			for (t in seen) if (after[t] < c) return 0
			return 1
		}
		{ split($2, id, ":"); of[NR] = id[1]; line[NR] = $0; before[id[1]] += NR < n }
		END { for (i = 1; i <= NR && (i <= n || !full()); i++) {
			if (i == n) { print line[i]; continue }
			t = of[i]; seen[t] = 1
			if (i < n ? ++b[t] > before[t] - c : ++after[t] <= c) print line[i]
		} }' all
}
around_is_a_window_of_each_thread() { # with the event in line N of all, C lines before and after
	local n=$1 c=$2 id
	id=$(sed -n "$n p" all | ids)
	dump --around "$id" -C "$c" "$t" >out || return
	is "$(sed 's/^..//' out)" "$(window $n $c)" &&
		is "$(sed -n 's/^> //p' out)" "$(sed -n "$n p" all)"
}
around_has_both_ends() {
	local id
	id=$(grep 'IBV_WC_RECV' all | sed -n '50 p' | ids)
	is "$(dump --around "$id" -C 20 "$t" | ids | cut -d: -f1 | sort -u | tr '\n' ' ')" "1 2 "
}
around_with_others_has_the_neighbours_that_they_select() {
	local id n
	id=$(grep ' 1:[0-9]* .*ibv_poll_cq' all | sed -n '40 p' | ids)
	dump --around "$id" -C 5 --thread 2 --verb post_send "$t" >out || return
	is "$(grep -c '^  .* 2:[0-9]* .*ibv_post_send' out)" 10 &&
		is "$(grep '^> ' out | ids)" "$id" &&
		is "$(wc -l <out)" 11 || return
	n=$(grep -n '^> ' out | cut -d: -f1)
	is "line of the event" "$n" 6 &&
		is "$(sed 's/^..//' out | sort -s -n -k1,1)" "$(sed 's/^..//' out)"
}
the_last_lines_are_the_end_of_all() {
	is "$(dump --last 7 "$t")" "$(tail -7 all)" &&
		is "$(dump --last 1000000 "$t")" "$(cat all)" &&
		is "$(dump --last 2 --verb post_send --thread 1 "$t")" \
			"$(grep ' 1:[0-9]* .*ibv_post_send' all | tail -2)"
}
last_of_around_is_the_end_of_its_window() {
	local id
	id=$(sed -n '100 p' all | ids)
	is "$(dump --around "$id" -C 4 --last 6 "$t" | sed 's/^..//')" "$(window 100 4 | tail -6)"
}
a_wr_id_has_its_posts_and_completions() {
	is "$(dump --wr-id 2 "$t" | grep -c ibv_post_send)" \
		"$(sql "SELECT count(*) FROM wr WHERE wr_id = 2")" &&
		is "$(dump --wr-id 0x2 "$t" | grep -c ibv_poll_cq)" \
			"$(sql "SELECT count(*) FROM wc WHERE wr_id = 2")" &&
		is "$(dump --wr-id 0x2 "$t" | grep -c wr_id=0x1)" 0
}
# its batch of ten has wr_ids 10 to 19
others_of_the_same_call_are_only_counted() {
	dump --wr-id 15 --verb wr_complete verbs.db >out
	is "$(wc -l <out)" 1 && says ', \[5 others, {wr_id=0xf, .*}, 4 others\]) = 0' out
}
a_status_has_its_completions_alone() {
	is "$(dump --status error errors.db)" "$(grep REM_ACCESS_ERR errors)" &&
		is "$(dump --status IBV_WC_REM_ACCESS_ERR errors.db)" \
			"$(grep REM_ACCESS_ERR errors)" &&
		is "$(dump --status success "$t" | wc -l)" \
			"$(sql "SELECT count(DISTINCT thread || ':' || n) FROM wc")"
}
a_status_and_a_wr_id_hold_of_one_completion() {
	is "$(dump --status error --wr-id 0x65 errors.db)" "$(grep REM_ACCESS_ERR errors)" &&
		is "$(dump --status error --wr-id 0x66 errors.db)" ""
}
# the first of them stands for all, unless one is selected
runs_of_flushes_stay_one_line() {
	local flush=IBV_WC_WR_FLUSH_ERR id
	is "$(dump --status wr_flush_err errors.db)" "$(grep $flush errors)" &&
		is "$(dump --last 1 --status wr_flush_err errors.db)" "$(grep $flush errors)" &&
		says '}\] and 5 more flushed, the last at' errors || return
	id=$(sed -n 's/.*last at \([0-9:]*\),.*/\1/p' errors)
	dump --around "$id" -C 1 errors.db >out || return
	is "$(wc -l <out)" 3 && says '^  .*and 4 more flushed' out &&
		says "^> .* $id .*$flush" out &&
		is "$(dump --wr-id 0x68 errors.db | grep -c $flush)" 1
}
wrong_selectors_are_refused() {
	refuses "no event 9:9" --around 9:9 "$t" && refuses "is not an event" --around qp1 "$t" &&
		refuses "not both" --around 1:20 "$t" 1:20 &&
		refuses "did you mean 'REM_ACCESS_ERR'" --status REM_ACCES_ERR "$t" &&
		refuses "has an empty status" --status , "$t" && refuses "not 'x'" --wr-id x "$t" &&
		refuses "not '0x'" --wr-id 0x "$t" && refuses "not '-1'" --wr-id -1 "$t" &&
		refuses "last" --last 0 "$t"
}

several_events_are_printed_in_their_order() { # of two threads, the later one first
	local early late
	early=$(grep -m 1 ' 1:[0-9]* .*ibv_post_recv' all | ids)
	late=$(grep ' 2:[0-9]* .*ibv_poll_cq' all | tail -n 1 | ids)
	{ dump "$t" "$early" && echo && dump "$t" "$late"; } >wanted &&
		dump "$t" "$late" "$early" | diff - wanted &&
		is "json" "$(dump --json "$t" "$late" "$early" | jq -r .event | xargs)" \
			"$early $late" || return
	refuses "no event 1:987654" "$t" "$early" 1:987654
	is "many" "$(dump "$t" $(seq -f 1:%.0f 65) 2>&1)" \
		"verbatim: dump: at most 64 events can be given; see 'verbatim help dump'"
}
json_has_what_the_text_has() { python3 "$root/tests/e2e/dump.py" "$VERBATIM" "$1"; }
json_has_payloads() {
	"$VERBATIM" record -q --payload 16 -o paid.db -- "$both" ibv_rc_pingpong -n 5 -s 64 >out &&
		json_has_what_the_text_has paid.db || return
	is "$(dump -f json --payload 8 --wr-id 2 --verb post_send paid.db |
		jq -r '.requests[].payload | [.length, (.bytes | length)] | join(" ")' |
		sort -u)" "64 16" &&
		is "$(dump -f json --payload none paid.db | grep -c payload)" 0
}
json_is_an_object_an_event() {
	is "$(dump -f json errors.db | jq -r .event)" "$(dump --all errors.db | ids)" &&
		is "$(dump -f json --last 3 "$t" | jq -r .event)" "$(tail -3 all | ids)" &&
		is "$(dump -f json --around 2:100 -C 4 "$t" | jq -c 'select(.around).event')" \
			'"2:100"'
}
json_of_one_event_has_its_object_and_stack() {
	local id
	id=$(grep ibv_create_qp all | head -1 | ids)
	dump -f json "$t" "$id" >out &&
		is "$(jq -r '[.life.object, .life.created, .ret] | join(" ")' out)" "qp1 $id qp1" &&
		is "$(jq -r '.stack[]' out)" "$(dump "$t" "$id" | sed -n 's/^  #[0-9]* *//p')"
}
stacks_are_behind_each_line() {
	dump -k errors.db >out &&
		is "$(sed 's/  by .*//' out)" "$(cat errors)" &&
		says 'ibv_destroy_qp(qp1) = 0 <.*>  by main (first_error.c:[0-9]*)$' out &&
		says 'ibv_post_send.*) = 0  by post_writes (first_error.c:[0-9]*) < main (' out
}

names_are_beside_objects() {
	local number lkey rkey post
	read -r number lkey rkey < <(sql "SELECT printf('0x%x 0x%x 0x%x', q.number, m.number,
		m.rkey) FROM object q JOIN object m USING(process) WHERE q.kind = 'qp' AND
		m.kind = 'mr' AND process = 1" | tr '|' ' ')
	dump -y "$t" >out &&
		says "ibv_reg_mr(pd1, .*) = mr1<lkey $lkey, rkey $rkey> <" out &&
		says " 1:.*ibv_modify_qp(qp1<$number>, {qp_state=IBV_QPS_INIT" out &&
		says " 1:.*ibv_post_send(qp1<$number, peer process 2 qp1>, " out &&
		says " 1:.*ibv_poll_cq(cq1) .*(qp1<$number, peer process 2 qp1>)" out || return
	post="jq -r 'select(.verb == \"ibv_post_send\").object_is'"
	is "$(dump -y -f json -p 1 "$t" | eval "$post" | sort -u)" "$number, peer process 2 qp1"
}
# As in reports, queries and trim.
an_object_may_be_named_with_its_process() {
	dump --object qp1 -p 2 "$t" >wanted && dump --object qp1/2 "$t" >got &&
		is "$(cat got)" "$(cat wanted)" && says "ibv_modify_qp(qp1" got &&
		refuses "has no object 'qp1/3'" --object qp1/3 "$t"
}
# every_verb asks for IBV_QP_STATE
nothing_outside_the_mask_of_a_query() {
	dump --verb query_qp verbs.db >out &&
		says 'ibv_query_qp(qp1, {qp_state=IBV_QPS_RTS}, IBV_QP_STATE, {' out &&
		is "$(dump --verb query_qp -f json verbs.db | jq -c .out.attr)" \
			'{"qp_state":"IBV_QPS_RTS"}'
}

on_terminal() { # columns, options of dump; without notes, such as those of waits
	local columns=$1
	shift
	env -u NO_COLOR TERM=xterm python3 "$root/tests/e2e/lib/on_terminal.py" "$columns" \
		bash -c 'exec "$0" dump "$@" 2>notes' "$VERBATIM" "$@" ||
		{ echo "status $?"; cat notes; }
}
plain() { sed 's/\x1b\[[0-9]*m//g'; }

lines_are_cut_to_the_terminal() {
	on_terminal 80 --no-pager "$t" | plain >out
	is "longest" "$(awk '{ if (length > n) n = length } END { print n }' out)" 80 &&
		says '^ .* 1:[0-9]* *ibv_modify_qp(qp1, {qp_state=.*\.\.\.) = 0 <.*>$' out &&
		is "$(awk '{ print $2 }' out)" "$(ids <all)" || return
	on_terminal 80 --no-pager errors.db | plain >out
	says '^ *and 5 more flushed, the last at 1:[0-9]*' out &&
		says '^ *IBV_WC_REM_ACCESS_ERR of 1:[0-9]*$' out
}
full_lines_are_those_of_a_pipe() {
	is "$(on_terminal 80 --no-pager --full -k errors.db | plain)" "$(dump -k errors.db)" &&
		is "$(on_terminal 80 --no-pager -f json errors.db)" "$(dump -f json errors.db)"
}
one_event_is_never_cut() {
	local id
	id=$(grep ibv_create_qp all | head -1 | ids)
	is "$(on_terminal 80 --no-pager "$t" "$id" | plain)" "$(dump "$t" "$id")"
}
colours_are_a_terminals() {
	local red=$'\e\\[31mIBV_WC_REM_ACCESS_ERR'
	is "in a pipe" "$(dump errors.db | grep -c $'\e')" 0 &&
		says "$red" <(on_terminal 200 --no-pager errors.db) &&
		is NO_COLOR "$(NO_COLOR=1 TERM=xterm python3 "$root/tests/e2e/lib/on_terminal.py" \
			200 "$VERBATIM" dump --no-pager errors.db | grep -c $'\e')" 0 &&
		is never "$(on_terminal 200 --no-pager --color never errors.db |
			grep -c $'\e')" 0 || return
	dump --color always errors.db >out
	says "$red" out && is always "$(plain <out)" "$(cat errors)"
}
a_pager_has_what_is_printed() {
	is "$(PAGER="sed s/^/P/" on_terminal 200 --full --color never errors.db)" \
		"$(sed 's/^/P/' errors)"
}
a_pager_that_is_quit_ends_us_quietly() {
	is "$(PAGER='sed -n 1q' on_terminal 80 "$t")" "" || return
	LESS=R python3 "$root/tests/e2e/lib/on_terminal.py" 80 --keys q \
		env TERM=xterm "$VERBATIM" dump "$t" >out || { echo "status $?"; return 1; }
	[ "$(wc -l <out)" -lt 60 ]
}
no_pager_where_it_is_missing() {
	is "$(PAGER=no-such-pager on_terminal 200 --full --color never errors.db)" \
		"$(cat errors)" &&
		is "$(PAGER=cat on_terminal 200 --full --color never errors.db)" "$(cat errors)" &&
		is "$(PAGER="sed s/^/P/" dump errors.db)" "$(cat errors)"
}

try around_is_a_window_of_each_thread 1 0
try around_is_a_window_of_each_thread 3 20
try around_is_a_window_of_each_thread 150 20
try around_is_a_window_of_each_thread "$(($(grep -vc ' -  ' all) - 1))" 7
for each in around_has_both_ends around_with_others_has_the_neighbours_that_they_select \
	    the_last_lines_are_the_end_of_all last_of_around_is_the_end_of_its_window \
	    a_wr_id_has_its_posts_and_completions others_of_the_same_call_are_only_counted \
	    a_status_has_its_completions_alone a_status_and_a_wr_id_hold_of_one_completion \
	    runs_of_flushes_stay_one_line wrong_selectors_are_refused \
	    json_has_payloads json_is_an_object_an_event \
	    json_of_one_event_has_its_object_and_stack stacks_are_behind_each_line \
	    names_are_beside_objects an_object_may_be_named_with_its_process \
	    nothing_outside_the_mask_of_a_query \
	    lines_are_cut_to_the_terminal full_lines_are_those_of_a_pipe \
	    one_event_is_never_cut colours_are_a_terminals a_pager_has_what_is_printed \
	    a_pager_that_is_quit_ends_us_quietly no_pager_where_it_is_missing; do
	try $each
done
try several_events_are_printed_in_their_order
try json_has_what_the_text_has verbs.db
try json_has_what_the_text_has "$t"
try json_has_what_the_text_has errors.db
