#pragma once
/*
 * The verdicts of all runs, and reports of them. Not thread-safe.
 */
#include "cli/torture/verdict.h"

struct json;
struct text;

struct result {
	const struct failure *failure;
	struct judgement judgement;
	uint64_t took; /* ns */
	bool done;     /* the run with the failure was made */
	bool known;    /* the baseline contains the result */
	/* "torture/4.reduced.db: 9 of 31 events ...", or why there is none; "": not requested */
	char reduced[200];
};

enum { RESULT_FINGERPRINT = 17 };

struct results {
	struct result *all; /* one for each failure, in the same order */
	size_t n;
	char *const *program;
	const char *folder;  /* with the traces of bad results */
	const char *options; /* options to repeat a result: " --every"; or "" */
};

/* Was a failure not handled that the baseline does not have? */
bool results_are_bad(const struct results *results);

/*
 * A baseline is the JSON of an earlier run: mark the results that are as bad in it. 0 or -errno
 * after log_err().
 */
int results_mark_known(struct results *results, const char *baseline);

/* Was the failure not handled? */
bool result_is_bad(const struct result *result);

/* Is an earlier result equal to result @i? */
bool results_is_repeat(const struct results *results, size_t i);

/*
 * Identifies a failure that was not handled: by failure, place and verdict, not by number. Returns
 * @text.
 */
const char *result_fingerprint(const struct result *result, char text[RESULT_FINGERPRINT]);

/* A result as an object of JSON, which result_read() reads. */
void result_put(struct json *json, const struct result *result);

/* Take over the result of a failure from @text, such an object; false: the text has none. */
bool result_read(struct results *results, const char *text, size_t n);

/* "torture/17.db" */
const char *result_trace(const struct results *results, const struct result *result, char *path,
			 size_t size);

/* Print a report of JSON, and free its text. 0 or -errno after log_err(). */
int results_write(struct text *text);

/* Sort by verdict, results with equal verdicts after the first of them, and print. 0 or -errno. */
int results_print_text(const struct results *results);
int results_print_json(const struct results *results);
int results_print_junit(const struct results *results);
int results_print_sarif(const struct results *results, int status);
int results_print_html(const struct results *results);
