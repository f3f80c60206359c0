# Sourced after try.sh by tests that record two programs at the same time, each in its own trace: $s
# the server's, $c the client's; their output is in $tmp/server and $tmp/client. The array options
# is of `verbatim record`.
s=$tmp/server.db c=$tmp/client.db

# Recorded at the same time. The client is restarted until the server is ready: until it listens at
# TCP port $meet_at, if that is given.
record() { # server's command -- client's
	local server=() pid turn status=1
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	rm -f "$s" "$c"
	timeout 120 "$VERBATIM" record "${options[@]}" --device soft -o "$s" -- "${server[@]}" \
		>"$tmp/server" 2>&1 &
	pid=$!
	[ -z "${meet_at:-}" ] || until listens $meet_at; do kill -0 $pid && pause || break; done
	no_pause
	for ((turn = 0; status && turn < 200; turn++)); do
		kill -0 $pid 2>/dev/null || break
		timeout 120 "$VERBATIM" record "${options[@]}" --device soft -o "$c" -- "$@" \
			>"$tmp/client" 2>&1
		status=$?
		[ $status -eq 0 ] || read -rt 0.05 <> <(:)
	done
	wait $pid && [ $status -eq 0 ] || { tail -n 3 "$tmp/server" "$tmp/client"; return 1; }
}
