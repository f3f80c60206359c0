/*
 * Sessions without a collector, altered as the fuzzer's bytes determine: they give a readable trace
 */
#include <stdlib.h>
#include <unistd.h>

#include "core/store/open.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inside.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	inside_open("session", "collect -q --keep -o o.db .");
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct dice dice = dice_of_bytes(bytes, n);
	mutate_fn *way = dice_roll(&dice, 4) ? mutate_ring : mutate_page;
	struct trace *trace;

	way(inside_copy(&dice), &dice);
	inside_run("collect -q --keep -o o.db .");
	if (access("o.db", F_OK))
		return 0;
	if (trace_open("o.db", &trace))
		abort(); /* damage costs only the damaged events, never the rest */
	trace_close(trace);
	return 0;
}
