# Descendants that outlive the recorded program: how long `verbatim record` waits for them.
. tests/e2e/lib/try.sh
guest=$tmp/guest
cd "$tmp" && cp "$apps/guest" . && mkfifo go later ready || exit 1

stop_all() { kill -KILL $(jobs -p) 2>/dev/null; pkill -KILL -f "$tmp/"; }
tidy() { rm -f "$tmp"/t.db "$tmp"/out "$tmp"/err; }

calls() { "$VERBATIM" sql t.db "SELECT count(*) FROM call WHERE verb='ibv_alloc_pd'"; }
pid_told() { sed -n 's/.*left running, unrecorded (pid \([0-9]*\)).*/\1/p' err; }
now() { local t=$EPOCHREALTIME; echo ${t/./}; }

# Descendants: one that calls no verb, and one that does so before the program ends.
silent="sh -c 'read word <$tmp/go'"
speaks="$guest calls 3 say word read $tmp/go calls 4 >$tmp/ready"
apart="setsid sh -c 'echo word >$tmp/ready; read word <$tmp/go'"
end="read word <$tmp/ready; exit 3"

silent_descendant_is_left_after() { # --linger, at least that many us
	local begin
	begin=$(now)
	timeout 100 "$VERBATIM" record -q --linger $1 -o t.db sh -c "$silent & exit 3" 2>err
	is $? 3 && [ $(($(now) - begin)) -ge $2 ] && says "1 of its descendants is left" err &&
		says "no verb called within --linger" err && kill -0 "$(pid_told)" &&
		is "$(ls sessions)" "" && echo word >go
}

# In the background, in its own process group; $pid.
begin() { # SCRIPT OPTION...
	set -m
	"$VERBATIM" record -o t.db "${@:2}" sh -c "$1" >out 2>err &
	pid=$!
	set +m
}

waits() { await grep -q "1 of its descendants still runs" err; }

silent_descendant_is_waited_for_until_then() {
	begin "$silent & exit 3" --linger 1h; waits && echo word >go || return
	wait $pid; is $? 3 && ! grep -q "left running" err
}

recorded_descendant_is_waited_for() {
	begin "$speaks & $end" --linger 0; waits && echo word >go || return
	wait $pid; is $? 3 && is "$(calls)" 7
}

# A launcher is silent, and may start more.
linger_begins_with_the_end_of_the_last_recorded() {
	local begin
	# not from `go`, whose writer may not have closed it yet
	begin "($speaks; exec sh -c 'read word <$tmp/later') & $end" --linger 1s
	await grep -q "2 of its descendants still run" err || return
	begin=$(now)
	echo word >go
	wait $pid; is $? 3 && [ $(($(now) - begin)) -ge 1000000 ] &&
		says "1 of its desc.* left" err && echo word >later
}

ends_at_once() { # STATUS PID
	wait $pid; is $? $1 && says "1 of its descendants is left" err && kill -0 "$(pid_told)" &&
		echo word >go
}

signal_ends_the_wait_for_a_silent_one() {
	begin "$silent & exit 3" --linger 1h; waits && kill -TERM $pid || return
	ends_at_once 3
}

signal_ends_the_wait_for_one_of_another_group() { # is it recorded?
	local one=$apart
	[ $1 = silent ] || one="setsid $speaks"
	begin "$one & $end" --linger 1h; waits && kill -TERM -- -$pid || return
	ends_at_once 3
}

signal_ends_both() {
	begin "$apart & exec sleep 100" --linger 1h
	read word <ready
	kill -TERM -- -$pid
	ends_at_once 143
}

# It may not have finished its work.
one_that_got_the_signal_is_waited_for() {
	begin "$guest calls 1 until calls 5 say done &
		until grep -q ready out; do sleep 0.01; done; exit 3" --linger 0
	waits && kill -TERM -- -$pid || return
	wait $pid; is $? 3 && says done out
}

needs "$guest" "$VERBATIM"
try silent_descendant_is_left_after 0 0
try silent_descendant_is_left_after 1s 1000000
try silent_descendant_is_waited_for_until_then
try recorded_descendant_is_waited_for
try linger_begins_with_the_end_of_the_last_recorded
try signal_ends_the_wait_for_a_silent_one
try signal_ends_the_wait_for_one_of_another_group silent
try signal_ends_the_wait_for_one_of_another_group recorded
try signal_ends_both
try one_that_got_the_signal_is_waited_for
exit $failed
