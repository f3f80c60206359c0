# Sourced first by tests of kernel devices, which run in a virtual machine:
#
#	in_machine [OPTION of scripts/vm...]
#
# outside of one runs the whole list in it, and ends; in it, or with VERBATIM_VM=here on a machine
# that has devices of its own, goes on with what tests/e2e/lib/try.sh offers, and
#
#	use_device NAME			what follows is for that device, with $ibv, $perftest and
#					$address for its clients
#	two_hosts FUNCTION FUNCTION	instead: one in each of two machines joined by a wire; both
#					write to folder $wire, $peer is the other's address
#	await_other NAME		until the other host has made $wire/NAME
#
# A list ends by itself. The time limit of its machine is for a list that hangs: a busy computer may
# take ten times as long.
LIMIT=3600
AWAIT_SECONDS=600

in_machine() {
	local status
	[ -z "${VERBATIM_VM:-}" ] || { . tests/e2e/lib/try.sh; unset VERBATIM_DEVICE; return; }
	scripts/vm -t $LIMIT "$@" -- bash "$0"
	status=$?
	[ $status -ne 77 ] || { echo "skip $(basename "$0" .sh): no virtual machine"; status=0; }
	exit $status
}

use_device() { # name
	local gid net
	device=$1
	gid=$(cd /sys/class/infiniband/"$1"/ports/1/gid_attrs/types &&
		grep -l . -- * 2>/dev/null | sort -n | tail -1)
	net=$(rdma -j link show "$1"/1 | jq -r '.[0].netdev')
	ibv=(-d "$device" -g "${gid:-0}") perftest=(-d "$device" -x "${gid:-0}")
	address=$(ip -4 -j addr show dev "$net" | jq -r '.[0].addr_info[0].local // empty')
	export VERBATIM_DEVICE=$device
}

await_other() { # name
	local ended=$wire/ended.$((3 - host))
	until [ -e "$wire/$1" ]; do
		[ ! -e "$ended" ] || [ -e "$wire/$1" ] ||
			{ echo "the other machine has ended without '$1'"; return 1; }
		read -rt 0.05 <> <(:)
	done
	return 0 # not the status of read
}

run_host() { # number
	local status
	host=$1 wire=$wire scripts/vm -t $LIMIT -n "$1:$wire/socket" -w "$wire" -- bash "$0"
	status=$?
	: >"$wire/ended.$1"
	return $status
}

two_hosts() { # for host 1, for host 2
	local status=0 first
	if [ -n "${host:-}" ]; then
		[ "$host" = 1 ] && peer=192.168.79.2 || peer=192.168.79.1
		. tests/e2e/lib/try.sh
		unset VERBATIM_DEVICE
		if [ "$host" = 1 ]; then "$1"; else "$2"; fi
		exit $failed
	fi
	wire=$(mktemp -d) || exit
	run_host 1 & first=$!
	run_host 2 || status=$?
	wait $first || status=$?
	rm -rf "$wire"
	[ $status -ne 77 ] || { echo "skip $(basename "$0" .sh): no virtual machine"; status=0; }
	exit $status
}
