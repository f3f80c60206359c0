#!/bin/bash
# Ten changes of the newest code, and whether unit tests notice: the part of `make mutants` that
# each `make test` runs.
#
# The lines are those of the day before HEAD, and HEAD selects among them, so that the result for a
# commit is reproducible. A survivor is printed but is not a failure: it may be an equivalent
# mutant, or one for the end-to-end tests, which take minutes. Only modules with their own unit
# test take part, and the test fails if nine of ten survive: then the change is not tested.
. "${0%/*}/lib/try.sh"

day_before_head() {
	local now
	now=$(git log -1 --format=%ct 2>/dev/null) &&
		git rev-list -1 --before=$((now - 86400)) HEAD
}

judge() { # how to repeat them
	local tried killed
	read -r tried killed < <(sed -nE 's/^([0-9]+) mutants of .*: ([0-9]+) killed.*/\1 \2/p' \
		"$tmp/out")
	[ -n "$killed" ] || { not_ok "$name" "$(cat "$tmp/out")"; return; }
	sed -n '/^survivors:/,$p' "$tmp/out"
	if [ "$tried" -ge 10 ] && [ "$killed" -le 1 ]; then
		not_ok "$name" "only $killed of $tried: test what the others change, or list those \
that change nothing in tests/mutants.list; to see them again: scripts/mutate $*"
	else
		ok "$name ($killed of $tried)"
	fi
}

name="unit tests notice changes of new code"
since=$(day_before_head)
how=(--units --own --most 5 --number 10 --limit 100 --seconds 4 --since "$since"
	--seed "$(git rev-parse HEAD 2>/dev/null)")
if [ "$BUILD" != build ]; then skip "$name" "this build has sanitizers"
elif [ -z "$since" ]; then skip "$name" "no history of a day"
elif scripts/mutate "${how[@]}" >"$tmp/out" 2>&1 && grep -q '^no place' "$tmp/out"; then
	skip "$name" "no code of such modules has changed for a day"
else judge "${how[@]}"; fi
exit $failed
