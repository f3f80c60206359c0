#!/usr/bin/env bash
# rdma-core's own tests, those of pyverbs, on Soft-RoCE: each has the same result recorded as bare,
# and the recording is complete. Arguments select tests by a part of their names.
. tests/hardware/lib/machine.sh
if [ -z "${VERBATIM_VM:-}" ]; then
	export PYVERBS=$* # in_machine passes no arguments
	in_machine
fi
in_machine
parts=${PYVERBS:-$*}
export PYVERBS_SECONDS=1200 # a test that takes seconds may take minutes on a busy computer

suite() { # name, command before it
	local name=$1
	shift
	"$@" /usr/bin/python3 tests/e2e/pyverbs.py "$name" 0 PYTHONDONTWRITEBYTECODE=1 \
		$parts >"$tmp/$name" 2>&1
	grep -E "^$name: [0-9]+ tests" "$tmp/$name"
	sed -n 's/^not ok /  failed /p' "$tmp/$name"
}

# The result of each test.
ends() { sed -n "s/^\(ok\|not ok\|skip\) $1: test/\1 test/p" "$tmp/$1" | sed 's/: .*//'; }

each_test_ends_recorded_as_it_does_bare() {
	local passed
	passed=$(ends bare | grep -c '^ok')
	[ "$passed" -gt 0 ] && diff <(ends bare) <(ends recorded) || { cat "$tmp/bare"; return 1; }
}

the_recording_is_whole() {
	is lost "$(sql 'select coalesce(sum(events), 0) from loss')" 0 &&
		is "not seen" "$(sql "select group_concat(what) from coverage
			where what <> 'direct'")" "" &&
		is "completions without their request" \
			"$(sql 'select count(*) from wc where wr_n is null')" 0
}

suite bare
suite recorded "$VERBATIM" record -q -o "$t" --
try each_test_ends_recorded_as_it_does_bare
try the_recording_is_whole
exit $failed
