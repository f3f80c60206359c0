/*
 * Random sequences of verbs as a program: model_run [seed [count]]
 *
 * Prints each step and its result, also the errno that a verb leaves, the same in each run with one
 * seed: this shows what a recorder changes. Exits 1 if verbs promise something else
 * (tests/shim/soft/model), with a message on stderr.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "tests/shim/soft/model/run.h"

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	struct runner r = { .log = stdout };
	bool agree = true;

	if (runner_open(&r)) {
		fputs("model_run: no device\n", stderr);
		return 2;
	}
	for (; count; count--, seed++) {
		printf("seed %" PRIu64 "\n", seed);
		agree &= runner_sequence(&r, seed, stderr);
	}
	return runner_close(&r) || !agree;
}
