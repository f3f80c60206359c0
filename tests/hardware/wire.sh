#!/usr/bin/env bash
# The software device and Linux's Soft-RoCE as the two ends of one wire: each program with both as
# server and as client.
. tests/hardware/lib/machine.sh
in_machine -t 3600
AWAIT_SECONDS=60
for each in VERBATIM_DEVICE VERBATIM_SESSIONS; do unset $each; done
here=10.99.0.1 there=10.99.0.2

# Soft-RoCE is in the machine's own namespace, the software device in that of a process that sleeps.
unshare -n sleep 3000 & other=$!
trap 'kill $other; rm -rf "$tmp"' EXIT
is_apart() { [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
await is_apart
ip link add v0 mtu 1500 type veth peer name v1 mtu 1500 netns $other
ip addr add $here/24 dev v0
ip link set v0 up
nsenter -t $other -n ip link set lo up
nsenter -t $other -n ip addr add $there/24 dev v1
nsenter -t $other -n ip link set v1 up
rdma link add rxe1 type rxe netdev v0 || { echo "skip wire: no Soft-RoCE on a veth"; exit 0; }
gid=$(cd /sys/class/infiniband/rxe1/ports/1/gids &&
	grep -l "ffff:0a63:0001" -- * 2>/dev/null | sort -n | tail -1)

stop_all() { # but the one that sleeps
	local pid
	for pid in $(jobs -p); do [ "$pid" = $other ] || kill -KILL "$pid" 2>/dev/null; done
}

rxe() { "$@"; }
soft() { VERBATIM_SOFT_FABRIC=$tmp/fabric VERBATIM_SOFT_WIRE=v1 nsenter -t $other -n \
	env LD_PRELOAD=$libs/libverbatim-soft.so "$@"; }
address_of() { [ "$1" = rxe ] && echo $here || echo $there; }

# Options that name the device of a side.
rxe_ibv="-d rxe1 -g ${gid:-1}" rxe_perftest="-F -d rxe1 -x ${gid:-1}"
soft_ibv="-d verbatim0 -g 0" soft_perftest="-F -d verbatim0 -x 0"

serves() { # side
	local of=self
	[ "$1" = rxe ] || of=$other
	grep -qi ":$(printf %04X $port) .* 0A " /proc/$of/net/tcp /proc/$of/net/tcp6
}

pair() { # kind of options, server's side, client's side, program, options
	local server=$2 client=$3 pid status=0 server_options=${2}_$1 client_options=${3}_$1
	shift 3
	next_port
	"$server" timeout 120 "$@" ${!server_options} -p $port >"$tmp/server" 2>&1 &
	pid=$!
	await serves "$server" || { kill $pid; cat "$tmp/server"; return 1; }
	"$client" timeout 120 "$@" ${!client_options} -p $port \
		"$(address_of "$server")" >"$tmp/client" 2>&1 || status=1
	[ $status = 0 ] || kill $pid 2>/dev/null
	wait $pid && [ $status = 0 ] || { tail -n 5 "$tmp/server" "$tmp/client"; return 1; }
}

# With librdmacm, the server is there when it is asked: a client is refused until then.
cm_pair() { # server's side, client's side, server's words, client's words
	local server=$1 client=$2 pid n
	$server timeout 60 $3 >"$tmp/server" 2>&1 & pid=$!
	for n in {1..50}; do
		$client timeout 60 $4 >"$tmp/client" 2>&1 && break
		grep -q "error 8" "$tmp/client" || break
	done
	wait $pid && ! grep -q "error" "$tmp/client" ||
		{ tail -n 5 "$tmp/server" "$tmp/client"; return 1; }
}

both_ways() { # kind of options, program, options
	local ways
	for ways in "rxe soft" "soft rxe"; do
		try "$2, server and client: $ways" pair "$1" $ways "${@:2}"
	done
}

both_ways ibv ibv_rc_pingpong -n 50
both_ways ibv ibv_ud_pingpong -n 50
both_ways ibv ibv_srq_pingpong -n 50
both_ways perftest ib_send_bw -n 20 -s 70001
both_ways perftest ib_write_bw -n 20 -s 70001
both_ways perftest ib_read_bw -o 16 -n 20 -s 70001
both_ways perftest ib_atomic_bw -o 16 -n 20
for each in "rxe soft" "soft rxe"; do
	to=$(address_of ${each% *})
	try "rping: $each" cm_pair $each "rping -s -C 5 -a $to" "rping -c -C 5 -v -a $to"
	try "ucmatose: $each" cm_pair $each "ucmatose" "ucmatose -s $to"
	try "udaddy: $each" cm_pair $each "udaddy" "udaddy -s $to"
	try "rstream: $each" cm_pair $each "rstream -S 10000 -C 20" "rstream -s $to -S 10000 -C 20"
done

# Two processes on the software device, on a link that the kernel impairs; ROUNDS: requester_test.c.
all_arrives_once_over_netem() {
	NETEM="delay 1ms loss 1% duplicate 1% reorder 5%" timeout 3000 "$requester" \
		>"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	! grep SKIPPED "$tmp/out"
}
requester=$BUILD/tests/shim/soft/network/requester_test
needs "$requester"
try all_arrives_once_over_netem
exit $failed
