# verbatim query: its answers, against an independent computation.
. tests/e2e/lib/try.sh

query() { "$VERBATIM" query "$t" "$@" || { echo "status $?"; return 1; }; }
json() {
	local out
	out=$("$VERBATIM" query --format json "$t" "$@" | jq -re "${filter:?}") &&
		[ -n "$out" ] && echo "$out"
}
refuses() {
	local want=$1 status
	shift
	"$VERBATIM" query "$t" "$@" >out 2>err
	status=$?
	is status $status 2 && says "$want" err && is output "$(cat out)" ""
}

cd "$tmp" || exit 1
"$VERBATIM" record -q -o "$t" -- "$both" ib_write_bw -F -n 500 -Q 10 >/dev/null
writes=$t
t=$tmp/pingpong.db
"$VERBATIM" record -q -o "$t" -- "$both" ibv_rc_pingpong -n 300 >/dev/null
pingpong=$t
windows=$tmp/windows.db
"$VERBATIM" record -q -o "$windows" -- "$apps/windows" >windows.out

# The thread of ib_write_bw that posts.
find_client() { sql "SELECT max(thread) FROM wr WHERE opcode >= 0"; }

# For ib_write_bw's client: writes posted up to the event, minus those retired by a completion
# polled up to it, which retires all earlier ones.
outstanding_is_what_was_posted_less_what_was_retired() {
	t=$writes
	local client at filter='.answers[0].outstanding | length'
	client=$(find_client)
	for at in 60 90 150 400; do
		at=$(sql "SELECT n FROM wr WHERE thread = $client ORDER BY n LIMIT 1 OFFSET $at")
		is "at $client:$at" "$(json --most 0 "outstanding on qp1 at $client:$at")" \
			"$(sql "SELECT count(*) FROM wr WHERE thread = $client AND n <= $at AND
				n > (SELECT coalesce(max(wr_n), 0) FROM wc
					WHERE thread = $client AND n <= $at)")" || return 1
	done
}
the_cq_has_what_the_queue_has() {
	t=$writes
	local filter='[.answers[0].outstanding[].request] | join(" ")' client
	client=$(find_client)
	at=$client:$(sql "SELECT n FROM wr WHERE thread = $client ORDER BY n LIMIT 1 OFFSET 100")
	is "$(json --most 0 outstanding on cq1 at "$at")" \
		"$(json --most 0 outstanding on qp1 at "$at")"
}
# A provider's function gave the program the hardware's queues.
what_bypasses_the_verbs_is_not_taken_as_done() {
	"$VERBATIM" unpack -o round.db "$writes" && sqlite3 round.db "INSERT INTO coverage
		(process, what, times, detail) VALUES (1, 'direct', 1, 'efadv_query_cq')" || return
	t=round.db
	query outstanding on qp1 >out 2>/dev/null &&
		says "^NOT CERTAIN: posts or polls bypass the verbs" out
}
an_unsignalled_request_is_retired_by_a_later_one() {
	t=$writes
	local id at filter
	for at in 40 150 250 400; do
		id=$(sql "SELECT thread || ':' || n FROM wr w WHERE NOT EXISTS (SELECT 1 FROM wc
			WHERE wr_thread = w.thread AND wr_n = w.n) ORDER BY n LIMIT 1 OFFSET $at")
		filter='[.answers[0].path[].step] | join(" ")'
		is "steps of $id" "$(json path of "$id")" "post memory remote retired" ||
			return 1
		filter='.answers[0].path[3] | .event + (.what | match("\\[[0-9]+\\]").string)'
		is "end of $id" "$(json path of "$id")" "$(sql "
			SELECT thread || ':' || n || '[' || i || ']' FROM wc
			WHERE wr_thread = ${id%:*} AND wr_n > ${id#*:} ORDER BY wr_n LIMIT 1")" ||
			return 1
	done
}
# Its messages are in order: the n-th send meets the n-th completion of a receive.
a_send_meets_the_receive_of_the_other_end() {
	t=$pingpong
	local i send receive filter='.answers[0].path[] | select(.step == "receive").event'
	for i in 0 1 150 299; do
		send=$(sql "SELECT thread || ':' || n FROM wr WHERE process = 2 AND opcode >= 0
			ORDER BY n LIMIT 1 OFFSET $i")
		receive=$(sql "SELECT thread || ':' || n FROM wc WHERE process = 1 AND opcode >= 128
			ORDER BY n LIMIT 1 OFFSET $i")
		is "message $i" "$(json "path of $send")" "$receive" || return 1
	done
}
a_completion_leads_to_its_request() {
	t=$pingpong
	local wc filter='.answers[0].path[0].event'
	wc=$(sql "SELECT thread || ':' || n || '[' || i || ']' FROM wc
		ORDER BY thread, n, i LIMIT 1 OFFSET 77")
	is "$(json "path of $wc")" \
		"$(sql "SELECT wr_thread || ':' || wr_n FROM wc
			ORDER BY thread, n, i LIMIT 1 OFFSET 77")"
}
a_wr_id_of_many_is_a_choice() {
	t=$pingpong
	local filter='.answers[0].requests | length'
	is "$(json --most 0 "path of wr_id 2")" \
		"$(sql "SELECT count(*) FROM wr WHERE wr_id = 2")" &&
		query --most 3 "path of wr_id 2" >out && says "^597 more" out &&
		says "several requests" out
}
# From the calls: the state is that of the last modify before the event.
states_follow_the_modifies() {
	t=$pingpong
	local at want filter='.answers[0].state[] | select(.property == "state").value |
		split(" ")[0]'
	while IFS='|' read -r at want; do
		is "after $at" "$(json state of qp1 at "$at")" "$want" || return 1
	done < <(sql "SELECT thread || ':' || n, substr(json_extract(args, '\$.attr.qp_state'), 9)
		FROM call WHERE verb = 'ibv_modify_qp'" | tr '\t' '|')
	is "queues seen" "$(sql "SELECT count(*) FROM call WHERE verb = 'ibv_modify_qp'")" 6
}
peers_know_each_other() {
	t=$pingpong
	local filter='.answers[0].peer[0].value'
	says "^qp1 of process 2 " <(json peer of qp1 in process 1) &&
		says "^qp1 of process 1 " <(json peer of qp1 in process 2) || return
	# as the heading and other commands print them
	query peer of qp1 in process 1 >out && is "number" \
		"$(sed -n 's/^  peer .*qp_num \(0x[0-9a-f]*\)$/\1/p' out)" \
		"$(sed -n 's/^  dest_qp_num  *\([^ ]*\) .*/\1/p' out)" &&
		is "MTU" "$(sed -n 's/^  path_mtu  *\([0-9]*\) .*/\1/p' out)" \
			"$(sql "SELECT path_mtu FROM qps WHERE name = 'qp1' AND process = 1")"
}
# One end is connected to the other before the reverse.
a_peer_that_is_not_set_yet_is_named() {
	local rtr="verb = 'ibv_modify_qp' AND json_extract(args, '\$.attr.qp_state') =
		'IBV_QPS_RTR'" first second made
	first=$("$VERBATIM" sql "$pingpong" "SELECT thread || ':' || n FROM call WHERE $rtr
		ORDER BY begin LIMIT 1")
	second=$("$VERBATIM" sql "$pingpong" "SELECT process || ' ' || thread || ':' || n FROM call
		WHERE $rtr ORDER BY begin DESC LIMIT 1")
	t=$pingpong
	made=$(sql "SELECT thread || ':' || n FROM call WHERE verb GLOB 'ibv_create_qp*' AND
		process = ${second% *} LIMIT 1")
	query peer of qp1 in process ${second% *} at $made >out &&
		says "unknown: the trace has no modify to RTR of this queue pair" out &&
		query peer of qp1 in process $((3 - ${second% *})) at $first >out &&
		says "^qp1 of process ${second% *} has this number, but is not connected yet" out
}
a_key_is_known_while_it_lives() {
	t=$pingpong
	local key made gone filter='[.answers[0] | .registered, .deregistered_before | length] |
		join(" ")'
	read -r key made gone < <(sql "SELECT number, created_at, destroyed_at FROM object
		WHERE kind = 'mr' AND process = 1" | tr '|' ' ')
	is before "$(json covers key $key in process 1 at $((made - 1))ns)" "0 0" &&
		is meanwhile "$(json covers key $key in process 1 at $((gone - 1))ns)" "1 0" &&
		is after "$(json covers key $key in process 1 at $((gone + 10000000))ns)" "0 1"
}
an_address_is_covered_as_far_as_the_region_goes() {
	t=$pingpong
	local addr at filter='.answers[0].registered | length'
	read -r addr at < <(sql "SELECT CAST(args ->> 'addr' AS TEXT), end FROM call
		WHERE verb GLOB 'ibv_reg_mr*' AND depth = 0 LIMIT 1" | tr '|' ' ')
	is first "$(json covers $addr at ${at}ns)" 1 &&
		is last "$(json covers $((addr + 4095)) at ${at}ns)" 1 &&
		is behind "$(json covers $((addr + 4096)) at ${at}ns)" 0 &&
		is across "$(json covers $((addr + 4000))+97 at ${at}ns)" 0 &&
		is all "$(json covers $addr+4096 at ${at}ns)" 1
}
# key, event, result: "bound", or the event that ended it
is_window() {
	local want=$3 filter='.answers[0] | if .registered | length > 0 then "bound" else
		.invalidated_or_not_bound[0].gone // "nothing" | split(" ")[0] end'
	is "$1 at $2" "$(json covers key "$1" at "$2")" "$want"
}
event_of() { sql "SELECT thread || ':' || n FROM $1 ORDER BY n LIMIT 1 OFFSET ${2:-0}"; }
a_window_covers_until_it_is_invalidated_or_bound_again() {
	local keys binds local_inv send_inv again at filter
	t=$windows
	mapfile -t keys <windows.out
	local_inv=$(event_of "wr WHERE opcode_name = 'IBV_WR_LOCAL_INV'")
	send_inv=$(event_of "wr WHERE opcode_name = 'IBV_WR_SEND_WITH_INV'")
	again=$(event_of "call WHERE verb = 'ibv_bind_mw'" 1)
	mapfile -t binds < <(sql "SELECT thread || ':' || n FROM wr
		WHERE opcode_name = 'IBV_WR_BIND_MW' ORDER BY n")
	is binds "${#keys[@]} ${#binds[@]}" "5 3" || return
	is_window ${keys[0]} ${binds[0]} bound &&
		is_window ${keys[0]} "$(event_of "wc WHERE wr_n = ${local_inv#*:}")" \
			$local_inv &&
		is_window ${keys[0]} ${binds[1]} $local_inv &&
		is_window ${keys[1]} ${binds[1]} bound &&
		is_window ${keys[1]} ${binds[2]} $send_inv &&
		is_window ${keys[3]} $again $again && is_window ${keys[4]} $again bound || return
	# a flushed request has invalidated nothing
	at=$(event_of "wc WHERE status <> 0")
	is_window ${keys[2]} $at bound &&
		says "bound" <(query state of mw1 at $at) || return
	filter='.answers[0].registered | map(.region | split(" ")[0]) | join(" ")'
	local addr=$(sql "SELECT bind_addr FROM wr WHERE bind_addr IS NOT NULL LIMIT 1")
	is within "$(json covers $((addr + 255)) at $at)" "mw2 mw1 mr2 mr1" &&
		is behind "$(json covers $((addr + 256)) at $at)" "mr2 mr1" &&
		is "nothing, at the end" "$(json covers $((addr + 256))+0 at $at)" "mw2 mw1 mr2 mr1"
}
what_is_gone_is_shown_as_it_was_last() {
	t=$pingpong
	query state of qp1 in process 1 >out && says "its last state before 1:" out &&
		says "RTS since" out &&
		query state of qp1 in process 1 at end >out && says "destroyed before; " out &&
		query state of qp1 in process 1 at 1ns >out &&
		says "did not exist yet: created by 1:" out
}
# Its members are those that it was created with.
an_address_handle_has_its_attributes() {
	local filter='.answers[0].state | map(select(.property |
		IN("port_num", "dlid", "sl", "is_global", "dgid", "sgid_index"))) |
		map(.property + "=" + .value) | join(" ")' at
	t=$tmp/datagrams.db
	VERBATIM_SOFT_LINK=roce "$VERBATIM" record -q -o "$t" -- \
		"$both" ibv_ud_pingpong -n 10 -g 3 >/dev/null &&
		at=$(sql "SELECT thread || ':' || n FROM call
			WHERE verb = 'ibv_create_ah' AND process = 1") &&
		is "on RoCE" "$(json state of ah1 in process 1 at "$at")" \
			"port_num=1 dlid=0x0 sl=0 is_global=1 dgid=::ffff:127.0.0.1 sgid_index=3" &&
		says "did not exist yet" <(query state of ah1 in process 1 at 1ns)
}
# Soft-RoCE's datagram had an IPv4 header.
an_address_handle_of_a_completion_leads_back() {
	t=$root/tests/conformance/rxe/udaddy.db
	query state of ah1 in process 1 >out && says "dgid  *::ffff:192.168.77.1" out &&
		says "sgid_index  *of the GID that the datagram was sent to" out
}
# Bad values for an MTU, from a damaged trace or a program.
an_mtu_that_is_none_is_called_so() {
	local filter='.answers[0].state[] | select(.property == "path_mtu").value'
	cp "$pingpong" altered.db
	sqlite3 altered.db "UPDATE call SET args = json_set(args, '\$.attr.path_mtu', 40)
		WHERE args -> '\$.attr.path_mtu' IS NOT NULL"
	t=$tmp/altered.db
	is mtu "$(json state of qp1 in process 1 at 1s)" "40, which does not exist" &&
		is qps "$(sql "SELECT count(path_mtu) FROM qps")" 0
}
# What the other end of a refused request checked, by the reasons for which it can refuse.
checks_of() {
	local filter='.answers[0].path[] | select(.step == "checks") | .what'
	t=$root/tests/conformance/soft/$1.db
	says "$3" <(json path of "$2")
}
a_refused_request_has_the_checks_of_its_peer() {
	checks_of two_ends 2:90 "same domain: yes; in range: no, it has 65536 bytes at 0x" &&
		checks_of two_ends 2:112 "in range: yes; access: no, it lacks REMOTE_READ" &&
		checks_of two_ends 2:150 "alive: no, process 1 has no rkey 0x29003" &&
		checks_of two_ends 2:172 "alive: no, 1:144 ibv_dereg_mr() at" &&
		checks_of windows_refused 1:45 "alive: no, it is not bound; same domain: yes" &&
		checks_of two_ends 2:353 "alive: no, it was invalidated; same domain: yes" &&
		checks_of errors 1:1310 "access of the queue pair: yes" || return
	t=$root/tests/conformance/soft/two_ends.db
	says "remote *1:68 .* 64 bytes at process 1 mr3+0xfff8, rkey 0x10003" \
		<(query path of 2:90)
}
wrong_questions_are_refused() {
	refuses "no question given" && refuses "unknown question" hello &&
		refuses "no object 'qp9'" state of qp9 &&
		refuses "no event 9:9" state of qp1 at 9:9 &&
		refuses "no event 1:9999999" path of 1:9999999 &&
		refuses "no request has wr_id" path of wr_id 0xdead &&
		refuses "no object 'qp1/7' (did you mean 'qp1/1'?)" state of qp1 in process 7
}

for each in outstanding_is_what_was_posted_less_what_was_retired the_cq_has_what_the_queue_has \
	    what_bypasses_the_verbs_is_not_taken_as_done \
	    an_unsignalled_request_is_retired_by_a_later_one \
	    a_send_meets_the_receive_of_the_other_end a_completion_leads_to_its_request \
	    a_wr_id_of_many_is_a_choice states_follow_the_modifies peers_know_each_other \
	    a_peer_that_is_not_set_yet_is_named a_key_is_known_while_it_lives \
	    a_window_covers_until_it_is_invalidated_or_bound_again \
	    an_address_is_covered_as_far_as_the_region_goes \
	    an_address_handle_has_its_attributes an_address_handle_of_a_completion_leads_back \
	    what_is_gone_is_shown_as_it_was_last an_mtu_that_is_none_is_called_so \
	    a_refused_request_has_the_checks_of_its_peer wrong_questions_are_refused; do
	try $each
done
