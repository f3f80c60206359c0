#!/usr/bin/env bash
# The clock of a virtual machine has the rate of this machine's; another rate is reported before any
# test relies on it.
. tests/e2e/lib/try.sh
[ "${VERBATIM_VM:-}" != here ] || { skip clock "there is no virtual machine"; exit; }
khz=$(cd scripts && python3 -c 'import vm_clock; print(vm_clock.tsc_khz())')

machine() { # command
	scripts/vm -l none -t 1800 -c "$1" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status -ne 77 ] || { skip clock "no virtual machine"; exit; }
}

machine 'sed -n "s/^cpu MHz.*: //p" /proc/cpuinfo | head -1 | tr -d .'
is_the_hosts() {
	is status $status 0 || { cat "$tmp/err"; return 1; }
	awk -v got="$(cat "$tmp/out")" -v wanted="$khz" 'BEGIN {
		off = got / wanted - 1
		exit !(-0.01 < off && off < 0.01)
	}' || { echo "$(cat "$tmp/out") kHz instead of $khz"; return 1; }
}
try "its frequency" is_the_hosts

wrong_is_reported() {
	is status $status 125 && is "what ran" "$(cat "$tmp/out")" "" &&
		says 'the clock is wrong: [0-9]* ms, while the host.s ran for' "$tmp/err"
}
VERBATIM_VM_TSC_KHZ=$((khz * 3 / 10)) machine 'echo ran'
try "one that is too fast" wrong_is_reported
VERBATIM_VM_TSC_KHZ=$((khz * 3 / 2)) machine 'echo ran'
try "one that is too slow" wrong_is_reported
exit $failed
