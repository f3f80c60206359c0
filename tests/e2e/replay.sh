#!/usr/bin/env bash
# Record whole programs and replay the traces: without a divergence if unaltered, with one at the
# right event if altered.
#
# As root it has its own /dev/shm, to see what replays leave there.
if [ -z "${SHM_ALONE:-}" ] && unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	SHM_ALONE=1 TMPDIR=/dev/shm exec unshare -m bash -c \
		'mount -t tmpfs none /dev/shm && exec bash "$0" "$@"' "$0" "$@"
fi
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command selects its device
export VERBATIM_QUIET=1

# record NAME PROGRAM...: its two ends
record() {
	local name=$1
	shift
	timeout 120 "$VERBATIM" record --device soft -o "$tmp/$name.db" -- "$both" \
		"$@" >"$tmp/$name.log" 2>&1
}

# replay FILE: report in $tmp/out
replay() { timeout 120 "$VERBATIM" replay "$@" --report "$tmp/report.json" >"$tmp/out" 2>&1; }

# the same traffic recurs
same() {
	local name=$1 status
	shift
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1 is not installed"
		return
	fi
	if ! record "$name" "$@"; then
		if grep -qi "couldn't create\|not supported" "$tmp/$name.log"; then
			skip "$name" "the software device does not carry it yet"
			return
		fi
		not_ok "$name" "recording: $(tail -1 "$tmp/$name.log")"
		return
	fi
	replay --device soft "$tmp/$name.db"
	status=$?
	if [ $status -ne 0 ]; then
		not_ok "$name" \
			"exit status $status: $(grep -m1 -A1 diverg "$tmp/out" | tr '\n' ' ')"
	elif grep -q 'not replayed' "$tmp/out"; then
		not_ok "$name" "$(grep -A1 'not replayed' "$tmp/out" | tr '\n' ' ')"
	else
		ok "$name"
	fi
}

perf() { ! in_turn || same "$1" "$1" --use_old_post_send -F "${@:2}"; }

same rc_pingpong ibv_rc_pingpong
same rc_pingpong_events ibv_rc_pingpong -e
! in_turn || same rc_pingpong_many ibv_rc_pingpong -n 20000
same rc_pingpong_long ibv_rc_pingpong -s 65536
same rc_pingpong_mtu ibv_rc_pingpong -m 1024
same rc_pingpong_timestamps ibv_rc_pingpong -t
same uc_pingpong ibv_uc_pingpong
same ud_pingpong ibv_ud_pingpong
same srq_pingpong ibv_srq_pingpong
perf ib_send_lat -n 1000
perf ib_send_bw -n 1000
perf ib_write_bw -n 5000
perf ib_write_lat -n 1000
perf ib_read_lat -n 1000
perf ib_read_bw -n 1000
perf ib_atomic_lat -n 1000

# two threads on one queue, failures of each kind, a shared queue's limit
${CC:-cc} -o "$tmp/errors" tests/replay/errors.c -libverbs -lpthread 2>"$tmp/out" ||
	not_ok every_failure "cc: $(tail -1 "$tmp/out")"

alone() {
	local status
	if ! timeout 60 "$VERBATIM" record --device soft -o "$tmp/$1.db" -- \
		"$2" >"$tmp/out" 2>&1; then
		not_ok "$1" "recording: $(tail -1 "$tmp/out")"
	else
		replay --device soft "${@:3}" "$tmp/$1.db"
		status=$?
		if [ $status -eq 0 ]; then ok "$1"; else
			not_ok "$1" \
				"exit status $status: $(grep -A2 diverg "$tmp/out" | tr '\n' ' ')"
		fi
	fi
}
alone every_failure "$tmp/errors"
VERBATIM_SOFT_LINK=roce alone every_failure_roce "$tmp/errors"
VERBATIM_SOFT_LINK=roce alone every_verb "$apps/every_verb" --allow-partial

# The trace lacks the files of descriptors; a call with none, -1, can be replayed.
dmabuf_without_a_descriptor_is_replayed() {
	local altered=$tmp/descriptor.db
	replay --device soft --allow-partial "$tmp/every_verb.db"
	! grep reg_dmabuf_mr "$tmp/out" &&
		"$VERBATIM" unpack -o "$altered" "$tmp/every_verb.db" >"$tmp/out" 2>&1 &&
		sqlite3 "$altered" "UPDATE call SET args = json_set(args, '$.fd', 7)
			WHERE verb = 'ibv_reg_dmabuf_mr'" || { cat "$tmp/out"; return 1; }
	replay --device soft --allow-partial "$altered"
	says 'ibv_reg_dmabuf_mr.*: a trace does not contain file descriptors of DMA buffers' \
		"$tmp/out"
}
try dmabuf_without_a_descriptor_is_replayed

# with verbs that the library of the replay may lack
VERBATIM_SOFT_LINK=roce alone buffers_of_the_library "$apps/own_buf"

# datagrams of two senders arrived in the opposite order of their posts
senders() {
	local status
	alone in_order "$apps/senders"
	"$VERBATIM" unpack -o "$tmp/swapped.db" "$tmp/in_order.db" >"$tmp/out" 2>&1 &&
		sqlite3 "$tmp/swapped.db" \
			"UPDATE post SET time = (SELECT max(time) + 1 FROM post)
			WHERE thread = 2" ||
		{ not_ok senders "$(tail -1 "$tmp/out")"; return; }
	replay --device soft "$tmp/swapped.db"
	status=$?
	if [ $status -ne 0 ]; then
		not_ok senders "exit status $status: $(grep -A1 diverg "$tmp/out" | tr '\n' ' ')"
	elif ! grep -q '2 x the order of datagrams' "$tmp/out"; then
		not_ok senders "nothing was swapped: $(tail -1 "$tmp/out")"
	else
		ok senders
	fi
	sqlite3 "$tmp/swapped.db" \
		"UPDATE wc SET byte_len = byte_len + 1 WHERE n = (SELECT max(n) FROM wc)"
	replay --device soft "$tmp/swapped.db"
	if grep -q '1 divergence' "$tmp/out"; then ok senders_altered
	else not_ok senders_altered "$(grep diverg "$tmp/out")"; fi
}
senders

# without option or variable: the link is the recorded one
link() {
	replay --device soft --allow-partial "$tmp/every_verb.db"
	local status=$?
	if [ $status -eq 0 ]; then ok link; else
		not_ok link "exit status $status: $(grep -A2 diverg "$tmp/out" | tr '\n' ' ')"
	fi
}
[ -s "$tmp/every_verb.db" ] && link

# groups of IPv4 addresses, on an Ethernet link
multicast() {
	command -v mckey >/dev/null || { skip multicast "mckey is not installed"; return; }
	VERBATIM_SOFT_LINK=roce timeout 60 "$VERBATIM" record --device soft -o "$tmp/mckey.db" -- \
		tests/e2e/replay/members "$tmp/members" >"$tmp/mckey.log" 2>&1 ||
		{ not_ok multicast "recording: $(tail -1 "$tmp/mckey.log")"; return; }
	replay --device soft "$tmp/mckey.db"
	local status=$?
	if [ $status -ne 0 ]; then
		not_ok multicast "exit status $status: $(grep -A1 diverg "$tmp/out" | tr '\n' ' ')"
	elif ! grep -q 'with 10 completions' "$tmp/out"; then
		not_ok multicast "$(head -1 "$tmp/out")"
	else
		ok multicast
	fi
}
! in_turn || multicast

# altered NAME FROM WHERE SET TEXT: in the trace of program FROM's unpacked form,
# "UPDATE TABLE SET ... " of the row that WHERE chooses; the report says TEXT,
# with @ for the name of the row's event
altered() {
	local name=$1 from=$2 table=${3%% *} where=${3#* } set=$4 text=$5 event status
	rm -f "$tmp/altered.db"
	if [ ! -s "$tmp/$from.db" ]; then
		skip "$name" "there is no trace of $from"
		return
	fi
	if ! "$VERBATIM" unpack -o "$tmp/altered.db" "$tmp/$from.db" >"$tmp/out" 2>&1; then
		not_ok "$name" "unpack: $(tail -1 "$tmp/out")"
		return
	fi
	event=$(sqlite3 "$tmp/altered.db" "SELECT thread || ':' || n FROM $table WHERE $where
		ORDER BY thread, n LIMIT 1 OFFSET 100" 2>"$tmp/out")
	[ -n "$event" ] || event=$(sqlite3 "$tmp/altered.db" "SELECT thread || ':' || n
		FROM $table WHERE $where ORDER BY thread, n LIMIT 1" 2>"$tmp/out")
	if [ -z "$event" ] || ! sqlite3 "$tmp/altered.db" "UPDATE $table SET $set
		WHERE thread = ${event%:*} AND n = ${event#*:}" 2>>"$tmp/out"; then
		not_ok "$name" "sqlite3: no such row, or $(tail -1 "$tmp/out")"
		return
	fi
	replay --device soft --faults none --timeout 2 "$tmp/altered.db"
	status=$?
	if [ $status -ne 1 ]; then
		not_ok "$name" "exit status $status, not 1: $(head -1 "$tmp/out")"
	elif ! grep -q -- "${text//@/$event}" "$tmp/out"; then
		not_ok "$name" \
			"no \"${text//@/$event}\": $(grep -A1 'diverg' "$tmp/out" | tr '\n' ' ')"
	else
		ok "$name"
	fi
}

# an unpacked trace is the same trace
unpacked() {
	local status
	rm -f "$tmp/altered.db"
	"$VERBATIM" unpack -o "$tmp/altered.db" "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1 &&
		replay --device soft "$tmp/altered.db"
	status=$?
	if [ $status -eq 0 ]; then ok unpacked; else not_ok unpacked "$(tail -1 "$tmp/out")"; fi
}

if command -v sqlite3 >/dev/null; then
	success="IBV_WC_SUCCESS (0)" retries="IBV_WC_RETRY_EXC_ERR (12)"
	unpacked
	altered altered_status rc_pingpong "wc status = 0 AND opcode = 128" "status = 12" \
		"@ ibv_poll_cq: wc\[0\].status: recorded $retries, replayed $success"
	altered altered_wr_id rc_pingpong "wc opcode = 128" "wr_id = 77" \
		"@ ibv_poll_cq: wc\[0\].wr_id: recorded 0x4d, replayed 0x1"
	altered altered_received_length rc_pingpong "wc opcode = 128" "byte_len = 5" \
		"@ ibv_poll_cq: wc\[0\].byte_len: recorded 5, replayed 4096"
	altered altered_read_length ib_read_bw "wc opcode = 2 AND status = 0" "byte_len = 5" \
		"@ ibv_poll_cq: wc\[0\].byte_len: recorded 5, replayed 65536"
	altered altered_immediate rc_pingpong "wc opcode = 128" "wc_flags = 2, imm = 5" \
		"@ ibv_poll_cq: wc\[0\].wc_flags: recorded IBV_WC_WITH_IMM (2), replayed 0"
	altered altered_sent_length rc_pingpong \
		"sge (thread, n) IN (SELECT thread, n FROM wr WHERE opcode = 2)" "length = 1024" \
		"byte_len: recorded 4096, replayed 1024 (request of [0-9:]*, sent by @)"
	altered altered_written_length ib_write_bw \
		"sge (thread, n) IN (SELECT thread, n FROM wr WHERE opcode = 0)" "length = 1024" \
		"byte_len: recorded 65536, replayed 1024 (request of @)"
	altered altered_remote_key ib_write_bw "wr opcode = 0" "rkey = 4242" \
		"status: recorded $success, replayed IBV_WC_REM_ACCESS_ERR (10) (request of @)"
	altered altered_post rc_pingpong "post ret = 0" "ret = 12" \
		"@ ibv_post_recv: ret: recorded ENOMEM (12), replayed 0"
	altered altered_arguments rc_pingpong "call verb = 'ibv_reg_mr'" \
		"args = json_set(args, '\$.length', 8192)" \
		"@ ibv_reg_mr: ret.length: recorded 4096, replayed 8192"
	altered altered_result rc_pingpong "call verb = 'ibv_dereg_mr'" "ret = 22, failed = 1" \
		"@ ibv_dereg_mr: ret: recorded EINVAL (22), replayed 0"
else
	skip altered "sqlite3 is not installed"
fi

# one side only: the peer is synthesized, and nothing diverges
one_sided() {
	local status pid
	next_port
	"$VERBATIM" run --device soft -- ibv_rc_pingpong -p $port >"$tmp/one.log" 2>&1 &
	pid=$!
	await listens $port
	"$VERBATIM" record --device soft -o "$tmp/one.db" -- ibv_rc_pingpong -p $port localhost \
		>"$tmp/one.log" 2>&1
	wait $pid
	replay --device soft "$tmp/one.db"
	status=$?
	if [ $status -ne 0 ]; then
		not_ok one_sided "exit status $status: $(tail -1 "$tmp/out")"
	elif ! grep -q \
		'made 1 peer: 1 queue pair, 1,000 receives, 1,000 messages' \
		"$tmp/out"; then
		not_ok one_sided "does not say what was made: $(head -3 "$tmp/out" | tr '\n' ' ')"
	else
		ok one_sided
	fi
}

# both ends killed in the middle; one of many may die within a post
killed() {
	local status name=killed_$1
	next_port
	"$VERBATIM" record --device soft -o "$tmp/killed.db" -- tests/e2e/replay/killed \
		ibv_$1_pingpong $port >"$tmp/killed.log" 2>&1
	replay --device soft --allow-partial "$tmp/killed.db"
	status=$?
	if [ $status -ne 0 ]; then
		not_ok $name "exit status $status: $(grep -A1 diverg "$tmp/out" | tr '\n' ' ')"
	elif ! grep -q 'posts of [1-9]' "$tmp/out"; then
		not_ok $name "nothing was posted: $(head -1 "$tmp/out")"
	elif grep -q ' \([2-9]\|[1-9][0-9][0-9]*\) x ibv_poll_cq.*sender was killed' \
		"$tmp/out"; then
		not_ok $name "left out what came: $(grep 'sender was killed' "$tmp/out")"
	else
		ok $name
	fi
}

# a message arrived whose post was not recorded
cut_short() {
	"$VERBATIM" record --device soft -o "$tmp/cut.db" -- \
		"$apps/cut_short" >"$tmp/cut.log" 2>&1 ||
		{ not_ok cut_short "recording: $(tail -1 "$tmp/cut.log")"; return; }
	replay --device soft --timeout 60 --allow-partial "$tmp/cut.db"
	local status=$?
	if [ $status -ne 0 ]; then
		not_ok cut_short "exit status $status: $(grep -A1 diverg "$tmp/out" | tr '\n' ' ')"
	elif ! grep -q '1 x ibv_poll_cq.*its sender was killed' "$tmp/out"; then
		not_ok cut_short "does not say why: $(head -3 "$tmp/out" | tr '\n' ' ')"
	else
		ok cut_short
	fi
}

# a signal to the command ends it, and its fabric is removed
signalled() {
	"$VERBATIM" replay --device soft --pace x0.01 "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1 &
	local pid=$! status
	until pgrep -P $pid >/dev/null; do kill -0 $pid && pause || break; done
	kill -TERM $pid
	wait $pid
	status=$?
	if [ $status -eq 143 ]; then ok signalled; else not_ok signalled "exit status $status"; fi
}

# also if it comes as soon as the replay has started
signalled_early() {
	local status
	${CC:-cc} -shared -fPIC -o "$tmp/early.so" tests/e2e/replay/early.c &&
		timeout 20 env LD_PRELOAD="$tmp/early.so" "$VERBATIM" replay --device soft --pace \
			x0.01 "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1
	status=$?
	if [ $status -eq 143 ]; then ok signalled_early
	else not_ok signalled_early "exit status $status"; fi
}

# a report without a reader; nothing_is_left checks the rest
unread() {
	{ "$VERBATIM" replay --device soft "$tmp/rc_pingpong.db" 2>&1; echo $? >"$tmp/unread"; } |
		true
	if [ "$(cat "$tmp/unread")" -eq 4 ]; then ok unread
	else not_ok unread "exit status $(cat "$tmp/unread")"; fi
}

nothing_is_left() {
	if [ -z "${SHM_ALONE:-}" ]; then
		skip nothing_is_left "may not mount a /dev/shm of its own"
	elif ls -d /dev/shm/verbatim-replay-?????? >/dev/null 2>&1; then
		not_ok nothing_is_left "$(ls -d /dev/shm/verbatim-replay-??????)"
	else
		ok nothing_is_left
	fi
}

refuses() {
	local status
	"$VERBATIM" replay --pace never "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1
	[ $? -eq 2 ] && ok wrong_usage_is_2 || not_ok wrong_usage_is_2 "$(tail -1 "$tmp/out")"
	echo nothing >"$tmp/nothing.db"
	"$VERBATIM" replay "$tmp/nothing.db" >"$tmp/out" 2>&1
	status=$?
	[ $status -eq 3 ] && ok bad_trace_is_3 ||
		not_ok bad_trace_is_3 "exit status $status: $(tail -1 "$tmp/out")"
	"$VERBATIM" unpack -o "$tmp/nobody.db" "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1 &&
		sqlite3 "$tmp/nobody.db" "UPDATE object SET process = 9 WHERE id = 3"
	"$VERBATIM" replay --device soft "$tmp/nobody.db" >"$tmp/out" 2>&1
	status=$?
	[ $status -eq 3 ] && ok object_of_nobody_is_3 ||
		not_ok object_of_nobody_is_3 "exit status $status: $(tail -1 "$tmp/out")"
	sqlite3 "$tmp/nobody.db" "UPDATE object SET process = 1 WHERE id = 3;
		UPDATE call SET object = 1 + object % 12,
			args = replace(args, '\"qp\":', '\"no_qp\":')"
	replay --device soft --timeout 0.1 "$tmp/nobody.db"
	status=$?
	[ $status -le 1 ] && ok calls_of_wrong_objects ||
		not_ok calls_of_wrong_objects "exit status $status: $(tail -1 "$tmp/out")"
	"$VERBATIM" replay --device no_such_device "$tmp/rc_pingpong.db" >"$tmp/out" 2>&1
	status=$?
	[ $status -eq 4 ] && ok no_device_is_4 || not_ok no_device_is_4 "exit status $status"
	VERBATIM_SOFT_FAULTS=$tmp/none "$VERBATIM" replay --device soft "$tmp/rc_pingpong.db" \
		>"$tmp/out" 2>&1
	status=$?
	[ $status -eq 4 ] && ok no_faults_file_is_4 ||
		not_ok no_faults_file_is_4 "exit status $status"
}

# at most half as fast as recorded, on the same device
speed() {
	local seconds
	seconds=$(sed -n 's/^recorded in \([0-9.]*\) s, .* replayed in \([0-9.]*\) s/\1 \2/p' \
		"$tmp/out")
	echo "# 20000 round trips: recorded and replayed in seconds: $seconds"
}

# implicit region: its memory is mapped, and reachable by its keys
implicit() {
	timeout 60 "$VERBATIM" record --device soft -o "$tmp/implicit.db" -- \
		"$apps/implicit" >"$tmp/implicit.log" 2>&1 || {
		not_ok implicit_region "recording: $(tail -1 "$tmp/implicit.log")"
		return
	}
	grep -q none "$tmp/implicit.log" && { skip implicit_region "no such region"; return; }
	if replay --device soft "$tmp/implicit.db"; then
		ok implicit_region
	else
		not_ok implicit_region "$(grep -m1 -A1 diverg "$tmp/out" | tr '\n' ' ')"
	fi
}

# a destruction without its object in the trace: left out, not called with NULL
unnamed() {
	timeout 60 "$VERBATIM" record --device soft -o "$tmp/unnamed.db" -- \
		"$apps/demo_bug" >/dev/null 2>&1
	sqlite3 "$tmp/unnamed.db" \
		"UPDATE call SET args = '{}' WHERE verb = 'ibv_destroy_comp_channel'" || {
		skip unnamed_channel "sqlite3 is not installed"
		return
	}
	replay --device soft "$tmp/unnamed.db"
	case $? in
	0 | 1) ok unnamed_channel ;;
	*) not_ok unnamed_channel "$(tail -1 "$tmp/out")" ;;
	esac
}

if command -v ibv_rc_pingpong >/dev/null; then
	one_sided
	! in_turn || killed rc
	! in_turn || killed uc
fi
cut_short
implicit
unnamed
[ -s "$tmp/rc_pingpong.db" ] && { refuses; unread; signalled; signalled_early; }
if [ -s "$tmp/rc_pingpong_many.db" ]; then
	replay --device soft "$tmp/rc_pingpong_many.db"
	speed
	replay --device soft --pace x50 "$tmp/rc_pingpong_many.db" && ok paced ||
		not_ok paced "$(tail -1 "$tmp/out")"
fi
nothing_is_left
