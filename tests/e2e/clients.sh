# Libraries above verbs on the software device, unmodified: UCX, Open MPI over UCX and over its own
# openib, libfabric, qperf. Each may use only that device, so whatever works has used it. The list
# is run bare and recorded, an argument selects one of these; forms of one client that differ little
# take turns, others recorded than bare. LONG=1 sends more messages, and runs all tests of qperf
# recorded, too: each takes a second.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # it is preloaded
fabric=$(mktemp -d /dev/shm/verbatim-soft-clients.XXXXXX) || exit 1
trap 'rm -rf "$tmp" "$fabric"' EXIT
export VERBATIM_SOFT_FABRIC=$fabric
face=${1:-bare}
preload=$libs/libverbatim-soft.so
[ $face = recorded ] && preload=$LD_PRELOAD turns=1 # as this script itself
of="clients $face" messages=$(share 100 1000) transfers=$(share 30 100)

# Start a server, wait until it listens, run its client; both must end well.
pair() { # server command... -- client command...
	local server=() pid status
	while [ "$1" != -- ]; do server+=("$1"); shift; done
	shift
	LD_PRELOAD=$preload timeout 60 "${server[@]}" >"$tmp/server" 2>&1 &
	pid=$!
	until listens $port; do
		kill -0 $pid 2>/dev/null && pause || { cat "$tmp/server"; return 1; }
	done
	no_pause
	LD_PRELOAD=$preload timeout 60 "$@" >"$tmp/client" 2>&1
	status=$?
	cat "$tmp/client"
	[ $status -eq 0 ] ||
		{ kill $pid 2>/dev/null; wait $pid; echo "client: status $status"; return 1; }
	[ -n "${keep:-}" ] && { kill $pid; wait $pid 2>/dev/null; return 0; }
	wait $pid || { echo "server: $(tail -1 "$tmp/server")"; return 1; }
}

# all iterations ran, and took some time
ucx() { # transport, test, options
	local tls=$1
	shift
	next_port
	set -- ucx_perftest -p $port -t "$@" -n $messages -w 20
	UCX_TLS=$tls UCX_NET_DEVICES=verbatim0:1 pair "$@" -- "$@" localhost &&
		awk -v n=$messages '/^Final:/ { good = $2 == n && $4 > 0 } END { exit !good }' \
			"$tmp/client"
}

mpi() { # options
	LD_PRELOAD= timeout 120 mpirun --allow-run-as-root --oversubscribe -np 2 -x \
		LD_PRELOAD="$preload" -x VERBATIM_SOFT_FABRIC \
		"$@" "$tmp/mpi_check" >"$tmp/out" 2>&1 && grep -qx good "$tmp/out" ||
		{ cat "$tmp/out"; return 1; }
}

fabrics() { # provider, endpoint
	next_port
	# what one prints that is killed, too
	set -- stdbuf -oL fi_pingpong -p "$1" -e "$2" -I $transfers -c
	pair "$@" -B $port -- "$@" -P $port 127.0.0.1 &&
		[ "$(grep -c "=$transfers " "$tmp/client")" -ge 4 ]
}

# An end that reads the other's disconnect event before it polls destroys its QP with the last
# message in the CQ (rxm of libfabric 1.17, seen in a recording), and waits for that message
# forever, polling: on a busy machine, after all transfers were checked. So only the transfers
# count, and its processor time is limited.
fabrics_rdm() {
	ulimit -t 2
	fabrics "verbs;ofi_rxm" rdm && return
	grep -q "^1m .*=$transfers " "$tmp/client" && grep -q "^1m .*=$transfers " "$tmp/server"
}

qperf_is() { # tests
	next_port
	keep=1 pair qperf -lp $port -- qperf -lp $port -t 1 -m 4096 localhost "$@" &&
		[ "$(grep -c ' = .*[1-9]' "$tmp/client")" -ge $# ]
}

emptied() {
	LD_PRELOAD=$preload ibv_devinfo >/dev/null # the next process sweeps them
	[ -z "$(ls -A "$fabric")" ] || { ls -A "$fabric"; return 1; }
}

rc=rc_verbs,ud_verbs:aux
for each in tag_lat tag_bw ucp_put_lat ucp_put_bw ucp_get ucp_add ucp_fadd ucp_swap ucp_cswap \
	ucp_am_lat stream_bw; do
	try_in_turn "UCX rc_verbs $each" ucx $rc $each -s 8
done
for each in tag_lat tag_bw ucp_put_bw ucp_get ucp_am_lat; do
	try_in_turn "UCX rc_verbs $each 1 MiB" ucx $rc $each -s 1048576 -O 4
done
for each in tag_lat tag_bw ucp_put_lat ucp_get ucp_add ucp_fadd ucp_cswap ucp_am_lat; do
	try_in_turn "UCX ud_verbs $each" ucx ud_verbs $each -s 8
done
for each in rc_verbs ud_verbs; do
	try_in_turn "UCX $each am_lat" ucx $each am_lat -s 8 -d verbatim0:1 -x $each
done
try_in_turn "UCX rc_verbs put_lat" ucx rc_verbs put_lat -s 8 -d verbatim0:1 -x rc_verbs

# It selects the GID of RoCE v2 with an IPv4 address, and checks the type of each datagram.
ucx_roce() { # transport, or all
	local -x VERBATIM_SOFT_LINK=roce
	ucx "$1" tag_lat -s 8
}
try_in_turn "UCX rc_verbs on RoCE" ucx_roce $rc
try_in_turn "UCX ud_verbs on RoCE" ucx_roce ud_verbs
try_in_turn "UCX on RoCE by its defaults" ucx_roce all

mpicc -O2 -Wall -o "$tmp/mpi_check" tests/e2e/mpi_check.c
try_in_turn "Open MPI over UCX" mpi --mca pml ucx --mca osc ucx -x UCX_TLS=$rc,self -x \
	UCX_NET_DEVICES=verbatim0:1
# It would send a warning about the device's parameters through mpirun, which once answered "Out of
# resource" and hung.
try_in_turn "Open MPI over openib" mpi --mca pml ob1 --mca btl self,openib \
	--mca btl_openib_allow_ib 1 --mca btl_openib_warn_no_device_params_found 0 --mca osc rdma

try_in_turn "libfabric msg" fabrics verbs msg
try_in_turn "libfabric rdm" fabrics_rdm
try_in_turn "libfabric dgram" fabrics verbs dgram

if [ $face = bare ] || [ -n "${LONG:-}" ]; then
	try_in_turn "qperf rc" qperf_is rc_lat rc_bw rc_bi_bw rc_rdma_read_lat rc_rdma_read_bw \
		rc_rdma_write_lat rc_rdma_write_bw
	try_in_turn "qperf atomics, verified" qperf_is rc_compare_swap_mr rc_fetch_add_mr \
		ver_rc_compare_swap ver_rc_fetch_add
else
	try_in_turn "qperf rc and atomics" qperf_is rc_lat rc_rdma_read_bw rc_rdma_write_bw \
		ver_rc_fetch_add
fi
try "nothing is left behind" emptied

[ $# -gt 0 ] && exit
. tests/e2e/lib/recorded.sh
# qperf deallocates its domain before it deregisters its memory; fabrics_rdm() may have to end it
recorded_again "$0" "LIFE-00[34] .* qperf" "LIFE-004 .* fi_pingpong"
