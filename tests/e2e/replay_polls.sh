#!/usr/bin/env bash
# Completions of recorded programs, replayed: none differs as it was recorded, whatever order the
# network or the threads of the program gave them.
. tests/e2e/lib/try.sh
unset VERBATIM_DEVICE VERBATIM_SESSIONS # each command says which device
export VERBATIM_QUIET=1
cd "$tmp" || exit 1

record() {
	timeout 120 "$VERBATIM" record --device soft -o "$@" >log 2>&1 || { cat log; return 1; }
}
replay() { timeout 120 "$VERBATIM" replay --device soft --timeout 3 "$@" >out 2>&1; }

# replays without a divergence
comes_again() { # trace
	replay "$1" || { echo "$1: status $?"; cat out; return 1; }
}

# UCX: shared receive queues, datagrams of several senders, threads of its own
ucx_ranks() { # transports
	local i
	for i in 1 2 3; do
		UCX_TLS=$1 UCX_NET_DEVICES=verbatim0:1 record t.db -- \
			mpirun --allow-run-as-root --oversubscribe -np 4 --mca pml ucx \
			-x UCX_TLS -x UCX_NET_DEVICES ./ranks && comes_again t.db || return
	done
}

if command -v mpicc >/dev/null && command -v ucx_info >/dev/null &&
	mpicc -o ranks "$root/tests/e2e/replay/ranks.c" >log 2>&1; then
	try "UCX ranks, RC" ucx_ranks rc_v,ud_v:aux,self
	try "UCX ranks, UD" ucx_ranks ud_v,self
else
	skip "UCX ranks" "no MPI over UCX"
fi
exit $failed
