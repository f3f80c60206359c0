#!/usr/bin/env bash
# Record whole programs and replay what was recorded: without a divergence as
# it is, with one at the right event where the trace was altered.
#
# As root it has a /dev/shm of its own, to see what replays leave there.
set -u
if [ -z "${SHM_ALONE:-}" ] && unshare -m mount -t tmpfs none /dev/shm 2>/dev/null; then
	SHM_ALONE=1 exec unshare -m bash -c 'mount -t tmpfs none /dev/shm && exec bash "$0" "$@"' "$0" "$@"
fi
VERBATIM=${VERBATIM:-$PWD/${BUILD:-build}/verbatim}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export VERBATIM_QUIET=1
cd "$(dirname "$0")/../.." || exit 1
port=${TEST_PORT:-18700}

ok() { echo "ok replay $1"; }
bad() { echo "not ok replay $1: $2"; }
skip() { echo "skip replay $1: $2"; }

# a server, and a client as soon as somebody listens
cat >"$dir/pair" <<'EOF'
#!/usr/bin/env bash
$2 & server=$!
until ss -ltnH "sport = :$1" | grep -q .; do kill -0 $server || exit 9; done
$3
status=$?
wait $server
[ $status -eq 0 ] && [ $? -eq 0 ]
EOF
chmod +x "$dir/pair"

# record NAME SERVER CLIENT, both without the port's option
record() {
	port=$((port + 1))
	timeout 120 "$VERBATIM" record --device soft -o "$dir/$1.db" -- \
		"$dir/pair" $port "$2 -p $port" "$3 -p $port" >"$dir/$1.log" 2>&1
}

# replay FILE: report in $dir/out
replay() { timeout 120 "$VERBATIM" replay "$@" --report "$dir/report.json" >"$dir/out" 2>&1; }

first_line() { grep -m1 "${1:-.}" "$dir/out"; }

# the same traffic comes again
same() {
	local name=$1 status
	if ! command -v "${2%% *}" >/dev/null; then
		skip "$name" "${2%% *} is not installed"
		return
	fi
	if ! record "$name" "$2" "$3"; then
		if grep -qi "couldn't create\|not supported" "$dir/$name.log"; then
			skip "$name" "the software device does not carry it yet"
			return
		fi
		bad "$name" "recording: $(tail -1 "$dir/$name.log")"
		return
	fi
	replay --device soft "$dir/$name.db"
	status=$?
	if [ $status -ne 0 ]; then
		bad "$name" "exit status $status: $(grep -m1 -A1 diverg "$dir/out" | tr '\n' ' ')"
	elif grep -q 'not replayed' "$dir/out"; then
		bad "$name" "$(grep -A1 'not replayed' "$dir/out" | tr '\n' ' ')"
	else
		ok "$name"
	fi
}

pingpong() { same "$1" "ibv_rc_pingpong $2" "ibv_rc_pingpong $2 localhost"; }
perf() { same "$1" "$1 --use_old_post_send -F $2" "$1 --use_old_post_send -F $2 localhost"; }

pingpong rc_pingpong ""
pingpong rc_pingpong_events "-e"
pingpong rc_pingpong_many "-n 20000"
pingpong rc_pingpong_long "-s 65536"
pingpong rc_pingpong_mtu "-m 1024"
pingpong rc_pingpong_timestamps "-t"
same uc_pingpong "ibv_uc_pingpong" "ibv_uc_pingpong localhost"
same ud_pingpong "ibv_ud_pingpong" "ibv_ud_pingpong localhost"
same srq_pingpong "ibv_srq_pingpong" "ibv_srq_pingpong localhost"
perf ib_send_lat "-n 1000"
perf ib_send_bw "-n 1000"
perf ib_write_bw "-n 5000"
perf ib_write_lat "-n 1000"
perf ib_read_lat "-n 1000"
perf ib_read_bw "-n 1000"
perf ib_atomic_lat "-n 1000"


# two threads on one queue, failures of each kind, a shared queue's limit
${CC:-cc} -o "$dir/errors" tests/replay/errors.c -libverbs -lpthread 2>"$dir/out" || bad every_failure "cc: $(tail -1 "$dir/out")"

alone() {
	local status
	if ! timeout 60 "$VERBATIM" record --device soft -o "$dir/$1.db" -- "$2" >"$dir/out" 2>&1; then
		bad "$1" "recording: $(tail -1 "$dir/out")"
	else
		replay --device soft "$dir/$1.db"
		status=$?
		if [ $status -eq 0 ]; then ok "$1"; else
			bad "$1" "exit status $status: $(grep -A2 diverg "$dir/out" | tr '\n' ' ')"
		fi
	fi
}
alone every_failure "$dir/errors"
VERBATIM_SOFT_LINK=roce alone every_failure_roce "$dir/errors"
VERBATIM_SOFT_LINK=roce alone every_verb "${BUILD:-build}/tests/apps/every_verb"

# datagrams of two senders came the other way round than they were posted
senders() {
	local status
	alone in_order "${BUILD:-build}/tests/apps/senders"
	"$VERBATIM" unpack -o "$dir/swapped.db" "$dir/in_order.db" >"$dir/out" 2>&1 &&
		sqlite3 "$dir/swapped.db" "UPDATE post SET time = (SELECT max(time) + 1 FROM post) WHERE thread = 2" ||
		{ bad senders "$(tail -1 "$dir/out")"; return; }
	replay --device soft "$dir/swapped.db"
	status=$?
	if [ $status -ne 0 ]; then
		bad senders "exit status $status: $(grep -A1 diverg "$dir/out" | tr '\n' ' ')"
	elif ! grep -q '2 x the order of datagrams' "$dir/out"; then
		bad senders "nothing was swapped: $(tail -1 "$dir/out")"
	else
		ok senders
	fi
	sqlite3 "$dir/swapped.db" "UPDATE wc SET byte_len = byte_len + 1 WHERE n = (SELECT max(n) FROM wc)"
	replay --device soft "$dir/swapped.db"
	if grep -q '1 divergence' "$dir/out"; then ok senders_altered; else bad senders_altered "$(grep diverg "$dir/out")"; fi
}
senders

# no option and no variable: the link is the recorded one
link() {
	replay --device soft "$dir/every_verb.db"
	local status=$?
	if [ $status -eq 0 ]; then ok link; else
		bad link "exit status $status: $(grep -A2 diverg "$dir/out" | tr '\n' ' ')"
	fi
}
[ -s "$dir/every_verb.db" ] && link

# groups of IPv4 addresses, on an Ethernet link
multicast() {
	command -v mckey >/dev/null || { skip multicast "mckey is not installed"; return; }
	VERBATIM_SOFT_LINK=roce timeout 60 "$VERBATIM" record --device soft -o "$dir/mckey.db" -- \
		"$dir/members" >"$dir/mckey.log" 2>&1 ||
		{ bad multicast "recording: $(tail -1 "$dir/mckey.log")"; return; }
	replay --device soft "$dir/mckey.db"
	local status=$?
	if [ $status -ne 0 ]; then
		bad multicast "exit status $status: $(grep -A1 diverg "$dir/out" | tr '\n' ' ')"
	elif ! grep -q 'with 10 completions' "$dir/out"; then
		bad multicast "$(head -1 "$dir/out")"
	else
		ok multicast
	fi
}
cat >"$dir/members" <<'EOF'
#!/usr/bin/env bash
mkfifo "$0.out"
stdbuf -oL mckey -m 239.1.2.3 -b 127.0.0.1 >"$0.out" &
exec 3<"$0.out" # it stays open, for what is still to be said
while read -r line <&3; do
	case $line in *receiving*) break ;; esac
done
mckey -m 239.1.2.3 -b 127.0.0.1 -s
wait $!
EOF
chmod +x "$dir/members"
multicast

# altered NAME FROM WHERE SET TEXT: in the trace of program FROM's unpacked form,
# "UPDATE TABLE SET ... " of the row that WHERE chooses; the report says TEXT,
# with @ for the name of the row's event
altered() {
	local name=$1 from=$2 table=${3%% *} where=${3#* } set=$4 text=$5 event status
	rm -f "$dir/altered.db"
	if [ ! -s "$dir/$from.db" ]; then
		skip "$name" "there is no trace of $from"
		return
	fi
	if ! "$VERBATIM" unpack -o "$dir/altered.db" "$dir/$from.db" >"$dir/out" 2>&1; then
		bad "$name" "unpack: $(tail -1 "$dir/out")"
		return
	fi
	event=$(sqlite3 "$dir/altered.db" "SELECT thread || ':' || n FROM $table WHERE $where
		ORDER BY thread, n LIMIT 1 OFFSET 100" 2>"$dir/out")
	[ -n "$event" ] || event=$(sqlite3 "$dir/altered.db" "SELECT thread || ':' || n
		FROM $table WHERE $where ORDER BY thread, n LIMIT 1" 2>"$dir/out")
	if [ -z "$event" ] || ! sqlite3 "$dir/altered.db" "UPDATE $table SET $set
		WHERE thread = ${event%:*} AND n = ${event#*:}" 2>>"$dir/out"; then
		bad "$name" "sqlite3: no such row, or $(tail -1 "$dir/out")"
		return
	fi
	replay --device soft --timeout 2 "$dir/altered.db"
	status=$?
	if [ $status -ne 1 ]; then
		bad "$name" "exit status $status, not 1: $(head -1 "$dir/out")"
	elif ! grep -q -- "${text//@/$event}" "$dir/out"; then
		bad "$name" "no \"${text//@/$event}\": $(grep -A1 'diverg' "$dir/out" | tr '\n' ' ')"
	else
		ok "$name"
	fi
}

# an unpacked trace is the same trace
unpacked() {
	local status
	rm -f "$dir/altered.db"
	"$VERBATIM" unpack -o "$dir/altered.db" "$dir/rc_pingpong.db" >"$dir/out" 2>&1 &&
		replay --device soft "$dir/altered.db"
	status=$?
	if [ $status -eq 0 ]; then ok unpacked; else bad unpacked "$(tail -1 "$dir/out")"; fi
}

if command -v sqlite3 >/dev/null; then
	unpacked
	altered altered_status rc_pingpong "wc status = 0 AND opcode = 128" "status = 12" \
		"@ ibv_poll_cq: wc\[0\].status: recorded IBV_WC_RETRY_EXC_ERR (12), replayed IBV_WC_SUCCESS (0)"
	altered altered_wr_id rc_pingpong "wc opcode = 128" "wr_id = 77" \
		"@ ibv_poll_cq: wc\[0\].wr_id: recorded 77, replayed 1"
	altered altered_received_length rc_pingpong "wc opcode = 128" "byte_len = 5" \
		"@ ibv_poll_cq: wc\[0\].byte_len: recorded 5, replayed 4096"
	altered altered_immediate rc_pingpong "wc opcode = 128" "wc_flags = 2, imm = 5" \
		"@ ibv_poll_cq: wc\[0\].wc_flags: recorded IBV_WC_WITH_IMM (2), replayed 0"
	altered altered_sent_length rc_pingpong \
		"sge (thread, n) IN (SELECT thread, n FROM wr WHERE opcode = 2)" "length = 1024" \
		"byte_len: recorded 4096, replayed 1024 (request of [0-9:]*, sent by @)"
	altered altered_written_length ib_write_bw \
		"sge (thread, n) IN (SELECT thread, n FROM wr WHERE opcode = 0)" "length = 1024" \
		"byte_len: recorded 65536, replayed 1024 (request of @)"
	altered altered_remote_key ib_write_bw "wr opcode = 0" "rkey = 4242" \
		"status: recorded IBV_WC_SUCCESS (0), replayed IBV_WC_REM_ACCESS_ERR (10) (request of @)"
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

# one side only: what cannot be connected is named, and nothing diverges
one_sided() {
	local status
	export VERBATIM_SOFT_FABRIC
	VERBATIM_SOFT_FABRIC=$(mktemp -d /dev/shm/verbatim-replay-e2e.XXXXXX) || exit 1
	port=$((port + 1))
	"$dir/pair" $port "$VERBATIM run --device soft -- ibv_rc_pingpong -p $port" \
		"$VERBATIM record --device soft -o $dir/one.db -- ibv_rc_pingpong -p $port localhost" \
		>"$dir/one.log" 2>&1
	rm -rf "$VERBATIM_SOFT_FABRIC"
	unset VERBATIM_SOFT_FABRIC
	replay --device soft "$dir/one.db"
	status=$?
	if [ $status -ne 0 ]; then
		bad one_sided "exit status $status: $(tail -1 "$dir/out")"
	elif ! grep -q 'qp1 of process 1 is connected to number [0-9]*, which the trace does not have' "$dir/out"; then
		bad one_sided "does not say why: $(head -3 "$dir/out" | tr '\n' ' ')"
	else
		ok one_sided
	fi
}

# both ends killed in the middle; one of many may die within a post
killed() {
	local status name=killed_$1
	port=$((port + 1))
	cat >"$dir/kill" <<-EOF
		# it spins when they are connected
		busy() { [ "\$(awk '{ print \$14 }' /proc/\$1/stat)" -gt 20 ]; }
		ibv_$1_pingpong -p $port -n 100000000 & a=\$!
		until ss -ltnH "sport = :$port" | grep -q .; do kill -0 \$a || exit; done
		ibv_$1_pingpong -p $port -n 100000000 localhost & b=\$!
		until busy \$a && busy \$b; do kill -0 \$a && kill -0 \$b || exit; done
		kill -9 \$a \$b
		wait
	EOF
	"$VERBATIM" record --device soft -o "$dir/killed.db" -- bash "$dir/kill" >"$dir/killed.log" 2>&1
	replay --device soft "$dir/killed.db"
	status=$?
	if [ $status -ne 0 ]; then
		bad $name "exit status $status: $(grep -A1 diverg "$dir/out" | tr '\n' ' ')"
	elif ! grep -q 'posts of [1-9]' "$dir/out"; then
		bad $name "nothing was posted: $(head -1 "$dir/out")"
	elif grep -q ' \([2-9]\|[1-9][0-9][0-9]*\) x ibv_poll_cq.*sender was killed' "$dir/out"; then
		bad $name "left out what came: $(grep 'sender was killed' "$dir/out")"
	else
		ok $name
	fi
}

# a message came whose post nobody could record
cut_short() {
	"$VERBATIM" record --device soft -o "$dir/cut.db" -- "${BUILD:-build}/tests/apps/cut_short" >"$dir/cut.log" 2>&1 ||
		{ bad cut_short "recording: $(tail -1 "$dir/cut.log")"; return; }
	replay --device soft --timeout 60 "$dir/cut.db"
	local status=$?
	if [ $status -ne 0 ]; then
		bad cut_short "exit status $status: $(grep -A1 diverg "$dir/out" | tr '\n' ' ')"
	elif ! grep -q '1 x ibv_poll_cq.*its sender was killed' "$dir/out"; then
		bad cut_short "does not say why: $(head -3 "$dir/out" | tr '\n' ' ')"
	else
		ok cut_short
	fi
}

# a signal to the command ends it, and its fabric is removed
signalled() {
	"$VERBATIM" replay --device soft --pace x0.01 "$dir/rc_pingpong.db" >"$dir/out" 2>&1 &
	local pid=$! status
	until pgrep -P $pid >/dev/null; do kill -0 $pid || break; done
	kill -TERM $pid
	wait $pid
	status=$?
	if [ $status -eq 4 ]; then ok signalled; else bad signalled "exit status $status"; fi
}

# also where it comes as soon as the replay is started
signalled_early() {
	local status
	cat >"$dir/early.c" <<-'EOF'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <signal.h>
		#include <unistd.h>
		pid_t fork(void)
		{
			pid_t child = ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))();
			if (child)
				raise(SIGTERM);
			return child;
		}
	EOF
	${CC:-cc} -shared -fPIC -o "$dir/early.so" "$dir/early.c" &&
		timeout 20 env LD_PRELOAD="$dir/early.so" "$VERBATIM" replay --device soft --pace x0.01 "$dir/rc_pingpong.db" >"$dir/out" 2>&1
	status=$?
	if [ $status -eq 4 ]; then ok signalled_early; else bad signalled_early "exit status $status"; fi
}

# a report that nobody reads; nothing_is_left looks for the rest
unread() {
	{ "$VERBATIM" replay --device soft "$dir/rc_pingpong.db" 2>&1; echo $? >"$dir/unread"; } | true
	if [ "$(cat "$dir/unread")" -eq 4 ]; then ok unread; else bad unread "exit status $(cat "$dir/unread")"; fi
}

nothing_is_left() {
	if [ -z "${SHM_ALONE:-}" ]; then
		skip nothing_is_left "may not mount a /dev/shm of its own"
	elif ls -d /dev/shm/verbatim-replay-?????? >/dev/null 2>&1; then
		bad nothing_is_left "$(ls -d /dev/shm/verbatim-replay-??????)"
	else
		ok nothing_is_left
	fi
}

refuses() {
	local status
	"$VERBATIM" replay --pace never "$dir/rc_pingpong.db" >"$dir/out" 2>&1
	[ $? -eq 2 ] && ok wrong_usage_is_2 || bad wrong_usage_is_2 "$(tail -1 "$dir/out")"
	echo nothing >"$dir/nothing.db"
	"$VERBATIM" replay "$dir/nothing.db" >"$dir/out" 2>&1
	status=$?
	[ $status -eq 3 ] && ok bad_trace_is_3 || bad bad_trace_is_3 "exit status $status: $(tail -1 "$dir/out")"
	"$VERBATIM" unpack -o "$dir/nobody.db" "$dir/rc_pingpong.db" >"$dir/out" 2>&1 &&
		sqlite3 "$dir/nobody.db" "UPDATE object SET process = 9 WHERE id = 3"
	"$VERBATIM" replay --device soft "$dir/nobody.db" >"$dir/out" 2>&1
	status=$?
	[ $status -eq 3 ] && ok object_of_nobody_is_3 || bad object_of_nobody_is_3 "exit status $status: $(tail -1 "$dir/out")"
	sqlite3 "$dir/nobody.db" "UPDATE object SET process = 1 WHERE id = 3;
		UPDATE call SET object = 1 + object % 12, args = replace(args, '\"qp\":', '\"no_qp\":')"
	replay --device soft --timeout 0.1 "$dir/nobody.db"
	status=$?
	[ $status -le 1 ] && ok calls_of_wrong_objects || bad calls_of_wrong_objects "exit status $status: $(tail -1 "$dir/out")"
	"$VERBATIM" replay --device no_such_device "$dir/rc_pingpong.db" >"$dir/out" 2>&1
	status=$?
	[ $status -eq 4 ] && ok no_device_is_4 || bad no_device_is_4 "exit status $status"
}

# half as fast as recorded, at most, on the same device
speed() {
	local seconds
	seconds=$(sed -n 's/^recorded in \([0-9.]*\) s, replayed in \([0-9.]*\) s/\1 \2/p' "$dir/out")
	echo "# 20000 round trips: recorded and replayed in seconds: $seconds"
}

# implicit region: what lies in it is mapped, and its keys reach it
implicit() {
	timeout 60 "$VERBATIM" record --device soft -o "$dir/implicit.db" -- \
		"${BUILD:-build}/tests/apps/implicit" >"$dir/implicit.log" 2>&1 || {
		bad implicit_region "recording: $(tail -1 "$dir/implicit.log")"
		return
	}
	grep -q none "$dir/implicit.log" && { skip implicit_region "no such region"; return; }
	if replay --device soft "$dir/implicit.db"; then
		ok implicit_region
	else
		bad implicit_region "$(grep -m1 -A1 diverg "$dir/out" | tr '\n' ' ')"
	fi
}

# a destruction of which the trace does not say what: left out, not called with nothing
unnamed() {
	timeout 60 "$VERBATIM" record --device soft -o "$dir/unnamed.db" -- "${BUILD:-build}/tests/apps/demo_bug" >/dev/null 2>&1
	sqlite3 "$dir/unnamed.db" "UPDATE call SET args = '{}' WHERE verb = 'ibv_destroy_comp_channel'" || {
		skip unnamed_channel "sqlite3 is not installed"
		return
	}
	replay --device soft "$dir/unnamed.db"
	case $? in
	0 | 1) ok unnamed_channel ;;
	*) bad unnamed_channel "$(tail -1 "$dir/out")" ;;
	esac
}

command -v ibv_rc_pingpong >/dev/null && { one_sided; killed rc; killed uc; }
cut_short
implicit
unnamed
[ -s "$dir/rc_pingpong.db" ] && { refuses; unread; signalled; signalled_early; }
if [ -s "$dir/rc_pingpong_many.db" ]; then
	replay --device soft "$dir/rc_pingpong_many.db"
	speed
	replay --device soft --pace x50 "$dir/rc_pingpong_many.db" && ok paced || bad paced "$(tail -1 "$dir/out")"
fi
nothing_is_left
exit 0
