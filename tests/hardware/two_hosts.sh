#!/usr/bin/env bash
# Two machines joined by a wire: each side of a program is recorded on its own host, and replayed
# there against the other one's half, by --listen and --peer; then each half alone, against a
# synthesized peer, on the kernel's device and on the software device.
. tests/hardware/lib/machine.sh

export VERBATIM_REPLAY_KEY=0123456789abcdef0123456789abcdef
PORT=18500

# The server on host 1, and as soon as it listens the client on host 2.
record() { # the text that shows that it listens, then the command of this host
	local shows=$1 recorded status
	shift
	[ "$host" = 1 ] || await_other "listens.$PORT" || return
	timeout 600 "$VERBATIM" record -q -o "$t" -- "$@" >"$tmp/out" 2>&1 & recorded=$!
	if [ "$host" = 1 ]; then
		until $shows || ! kill -0 $recorded 2>/dev/null; do
			read -rt 0.05 <> <(:)
		done
		: >"$wire/listens.$PORT" # or has ended, so that the client fails, too
	fi
	wait $recorded
	status=$?
	[ $status -eq 0 ] || { echo "recording: $status, $(tail -5 "$tmp/out")"; return 1; }
}

record_program() { # program, arguments
	local to=()
	[ "$host" = 1 ] || to=("$peer")
	record 'listens 18515' "$@" "${to[@]}" &&
		is device "$(sql "SELECT group_concat(DISTINCT name) FROM device")" rxe0
}

# By the connection manager: the inner verbs are driven.
listens_by_librdmacm() { rdma resource show cm_id | grep -q LISTEN; }
record_rping() {
	local way=(rping -c)
	[ "$host" = 2 ] || way=(rping -s)
	record listens_by_librdmacm "${way[@]}" -a 192.168.79.1 -C 20
}

# Also the result of the other host: if a half hangs on one host, both notice.
replay_both() {
	local way=(--peer "$peer:$PORT")
	[ "$host" = 2 ] || way=(--listen "192.168.79.1:$PORT")
	timeout 600 "$VERBATIM" replay --device rxe0 "${way[@]}" "$t" >"$tmp/replayed" 2>&1
	is status $? 0 && says '^no divergence' "$tmp/replayed" &&
		! grep 'made [0-9]* peer' "$tmp/replayed" || { head -20 "$tmp/replayed"; return 1; }
}

replay_alone() { # device
	timeout 600 "$VERBATIM" replay --device "$1" "$t" >"$tmp/replayed" 2>&1
	is status $? 0 && says '^no divergence' "$tmp/replayed" &&
		says 'made [0-9]* peer' "$tmp/replayed" || { head -20 "$tmp/replayed"; return 1; }
}

program() { # name, arguments
	local name="$1 on host $host"
	rm -f "$t"
	if [ "$1" = rping ]; then
		try "$name is recorded" record_rping
	else
		try "$name is recorded" record_program "$@"
	fi
	try "$name is replayed with the other host" replay_both
	try "$name is replayed alone on rxe0" replay_alone rxe0
	try "$name is replayed alone on the software device" replay_alone soft
	PORT=$((PORT + 1))
}

each_host() {
	use_device rxe0
	unset VERBATIM_DEVICE
	program ibv_rc_pingpong -n 100 "${ibv[@]}"
	program ibv_ud_pingpong -n 50 -s 1000 "${ibv[@]}"
	program ibv_srq_pingpong -n 50 "${ibv[@]}"
	program ib_send_bw -F -n 100 "${perftest[@]}"
	program ib_write_bw -F -n 100 "${perftest[@]}"
	program ib_read_lat -n 50 "${perftest[@]}"
	program rping
	exit $failed
}

two_hosts each_host each_host
