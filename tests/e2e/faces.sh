#!/usr/bin/env bash
# Programs that look for a device below /sys and /dev before they ask
# libibverbs, and a device that a file describes. As a preload, as a drop-in
# (for programs that are linked with it), with the drop-in preloaded, and recorded.
# An argument chooses one of these.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$PWD/${BUILD:-build}
failed=0
port=${TEST_PORT:-22000}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"; rm -rf "${VERBATIM_SOFT_FABRIC:-$work}"' EXIT
export VERBATIM_SOFT_FABRIC
VERBATIM_SOFT_FABRIC=$(mktemp -d /dev/shm/verbatim-soft-e2e.XXXXXX) || exit 1

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1: $2"; failed=1; }
skip() { echo "skip $1: $2"; }

choose() {
	face=$1
	case $face in
	preload) device=(env "LD_PRELOAD=$build/libverbatim-soft.so") ;;
	dropin) device=(env "LD_LIBRARY_PATH=$build/dropin") ;;
	both) device=(env "LD_LIBRARY_PATH=$build/dropin" "LD_PRELOAD=$build/dropin/libibverbs.so.1") ;;
	recorded) device=(env) ;; # as we ourselves are
	esac
}

# A command's output holds a line that matches.
finds() { # name, pattern, program, arguments...
	local name="$face: $1" pattern=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		skip "$name" "$1 is not installed"
		return
	fi
	"${device[@]}" timeout 120 "$@" >"$work/out" 2>"$work/err"
	if grep -q -- "$pattern" "$work/out"; then
		ok "$name"
	else
		not_ok "$name" "$(tail -1 "$work/out") $(tail -1 "$work/err")"
	fi
}

# A command ends well.
passes() { # name, program, arguments...
	local name="$face: $1"
	shift
	if "${device[@]}" timeout 120 "$@" >"$work/out" 2>"$work/err"; then
		ok "$name"
	else
		not_ok "$name" "$(tail -1 "$work/out") $(tail -1 "$work/err")"
	fi
}

class=/sys/class/infiniband

# What a shell, and the programs it calls, see: each has a tree of its own.
script() {
	cat <<-'END'
		set -e
		for device in /sys/class/infiniband/*; do
			[ -d "$device/device" ] && [ -r "$device/ports/1/state" ]
			name=${device##*/}
		done
		[ "$name" = verbatim0 ]
		cd /sys/class/infiniband/$name/ports/1
		read -r state < state
		[ "$state" = "4: ACTIVE" ]
		[ "$(cat state)" = "$state" ]
		[ "$(cat gids/* | sort -u | wc -l)" -eq 3 ]
		[ -c /dev/infiniband/uverbs0 ] && [ -c /dev/infiniband/rdma_cm ]
		[ "$(stat -c %t:%T /dev/infiniband/rdma_cm)" = "$(printf %x:%x \
			$(tr : ' ' </sys/class/misc/rdma_cm/dev))" ]
		[ "$(ls -l /dev/infiniband | grep -c '^c')" -eq 2 ]
		[ "$(realpath /sys/class/infiniband/$name/device)" = \
			"$(readlink -f /sys/class/infiniband_verbs/uverbs0/device)" ]
		[ "$(find /sys/class/infiniband/$name/ -name fw_ver | wc -l)" -eq 1 ]
		exec grep -q verbatim0 /sys/class/infiniband_verbs/uverbs0/ibdev
	END
}

python_sees() {
	cat <<-'END'
		import glob, os, stat
		name, = os.listdir('/sys/class/infiniband')
		with open('/sys/class/infiniband/%s/node_type' % name) as f:
		    assert f.read() == '1: CA\n'
		types = glob.glob('/sys/class/infiniband/*/ports/*/gid_attrs/types/*')
		assert len(types) == 2, types
		assert {e.name for e in os.scandir('/dev/infiniband')} == {'uverbs0', 'rdma_cm'}
		assert all(stat.S_ISCHR(e.stat().st_mode) for e in os.scandir('/dev/infiniband'))
		fd = os.open('/dev/infiniband/uverbs0', os.O_RDWR)
		assert stat.S_ISCHR(os.fstat(fd).st_mode)
		walked = [d for d, _, _ in os.walk('/sys/class/infiniband/%s/ports' % name)]
		assert len(walked) > 5, walked
		assert os.path.realpath('/sys/class/infiniband/%s/device' % name).startswith('/sys/devices/pci')
		import ctypes, subprocess, multiprocessing
		verbs, count = ctypes.CDLL('libibverbs.so.1'), ctypes.c_int()
		verbs.ibv_get_device_list.restype = ctypes.c_void_p
		assert verbs.ibv_get_device_list(ctypes.byref(count)) and count.value == 1
		assert subprocess.check_output(['cat', '/sys/class/infiniband/%s/fw_ver' % name])
		with multiprocessing.get_context('fork').Pool(2) as pool:
		    assert pool.map(os.path.exists, ['/sys/class/infiniband/' + name] * 4) == [True] * 4
	END
}

# The two ends of a pingpong with the same arguments; the client on $other.
pingpong() { # name, arguments...
	local name="$face: $1" server
	shift
	port=$((port + 1))
	while ss -ltnH "sport = :$port" | grep -q .; do port=$((port + 1)); done
	"${device[@]}" timeout 60 ibv_rc_pingpong -p $port "$@" >"$work/server" 2>&1 &
	server=$!
	until ss -ltnH "sport = :$port" | grep -q . || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
	if "${device[@]}" "VERBATIM_SOFT_PERSONA=${other:-${VERBATIM_SOFT_PERSONA:-}}" timeout 60 ibv_rc_pingpong -p $port "$@" localhost >"$work/client" 2>&1 &&
		wait $server; then
		ok "$name"
	else
		wait $server
		not_ok "$name" "$(tail -1 "$work/server") $(tail -1 "$work/client")"
	fi
}

machine() {
	cat <<-'END'
		name           mlx5_0
		fw_ver         20.31.1014
		node_guid      0x0002c90300fed670
		vendor_id      0x02c9
		vendor_part_id 4123
		board_id       MT_0000000223
		max_qp         262144     # lowered to what the device can
		max_sge        30
		port.1.lid     17
		port.1.gid.0   fe80::2:c903:fe:d671
		port.2.link_layer ethernet
		port.2.gid.0   fe80::2:c9ff:fefe:d672 rocev1
		port.2.gid.1   fe80::2:c9ff:fefe:d672 rocev2
		port.2.gid.3   ::ffff:192.168.1.7 rocev2
	END
}

persona() {
	local VERBATIM_SOFT_PERSONA=$work/machine
	export VERBATIM_SOFT_PERSONA
	machine >"$work/machine"
	finds "persona names the device" "mlx5_0.*0002c90300fed670" ibv_devices
	finds "persona's limits" "max_sge:.*30" ibv_devinfo -v
	finds "persona's board" "MT_0000000223" ibv_devinfo
	finds "persona's second port" "link_layer:.*Ethernet" ibv_devinfo -i 2
	pingpong "traffic on persona's first port" -i 1 -n 100
	pingpong "traffic on persona's second port" -i 2 -g 1 -n 100
	sed 's/lid .*/lid 40/; s/:d67/:e67/; s/\.1\.7/.1.8/' "$work/machine" >"$work/other"
	local other=$work/other
	pingpong "two machines, InfiniBand" -i 1 -n 100
	pingpong "two machines, InfiniBand, by GID" -i 1 -g 0 -n 100
	pingpong "two machines, RoCE" -i 2 -g 3 -n 100
	if "${device[@]}" ibv_rc_pingpong -i 3 >"$work/out" 2>&1; then
		not_ok "$face: no third port" "it opens"
	else
		ok "$face: no third port"
	fi
	echo "max_qpp 3" >"$work/machine"
	if "${device[@]}" ibv_devinfo >"$work/out" 2>&1; then
		not_ok "$face: bad persona" "the device opens"
	elif [ "$(grep -c "^verbatim-soft: $work/machine:1: max_qpp: there is no such item" "$work/out")" -ne 1 ]; then
		not_ok "$face: bad persona" "$(cat "$work/out")"
	else
		ok "$face: bad persona"
	fi
}

exchange() {
	cat <<-'END'
		#include <mpi.h>
		#include <stdio.h>
		static char bytes[1 << 20];
		int main(int argc, char **argv)
		{
			int rank, size, i, status = 0;

			MPI_Init(&argc, &argv);
			MPI_Comm_rank(MPI_COMM_WORLD, &rank);
			for (i = 1; i < 100; i++) {
				size = i % 2 ? 64 : sizeof(bytes);
				if (!rank)
					bytes[size - 1] = i;
				MPI_Bcast(bytes, size, MPI_CHAR, 0, MPI_COMM_WORLD);
				status |= bytes[size - 1] != i;
			}
			MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
			if (!rank && !status)
				puts("all there");
			return MPI_Finalize() || status;
		}
	END
}

# It finds ports and their distance below /sys, and connects with datagrams.
openib() {
	command -v mpicc >/dev/null || { skip "$face: openib" "mpicc is not installed"; return; }
	exchange >"$work/exchange.c"
	mpicc -o "$work/exchange" "$work/exchange.c" || { not_ok "$face: openib" "mpicc fails"; return; }
	finds "Open MPI's openib" "^all there" mpirun --allow-run-as-root --oversubscribe -np 2 \
		--mca pml ob1 --mca btl openib,self --mca btl_openib_allow_ib 1 \
		--mca btl_openib_warn_no_device_params_found 0 "$work/exchange"
}

# Trees of processes that are no more, after the next has swept. Those whose process ends only then may
# be of tests beside this.
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
	rm -f "$work/out"
	"${device[@]}" bash -c "read -r x <$class/verbatim0/fw_ver; echo; exec 1>&-; kill -STOP \$\$" >"$work/out" &
	pid=$!
	until [ -s "$work/out" ]; do sleep 0.02; done
	tree=/dev/shm/verbatim-soft-$(id -u).sys.$pid
	if [ ! -d "$tree" ]; then not_ok "$name" "there is no $tree"; kill -KILL $pid; return; fi
	{ kill -KILL $pid; wait $pid; } 2>/dev/null
	"${device[@]}" cat $class/verbatim0/fw_ver >/dev/null
	if [ -e "$tree" ]; then not_ok "$name" "$tree is there"; else ok "$name"; fi
}

# It ends when it is told to.
watches() {
	local name="$face: ibv_asyncwatch" pid
	rm -f "$work/out"
	"${device[@]}" stdbuf -oL ibv_asyncwatch >"$work/out" 2>&1 &
	pid=$!
	until [ -s "$work/out" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
	{ kill $pid; wait $pid; } 2>/dev/null
	if grep -q "verbatim0: async event FD" "$work/out"; then ok "$name"; else not_ok "$name" "$(tail -1 "$work/out")"; fi
}

linked() {
	finds topology "^verbatim0 /sys/devices/pci.* node -1, " "$build/tests/apps/topology"
	finds "topology roce" "RoCE v2$" env VERBATIM_SOFT_LINK=roce "$build/tests/apps/topology"
	finds "ibv_devinfo" "board_id:.*VBM0000000001" ibv_devinfo
	watches
	finds "fi_info" "domain: verbatim0" fi_info -p verbs
	persona
}

any() {
	finds cat "^4: ACTIVE$" cat $class/verbatim0/ports/1/state
	finds "cat roce" "^Ethernet$" env VERBATIM_SOFT_LINK=roce cat $class/verbatim0/ports/1/link_layer
	finds ls "^verbatim0$" ls $class
	passes "bash and what it calls" bash -c "$(script)"
	passes "python" python3 -c "$(python_sees)"
	finds ibstat "^CA 'verbatim0'" ibstat
	finds "ucx_info rc_verbs" "Transport: rc_verbs" ucx_info -d
	finds "ucx_info ud_verbs" "Transport: ud_verbs" ucx_info -d
	openib
	killed
}

under_preload() {
	finds "under the recorder's preload" "^4: ACTIVE$" \
		env "LD_PRELOAD=$build/libverbatim.so:$build/libverbatim-soft.so" \
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
