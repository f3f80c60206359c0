#!/bin/sh
# Two containers without Docker and without root: each has its own user, network and PID namespace,
# a cable joins them, and ibv_rc_pingpong runs between them on the software device.
#
#	sh two-networks.sh [PROGRAM [OPTION...]]
#
# PROGRAM is a server; with the server's address after it, it is a client. It needs iproute2,
# util-linux, and a kernel that lets users create namespaces.
set -e
if [ -z "$TWO_NETWORKS" ]; then
	TWO_NETWORKS=1 exec unshare --user --map-root-user --net --pid --fork --mount-proc \
		sh "$0" "$@"
fi
[ $# -gt 0 ] || set -- ibv_rc_pingpong -g 0
verbatim=${VERBATIM:-verbatim}
dir=$(mktemp -d)

# The other container lives as long as this process of it.
unshare --net --pid --fork --kill-child sleep 600 &
other=$!
trap 'kill $other; rm -rf "$dir"' EXIT
until [ "$(readlink /proc/$other/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.1; done

ip link set lo up
ip link add eth0 type veth peer name eth0 netns $other
ip addr add 10.88.0.1/24 dev eth0
ip link set eth0 up
there() { nsenter --target $other --net --pid -- "$@"; }
there ip link set lo up
there ip addr add 10.88.0.2/24 dev eth0
there ip link set eth0 up

# Without a common directory, the two have nothing but the network.
VERBATIM_SOFT_FABRIC=$dir/server "$verbatim" run --device soft:eth0 "$@" &
server=$!
tries=0
until there env VERBATIM_SOFT_FABRIC="$dir/client" "$verbatim" run --device soft:eth0 \
	"$@" 10.88.0.1; do
	tries=$((tries + 1))
	[ $tries -lt 50 ] && kill -0 $server 2>/dev/null || exit 1
	sleep 0.2 # the server does not listen yet
done
wait $server
