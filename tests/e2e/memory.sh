# record --memory: releases of registered memory.
. tests/e2e/lib/try.sh
cd "$tmp" || exit 1

record() { "$VERBATIM" record -q -o t.db "$@"; }
whats() { "$VERBATIM" sql t.db "SELECT what FROM memory ORDER BY thread, n" | paste -sd' '; }

every_way_is_recorded() {
	record --memory --strict -- "$apps/gives_back" &&
		is "$(whats)" "madvise mmap mremap munmap realloc free" &&
		is "$("$VERBATIM" sql t.db "SELECT group_concat(name, ' ') FROM
			(SELECT name FROM memory m JOIN object o ON o.id = m.mr ORDER BY m.n)")" \
			"mr2 mr2 mr3 mr1 mr5 mr4"
}
each_has_its_place() {
	is "$("$VERBATIM" sql t.db "SELECT count(*) FROM memory WHERE stack > 0")" 6 &&
		is "$("$VERBATIM" dump t.db | grep -c 'registered memory$')" 6
}
# the frames of the recorder, which is between the program and the C library, are not among them
places_are_of_the_program() {
	"$VERBATIM" dump -k t.db >stacks && says 'by main (gives_back.c:' stacks || return
	"$VERBATIM" check t.db >found; says 'main+0x[0-9a-f]* (gives_back.c:' found &&
		! grep -e libverbatim-memory -e '(memory.c:' stacks found
}
only_blocks_that_are_freed_first_are_reported() {
	"$VERBATIM" check --format json t.db >out
	is "$(jq -r '.findings[] | "\(.severity) \(.rule)"' out | sort -u)" \
		"hazard FORK-005" && is "$(jq '.findings | length' out)" 2 &&
		is "$(jq -r '.not_checked[].because' out)" ""
}

without_the_option_nothing_is_watched() {
	record -- "$apps/gives_back" && is "$(whats)" "" &&
		record -- sh -c 'echo $LD_PRELOAD' >out && ! says libverbatim-memory out &&
		"$VERBATIM" check t.db >out && says 'record --memory' out
}

# another allocator under ours, and various programs
allocators_stay_in_charge() {
	cat >own.c <<-'C'
		#define _GNU_SOURCE
		#include <dlfcn.h>
		#include <stdio.h>
		static unsigned long freed;
		void free(void *block)
		{
			static void (*next)(void *);
			if (!next)
				next = (void (*)(void *))dlsym((void *)-1l, "free");
			freed++;
			next(block);
		}
		__attribute__((destructor)) static void tell(void)
		{
			fprintf(stderr, "own allocator: %s\n", freed > 10 ? "used" : "idle");
		}
	C
	gcc -shared -fPIC -o own.so own.c &&
		LD_PRELOAD=$tmp/own.so record --memory -- "$apps/gives_back" 2>err &&
		is "$(whats)" "madvise mmap mremap munmap realloc free" &&
		grep -q "own allocator: used" err
}
programs_run_as_before() {
	record --memory -- bash -c 'ibv_devinfo >/dev/null; x=$(echo a | tr a b); echo $x' >out &&
		is "$(cat out)" b
}

for t in every_way_is_recorded each_has_its_place places_are_of_the_program \
	only_blocks_that_are_freed_first_are_reported without_the_option_nothing_is_watched \
	programs_run_as_before; do
	try $t
done
if [ -z "${SAN:-}" ]; then
	try allocators_stay_in_charge
else # the command's own allocator is the sanitizer's, and must be first
	skip "allocators stay in charge" "no other allocator beside a sanitizer's"
fi
