# Replays of traces that begin in the middle: of a flight recorder, or those after the first of a
# rotation; with LONG=1 each program has both. No wait is in vain: it would last an hour.
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

# A program in its turn, recorded by sides or by run, and replayed as it was cut.
cuts() { # name, how, command...
	local name=$1 how=$2 each
	shift 2
	in_turn || return 0
	"$@"
	for each in $(share $how "flight rotation"); do
		try "$name, $each" ${each}_replays
	done
}
two_threads() { run=("$apps/two_threads" $(share 80000 200000)); }

needs "$VERBATIM" "$apps/two_threads"
messages=$(share 30000 60000)
cuts "two threads" flight two_threads
cuts ibv_rc_pingpong rotation sides ibv_rc_pingpong -n $messages
cuts "ibv_rc_pingpong -e" flight sides ibv_rc_pingpong -n $((messages / 2)) -e
cuts ibv_srq_pingpong flight sides ibv_srq_pingpong -n $messages
cuts ibv_ud_pingpong rotation sides ibv_ud_pingpong -n $((messages * 4 / 3))
cuts ib_send_bw rotation sides ib_send_bw -F -n $((messages * 4))
cuts ib_send_lat flight sides ib_send_lat -F -n $((messages * 4 / 3))
exit $failed
