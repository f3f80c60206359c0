#pragma once
/*
 * One run of a program under test, watched: how it ended, and what is wrong
 * with that. Any process; one run at a time.
 */
#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_FINE,
	VERDICT_STATUS, /* not one that it may end with, or without a word */
	VERDICT_CRASH,  /* by a signal */
	VERDICT_REPORT, /* of a sanitizer */
	VERDICT_HANG,
	VERDICT_MEMORY, /* more than TRIAL_MEMORY */
	VERDICT_RAW,    /* controls of the terminal, or bytes that are no UTF-8 */
	VERDICT_TOUCH,  /* a file that is none of the input's */
	VERDICTS,
};

enum { TRIAL_MEMORY = 2 << 20 /* kB */, TRIAL_SAID = 4096 };

struct trial {
	const char *dir; /* to run in */
	char *const *argv;
	char *const *env;            /* pairs of name and value, then NULL; or NULL */
	const char *statuses;        /* the digits that it may end with */
	double limit;                /* seconds without a word; then it hangs */
	int (*meanwhile)(void *arg); /* as often as possible; or NULL */
	void *arg;
	/* out */
	enum verdict verdict;
	int status;  /* as of a shell */
	long memory; /* kB, at most */
	double seconds;
	char said[TRIAL_SAID]; /* the end of what it said on stderr */
};

extern const char *const verdict_names[VERDICTS];

void trial_run(struct trial *trial);
