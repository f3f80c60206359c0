# Sourced after in_machine: two ends of a cable for the software device and two for Soft-RoCE, each
# with the addresses $here and $there.
#
# Soft-RoCE works only in the machine's own namespace, so its two devices, rxe1 and rxe2, are the
# ends r0 and r1 of a cable there, and rules of routing send packets through the cable. The software
# device has a cable between v0 in the namespace of process $two and v1 in that of $one, since
# Soft-RoCE has the port in the machine's own.
here=10.99.0.1 there=10.99.0.2

unshare -n sleep 5000 & one=$!
unshare -n sleep 5000 & two=$!
trap 'kill $one $two; rm -rf "$tmp"' EXIT
stop_all() { # but those that sleep
	local pid
	for pid in $(jobs -p); do
		[ "$pid" = $one ] || [ "$pid" = $two ] || kill -KILL "$pid" 2>/dev/null
	done
}
is_apart() { [ "$(readlink /proc/$1/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
await is_apart $one
await is_apart $two

ip link add v0 mtu 1500 type veth peer name v1 mtu 1500 netns $one
ip link set v0 netns $two
nsenter -t $two -n sh -c "ip link set lo up; ip addr add $here/24 dev v0; ip link set v0 up"
nsenter -t $one -n sh -c "ip link set lo up; ip addr add $there/24 dev v1; ip link set v1 up"

# What leaves for the other end takes the cable; only what has arrived is for this machine.
join_ends() {
	local each
	ip link add r0 mtu 1500 type veth peer name r1 mtu 1500
	for each in r0 r1 all; do
		echo 0 >/proc/sys/net/ipv4/conf/$each/rp_filter
		echo 1 >/proc/sys/net/ipv4/conf/$each/accept_local
	done
	ip addr add $here/24 dev r0 && ip addr add $there/24 dev r1 &&
		ip link set r0 up && ip link set r1 up &&
		ip route add $there dev r0 src $here table 100 &&
		ip route add $here dev r1 src $there table 101 &&
		ip rule add pref 10 iif r0 lookup local &&
		ip rule add pref 11 iif r1 lookup local &&
		ip rule add pref 20 to $there lookup 100 &&
		ip rule add pref 21 to $here lookup 101 &&
		ip rule add pref 30 lookup local && ip rule del pref 0 &&
		ip neigh replace $there dev r0 nud permanent \
			lladdr "$(cat /sys/class/net/r1/address)" &&
		ip neigh replace $here dev r1 nud permanent \
			lladdr "$(cat /sys/class/net/r0/address)" &&
		rdma link add rxe1 type rxe netdev r0 && rdma link add rxe2 type rxe netdev r1
}

soft() { # process with the namespace, interface, command
	VERBATIM_SOFT_FABRIC=$tmp/$2 VERBATIM_SOFT_WIRE=$2 nsenter -t $1 -n \
		env LD_PRELOAD="$libs/libverbatim-soft.so" "${@:3}"
}
