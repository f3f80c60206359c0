#!/usr/bin/env bash
# Two machines: the server of a connection is killed. The client's trace alone says that nobody
# answered, both machines' traces say who was killed.
# rxe takes a retry_cnt of 7 for endless (its completer), so that librdmacm is asked for 3.
. tests/hardware/lib/machine.sh

write_for_long() { # trace, output, arguments
	local trace=$1 out=$2
	shift 2
	timeout 150 "$VERBATIM" record -q -o "$trace" stdbuf -oL ib_write_bw "${perftest[@]}" -F \
		-D 60 -s 64 -t 4 -R --retry_count 3 -p 19000 "$@" >"$out" 2>&1
}
listens_by_librdmacm() { rdma resource show cm_id | grep -q 'LISTEN.*comm ib_write_bw'; }
server() {
	use_device rxe0
	write_for_long "$wire/s%p.db" "$wire/s.out" & local recorded=$! pid
	await listens_by_librdmacm && : >"$wire/up"
	await [ -e "$wire/go" ]
	pid=$(cd "$wire" && echo s*.db)
	kill -KILL "${pid//[!0-9]/}"
	wait $recorded
	mv "$wire/$pid" "$wire/server.db"
	: >"$wire/ended"
}

the_client_gets_no_answer() {
	write_for_long "$wire/client.db" "$wire/c.out" "$peer" & local client=$!
	await grep -q "remote address" "$wire/c.out" && : >"$wire/go"
	wait $client
	[ $? -ne 0 ] && says "status 12" "$wire/c.out"
}
its_trace_alone_says_that_nobody_answered() {
	"$VERBATIM" check "$wire/client.db" | tr -s ' \n' ' ' >"$tmp/line"
	says "IBV_WC_RETRY_EXC_ERR" "$tmp/line" &&
		says "no answer within 3 retries of [0-9.]* ms; dest_qp_num 0x" "$tmp/line"
}
both_say_who_was_killed() {
	await [ -e "$wire/ended" ] &&
		"$VERBATIM" merge "$wire"/{client,server}.db -o "$tmp/all.db" >"$tmp/out" ||
		return
	"$VERBATIM" check "$tmp/all.db" | tr -s ' \n' ' ' >"$tmp/line"
	says "qp2 -> process 2 (ib_write_bw) qp2.* killed by SIGKILL at .* before" "$tmp/line"
}
client() {
	use_device rxe0
	await [ -e "$wire/up" ]
	try the_client_gets_no_answer
	try its_trace_alone_says_that_nobody_answered
	try both_say_who_was_killed
}
two_hosts server client
