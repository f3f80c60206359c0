#!/usr/bin/env bash
# Programs with one mistake each: the first screen names it, and not for the correct twin.
#
# tests/cases/expected has the texts. They are compiled here, as their users would.
. tests/e2e/lib/try.sh
cases=$PWD/tests/cases
cd "$tmp" || exit 1

compile() { # folder/program-twin
	local libraries=
	grep -q rdma_cma.h "$cases/$1.c" && libraries=-lrdmacm
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
	try names "$program" "$bad"
	try is_silent_about "$program" "$good"
done < <(grep '^[a-z]' "$cases/expected")
exit $failed
