# Recording calls of librdmacm: rping, ucmatose, ib_send_bw -R on the software device.
. tests/e2e/lib/try.sh
. tests/e2e/lib/anonymised.sh
calls=$PWD/$BUILD/tests/apps/cm_calls

# server ($1) and client ($2) recorded into one trace; the client is restarted until the server
# listens
record() {
	rm -f "$t"
	"$VERBATIM" record -q --device soft -o "$t" -- bash -c "
		timeout 60 $1 >'$tmp/server' 2>&1 & server=\$!
		until timeout 60 $2 >'$tmp/client' 2>&1; do
			kill -0 \$server 2>/dev/null || exit 1
		done
		wait \$server" || { cat "$tmp/server" "$tmp/client"; return 1; }
}

# nothing unexpected: no findings (except leaks, which these programs have), divergences, loss,
# objects without creation, creations without an object
is_sound() {
	{ "$VERBATIM" check --mute LIFE-004,THREAD-002 "$t" &&
		"$VERBATIM" replay --device soft "$t"; } >"$tmp/out" 2>&1 ||
		{ cat "$tmp/out"; return 1; }
	is "$(sql "select count(*) from object where kind like 'cm%' and created_thread is null")" \
		0 &&
		is "$(sql "select count(*) from call
			where verb = 'rdma_create_id' and not failed and object is null")" 0 &&
		is "$(sql "select count(*) from coverage
			where what in ('cut', 'damaged', 'orphan')")" 0
}

# except rejections: the client may connect before the server listens
events() {
	sql "select group_concat(e, ' ') from
		(select distinct replace(json_extract(out, '$.event.event'), 'RDMA_CM_EVENT_', '') e
		from call where verb = 'rdma_get_cm_event' and failed = 0
		and out not like '%EVENT_REJECTED%' order by 1)"
}

rping_is_recorded() {
	record "rping -s -C 5 -a 127.0.0.1 -p 7471" "rping -c -C 5 -a 127.0.0.1 -p 7471" &&
		is_sound &&
		is "$(events)" \
			"ADDR_RESOLVED CONNECT_REQUEST DISCONNECTED ESTABLISHED ROUTE_RESOLVED" &&
		anonymised_is_same "$t"
}

# rping opens no device: librdmacm does, and leaves it open
contexts_of_librdmacm_are_no_leaks() {
	"$VERBATIM" check "$t" >"$tmp/out"
	! grep 'context[0-9]*, created by ibv_open_device(), still existed' "$tmp/out" &&
		is "$(sql "select count(*) > 0
			from object where kind = 'context' and destroyed_thread is null")" 1
}

addresses_are_text() {
	is "$(sql "select distinct json_extract(args, '$.dst_addr')
		from call where verb = 'rdma_resolve_addr'")" 127.0.0.1:7471 &&
		is "$(sql "select distinct json_extract(args, '$.addr')
			from call where verb = 'rdma_bind_addr' and depth = 0")" 127.0.0.1:7471 &&
		"$VERBATIM" dump "$t" |
		grep -q 'rdma_resolve_addr(cm_id[0-9]*, NULL, 127.0.0.1:7471, '
}

# the identifier of a connection request is the one that is accepted
requests_make_identifiers() {
	is "$(sql "select count(*) from call a join object o on o.id = a.object
		join call g on g.thread = o.created_thread and g.n = o.created_n
		where a.verb = 'rdma_accept' and g.verb = 'rdma_get_cm_event'
		and json_extract(g.out, '$.event.event') = 'RDMA_CM_EVENT_CONNECT_REQUEST'")" 1
}

# rdma_create_qp() creates its queue pair by ibv_create_qp(), which remains the creating verb
verbs_inside_stay_the_programs() {
	is "$(sql "select count(*) >= 2 and count(*) = count(distinct o.process)
		from object o join call c on c.thread = o.created_thread and c.n = o.created_n
		join call w on w.thread = c.thread and w.n < c.n and w.end_n > c.end_n
		and w.verb = 'rdma_create_qp'
		where o.kind = 'qp' and c.verb like 'ibv_create_qp%' and c.depth = 0
		and w.depth = 0")" 1
}

ucmatose_is_recorded() {
	record "ucmatose -p 7472 -c 3" "ucmatose -s 127.0.0.1 -p 7472 -c 3" && is_sound &&
		is "$(sql "select count(*) from call where verb = 'rdma_accept' and failed = 0")" 3
}

bandwidth_test_is_recorded() {
	record "ib_send_bw -R -F -n 100 --use_old_post_send" \
		"ib_send_bw -R -F -n 100 --use_old_post_send 127.0.0.1" && is_sound &&
		is "$(sql "select count(distinct process)
			from call where verb = 'rdma_accept' and failed = 0")" 1
}

datagrams_bring_a_queue_pair() {
	record "udaddy -c 2" "udaddy -s 127.0.0.1 -c 2" && is_sound &&
		is "$(sql "select count(*) > 0 from call where verb = 'rdma_get_cm_event'
			and json_extract(out, '$.event.ud.qp_num') > 0
			and json_extract(out, '$.event.conn') is null")" 1
}

# arguments of rdma_connect and rdma_reject: "hello", "no"
given() { # --payload
	rm -f "$t"
	"$VERBATIM" record -q --payload "$1" --device soft -o "$t" -- "$calls" >"$tmp/recorded" &&
		sql "select json_extract(args, '$.conn_param.private_data')
			from call where verb = 'rdma_connect'" &&
		sql "select json_extract(args, '$.private_data')
			from call where verb = 'rdma_reject'"
}

private_data_is_what_payload_says() {
	is "$(given full)" $'68656c6c6f\n6e6f' &&
		is "$(given 3)" $'{"length":5,"first":"68656c"}\n6e6f' &&
		is "$(given none)" $'{"length":5}\n{"length":2}' && ! grep -aq hello "$t" &&
		is "$(sql "select json_extract(args, '$.conn_param.private_data_len')
			from call where verb = 'rdma_connect'")" 5 &&
		"$VERBATIM" dump "$t" | grep -q 'private_data={length=5}' &&
		is "$(given hash | sed 's/"hash":"[0-9a-f]*"/HASH/')" \
			$'{"length":5,HASH}\n{"length":2,HASH}'
}

# private data of events, too: rping sends its greeting both ways
private_data_of_events_is_as_long_as_it_was() {
	record "rping -s -C 2 -a 127.0.0.1 -p 7471" \
		"rping -c -C 2 -a 127.0.0.1 -p 7471" && is_sound &&
		is "$(sql "select count(*) from call where args like '%private_data\":\"_%'
			or out like '%private_data\":\"_%'")" 0
}

results_and_errno_are_the_same() {
	"$VERBATIM" run --device soft -- "$calls" >"$tmp/plain" && diff "$tmp/plain" "$tmp/recorded"
}

calls_that_fail_are_recorded() {
	is "$(sql "select group_concat(verb, ' ') from (select distinct verb from call
		where failed and depth = 0 and verb like 'rdma%' order by 1)")" \
		"$(awk '$NF ~ /^E/ { print $1 }' "$tmp/plain" |
			sed 's/^/rdma_/; s/rdma_bind$/rdma_bind_addr/' | sort -u | paste -sd' ')"
}

for each in rping_is_recorded contexts_of_librdmacm_are_no_leaks addresses_are_text \
	requests_make_identifiers verbs_inside_stay_the_programs \
	ucmatose_is_recorded bandwidth_test_is_recorded datagrams_bring_a_queue_pair \
	private_data_of_events_is_as_long_as_it_was private_data_is_what_payload_says \
	results_and_errno_are_the_same calls_that_fail_are_recorded; do
	try $each
done
