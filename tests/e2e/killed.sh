# The end of a connection is killed: the report for the other end's trace alone, and for both
# traces.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1
export VERBATIM_SOFT_TIMERS=real

write_for_long() { # trace, output, arguments
	local trace=$1 out=$2
	shift 2
	timeout 60 "$VERBATIM" record -q -o "$trace" stdbuf -oL ib_write_bw -F -D 50 \
		-p $port "$@" >"$out" 2>&1
}
has_connected() { grep -q "remote address" "$1"; }
the_server_is_killed() {
	next_port
	write_for_long 's%p.db' s.out & local server=$!
	await listens $port || return
	write_for_long c.db c.out localhost & local client=$!
	await has_connected s.out && await has_connected c.out || return
	pid=$(echo s*.db)
	kill -KILL "${pid//[!0-9]/}"
	wait $server
	is "exit $?" "exit 137" && mv s[0-9]*.db s.db || return
	wait $client
	[ $? -ne 0 ] && says "status 12" c.out
}
one_end_alone_says_that_nobody_answered() {
	"$VERBATIM" check c.db >out
	tr -s ' \n' ' ' <out >line
	says "IBV_WC_RETRY_EXC_ERR" line &&
		says "no response within 7 retries of 67.1 ms; dest_qp_num 0x[0-9a-f]* matches" line
}
killed='process 2 (ib_write_bw) qp1.* killed by SIGKILL \(at [0-9.]* m\?s, .* earlier\|about\)'
both_say_who_was_killed_and_when() {
	"$VERBATIM" merge c.db s.db -o all.db >out && "$VERBATIM" check all.db >out
	tr -s ' \n' ' ' <out >line
	says "$killed" line && "$VERBATIM" check c.db s.db >out
	tr -s ' \n' ' ' <out >line
	says "s.db process 1 (ib_write_bw) qp1.* killed by SIGKILL" line
}

try the_server_is_killed
try one_end_alone_says_that_nobody_answered
try both_say_who_was_killed_and_when
