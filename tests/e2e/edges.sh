# edges: in corner cases of the manual the software device behaves as tests/e2e/edges/answers.txt
# says, on both links. tests/hardware/edges.sh compares kernel devices.
. tests/e2e/lib/try.sh
needs "$apps/edges"

answers_are() { # variables
	env "$@" LD_PRELOAD="$libs/libverbatim-soft.so" timeout 300 "$apps/edges" >"$tmp/out" ||
		{ echo "exit status $?"; return 1; }
	diff tests/e2e/edges/answers.txt "$tmp/out"
}

try "answers on InfiniBand" answers_are
try "answers on RoCE" answers_are VERBATIM_SOFT_LINK=roce
exit $failed
