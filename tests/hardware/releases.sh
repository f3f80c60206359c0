#!/usr/bin/env bash
# Other releases of Debian on the software device: their pingpongs, perftest, UCX and pyverbs with
# their own rdma-core, as preload and as drop-in, recorded, checked and replayed.
. tests/e2e/lib/try.sh
. tests/e2e/lib/skips.sh
. tests/hardware/lib/release.sh
in_own_mounts

pyverbs() { # name, how many must pass, command before it
	local title=$1 wanted=$2
	shift 2
	inside "$@" python3 tests/e2e/pyverbs.py "$title" "$wanted" VERBATIM_SOFT_LINK=roce \
		>"$tmp/$title" 2>&1
	says "tests of" "$tmp/$title" && ! grep '^not ok' "$tmp/$title" && skips_are_true "$title"
}

ends_as_bare() {
	diff <(sed -n 's/^\(ok\|skip\) bare: test/\1 test/p' "$tmp/bare") \
		<(sed -n 's/^\(ok\|skip\) recorded: test/\1 test/p' "$tmp/recorded")
}

# ibv_xsrq_pingpong has a CQ of one entry for each client, where two sends may wait
pingpongs() {
	local each muted
	for each in rc uc ud srq xsrq; do
		muted=()
		[ $each != xsrq ] || muted=(--mute QUEUE-003)
		try "ibv_${each}_pingpong" runs_bare ibv_${each}_pingpong -n 100
		try "ibv_${each}_pingpong, recorded" runs_recorded ibv_${each}_pingpong -n 100
	done
}

perftests() {
	local each
	for each in ib_send_lat ib_write_bw ib_read_lat ib_atomic_lat; do
		try "$each" runs_bare $each -F -n 100
		try "$each, recorded" runs_recorded $each -F -n 100
	done
}

# ucx_perftest without a terminal believes that mpirun started it; programs whose plug-ins use the
# verbs find the drop-in only if it is preloaded.
ucx() {
	local -x UCX_TLS=rc_v,self
	local faces=("${faces[0]}" "LD_PRELOAD=$libs/dropin/libibverbs.so.1") enter=inside_terminal
	local test=(bash -c 'exec "$0" "$@" </dev/tty' ucx_perftest -t tag_lat -n 100)
	[ -e "$root/usr/lib/x86_64-linux-gnu/ucx/libuct_ib.so.0" ] ||
		{ skip ucx_perftest "this release's UCX is built without verbs"; return; }
	try ucx_perftest runs_bare "${test[@]}"
	try "ucx_perftest, recorded" runs_recorded "${test[@]}"
}

try_release() { # release, tests of pyverbs that must pass
	local of
	make_root "$1" $programs || return
	of="rdma-core $(version_of)"
	try ibv_devinfo shows_the_device
	pingpongs
	perftests
	ucx
	try "pyverbs, bare" pyverbs bare "$2" env "${faces[0]}"
	try "pyverbs, recorded" pyverbs recorded "$2" "$VERBATIM" record -q -o "$t" --
	try "pyverbs ends as bare" ends_as_bare
}

try_release trixie 170
try_release sid 214
exit $failed
