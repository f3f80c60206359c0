#pragma once
/*
 * How a program handled a failure. Not thread-safe.
 */
#include "cli/torture/failures.h"
#include "cli/torture/run.h"

/* Worst first. */
enum verdict {
	VERDICT_CRASH,   /* a signal, or the report of a sanitizer */
	VERDICT_CORRUPT, /* an assertion of the program failed */
	VERDICT_HANG,    /* the program did not end */
	VERDICT_MISUSE,  /* check has a finding that runs without the failure do not have */
	/*
	 * check has a finding about objects that the program did not destroy although it continued
	 */
	VERDICT_LEAK,
	VERDICT_SILENT, /* the program ended as if nothing had failed */
	VERDICT_HANDLED,
	VERDICT_MISSED, /* the failure did not occur in this run */
	VERDICTS,
};

/* "crash" */
const char *verdict_name(enum verdict verdict);

/* The verdict with @name; VERDICTS: there is none. */
enum verdict verdict_find(const char *name);

/* Is @verdict neither handled nor missed? */
bool verdict_is_bad(enum verdict verdict);

/* The behaviour of runs without failures. */
struct reference {
	int status;      /* exit status of each program */
	char *output;    /* numbers masked; NULL: it differs from run to run */
	uint64_t took;   /* ns, the longest */
	char **findings; /* the findings of check */
	size_t nfindings;
	bool success; /* the programs write "Success" */
};

struct judgement {
	enum verdict verdict;
	bool again;     /* the program tried again: a second run lets the call fail each time */
	char says[400]; /* "SIGSEGV after ibv_create_qp() in connect_qp (app.c:58)" */
};

/*
 * Learn from a run without failures; called for each such run. 0 or -errno after log_err(): -EINVAL
 * if the program fails on its own, or if earlier runs ended differently.
 */
int reference_learn(struct reference *reference, const struct run *run, const struct run_end *end);
void reference_fini(struct reference *reference);

/* Judge a run with @failure, once or from then on. 0 or -errno after log_err(). */
int verdict_judge(const struct reference *reference, const struct failure *failure,
		  const struct run *run, const struct run_end *end,
		  struct judgement *ret_judgement);
