#!/usr/bin/env bash
# Two machines: the receiver of a connection is killed. The sender's trace alone says that there was
# no response, both machines' traces name the killed process. rxe treats a retry_cnt of 7 as endless
# (its completer), so the program sets 2.
. tests/hardware/lib/machine.sh
PORT=19000

record_end() { # trace, output, the other's address
	"$VERBATIM" record -q -o "$1" "$apps/far_end" unanswered -p $PORT ${3:+"$3"} >"$2" 2>&1
}
receiver() {
	use_device rxe0
	record_end "$wire/receiver.db" "$wire/r.out" & local recorded=$!
	await listens $PORT && : >"$wire/up"
	wait $recorded
	echo $? >"$wire/status.new"
	mv "$wire/status.new" "$wire/status"
}

the_sender_gets_no_answer() {
	await_other up || return
	record_end "$wire/sender.db" "$wire/s.out" "$peer"
	is status $? 0 || { cat "$wire/s.out"; return 1; }
}
the_receiver_was_killed() {
	await_other status && is status "$(cat "$wire/status")" 137
}
one_trace_alone_says_that_nobody_answered() {
	"$VERBATIM" check "$wire/sender.db" | tr -s ' \n' ' ' >"$tmp/line"
	says "IBV_WC_RETRY_EXC_ERR" "$tmp/line" &&
		says "no response within 2 retries of [0-9.]* ms; dest_qp_num 0x" "$tmp/line"
}
both_say_who_was_killed() {
	"$VERBATIM" merge "$wire"/{sender,receiver}.db -o "$tmp/all.db" >"$tmp/out" || return
	"$VERBATIM" check "$tmp/all.db" | tr -s ' \n' ' ' >"$tmp/line"
	says "qp1 -> process 2 (far_end) qp1.* killed by SIGKILL at .* before" "$tmp/line"
}
sender() {
	use_device rxe0
	try the_sender_gets_no_answer
	try the_receiver_was_killed
	try one_trace_alone_says_that_nobody_answered
	try both_say_who_was_killed
}
two_hosts receiver sender
