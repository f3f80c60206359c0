#!/usr/bin/env bash
# Unmodified programs on the software device: as a preload beside rdma-core, as a drop-in instead of
# it, and recorded. Each runs in its own fabric, which must be empty at the end. An argument selects
# one of these. Forms of one program take turns, others recorded than bare; as a drop-in, which
# differs from the preload only in how it is found, one form of each is tried. LONG=1 tries them
# all, with more messages.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # the device is preloaded or a drop-in
trap 'rm -rf "$tmp" "$VERBATIM_SOFT_FABRIC"' EXIT
VERBATIM_SOFT_FABRIC=$(mktemp -d /dev/shm/verbatim-soft-e2e.XXXXXX) || exit 1
messages=$(share 100 1000) # of each program

# env and its arguments that run a command on the device; with exec, so that $! is the command's own
# PID.
choose() {
	face=$1
	case $face in
	preload) device=(env "LD_PRELOAD=$libs/libverbatim-soft.so") ;;
	dropin) device=(env "LD_LIBRARY_PATH=$libs/dropin") ;;
	recorded) device=(env) turns=1 ;; # as this script itself
	esac
}

have() {
	command -v "$1" >/dev/null && return 0
	skip "$face $1" "not installed"
	return 1
}

await_server() { # pid
	local n
	for ((n = 0; n < 500; n++)); do
		listens $port && return 0
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.02
	done
	return 1
}

# Run a server and a client with the same arguments.
both() { # name, program, arguments...
	local name="$face $1" server status
	shift
	have "$1" || return
	next_port
	"${device[@]}" timeout 60 "$@" -p $port >"$tmp/server" 2>&1 &
	server=$!
	if ! await_server $server; then
		not_ok "$name" "server does not listen: $(tail -1 "$tmp/server")"
		wait $server
		return
	fi
	"${device[@]}" timeout 60 "$@" -p $port localhost >"$tmp/client" 2>&1
	status=$?
	if ! wait $server; then
		not_ok "$name" "server: $(tail -1 "$tmp/server")"
	elif [ $status -ne 0 ]; then
		not_ok "$name" "client: $(tail -1 "$tmp/client")"
	else
		ok "$name"
	fi
}

# Is everything tried, or one form of each program?
is_whole() { [ $face != dropin ] || [ -n "${LONG:-}" ]; }

# Another form of a program. Fails if it is not tried.
form() {
	is_whole && in_turn || return
	both "$@"
	return 0
}

# The last perftest must have printed its rate.
reports() {
	if ! grep -Eq '^ [0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+' "$tmp/client"; then
		not_ok "$face report of it" "$(tail -1 "$tmp/client")"
	fi
}

single() { # name, pattern, program, arguments...
	local name="$face $1" pattern=$2
	shift 2
	have "$1" || return
	if "${device[@]}" "$@" >"$tmp/out" 2>&1 && grep -q "$pattern" "$tmp/out"; then
		ok "$name"
	else
		not_ok "$name" "$(tail -1 "$tmp/out")"
	fi
}

# each takes a second
tests_of_qperf() {
	case $face${LONG:+ long} in
	dropin) echo ud_lat ;;
	recorded) echo ud_bw uc_lat ;;
	*) echo ud_lat ud_bw uc_lat uc_bw ;;
	esac
}

# qperf's server serves one client after the other.
served() {
	local name server test
	have qperf || return
	next_port
	"${device[@]}" timeout 60 qperf -lp $port >"$tmp/server" 2>&1 &
	server=$!
	await_server $server
	for test in $(tests_of_qperf); do
		in_turn || continue
		name="$face qperf $test"
		if "${device[@]}" timeout 30 qperf -lp $port -t 1 localhost \
			$test >"$tmp/client" 2>&1 &&
			grep -q "=" "$tmp/client"; then
			ok "$name"
		else
			not_ok "$name" "$(tail -1 "$tmp/client")"
		fi
	done
	kill $server
	wait $server 2>/dev/null
}

# Has it used 0.3 s of processor time? Then it is sending: these programs spin, and print nothing.
busy() { # pid
	[ -n "$1" ] && [ "$(awk '{ print $14 }' "/proc/$1/stat")" -gt 30 ]
}

# The client must end by itself, with an error, when its server is killed.
killed() {
	local name="$face client whose server is killed" server client
	have ib_send_bw || return
	next_port
	"${device[@]}" ib_send_bw -F --use_old_post_send -D 600 -p $port >"$tmp/server" 2>&1 &
	server=$!
	await_server $server
	"${device[@]}" timeout 300 ib_send_bw -F --use_old_post_send -D 600 -p $port \
		localhost >"$tmp/client" 2>&1 &
	client=$!
	until busy "$(pgrep -P $client)" || ! kill -0 $client 2>/dev/null; do
		sleep 0.02
	done
	kill -KILL $server
	wait $server 2>/dev/null
	wait $client
	case $? in
	0) not_ok "$name" "it has not noticed" ;;
	124) not_ok "$name" "it hangs" ;;
	*) ok "$name" ;;
	esac
}

emptied() {
	local name="$face leaves nothing behind"
	# the next process removes the files of a killed one
	"${device[@]}" ibv_devinfo >/dev/null 2>&1
	if [ -z "$(ls -A "$VERBATIM_SOFT_FABRIC")" ]; then
		ok "$name"
	else
		not_ok "$name" "$(ls -A "$VERBATIM_SOFT_FABRIC" | head -3 | tr '\n' ' ')"
	fi
}

# The last process to leave removes the fabric while others join.
come_and_go() {
	local name="$face devices opened and closed at once" round each out pids
	local fabric=$VERBATIM_SOFT_FABRIC/gone # which each round creates and removes
	for ((round = 0; round < $(share 10 40); round++)); do
		pids=
		for each in 1 2 3; do
			"${device[@]}" VERBATIM_SOFT_FABRIC="$fabric" \
				ibv_devinfo >"$tmp/devinfo.$each" 2>&1 &
			pids="$pids $!"
		done
		for each in $pids; do
			wait "$each" ||
				{ not_ok "$name" \
				"$(cat "$tmp"/devinfo.* | grep -i fail)"; wait; return; }
		done
		[ ! -e "$fabric" ] || { not_ok "$name" "left: $(ls "$fabric")"; return; }
	done
	ok "$name"
}

# Two ends that poll take turns on one processor: a message takes microseconds there, not the rest
# of a time slice of its other end, 2 ms. Measured is processor time, so other processes may run.
one_processor() { # options of ibv_rc_pingpong
	local TIMEFORMAT='%U %S' name="$face on one processor: ibv_rc_pingpong $*"
	{
		time taskset -c "$processor" "${device[@]}" "$both" ibv_rc_pingpong -n 1000 "$@" \
			>"$tmp/out" 2>&1
	} 2>"$tmp/time" || { not_ok "$name" "$(cat "$tmp/out")"; return; }
	if awk '{ exit $1 + $2 >= 2 }' "$tmp/time"; then
		ok "$name"
	else
		not_ok "$name" "user and system time: $(cat "$tmp/time")"
	fi
}
processor=$(sed -n 's/^Cpus_allowed_list:[^0-9]*\([0-9]*\).*/\1/p' /proc/self/status)

all() { # face
	choose "$1"
	come_and_go
	single ibv_devices verbatim0 ibv_devices
	single "ibv_devinfo -v" "GID\[  0\]" ibv_devinfo -v
	single "ibv_devinfo roce" "link_layer:.*Ethernet" env VERBATIM_SOFT_LINK=roce ibv_devinfo
	both ibv_rc_pingpong ibv_rc_pingpong -n $messages
	both "ibv_rc_pingpong -e" ibv_rc_pingpong -n $messages -e
	form "ibv_rc_pingpong -t" ibv_rc_pingpong -n $messages -t
	form "ibv_rc_pingpong -c" ibv_rc_pingpong -n $messages -c
	form "ibv_rc_pingpong, many" ibv_rc_pingpong -n $(share 4000 20000)
	form "ibv_rc_pingpong -s 65536" ibv_rc_pingpong -n $messages -s 65536 -c
	form "ibv_rc_pingpong -N" ibv_rc_pingpong -n $messages -N -c
	form "ibv_rc_pingpong -m 1024" ibv_rc_pingpong -n $messages -m 1024
	form "ibv_rc_pingpong -g 0" ibv_rc_pingpong -n $messages -g 0
	form "ibv_rc_pingpong roce" env VERBATIM_SOFT_LINK=roce ibv_rc_pingpong -n $messages -g 1
	both "ibv_srq_pingpong" ibv_srq_pingpong -n $messages
	both "ibv_uc_pingpong" ibv_uc_pingpong -n $messages
	form "ibv_uc_pingpong -e" ibv_uc_pingpong -n $messages -e
	form "ibv_uc_pingpong -s 65536 -c" ibv_uc_pingpong -n $messages -s 65536 -c
	form "ibv_uc_pingpong roce" env VERBATIM_SOFT_LINK=roce ibv_uc_pingpong -n $messages -g 1
	for program in ib_send_lat ib_send_bw ib_write_lat ib_write_bw; do
		form "$program -c UC" $program -c UC -F -n $messages
	done
	both ibv_ud_pingpong ibv_ud_pingpong -n $messages
	form "ibv_ud_pingpong -e -s 64" ibv_ud_pingpong -n $messages -e -s 64
	form "ibv_ud_pingpong -g 0" ibv_ud_pingpong -n $messages -g 0
	form "ibv_ud_pingpong roce" env VERBATIM_SOFT_LINK=roce ibv_ud_pingpong -n $messages -g 3
	form "ib_send_lat -c UD" ib_send_lat -c UD -F -n $messages
	form "ib_send_lat -c UD -e" ib_send_lat -c UD -F -e -n $messages
	form "ib_send_bw -c UD" ib_send_bw -c UD -F -n $messages
	form "ib_send_bw -c UD -g" env VERBATIM_SOFT_LINK=roce ib_send_bw -c UD -F -g \
		-n $messages -x 1
	for program in ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_lat ib_read_bw \
		ib_atomic_lat ib_atomic_bw; do
		both $program $program -F --use_old_post_send -n $messages
		form "$program builders" $program -F -n $messages
	done
	both "ibv_xsrq_pingpong" ibv_xsrq_pingpong
	form "ibv_xsrq_pingpong -e" ibv_xsrq_pingpong -e
	for program in ib_send_lat ib_send_bw ib_write_lat ib_write_bw ib_read_bw ib_atomic_bw; do
		form "$program -c XRC" $program -c XRC -F -n $messages && reports
	done
	form "ib_send_bw -c XRC --use-srq" ib_send_bw -c XRC --use-srq -F -n $messages && reports
	form "ib_send_bw -c XRC -e -b -q 4" ib_send_bw -c XRC -F -e -b -q 4 -n $messages && reports
	# it takes ten seconds of processor time
	[ $face != preload ] && [ -z "${LONG:-}" ] || ! in_turn ||
		both "ib_send_bw -a" ib_send_bw -F --use_old_post_send -a -n $(share 5 20)
	form "ib_send_lat -e" ib_send_lat -F --use_old_post_send -e -n $messages
	form "ib_send_bw -b -q 4" ib_send_bw -F --use_old_post_send -b -q 4 -n $messages
	form "ib_send_bw -b -q 4 builders" ib_send_bw -F -b -q 4 -n $messages
	form "ib_write_bw roce" env VERBATIM_SOFT_LINK=roce ib_write_bw -F --use_old_post_send -x \
		1 -n $messages
	! is_whole || {
		one_processor
		one_processor -t # ibv_start_poll
	}
	served
	! is_whole || ! in_turn || killed
	emptied
}

if [ $# -gt 0 ]; then
	all "$1"
	exit $failed
fi
all preload
all dropin
. tests/e2e/lib/recorded.sh
# ib_atomic_lat's server destroys nothing, nor does ib_send_bw without its peer, and with it leaves
# its second completion queue; qperf deallocates its domain before it deregisters its memory
recorded_again "$0" "LIFE-004 .* (ib_atomic_lat|ib_send_bw|qperf)" "LIFE-003 ibv_dealloc_pd qperf"
exit $failed
