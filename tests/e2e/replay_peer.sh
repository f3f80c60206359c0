#!/usr/bin/env bash
# One side of a connection is replayed: the peer is synthesized, and acts like the other program.
#
# Both sides of each program are recorded, each in its own trace, so that the one shows what the
# other's replay had to infer.
. tests/e2e/lib/try.sh
. tests/e2e/lib/sides.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1

# Everything is driven, nothing differs, and no fault is injected.
replay() { # trace, options
	timeout 120 "$VERBATIM" replay --device soft --faults none --report "$tmp/report.json" \
		"$@" >"$tmp/out" 2>&1 || { head -20 "$tmp/out"; return 1; }
	! grep -e 'not replayed:' "$tmp/out" && says '^no divergence' "$tmp/out"
}

made() { jq "[.made.peers[].$1] | add // 0" "$tmp/report.json"; }
ask() { "$VERBATIM" sql "$@"; }

takes="verb LIKE 'ibv_post_send' OR verb LIKE 'ibv_wr_complete'"
sends="SELECT count(*) FROM wr WHERE ($takes) AND ret = 0 AND (opcode_name LIKE 'IBV_WR_SEND%'
	OR opcode_name = 'IBV_WR_RDMA_WRITE_WITH_IMM')"
receives="SELECT count(*) FROM wc WHERE status = 0 AND opcode >= 128"

# The inferences from $1 match the program of $2: it sent each message, with the same number of
# queue pairs, and each inferred region lies in one that it registered with that key.
is_what_was_done() {
	local start length rkey access
	is receives "$(made receives)" "$(ask "$1" "$sends")" &&
		is messages "$(made messages)" "$(ask "$1" "$receives")" &&
		[ "$(made messages)" -le "$(ask "$2" "$sends")" ] &&
		[ "$(made receives)" -ge "$(ask "$2" "$receives")" ] &&
		is peers "$(jq '.made.peers | length' "$tmp/report.json")" 1 || return
	while read -r start length rkey access; do
		is "region of key $rkey" "$(ask "$2" "SELECT count(*) > 0 FROM object o JOIN call c
			ON c.thread = o.created_thread AND c.n = o.created_n
			WHERE o.kind = 'mr' AND o.rkey = $rkey
			AND json_extract(c.args, '$.addr') <= $start
			AND json_extract(c.args, '$.addr') + json_extract(c.args, '$.length')
				>= $start + $length")" 1 || return
	done < <(jq -r '.made.peers[].ranges[] | "\(.start) \(.length) \(.rkey) \(.access)"' \
		"$tmp/report.json")
}

# The server's or the client's side in turn, with LONG=1 both.
each_side() { # conditions for each: check trace other
	local side
	for side in $(share $turn "server client"); do
		case $side in
		server) replay "$s" && $1 "$s" "$c" || return ;;
		client) replay "$c" && $1 "$c" "$s" || return ;;
		esac
	done
}
turn=client

# each_side, the other one than that before
try_side() { # name, function and its arguments
	[ $turn = server ] && turn=client || turn=server
	try "$@"
}
form() { ! in_turn || try_side "$@"; } # of a program that has several, in its turn

sides() { # program, arguments
	command -v "$1" >/dev/null || { echo "$1 is not installed"; return 1; }
	next_port
	meet_at=$port record "$@" -p $port -- "$@" -p $port localhost && each_side is_what_was_done
}

options=() messages=$(share 100 500)
for each in rc uc ud srq; do
	form "$each pingpong" sides ibv_${each}_pingpong -n $messages
	form "$each pingpong with events" sides ibv_${each}_pingpong -e -n $messages
done
form "xrc pingpong" sides ibv_xsrq_pingpong

for each in send write read atomic; do
	for what in lat bw; do
		form "ib_${each}_$what" sides ib_${each}_$what -F -n $messages \
			--use_old_post_send
	done
done
form "ib_send_lat, extended" sides ib_send_lat -F -n $messages
form "ib_write_bw, extended" sides ib_write_bw -F -n $messages
form "ib_send_lat with events" sides ib_send_lat -F -n $messages --use_old_post_send -e
form "ib_send_bw both ways" sides ib_send_bw -F -n $messages --use_old_post_send -b
form "ib_read_bw both ways" sides ib_read_bw -F -n $messages --use_old_post_send -b
form "ib_send_bw of 4 queue pairs" sides ib_send_bw -F -n $messages --use_old_post_send -q 4
form "ib_send_lat of datagrams" sides ib_send_lat -F -n $messages --use_old_post_send -c UD
form "ib_send_bw, unreliable" sides ib_send_bw -F -n $messages --use_old_post_send -c UC

# librdmacm: its inner verbs are driven
connected() { # server's options -- client's; the program is the same
	local program=$1 server=()
	shift
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	record "$program" "${server[@]}" -- "$program" "$@" && each_side is_what_was_done
}
form "rping" connected rping -s -C 10 -a 127.0.0.1 -- -c -C 10 -a 127.0.0.1
form "ucmatose" connected ucmatose -c 3 -- -s 127.0.0.1 -c 3
form "udaddy" connected udaddy -c 2 -- -s 127.0.0.1 -c 2
form "ib_send_bw -R" connected ib_send_bw -R -F -n $messages --use_old_post_send -- \
	-R -F -n $messages --use_old_post_send 127.0.0.1

ucx() { # transports, test, options
	local UCX_TLS=$1 UCX_NET_DEVICES=verbatim0:1
	export UCX_TLS UCX_NET_DEVICES
	command -v ucx_perftest >/dev/null || return 0
	next_port
	meet_at=$port record ucx_perftest -p $port -n $messages -w 20 -t "${@:2}" -- \
		ucx_perftest -p $port -n $messages -w 20 -t "${@:2}" localhost &&
		each_side is_what_was_done
}
rc=rc_verbs,ud_verbs:aux
for each in tag_lat tag_bw ucp_put_lat ucp_put_bw ucp_get ucp_fadd; do
	form "UCX $each" ucx $rc $each -s 8
done
form "UCX tag_bw 1 MiB" ucx $rc tag_bw -s 1048576 -O 4
form "UCX tag_bw over datagrams" ucx ud_verbs tag_bw -s 8

# each way in which a request may end
${CC:-cc} -o "$tmp/two_ends" tests/replay/two_ends.c -libverbs 2>"$tmp/out" ||
	not_ok "two ends" "cc: $(tail -1 "$tmp/out")"
nothing_more() { :; }
failures() {
	next_port
	record "$tmp/two_ends" $port -- "$tmp/two_ends" $port localhost && each_side nothing_more
}
try_side "failures of each kind" failures
VERBATIM_SOFT_LINK=roce try_side "failures of each kind, RoCE" failures

# an end that is torn down before all that came was polled
${CC:-cc} -o "$tmp/torn_down" tests/replay/torn_down.c -libverbs 2>"$tmp/out" ||
	not_ok "ends that are torn down" "cc: $(tail -1 "$tmp/out")"
torn_down() { # way
	local LONG=1 # each side ends in its own way
	next_port
	record "$tmp/torn_down" $port - "$1" -- "$tmp/torn_down" $port localhost "$1" &&
		each_side nothing_more
}
for each in error "error, shared" "error, datagrams" rest unregistered refused deserted broken \
	told "told of flushes" last "too long" "too long, sends" unreceived "last messages"; do
	try "torn down: $each" torn_down "$each"
done

# recorded bytes are sent, fetched and read again
contents() { # program
	options=(--payload full)
	"$@"
	local status=$?
	options=()
	return $status
}
try "contents of each kind" contents failures
try "contents of a pingpong" contents sides ibv_rc_pingpong -n 100
says 'compared received contents 100 times' "$tmp/out" || not_ok "contents are compared" ""

# the other program is killed: its end is missing from the request on that noticed it
killed_peer() {
	local server
	next_port
	timeout 60 "$VERBATIM" run --device soft -- \
		"$tmp/two_ends" $port - killed >"$tmp/server" 2>&1 &
	server=$!
	await listens $port &&
		timeout 60 "$VERBATIM" record --device soft -o "$c" -- \
			"$tmp/two_ends" $port localhost killed >"$tmp/client" 2>&1 ||
		{ cat "$tmp/server" "$tmp/client"; return 1; }
	wait $server
	is failed "$(ask "$c" "SELECT group_concat(status) FROM wc WHERE status <> 0")" 12,5 &&
		replay "$c" && is receives "$(made receives)" 16
}
try "a killed peer" killed_peer

# The trace $1 without processes $2, as $3: their objects get ids that no row refers to.
without() {
	local table tables
	rm -f "$3"
	"$VERBATIM" unpack -o "$3" "$1" || return
	tables=$(sqlite3 "$3" "SELECT DISTINCT m.name FROM sqlite_master m,
		pragma_table_xinfo(m.name) c WHERE m.type = 'table' AND c.name = 'thread'
		AND m.name NOT IN ('process', 'object', 'chunk', 'payload_chunk')")
	for table in $tables; do
		echo "DELETE FROM $table
			WHERE thread IN (SELECT id FROM thread WHERE process IN ($2));"
	done | sqlite3 "$3" && sqlite3 "$3" "UPDATE object SET number = 0, rkey = 0,
		created_thread = NULL, created_n = NULL, destroyed_thread = NULL,
		destroyed_n = NULL, kind = CASE kind WHEN 'device' THEN kind ELSE 'td' END
		WHERE process IN ($2)"
}

# the trace has some of the four ranks of a job, with peers inside and outside of the trace
some_ranks() { # transports
	local each
	"$VERBATIM" record --device soft -o "$tmp/ranks.db" -- env UCX_TLS=$1 \
		UCX_NET_DEVICES=verbatim0:1 mpirun --allow-run-as-root --oversubscribe -np 4 \
		--mca pml ucx -x UCX_TLS -x UCX_NET_DEVICES "$tmp/ranks" $(share 15 50) \
		>"$tmp/client" 2>&1 ||
		{ tail -n 3 "$tmp/client"; return 1; }
	for each in $(share "1,2 4" "1,2 4 2,3,4"); do
		without "$tmp/ranks.db" $each "$tmp/some.db" && replay "$tmp/some.db" &&
			[ "$(made messages)" -gt 0 ] || { echo "without $each"; return 1; }
	done
	without "$tmp/ranks.db" 9 "$tmp/all.db" && replay "$tmp/all.db" &&
		is "nobody is missing" "$(jq '.made.peers | length' "$tmp/report.json")" 0
}
if command -v mpicc >/dev/null && mpicc -o "$tmp/ranks" tests/e2e/replay/ranks.c 2>"$tmp/out"; then
	try_in_turn "some ranks, RC" some_ranks rc_v,ud_v:aux,self
	try_in_turn "some ranks, UD" some_ranks ud_v,self
else
	skip "some ranks" "no MPI"
fi

exit $failed
