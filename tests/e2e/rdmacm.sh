#!/usr/bin/env bash
# Unmodified programs of librdmacm on the software device: as a preload, and as a drop-in where the
# program loads libibverbs before libc (else the drop-in does not see the commands to the kernel).
# Each test has its own fabric, which must be gone at its end; ports belong to the fabric, so none
# is ever in use. The list is run once more in one recording. An argument selects one of these.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # the device is preloaded or a drop-in
count=0
shm=$(mktemp -d /dev/shm/verbatim-soft-cm.XXXXXX) || exit 1
trap 'rm -rf "$tmp" "$shm"' EXIT

choose() {
	face=$1
	case $face in
	preload) device=(env "LD_PRELOAD=$libs/libverbatim-soft.so") turns=0 ;;
	dropin) device=(env "LD_LIBRARY_PATH=$libs/dropin") turns=1 ;;
	recorded) device=(env) turns=2 ;; # as this script itself
	esac
}

# Can this program be tested here, and is it its turn? If so, in a new fabric.
begin() { # name, program
	name="$face $1"
	in_turn || return 1
	if ! command -v "$2" >/dev/null; then
		skip "$name" "not installed"
		return 1
	fi
	if [ "$face" = dropin ] && ! ordered "$2"; then
		skip "$name" "$2 loads libc before libibverbs"
		return 1
	fi
	count=$((count + 1))
	export VERBATIM_SOFT_FABRIC=$shm/$count
	: >"$tmp/server" >"$tmp/client" # without the output of the previous test's programs
}

# Does it load libibverbs before libc?
ordered() {
	local lib
	for lib in $(readelf -d "$(command -v "$1")" | awk -F'[][]' '/NEEDED/ { print $2 }'); do
		case $lib in
		libibverbs.so*) return 0 ;;
		libc.so*) return 1 ;;
		esac
	done
	return 1
}

run() { "${device[@]}" timeout 60 "$@"; }

# A program listens: a port space and a backlog in the table (cm_port.h).
listening() {
	od -An -v -tu4 -w72 -j8 -N72000 "$VERBATIM_SOFT_FABRIC/cm" 2>/dev/null |
		awk '$15 && $16 { found = 1 } END { exit !found }'
}

serve() { # program, arguments...
	"${device[@]}" timeout 60 "$@" >"$tmp/server" 2>&1 &
	server=$!
	until listening || says server 'joined dgid'; do
		kill -0 $server 2>/dev/null || return 1
		sleep 0.02
	done
}

# The last process removes the fabric; the next process removes the files of a killed one.
emptied() {
	[ -e "$VERBATIM_SOFT_FABRIC" ] || return 0
	run ibv_devinfo >/dev/null 2>&1
	[ ! -e "$VERBATIM_SOFT_FABRIC" ] ||
		{ why="left: $(ls "$VERBATIM_SOFT_FABRIC" | head -3 | tr '\n' ' ')"; return 1; }
}

# Is @2 in the file @1 at least @3 times?
says() {
	[ "$(grep -c -e "$2" "$tmp/$1")" -ge "${3:-1}" ] && return 0
	why="$1 does not say '$2' ${3:-1} times: $(tail -1 "$tmp/$1")"
	return 1
}

verdict() { # conditions, as commands; why is set if one fails
	local check
	why=
	for check in "$@" emptied; do
		eval "$check" || { not_ok "$name" "${why:-$check}"; return 1; }
	done
	ok "$name"
}

# The program after env and stdbuf.
program_of() {
	while :; do
		case $1 in
		env | stdbuf | -* | *=*) shift ;;
		*) echo "$1"; return ;;
		esac
	done
}

# A server's and a client's command, and conditions on their output.
both() { # name, server's command, client's, checks...
	local status program
	program=$(program_of $2)
	begin "$1" "$program" || return
	if ! serve $2; then
		not_ok "$name" "server: $(tail -1 "$tmp/server")"
		return
	fi
	run $3 >"$tmp/client" 2>&1
	status=$?
	wait $server
	why_status="server $?, client $status: $(tail -qn 1 "$tmp/server" "$tmp/client")"
	shift 3
	verdict '[[ $why_status = "server 0, client 0"* ]] || { why=$why_status; false; }' "$@"
}

# The server runs until it is killed, with status 143.
against() { # name, server's command, client's, times, checks...
	local n status=0 program
	program=$(program_of $2)
	begin "$1" "$program" || return
	if ! serve $2; then
		not_ok "$name" "server: $(tail -1 "$tmp/server")"
		return
	fi
	: >"$tmp/client"
	for ((n = 0; n < $4; n++)); do
		run $3 >>"$tmp/client" 2>&1 || status=$?
	done
	kill $server
	wait $server 2>/dev/null
	shift 4
	verdict "[ $status -eq 0 ] || { why='client: $status'; false; }" "$@"
}

refused() {
	begin "nobody listens" rping || return
	run rping -c -v -C 1 -a 127.0.0.1 >"$tmp/client" 2>&1
	verdict "[ $? -ne 0 ]" "says client 'RDMA_CM_EVENT_REJECTED, error 8'"
}

listener_gone() {
	begin "listener is killed" rping || return
	serve rping -s -P -v -a 127.0.0.1 || { not_ok "$name" "server"; return; }
	{ pkill -KILL -P $server; wait $server; } 2>/dev/null
	run rping -c -v -C 1 -a 127.0.0.1 >"$tmp/client" 2>&1
	verdict "[ $? -ne 0 ]" "says client 'RDMA_CM_EVENT_REJECTED, error 8'"
}

# Both sides run until one is killed; the other must end by itself.
peer_killed() { # name, victim
	local client victim other
	begin "$1" rping || return
	serve rping -s -v -C 100000000 -a 127.0.0.1 || { not_ok "$name" "server"; return; }
	"${device[@]}" timeout 60 rping -c -v -C 100000000 -a 127.0.0.1 >"$tmp/client" 2>&1 &
	client=$!
	until says client "rdma-ping-9" || ! kill -0 $client 2>/dev/null; do sleep 0.02; done
	victim=$server other=$client
	[ "$2" = client ] && victim=$client other=$server
	{ pkill -KILL -P $victim; wait $victim; } 2>/dev/null
	wait $other
	other=$?
	verdict "[ $other -ne 124 ] || { why='it hangs'; false; }" \
		"[ $other -ne 0 ] || says $3 'DISCONNECT'" "says $3 'DISCONNECT EVENT'"
}

copied() {
	local source=$tmp/source copy=$tmp/copy
	begin rcopy rcopy || return
	head -c 3000000 /dev/urandom >"$source"
	serve rcopy || { not_ok "$name" "server: $(tail -1 "$tmp/server")"; return; }
	run rcopy "$source" "127.0.0.1:$copy" >"$tmp/client" 2>&1
	verdict_status=$?
	kill $server
	wait $server 2>/dev/null
	verdict "[ $verdict_status -eq 0 ]" "cmp '$source' '$copy'"
	rm -f "$copy"
}

# rdma_xclient posts inline data without requesting room; hardware rounds up, this device refuses
# it: the client gets that far.
xrc() {
	begin "rdma_xclient -c x connects" rdma_xserver || return
	serve rdma_xserver -c x || { not_ok "$name" "server: $(tail -1 "$tmp/server")"; return; }
	run rdma_xclient -s 127.0.0.1 -c x >"$tmp/client" 2>&1
	pkill -P $server
	wait $server 2>/dev/null
	verdict "says client '^rdma_post_send:'"
}

# udpong's own datagrams use a port of the machine.
datagram_sockets() {
	local port=$((${TEST_PORT:-20000} + RANDOM % 200)) status
	begin udpong udpong || return
	"${device[@]}" timeout 60 udpong -b 127.0.0.1 -p $port -C 100 -S 64 >"$tmp/server" 2>&1 &
	server=$!
	until ss -lunH "sport = :$port" | grep -q . || ! kill -0 $server 2>/dev/null; do sleep 0.02
	done
	run udpong -s 127.0.0.1 -p $port -C 100 -S 64 >"$tmp/client" 2>&1
	status=$?
	kill $server 2>/dev/null
	wait $server 2>/dev/null
	if [ $? -eq $((128 + 11)) ]; then # if first verbs are slow, it forwards more
		emptied
		skip "$name" "librdmacm crashed: its service thread takes a message buffer while \
the program's own thread gives one back (smsg_free of rsocket.c has no lock)"
		return
	fi
	verdict "[ $status -eq 0 ] || { why='client: $status'; false; }" "says client '^custom'"
}

# Programs of the sockets API, by librdmacm's own preload before ours.
preloaded_sockets() { # name, rstream's -T, environment
	local lib=/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so \
		preload=$libs/libverbatim-soft.so status
	local port=$((${TEST_PORT:-20000} + RANDOM % 200)) how=(-S 64 -C 10 -I 10 -p)
	begin "$1" rstream || return
	[ $face != dropin ] && [ -e $lib ] ||
		{ skip "$name" "not installed, or no preload"; return; }
	[ $face = recorded ] && preload=$LD_PRELOAD
	local both=(env "LD_PRELOAD=$lib:$preload" ${3:-_=} timeout 60 rstream)
	rm -f /dev/shm/sem.rsocket_fork # which librspreload leaves
	"${both[@]}" -T "$2" "${how[@]}" $port >"$tmp/server" 2>&1 &
	server=$!
	until listening || ss -ltnH "sport = :$port" | grep -q . ||
		! kill -0 $server 2>/dev/null; do sleep 0.02; done
	"${both[@]}" -T s -s 127.0.0.1 "${how[@]}" $port >"$tmp/client" 2>&1
	status=$?
	wait $server
	why_status="server $?, client $status: $(tail -qn 1 "$tmp/server" "$tmp/client")"
	rm -f /dev/shm/sem.rsocket_fork
	verdict '[[ $why_status = "server 0, client 0"* ]] || { why=$why_status; false; }' \
		"says client '^custom'"
}

pyverbs() {
	local tests=/usr/share/doc/rdma-core/tests
	begin "pyverbs test_rdmacm" /usr/bin/python3 || return
	[ $face = preload ] || return
	if ! [ -d $tests ] || ! /usr/bin/python3 -c 'import pyverbs' 2>/dev/null; then
		skip "$name" "not installed"
		return
	fi
	cp -r $tests "$tmp/tests"
	find "$tmp/tests" -name '*.gz' -exec gunzip -f {} +
	# its own time limits are too short for a machine with hundreds of busy threads
	sed -i 's/PROCESSES, timeout=15)/PROCESSES, timeout=60)/
		s/repeat_times=150 if/repeat_times=450 if/' "$tmp/tests/base.py"
	(cd "$tmp" && run /usr/bin/python3 tests/run_tests.py -v \
		tests.test_rdmacm) >"$tmp/client" 2>&1
	verdict "says client ' ok\$' 10" "says client '^OK\$'"
}

all() { # face
	choose "$1"
	a="-a 127.0.0.1" s="-s 127.0.0.1"
	both "rping" "rping -s -v -C 10 $a" "rping -c -v -C 10 $a" \
		"says server 'server ping data: rdma-ping-' 10" \
			"says client '^ping data: rdma-ping-' 10"
	both "rping -S 60000" "rping -s -V -C 10 -S 60000 $a" "rping -c -V -C 10 -S 60000 $a"
	both "rping IPv6" "rping -s -v -C 10 -a ::1" "rping -c -v -C 10 -a ::1" \
		"says client '^ping data: rdma-ping-' 10"
	both "rping to the wildcard" "rping -s -v -C 10" "rping -c -v -C 10 -a 127.0.0.2" \
		"says client '^ping data: rdma-ping-' 10"
	both "rping roce" "env VERBATIM_SOFT_LINK=roce rping -s -v -C 10 $a" \
		"env VERBATIM_SOFT_LINK=roce rping -c -v -C 10 $a" \
			"says client '^ping data: rdma-ping-' 10"
	against "rping persistent" "rping -s -P -v $a" "rping -c -v -C 10 $a" 3 \
		"says client '^ping data: rdma-ping-' 30"
	both "ucmatose" "ucmatose" "ucmatose $s" "says client 'return status 0'" \
		"says server 'return status 0'"
	both "ucmatose -c 200" "ucmatose -c 200" "ucmatose $s -c 200" \
		"says client 'return status 0'" "says server 'return status 0'" \
			"says server disconnected 1"
	both "ucmatose -m" "ucmatose -c 5 -m" "ucmatose $s -c 5 -m" \
		"says client 'return status 0'" "says server 'return status 0'"
	both "udaddy" "udaddy -c 5" "udaddy $s -c 5" "says client 'return status 0'" \
		"says server 'return status 0'"
	both "mckey" "stdbuf -oL mckey -m 239.1.2.3 -b 127.0.0.1" \
		"mckey -m 239.1.2.3 -b 127.0.0.1 -s" \
		"says server 'data transfers complete'" "says server 'return status 0'"
	both "rdma_client" "rdma_server" "rdma_client $s" "says client 'end 0'" \
		"says server 'end 0'"
	both "rstream verified" "rstream -T v -S 4000 -I 20 -C 10" \
		"rstream $s -T v -S 4000 -I 20 -C 10" "says client custom"
	both "rstream blocking" "rstream -T b -S 65536 -I 20 -C 10" \
		"rstream $s -T b -S 65536 -I 20 -C 10" "says client custom"
	both "rstream nonblocking" "rstream -T n -S 65536 -I 20 -C 10" \
		"rstream $s -T n -S 65536 -I 20 -C 10" "says client custom"
	both "rstream resolving" "rstream -T r -S 64 -I 20 -C 10" \
		"rstream $s -T r -S 64 -I 20 -C 10" "says client custom"
	both "riostream" "riostream -T v -S 4000 -I 20 -C 10" \
		"riostream $s -T v -S 4000 -I 20 -C 10" "says client custom"
	copied
	against "cmtime" "cmtime" "cmtime $s -c 100" 1 "says client '^connect'" \
		"says client '^disconnect'"
	for program in ib_send_bw ib_send_lat ib_write_bw ib_read_lat; do
		both "$program -R" "$program -R -F --use_old_post_send -n 500" \
			"$program -R -F --use_old_post_send -n 500 127.0.0.1" \
				"says client '^ [0-9]* *500 '"
	done
	both "ib_send_lat -R -c UD" "ib_send_lat -R -c UD -F --use_old_post_send -n 500" \
		"ib_send_lat -R -c UD -F --use_old_post_send -n 500 127.0.0.1" \
			"says client '^ [0-9]* *500 '"
	xrc
	datagram_sockets
	preloaded_sockets "sockets over rsockets" s
	preloaded_sockets "sockets over rsockets, forked" f RDMAV_FORK_SAFE=1
	refused
	listener_gone
	peer_killed "rping whose server is killed" server client
	peer_killed "rping whose client is killed" client server
	pyverbs
}

if [ $# -gt 0 ]; then
	all "$1"
	exit $failed
fi
all preload
all dropin
. tests/e2e/lib/recorded.sh
# cmtime destroys the queues before the queue pairs that use them; perftest leaves its own context
# open when it uses librdmacm's, and librdmacm leaves udpong's open; refused clients do not clean
# up; rdma_xclient posts inline data without requesting room; a client of pyverbs posts its first
# receive after its send, and the response may arrive before; three destroy the channel while their
# thread for events sleeps in rdma_get_cm_event(); rsockets tells a peer of the shutdown that has
# closed its socket, and deregistered the memory, a moment before
recorded_again "$0" "LIFE-00[34] .* cmtime" "QUEUE-005 ibv_post_send rdma_xclient" \
	"THREAD-002 rdma_destroy_event_channel (cmtime|mckey|rping)" \
	"STATE-006 ibv_post_send python3.*" "MKEY-004 ibv_post_send rstream" \
	"LIFE-004 .* (ib_[a-z]+_(bw|lat)|udpong|rping|rdma_x(client|server))"
exit $failed
