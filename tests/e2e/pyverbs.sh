# rdma-core's own tests, those of pyverbs, on the software device: the whole
# suite that Debian ships, on both links, as a preload and as a drop-in.
# Arguments choose tests by a part of their names.
#
# They skip what a device does not have, so as many must pass as are known to.
BUILD=${BUILD:-build}
fabric=$(mktemp -d /dev/shm/verbatim-soft-pyverbs.XXXXXX) || exit 1
trap 'rm -rf "$fabric"' EXIT
export VERBATIM_SOFT_FABRIC=$fabric

suite() { # name, how many must pass, variables and tests
	/usr/bin/python3 tests/e2e/pyverbs.py "$@"
	if [ -z "$(ls -A "$fabric")" ]; then
		echo "ok $1: leaves nothing behind"
	else
		echo "not ok $1: left $(ls -A "$fabric" | head -3 | tr '\n' ' ')"
	fi
}

preload=LD_PRELOAD=$PWD/$BUILD/libverbatim-soft.so
dropin=LD_LIBRARY_PATH=$PWD/$BUILD/dropin
suite "pyverbs roce" 140 "$preload" VERBATIM_SOFT_LINK=roce "$@"
suite "pyverbs ib" 130 "$preload" VERBATIM_SOFT_LINK=ib "$@"
suite "pyverbs drop-in" 130 "$dropin" VERBATIM_SOFT_LINK=roce "$@"
