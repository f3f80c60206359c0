# The tests of the tests: how scripts/run-tests counts failures, what the lists of tests/hardware
# accept as a number, and how long the suite of pyverbs may take.
. tests/e2e/lib/try.sh
. tests/hardware/lib/plain.sh
cd "$tmp" || exit 1

# Lists and a program with or without a failed test, which end by themselves or not.
mkdir -p tree/scripts tree/tests/e2e tree/built/tests
cp "$root/scripts/run-tests" tree/scripts/
list() { cat >"tree/tests/e2e/$1.sh"; }
echo 'echo "ok good: a"' | list good
echo 'readlink /proc/self/ns/net >net; echo $TEST_PORT >port; echo "ok where: a"' | list where
echo 'echo "not ok bad: a"; exit 1' | list bad
echo 'exit 3' | list broken
list empty </dev/null
echo 'echo "not ok out: a"; exit 124' | list out
echo 'echo "not ok crashed: a"; kill -SEGV $$' | list crashed
echo 'echo "not ok hangs: a"; while read -rt 60 <> <(:); [ $? -gt 128 ]; do :; done' | list hangs
: >tree/tests/hangs_test.c
printf '#!/bin/bash\necho "[  FAILED  ] some_test"\nexec sleep 1000\n' >tree/built/tests/hangs_test
chmod +x tree/built/tests/hangs_test
env -u SAN BUILD=built FUZZ_SECONDS=0 JOBS=8 TEST_SECONDS=8 tree/scripts/run-tests >out 2>&1
status=$?
sed '1,/^failed:/d; $d' out | sort >failed

told() { # list, how many lines, a line
	is "lines of $1" "$(grep -c "[ /]$1[.:_]" failed)" "$2" && grep -qxF "  $3" failed ||
		{ cat failed; return 1; }
}
a_limit_is_reported_beside_what_failed() {
	told hangs 3 'not ok hangs: a' &&
		told hangs 3 'not ok tests/e2e/hangs.sh: stopped at its time limit of 8 s' &&
		told hangs 3 'built/tests/hangs_test (stopped at its time limit of 8 s)'
}
a_limit_of_its_machine_is_told_too() {
	told out 2 'not ok out: a' &&
		told out 2 'not ok tests/e2e/out.sh: exit status 124: it ran out of time'
}
a_crash_is_reported_beside_what_failed() {
	told crashed 2 'not ok tests/e2e/crashed.sh: exit status -11'
}
a_failed_test_counts_once() { told bad 1 'not ok bad: a'; }
without_a_test_it_failed() {
	told broken 1 'not ok tests/e2e/broken.sh: exit status 3' &&
		told empty 1 'not ok tests/e2e/empty.sh: nothing ran'
}
# no other run of the tests on this machine has its ports, not even the one that runs us
its_ports_are_its_own() {
	[ "$(cat tree/port)" -ge 20000 ] && [ "$(cat tree/port)" != "${TEST_PORT:-}" ] ||
		{ echo "port $(cat tree/port)"; return 1; }
}
its_network_is_its_own() {
	[ "$(cat tree/net)" != "$(readlink /proc/self/ns/net)" ] || { cat tree/net; return 1; }
}
all_are_counted() {
	is status $status 1 && is "$(tail -n 1 out)" "2 passed, 10 failed, 0 skipped" ||
		{ cat out; return 1; }
}

row() { printf '%s\n' "$@" >printed; plain printed; }
unmeasured='Correlation coefficient r^2: 0.123 < 0.9'
numbers_are_alike() {
	is "$(row ' 2   1000   3.54   -0.10')" "$(row ' 4  200  17  1.0e+3')" &&
		is "$(row '#bytes avg' ' 2 3.54')" "$(row "$unmeasured" '#bytes avg' ' 2 -nan')" &&
		is "$(row ' 2 3.54 1')" "$(row "$unmeasured" ' 2 inf nan')"
}
latencies() { # t_max, t_stdev; as perftest prints them
	printf ' #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    ' >printed
	printf 't_avg[usec]    t_stdev[usec]   99%% percentile[usec]\n' >>printed
	printf ' %-7s %s          %-7s        %-7s      %-7s  \t       ' 2 200 35.02 "$1" 41.2 \
		>>printed
	printf '%-7s     \t%-7s\t\t%-7s \n' 90.01 "$2" 93.10 >>printed
	plain printed
}
a_latency_of_50_ms_explains_nan() {
	is "$(latencies 51234.50 -nan)" "$(latencies 512.50 12.31)" || return
	[ "$(latencies 512.50 -nan)" != "$(latencies 512.50 12.31)" ] ||
		{ echo "so does one of 0.5 ms"; return 1; }
}
without_a_reason_nan_is_no_number() {
	local each
	for each in nan -nan inf; do
		[ "$(row ' 2 3.54')" != "$(row " 2 $each")" ] || { echo "$each"; return 1; }
	done
	is "$(row "$unmeasured" 'the banana is informed')" 'the banana is informed'
}

# its import takes longer than the limit, which applies to each test
the_suite_of_pyverbs_may_start_slowly() {
	local -x PYVERBS_SECONDS=0.001
	(cd "$root" && unset VERBATIM_DEVICE && /usr/bin/python3 tests/e2e/pyverbs.py slow 0 X= \
		DeviceTest.test_dev_list) >out 2>&1
	says '^slow: 1 tests' out
}

for each in a_limit_is_reported_beside_what_failed a_limit_of_its_machine_is_told_too \
	a_crash_is_reported_beside_what_failed a_failed_test_counts_once without_a_test_it_failed \
	its_ports_are_its_own all_are_counted numbers_are_alike a_latency_of_50_ms_explains_nan \
	without_a_reason_nan_is_no_number the_suite_of_pyverbs_may_start_slowly; do
	try $each
done
if unshare -n true 2>/dev/null; then try its_network_is_its_own
else skip "its network is its own" "no name space of networks"; fi
exit $failed
