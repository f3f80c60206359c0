#!/usr/bin/env bash
# Replayed posts: to full queues, to shorter ones, and by builders.
. tests/e2e/lib/try.sh
needs "$apps/posts"
unset VERBATIM_DEVICE # each command selects its device
export VERBATIM_QUIET=1

record() { timeout 60 "$VERBATIM" record --device soft -o "$t" -- "$@" >"$tmp/log" 2>&1; }

# With this timeout, a wait never ends.
replay() { timeout 60 "$VERBATIM" replay --device soft --timeout 3600 "$@" >"$tmp/out" 2>&1; }

printf 'name small0\nmax_qp_wr 16\nmax_srq_wr 16\n' >"$tmp/small"

# unpacked, with queues of only a quarter of the capacity
with_less_room() { # key
	"$VERBATIM" unpack -o "$tmp/less.db" "$t" &&
		sqlite3 "$tmp/less.db" "UPDATE call SET
			args = replace(args, '\"$1\":64', '\"$1\":16'),
			out = replace(out, '\"$1\":64', '\"$1\":16')"
}

shorter_queues() { # program...
	record "$@" || { cat "$tmp/log"; return 1; }
	VERBATIM_SOFT_PERSONA=$tmp/small replay "$t" || { cat "$tmp/out"; return 1; }
	says ' is 16 in the replay, recorded ' "$tmp/out" &&
		says ' x a queue shorter than the recorded one' "$tmp/out"
}
try "receives wait for room in a shorter queue" shorter_queues "$apps/posts" receives
try "a pingpong in shorter queues" shorter_queues "$both" ibv_rc_pingpong -r 500 -n 300
try "a pingpong in a shorter shared queue" shorter_queues "$both" ibv_srq_pingpong -r 500 -n 300
if command -v ib_send_bw >/dev/null; then
	# it closes its device before one of its queues, which a replay then leaks, too
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
		try "messages without a pause in shorter queues" \
		shorter_queues "$both" ib_send_bw --use_old_post_send -F -n 1000
else
	skip "messages without a pause in shorter queues" "ib_send_bw is not installed"
fi

# All but the last are unsignaled, so none would leave a queue of 16.
writes() {
	record "$apps/posts" writes || { cat "$tmp/log"; return 1; }
	VERBATIM_SOFT_PERSONA=$tmp/small replay "$t" || { cat "$tmp/out"; return 1; }
}
try "writes without a signal in a shorter queue" writes

# Nothing can free entries in the replay: the wait ends at once.
full() { # verb, key, mode
	record "$apps/posts" "$3" || { cat "$tmp/log"; return 1; }
	with_less_room "$2" || return
	replay "$tmp/less.db"
	is "exit status" $? 1 && says "$1: ret: recorded 0, replayed ENOMEM" "$tmp/out"
}
try "a full receive queue" full ibv_post_recv max_recv_wr receives
try "a full send queue" full ibv_post_send max_send_wr writes

# Refused requests do not count as sent: a divergence names the post of the message that arrived.
refused_part() {
	local posts
	timeout 60 "$VERBATIM" record --payload=full --device soft -o "$t" -- "$apps/posts" \
		refused >"$tmp/log" 2>&1 || { cat "$tmp/log"; return 1; }
	replay "$t" && says 'compared received contents 4 times' "$tmp/out" &&
		"$VERBATIM" unpack -o "$tmp/altered.db" "$t" || { cat "$tmp/out"; return 1; }
	sqlite3 "$tmp/altered.db" "UPDATE payload SET bytes =
		CAST(x'ee' || substr(bytes, 2) AS BLOB) WHERE kind = 'recv'"
	replay "$tmp/altered.db"
	is "exit status" $? 1 || { cat "$tmp/out"; return 1; }
	posts=$("$VERBATIM" sql "$t" "SELECT 'sent by ' || p.thread || ':' || p.n FROM post p
		JOIN wr w ON w.thread = p.thread AND w.n = p.n
		WHERE p.verb = 'ibv_post_send' AND (p.ret = 0 OR w.i = 0) ORDER BY p.n")
	[ "$(wc -l <<<"$posts")" = 4 ] && is "$(grep -o 'sent by [0-9:]*' "$tmp/out")" "$posts"
}
try "a list of which a part is refused" refused_part

builders() {
	record "$apps/posts" built || { cat "$tmp/log"; return 1; }
	replay "$t" || { cat "$tmp/out"; return 1; }
	! grep 'not replayed' "$tmp/out"
}
try builders

# A header of rdma-core 44 has no ibv_wr_flush(): an application of a newer one.
flushes() { # option
	local sent="SELECT rkey = (SELECT rkey FROM object WHERE kind = 'mr'), flush_length,
		flush_type, flush_level FROM wr WHERE opcode = 14"
	record "$apps/flush" || { cat "$tmp/log"; return 1; }
	is flush "$("$VERBATIM" sql "$t" "$sent")" "1|64|1|0" &&
		"$VERBATIM" check "$t" >"$tmp/out" || { cat "$tmp/out"; return 1; }
	replay "$@" "$t" || { cat "$tmp/out"; return 1; }
	! grep 'not replayed' "$tmp/out"
}
try "a flush" flushes
try "a flush of another process" flushes --processes

# The arguments passed to the device, from a recording of the replay.
seen() { # query, program...
	local query=$1 there here
	shift
	record "$@" && cp "$t" "$tmp/there.db" || { cat "$tmp/log"; return 1; }
	there=$("$VERBATIM" sql "$tmp/there.db" "$query")
	record "$VERBATIM" replay --device soft "$tmp/there.db" || { cat "$tmp/log"; return 1; }
	here=$("$VERBATIM" sql "$t" "$query")
	[ -n "$there" ] && is "$here" "$there"
}
wr_ids="SELECT wr_id, opcode, count(*) FROM wr GROUP BY 1, 2 ORDER BY 1, 2"
batches="SELECT p.verb, p.ret, group_concat(w.wr_id), group_concat(w.num_sge) FROM post p
	JOIN wr w ON w.thread = p.thread AND w.n = p.n GROUP BY p.n ORDER BY p.n"
try "requests have their recorded wr_ids" seen "$wr_ids" "$both" ibv_rc_pingpong -n 100
# ib_send_bw advances in its buffer from message to message
places="SELECT w.opcode, s.addr - (SELECT min(o.addr) FROM sge o
		JOIN wr v ON v.thread = o.thread AND v.n = o.n WHERE v.opcode = w.opcode), s.length,
		count(*)
	FROM wr w JOIN sge s ON s.thread = w.thread AND s.n = w.n GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
if command -v ib_send_bw >/dev/null; then
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 \
		try "buffers are where they were" \
		seen "$places" "$both" ib_send_bw --use_old_post_send -F -s 64 -n 300
else
	skip "buffers are where they were" "ib_send_bw is not installed"
fi
try "batches are built as they were" seen "$batches" "$apps/posts" built
exit $failed
