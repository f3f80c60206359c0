# Marks of a program: in the trace, and without effect when not recorded.
. tests/e2e/lib/try.sh
app=$PWD/$BUILD/tests/apps/marks

do_nothing_unrecorded() { "$VERBATIM" run --device soft -- "$app"; }

are_recorded() {
	local round="begin round, point a/b, end round"
	"$VERBATIM" record -q --device soft -o "$t" -- "$app" &&
		is "$(sql "select group_concat(kind || ' ' || replace(text, char(10), '/'), ', ')
			from (select * from mark order by n)")" \
			"point before the first verb, begin set-up, end set-up,"\
" $round, $round, $round, begin never ends"
}

stand_among_the_verbs() {
	is "$("$VERBATIM" dump "$t" | grep -A1 -- '--> begin round' | grep -c alloc_pd)" 3 &&
		is "$("$VERBATIM" dump "$t" | grep -cF -- '--- a\x0ab')" 3
}

are_counted() {
	"$VERBATIM" stat --format json "$t" >"$tmp/stat"
	is "$(jq -c '.marks[] | select(.kind == "phase") | [.mark, .times, .total_ns > 0]' \
		"$tmp/stat" | tr '\n' ' ')" \
		'["set-up",1,true] ["round",3,true] ["never ends",1,false] '
}

survive_unpacking() {
	"$VERBATIM" unpack -o "$tmp/plain.db" "$t" >/dev/null &&
		is "$(sqlite3 "$tmp/plain.db" 'select count(*) from mark')" 13
}

hinder_neither_check_nor_replay() {
	{ "$VERBATIM" check "$t" && "$VERBATIM" replay --device soft "$t"; } >"$tmp/out" 2>&1 ||
		{ cat "$tmp/out"; return 1; }
}

header_serves_cpp_and_c89() {
	echo '#include "shim/trace/verbatim.h"' >"$tmp/a.c"
	echo 'int main(void) { verbatim_mark("x"); return 0; }' >>"$tmp/a.c"
	gcc -std=gnu89 -pedantic -Wall -Werror -I. -o "$tmp/a" "$tmp/a.c" && "$tmp/a" &&
		gcc -x c++ -Wall -Werror -fsyntax-only -I. "$tmp/a.c" 2>"$tmp/out" ||
		! grep -v cc1plus "$tmp/out"
}

for each in do_nothing_unrecorded are_recorded stand_among_the_verbs are_counted survive_unpacking \
	hinder_neither_check_nor_replay header_serves_cpp_and_c89; do
	try $each
done
