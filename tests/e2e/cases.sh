#!/usr/bin/env bash
# Programs with one mistake each: the first screen names it, and not for the correct twin.
#
# tests/cases/expected has the texts, and tests/cases/compared those of diff and stat for programs
# that are only slow. They are compiled here, as their users would.
. tests/e2e/lib/try.sh
cases=$PWD/tests/cases
cd "$tmp" || exit 1

compile() { # folder/program-twin
	local libraries=
	${CC:-cc} -M "$cases/$1.c" | grep rdma_cma.h >/dev/null && libraries=-lrdmacm
	# shellcheck disable=SC2086  # libraries are words
	${CC:-cc} -g -o "${1#*/}" "$cases/$1.c" "${1%%/*}.o" $libraries -libverbs -lpthread
}

common_parts() {
	${CC:-cc} -g -c -o rules.o "$cases/rules/common.c" &&
		${CC:-cc} -g -c -o reports.o "$cases/reports/rep.c"
}

# The first screen for the recording of a program, in one line.
screen_of() { # folder/program-twin
	local persona=$cases/${1%-*}.persona
	compile "$1" || return
	[ ! -e "$persona" ] || local -x VERBATIM_SOFT_PERSONA=$persona
	rm -f t.db
	"$VERBATIM" record -q -o t.db -- "./${1#*/}" >out 2>&1 </dev/null
	"$VERBATIM" check t.db 2>/dev/null | head -n 24 | tr -s ' \n' ' '
}

names() {
	screen_of "$1-bad" >screen
	says "$2" screen
}

is_silent_about() {
	screen_of "$1-good" >screen
	says "${2:-nothing failed failed verbs}" screen
}

common_parts || exit
while IFS='|' read -r program bad good; do
	read -r program <<<"$program"
	read -r bad <<<"$bad"
	read -r good <<<"$good"
	in_turn || continue
	try names "$program" "$bad"
	try is_silent_about "$program" "$good"
done < <(grep '^[a-z]' "$cases/expected")

# three runs of each twin in turn, so that a busy machine slows both; each takes its time
compare_twins() { # program
	local twin i
	for twin in bad good; do compile "$1-$twin" || return; done
	for i in 1 2 3; do for twin in bad good more; do
		"$VERBATIM" record -q -o "$twin$i.db" -- "./${1#*/}-${twin/more/good}" >out 2>&1 \
			</dev/null || return
	done; done
}
diff_and_stat_say() { # program, what diff says, what stat says of the bad one
	compare_twins "$1" || { cat out; return 1; }
	"$VERBATIM" diff good?.db -- bad?.db | tr -s ' \n' ' ' >screen
	says "$2" screen && "$VERBATIM" stat bad1.db | tr -s ' \n' ' ' >screen && says "$3" screen
}
# by twice as much, which chance does not do to three runs
twins_that_are_alike_have_not_changed() {
	"$VERBATIM" diff --threshold 100 good?.db -- more?.db >screen
	! grep -E "^.{59}(changed|better|REGRESSION)" screen
}

while IFS=';' read -r program diff stat; do
	read -r program <<<"$program"
	read -r diff <<<"$diff"
	read -r stat <<<"$stat"
	in_turn || continue
	try diff_and_stat_say "$program" "$diff" "$stat"
	try twins_that_are_alike_have_not_changed
done < <(grep '^[a-z]' "$cases/compared")
exit $failed
