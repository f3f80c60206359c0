#!/usr/bin/env bash
# Hazards of real programs: those of the conformance recordings are in a table, with why each is
# true; pingpongs have none (but that of SRQs, which leaves the last sends of some queue pairs), and
# perftest, whose buffers go round in a circle, at most one.
. tests/e2e/lib/try.sh

hazards_of() { # trace
	"$VERBATIM" check --format json "$1" 2>/dev/null |
		jq -r '[.findings[] | select(.severity == "hazard") | .rule] | unique[]'
}

those_of_the_recordings_are_judged() {
	local trace name rule
	for trace in tests/conformance/*/*.db; do
		name=${trace#tests/conformance/}
		for rule in $(hazards_of "$trace"); do echo "${name%.db} | $rule"; done
	done | sort >"$tmp/found"
	sed -n 's/^\([a-z].*\) | [^|]*$/\1/p' tests/conformance/hazards | sort >"$tmp/judged"
	diff "$tmp/judged" "$tmp/found"
}

has() { # rules program arguments...
	local rules=$1
	shift
	rm -f "$t"
	"$VERBATIM" record -q -o "$t" -- "$both" "$@" >"$tmp/out" 2>&1 ||
		{ cat "$tmp/out"; return 1; }
	is "hazards" "$(hazards_of "$t" | xargs)" "$rules"
}

# All are on the first screen: a few in full, many in a line or two each.
on_the_screen() { # places, of which told in full, conditions
	rm -f "$t"
	"$VERBATIM" record -q -o "$t" -- build/tests/apps/hazards "$1" || return
	"$VERBATIM" check "$t" 2>/dev/null | sed '24q;/^$/q' >"$tmp/out"
	is "places" "$(grep -c '  H MKEY-005' "$tmp/out")" "$1" &&
		is "told in full" "$(grep -c 'Breaks when' "$tmp/out")" "$2" &&
		is "conditions" "$(tr -s '\n ' ' ' <"$tmp/out" | grep -io 'breaks when' |
			wc -l)" "$3"
}

is_of() { # rules program arguments...
	local rules=$1 program=$2
	shift 2
	rm -f "$t"
	"$VERBATIM" record -q --memory -o "$t" -- "$apps/$program" "$@" &&
		is "hazards" "$(hazards_of "$t" | xargs)" "$rules"
}

try those_of_the_recordings_are_judged
try "two hazards are told in full" on_the_screen 2 2 2
try "eight hazards that break alike are told with their condition" on_the_screen 8 0 1
for program in rc uc ud; do
	try "ibv_${program}_pingpong has none" has "" ibv_${program}_pingpong -n 100
done
try "memory that peers read is unmapped" is_of MKEY-006 unmapped bad
try "memory that peers read is deregistered first" is_of "" unmapped good
try "a block is freed before it is deregistered" is_of FORK-005 freed_first bad
try "a block is deregistered before it is freed" is_of "" freed_first good
VERBATIM_SOFT_TIMERS=real try "an SRQ is too small" is_of STATE-007 srq_small bad
VERBATIM_SOFT_TIMERS=real try "an SRQ has room for all messages" is_of "" srq_small good
try "ib_send_lat has none" has "" ib_send_lat -F -n 100
try "ib_write_bw has none" has "" ib_write_bw -F -n 100
try "ib_send_bw has its circle" has MKEY-007 ib_send_bw -F -n 200 -s 256
try "ib_read_bw has its circle" has MKEY-007 ib_read_bw -F -n 200 -s 256
exit $failed
