#!/usr/bin/env bash
# Two hosts, each with the trace of its own half, replay at the same time: --listen and --peer.
#
# Both halves run on this machine, on one fabric of the software device; each is recorded and
# replayed by a separate process.
. tests/e2e/lib/try.sh
. tests/e2e/lib/sides.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1 VERBATIM_REPLAY_KEY=0123456789abcdef0123456789abcdef
unset VERBATIM_THREADS # one on each host, unless a test sets another

# One half, at a free port, which it prints.
listen() { # trace, options
	rm -f "$tmp/listen.err"
	timeout 120 "$VERBATIM" replay --device soft --listen 127.0.0.1:0 "$@" \
		>"$tmp/listen" 2>"$tmp/listen.err" &
	listener=$!
	await grep -q 'waiting for the other replay' "$tmp/listen.err" || return
	at=127.0.0.1:$(sed -n 's/.*waiting for the other replay at .* port //p' "$tmp/listen.err")
}

peer() { # trace, options
	timeout 120 "$VERBATIM" replay --device soft --peer "$at" "$@" \
		>"$tmp/peer" 2>"$tmp/peer.err"
}

# Both halves: the status of the listening one, and of the other.
pair() { # trace, trace, options
	local one=$1 other=$2 status
	shift 2
	listen "$one" "$@" || return
	peer "$other" "$@"
	status=$?
	wait $listener
	statuses="$? $status"
}

# Each is connected to the other, without a divergence.
goes_as_recorded() { # options
	pair "$s" "$c" --faults none "$@"
	is statuses "$statuses" "0 0" && says '^no divergence' "$tmp/listen" &&
		says '^no divergence' "$tmp/peer" &&
		! grep -h 'made [0-9]* peer' "$tmp/listen" "$tmp/peer" ||
		{ head -n 20 "$tmp/listen" "$tmp/peer" "$tmp"/*.err; return 1; }
}

program() { # program, arguments
	next_port
	record "$@" -p $port -- "$@" -p $port localhost && goes_as_recorded
}

connected() {
	program ibv_rc_pingpong -n 200 && says 'qp1 of process 1.* is connected to' "$tmp/peer"
}
each_thread_by_its_own() { goes_as_recorded --threads recorded; }
events() { program ibv_rc_pingpong -n 100 -e; }
unreliable() { program ibv_uc_pingpong -n 200; }
datagrams() { program ibv_ud_pingpong -n 200; }
a_shared_queue() { program ibv_srq_pingpong -n 200; }
bandwidth() { program ib_send_bw -F -n 300; }
writes() { program ib_write_bw -F -q 2 -n 200; }
reads() { program ib_read_bw -F -n 200; }
atomics() { program ib_atomic_bw -F -n 200; }

# Each way in which a request may end. Keys that were refused for what they did not allow are waited
# for, since they might be closed: a quarter of the time-out.
failures() {
	${CC:-cc} -o "$tmp/two_ends" tests/replay/two_ends.c -libverbs && next_port &&
		record "$tmp/two_ends" $port -- "$tmp/two_ends" $port localhost &&
		goes_as_recorded --timeout 2
}

try connected
try each_thread_by_its_own
try events
try unreliable
try datagrams
try a_shared_queue
try bandwidth
try reads
try atomics
try writes
try_in_turn failures

next_port
record ibv_rc_pingpong -n 50 -p $port -- ibv_rc_pingpong -n 50 -p $port localhost ||
	not_ok "recorded" "see above"

# The half with a divergence reports it; the other one says that there is a report.
the_half_that_differs_says_so() {
	"$VERBATIM" unpack -o "$tmp/plain.db" "$c" && sqlite3 "$tmp/plain.db" \
		"UPDATE wc SET byte_len = byte_len - 1 WHERE thread = 1 AND
		n = (SELECT min(n) FROM wc WHERE opcode = 128)" || return
	pair "$s" "$tmp/plain.db"
	is statuses "$statuses" "0 1" && says '^no divergence' "$tmp/listen" &&
		says "the replay on the other host differs" "$tmp/listen" &&
		says '^1 divergence' "$tmp/peer" && says 'wc\[0\].byte_len' "$tmp/peer"
}

# Traces that are not halves of one job are not connected: each is replayed with a synthesized peer,
# and says why.
strangers_are_not_joined() {
	pair "$s" "$s"
	is statuses "$statuses" "1 1" && says "no queue pair of this trace has its peer in" \
		"$tmp/peer" && says 'no queue pair of the other host has this number' "$tmp/peer" &&
		says 'made 1 peer' "$tmp/peer"
}

# Other connections, before and at the same time, do not keep the other replay out: a scan of ports,
# a program that is not a replay, a silent one, and one with another key, which gets an error.
only_the_key_is_let_in() {
	local tcp junk silent
	listen "$s" || return
	tcp=/dev/tcp/${at/://}
	: >"$tcp"
	exec {junk}<>"$tcp" && printf 'GET / HTTP/1.1\r\n\r\n' >&$junk || return
	# an immediate close may reset the connection and discard its data
	await grep -q 'rejected.* is not a replay' "$tmp/listen.err" || return
	for silent in {1..20}; do
		exec {silent}<>"$tcp" || return
	done
	VERBATIM_REPLAY_KEY=another.key.of.the.same.length peer "$c"
	is peer $? 4 && says 'rejected the --key of this host' "$tmp/peer.err" &&
		is lines "$(wc -l <"$tmp/peer.err")" 1 || return
	peer "$c"
	is peer $? 0 && wait $listener && says '^no divergence' "$tmp/listen" || return
	says 'connection from 127.0.0.1 port [0-9]* rejected: the other end is not a replay' \
		"$tmp/listen.err" &&
		says 'the connection before it identified itself' "$tmp/listen.err" &&
		says 'rejected.* does not have the same --key' "$tmp/listen.err" &&
		! grep "$VERBATIM_REPLAY_KEY" "$tmp/listen.err"
}

nobody_there_is_an_error() {
	next_port
	at=127.0.0.1:$port
	peer --peer-wait 1 "$c"
	is peer $? 4 && says 'no other replay listens at 127.0.0.1' "$tmp/peer.err" || return
	listen --peer-wait 1 "$s" || return
	wait $listener
	is listener $? 4 && says 'no other replay has connected' "$tmp/listen.err"
}

# A long-running half that is killed.
a_peer_that_dies_is_noticed() {
	local victim
	VERBATIM_QUIET= listen "$s" --pace x0.001 || return
	"$VERBATIM" replay --device soft --peer "$at" --pace x0.001 "$c" >"$tmp/peer" 2>&1 &
	victim=$!
	await both_connected || return
	# first the replaying one: when the first ends it must end, too, and report it
	kill -KILL $(pgrep -P $victim) $victim
	wait $listener
	is listener $? 4 && says 'the other replay has closed the connection' "$tmp/listen.err"
}
both_connected() { grep -q 'connected to the other replay' "$tmp/listen.err"; }

a_peer_that_is_told_to_end_says_so() {
	local victim
	VERBATIM_QUIET= listen "$s" --pace x0.001 || return
	"$VERBATIM" replay --device soft --peer "$at" --pace x0.001 "$c" >"$tmp/peer" 2>&1 &
	victim=$!
	await both_connected || return
	kill -TERM $victim
	wait $victim
	wait $listener
	is listener $? 4 && says 'the other replay \(has ended\|is gone\)' "$tmp/listen.err"
}

a_machine_that_forbids_it_says_so() {
	printf '[overrides]\ndisabled-version = tls1.3\n' >"$tmp/gnutls"
	listen --peer-wait 1 "$s" || return
	GNUTLS_SYSTEM_PRIORITY_FILE=$tmp/gnutls peer "$c"
	is peer $? 4 && says 'GnuTLS, .* does not support TLS 1.3' "$tmp/peer.err" &&
		is lines "$(wc -l <"$tmp/peer.err")" 1 || return
	wait $listener
	is listener $? 4
}

misused() { # expected message, arguments
	local says=$1
	shift
	"$VERBATIM" replay --device soft "$@" "$s" >"$tmp/out" 2>&1
	is status $? 2 && says "$says" "$tmp/out" && is lines "$(wc -l <"$tmp/out")" 1
}

without_a_key_it_tells_how_to_make_one() {
	(unset VERBATIM_REPLAY_KEY; misused 'both hosts need the same key.*/dev/urandom' --listen 0)
}

a_key_that_others_may_read_is_refused() {
	echo 0123456789abcdef0123456789abcdef >"$tmp/key"
	chmod 644 "$tmp/key"
	misused 'others can read the key' --key "$tmp/key" --listen 0 || return
	chmod 600 "$tmp/key"
	echo short >"$tmp/key"
	misused 'fewer than 16 bytes' --key "$tmp/key" --listen 0
}

a_key_may_be_in_a_file() {
	(umask 077; echo 0123456789abcdef0123456789abcdef >"$tmp/key")
	listen "$s" || return
	(unset VERBATIM_REPLAY_KEY; peer --key "$tmp/key" "$c")
	is peer $? 0 && wait $listener && says '^no divergence' "$tmp/listen"
}

addresses_are_checked() {
	misused "listen takes \[ADDR:\]PORT, not" --listen nowhere &&
		misused "peer takes HOST:PORT, not" --peer 4711 &&
		misused 'give --listen on one host, --peer on the other' --listen 1 --peer h:1 &&
		misused 'replay one whole trace once' --listen 1 --loop 2
}

try the_half_that_differs_says_so
try strangers_are_not_joined
try only_the_key_is_let_in
try nobody_there_is_an_error
try a_peer_that_dies_is_noticed
try a_peer_that_is_told_to_end_says_so
try a_machine_that_forbids_it_says_so
try without_a_key_it_tells_how_to_make_one
try a_key_that_others_may_read_is_refused
try a_key_may_be_in_a_file
try addresses_are_checked
exit $failed
