#!/usr/bin/env bash
# Programs that look for a device below /sys and /dev before they call libibverbs, and a device that
# a file describes. As a preload, as a drop-in (for programs that are linked with it), with the
# drop-in preloaded, and recorded. An argument selects one of these.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # the device is preloaded or a drop-in
trap 'rm -rf "$tmp" "$VERBATIM_SOFT_FABRIC"' EXIT
VERBATIM_SOFT_FABRIC=$(mktemp -d /dev/shm/verbatim-soft-e2e.XXXXXX) || exit 1

choose() {
	face=$1
	case $face in
	preload) device=(env "LD_PRELOAD=$libs/libverbatim-soft.so") ;;
	dropin) device=(env "LD_LIBRARY_PATH=$libs/dropin") ;;
	both) device=(env "LD_LIBRARY_PATH=$libs/dropin" \
		"LD_PRELOAD=$libs/dropin/libibverbs.so.1") ;;
	recorded) device=(env) ;; # as this script itself
	esac
}

# A command's output has a line that matches.
finds() { # name, pattern, program, arguments...
	local name="$face: $1" pattern=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1 is not installed"
		return
	fi
	"${device[@]}" timeout 120 "$@" >"$tmp/out" 2>"$tmp/err"
	if grep -q -- "$pattern" "$tmp/out"; then
		ok "$name"
	else
		not_ok "$name" "$(tail -1 "$tmp/out") $(tail -1 "$tmp/err")"
	fi
}

# A command ends with status 0.
passes() { # name, program, arguments...
	local name="$face: $1"
	shift
	if "${device[@]}" timeout 120 "$@" >"$tmp/out" 2>"$tmp/err"; then
		ok "$name"
	else
		not_ok "$name" "$(tail -1 "$tmp/out") $(tail -1 "$tmp/err")"
	fi
}

# If the kernel has a connection manager, librdmacm asks it for the number of the node.
kernels_number() {
	local name="$face: the connection manager's node has the kernel's number" got
	[ $face != recorded ] || return 0 # the folder would be created in our tree
	got=$(unshare -rm sh -c '
		mount -t tmpfs none /sys/class/misc && mkdir /sys/class/misc/rdma_cm &&
			echo 10:124 >/sys/class/misc/rdma_cm/dev && exec "$@"' - "${device[@]}" \
		sh -c 'stat -c %t:%T /dev/infiniband/rdma_cm; cat /sys/class/misc/rdma_cm/dev' 2>&1)
	if [ "$got" = $'a:7c\n10:124' ]; then ok "$name"; else not_ok "$name" "$got"; fi
}

class=/sys/class/infiniband

# The view of a shell, and of the programs it calls: each has its own tree. The two ends of a
# pingpong with the same arguments; the client on $other.
pingpong() { # name, arguments...
	local name="$face: $1" server
	shift
	next_port
	"${device[@]}" timeout 60 ibv_rc_pingpong -p $port "$@" >"$tmp/server" 2>&1 &
	server=$!
	until listens $port || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
	if "${device[@]}" "VERBATIM_SOFT_PERSONA=${other:-${VERBATIM_SOFT_PERSONA:-}}" timeout 60 \
		ibv_rc_pingpong -p $port "$@" localhost >"$tmp/client" 2>&1 &&
		wait $server; then
		ok "$name"
	else
		wait $server
		not_ok "$name" "$(tail -1 "$tmp/server") $(tail -1 "$tmp/client")"
	fi
}

persona() {
	local VERBATIM_SOFT_PERSONA=$tmp/machine
	export VERBATIM_SOFT_PERSONA
	cp tests/e2e/faces/machine.txt "$tmp/machine"
	finds "persona names the device" "mlx5_0.*0002c90300fed670" ibv_devices
	finds "persona's limits" "max_sge:.*30" ibv_devinfo -v
	finds "persona's board" "MT_0000000223" ibv_devinfo
	finds "persona's second port" "link_layer:.*Ethernet" ibv_devinfo -i 2
	pingpong "traffic on persona's first port" -i 1 -n 100
	pingpong "traffic on persona's second port" -i 2 -g 1 -n 100
	sed 's/lid .*/lid 40/; s/:d67/:e67/; s/\.1\.7/.1.8/' "$tmp/machine" >"$tmp/other"
	local other=$tmp/other
	pingpong "two machines, InfiniBand" -i 1 -n 100
	pingpong "two machines, InfiniBand, by GID" -i 1 -g 0 -n 100
	pingpong "two machines, RoCE" -i 2 -g 3 -n 100
	if "${device[@]}" ibv_rc_pingpong -i 3 >"$tmp/out" 2>&1; then
		not_ok "$face: no third port" "it opens"
	else
		ok "$face: no third port"
	fi
	echo "max_qpp 3" >"$tmp/machine"
	if "${device[@]}" ibv_devinfo >"$tmp/out" 2>&1; then
		not_ok "$face: bad persona" "the device opens"
	elif [ "$(grep -c "^verbatim-soft: $tmp/machine:1: max_qpp: there is no such item" \
		"$tmp/out")" -ne 1 ]; then
		not_ok "$face: bad persona" "$(cat "$tmp/out")"
	else
		ok "$face: bad persona"
	fi
}

# It finds ports and their distance below /sys, and connects with datagrams.
openib() {
	command -v mpicc >/dev/null || { skip "$face: openib" "mpicc is not installed"; return; }
	mpicc -o "$tmp/exchange" tests/e2e/faces/exchange.c ||
		{ not_ok "$face: openib" "mpicc fails"; return; }
	finds "Open MPI's openib" "^all there" mpirun --allow-run-as-root --oversubscribe -np 2 \
		--mca pml ob1 --mca btl openib,self --mca btl_openib_allow_ib 1 \
		--mca btl_openib_warn_no_device_params_found 0 "$tmp/exchange"
}

# Trees of ended processes, after the next process has swept. Trees of processes that end only then
# may belong to parallel tests.
left() {
	local tree dead=()
	for tree in /dev/shm/verbatim-soft-"$(id -u)".sys.*; do
		[ -e "$tree" ] && ! kill -0 "${tree##*.}" 2>/dev/null && dead+=("$tree")
	done
	"${device[@]}" cat $class/verbatim0/fw_ver >/dev/null 2>&1
	for tree in "${dead[@]}"; do
		[ ! -e "$tree" ] || echo "$tree"
	done
}

emptied() {
	local name="$face: nothing is left" found
	found=$(left; ls -A "$VERBATIM_SOFT_FABRIC")
	if [ -z "$found" ]; then ok "$name"; else not_ok "$name" "$found"; fi
}

killed() {
	local name="$face: who is killed is swept" pid tree
	rm -f "$tmp/out"
	"${device[@]}" bash -c \
		"read -r x <$class/verbatim0/fw_ver; echo; exec 1>&-; kill -STOP \$\$" >"$tmp/out" &
	pid=$!
	until [ -s "$tmp/out" ]; do sleep 0.02; done
	tree=/dev/shm/verbatim-soft-$(id -u).sys.$pid
	if [ ! -d "$tree" ]; then not_ok "$name" "there is no $tree"; kill -KILL $pid; return; fi
	{ kill -KILL $pid; wait $pid; } 2>/dev/null
	"${device[@]}" cat $class/verbatim0/fw_ver >/dev/null
	if [ -e "$tree" ]; then not_ok "$name" "$tree is there"; else ok "$name"; fi
}

# It ends on a signal.
watches() {
	local name="$face: ibv_asyncwatch" pid
	rm -f "$tmp/out"
	"${device[@]}" stdbuf -oL ibv_asyncwatch >"$tmp/out" 2>&1 &
	pid=$!
	until [ -s "$tmp/out" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
	{ kill $pid; wait $pid; } 2>/dev/null
	if grep -q "verbatim0: async event FD" "$tmp/out"; then ok "$name"
	else not_ok "$name" "$(tail -1 "$tmp/out")"; fi
}

linked() {
	finds topology "^verbatim0 /sys/devices/pci.* node -1, " "$libs/tests/apps/topology"
	finds "topology roce" "RoCE v2$" env VERBATIM_SOFT_LINK=roce "$libs/tests/apps/topology"
	finds "ibv_devinfo" "board_id:.*VBM0000000001" ibv_devinfo
	watches
	finds "fi_info" "domain: verbatim0" fi_info -p verbs
	persona
}

any() {
	finds cat "^4: ACTIVE$" cat $class/verbatim0/ports/1/state
	finds "cat roce" "^Ethernet$" env VERBATIM_SOFT_LINK=roce cat \
		$class/verbatim0/ports/1/link_layer
	finds ls "^verbatim0$" ls $class
	passes "bash and what it calls" bash -c "$(cat tests/e2e/faces/sees.sh)"
	passes "python" python3 -c "$(cat tests/e2e/faces/sees.py)"
	kernels_number
	finds "rdma link" '"ifname":"verbatim0","port":1,.*"lid":1,' rdma link show -j
	finds "rdma link roce" '"netdev":"lo"' env VERBATIM_SOFT_LINK=roce rdma link show -j
	finds "rdma dev" "verbatim0: node_type ca" rdma dev show
	finds ibstat "^CA 'verbatim0'" ibstat
	finds "ucx_info rc_verbs" "Transport: rc_verbs" ucx_info -d
	finds "ucx_info ud_verbs" "Transport: ud_verbs" ucx_info -d
	openib
	killed
}

under_preload() {
	finds "under the recorder's preload" "^4: ACTIVE$" \
		env "LD_PRELOAD=$libs/libverbatim.so:$libs/libverbatim-soft.so" \
		cat $class/verbatim0/ports/1/state
}

all() { # face
	choose "$1"
	linked
	[ "$1" = dropin ] || any
	emptied
}

if [ $# -gt 0 ]; then
	all "$1"
	exit $failed
fi
for each in preload dropin both; do
	all $each
done
choose preload
under_preload
. tests/e2e/lib/recorded.sh
recorded_again "$0"
exit $failed
