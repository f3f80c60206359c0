# Replays of traces that begin in the middle: of a flight recorder, and those after the first of a
# rotation. No wait is in vain: it would last an hour.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

tidy() { rm -f "$tmp"/*.db "$tmp"/out "$tmp"/err; }

# A program of two sides, both in one trace.
sides() { # PROGRAM OPTION...
	next_port
	cat >program <<-X
		$1 -p $port ${*:2} >server &
		server=\$!
		. '$root/tests/e2e/lib/listens.sh'
		until listens $port; do kill -0 \$server && pause || exit 1; done
		no_pause
		$1 -p $port ${*:2} localhost >client && wait \$server
	X
	run=(bash program)
}

replays() { # TRACE
	timeout 200 "$VERBATIM" replay --timeout 1h $1 >out 2>&1; is "$1 $?" "$1 0" &&
		says "^no divergence" out || { grep -v "so far" out; return 1; }
}

# It begins at the cut, and has more after it.
is_cut() { # TRACE
	is "$("$VERBATIM" sql $1 "SELECT sum(time <= value) < 20000, sum(time > value) > 0
		FROM wr, meta WHERE key = 'cut'" 2>/dev/null)" "1|1"
}

flight_replays() {
	"$VERBATIM" record --flight 512k -o t.db "${run[@]}" 2>err; is $? 0 && is_cut t.db &&
		replays t.db
}

# On a slow machine there are many: replay the first ones and the last. LONG=1 replays more of them.
rotation_replays() {
	local t
	"$VERBATIM" record -q --rotate-time 30ms -o t.db "${run[@]}" 2>err; is $? 0 || return
	[ -e t.2.db ] || { echo "only $(ls ./*.db)"; return 1; }
	for t in t.[1-$(share 2 8)].db t.db; do
		[ ! -e $t ] || replays $t || return
	done
}

both() { # NAME
	try "$1, flight" flight_replays
	try "$1, rotation" rotation_replays
}

needs "$VERBATIM" "$apps/two_threads"
messages=$(share 30000 60000)
run=("$apps/two_threads" $(share 80000 200000)); both "two threads"
sides ibv_rc_pingpong -n $messages; both ibv_rc_pingpong
sides ibv_rc_pingpong -n $((messages / 2)) -e; both "ibv_rc_pingpong -e"
sides ibv_srq_pingpong -n $messages; both ibv_srq_pingpong
sides ibv_ud_pingpong -n $((messages * 4 / 3)); both ibv_ud_pingpong
sides ib_send_bw -F -n $((messages * 4)); both ib_send_bw
sides ib_send_lat -F -n $((messages * 4 / 3)); both ib_send_lat
exit $failed
