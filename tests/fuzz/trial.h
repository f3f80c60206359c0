#pragma once
/*
 * One run of a program under test, watched: its end, and any failure. Any process; one run at a
 * time.
 */
#include <stdbool.h>
#include <stdint.h>

enum verdict {
	VERDICT_FINE,
	VERDICT_STATUS, /* an unexpected one, or without a message */
	VERDICT_CRASH,  /* by a signal */
	VERDICT_REPORT, /* of a sanitizer */
	VERDICT_HANG,
	VERDICT_MEMORY, /* more than TRIAL_MEMORY */
	VERDICT_RAW,    /* terminal controls, or invalid UTF-8 */
	VERDICT_TOUCH,  /* a file that does not belong to the input */
	VERDICTS,
};

enum { TRIAL_MEMORY = 2 << 20 /* kB */, TRIAL_SAID = 4096 };

struct trial {
	const char *dir; /* to run in */
	char *const *argv;
	char *const *env;     /* pairs of name and value, then NULL; or NULL */
	const char *statuses; /* allowed exit statuses, as digits */
	double limit;         /* seconds without output after which the program counts as hung */
	int (*meanwhile)(void *arg); /* called as often as possible; or NULL */
	void *arg;
	/* out */
	enum verdict verdict;
	int status;  /* as in a shell */
	long memory; /* kB, at most */
	double seconds;
	char said[TRIAL_SAID]; /* the end of its output on stderr */
};

extern const char *const verdict_names[VERDICTS];

void trial_run(struct trial *trial);
