#pragma once
/*
 * Sequences on the device and on the model, step by step.
 */
#include "tests/shim/soft/model/model.h"
#include "tests/shim/soft/model/world.h"

struct runner {
	struct world world;
	struct model *model;
	FILE *log;             /* each step and result, or NULL */
	struct result shown;   /* in the log */
	unsigned int patience; /* ms to wait for a completion or event */
	/* for tests of the test: changes the device's result */
	void (*spoil)(const struct step *step, struct result *r);
};

/* Returns 0 or -errno. */
int runner_open(struct runner *r);
/* Returns the number of processes that failed. */
int runner_close(struct runner *r);

/*
 * Run one sequence. True if the device did what the model says; else a report is written to
 * @report, with the expected and the actual result, and the steps that are needed for it.
 */
bool runner_sequence(struct runner *r, uint64_t seed, FILE *report);
