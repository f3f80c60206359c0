#pragma once
/*
 * The comparison of two sides with one or more runs each: what changed, where in the code, and
 * whether it is a regression.
 *
 * Structure needs no statistics, and is compared first: attributes, calls, requests per doorbell,
 * shares. Then the shape of histograms, then times, then the environment. A value that varies
 * between the runs of one side is never a change.
 *
 * Not thread-safe.
 */
#include "analyzer/diff/run.h"

enum diff_section { DIFF_STRUCTURE, DIFF_SHAPE, DIFF_TIME, DIFF_ENVIRONMENT, DIFF_SECTIONS };

enum diff_verdict {
	DIFF_UNCLEAR, /* the difference may be chance */
	DIFF_CHANGED, /* neither better nor worse, or less than the threshold */
	DIFF_BETTER,
	DIFF_WORSE, /* a regression */
};

enum diff_unit {
	DIFF_TEXT,  /* before_text, after_text */
	DIFF_RATIO, /* 7.59 */
	DIFF_SHARE, /* percent */
	DIFF_COUNT,
	DIFF_NS,
};

struct diff_change {
	size_t found; /* its position in the order in which the changes were found */
	enum diff_section section;
	enum diff_verdict verdict;
	enum diff_unit unit;
	char what[96];
	double before, after;            /* the mean of the runs */
	char *before_text, *after_text;  /* DIFF_TEXT; owned */
	char place[2 * DIFF_PLACE + 64]; /* "ibv_post_send, put_list (app.c:88)"; "": none */
	char note[128];                  /* "106 ms in them"; "" */
	bool has_bounds;                 /* low and high are valid, in percent (DIFF_NS) */
	double low, high;
};

/* A number that was compared and did not change, or that could not be judged. */
struct diff_test {
	char what[96];
	const char *verb;    /* called by the function; NULL: of a CQ or of the run */
	char of[DIFF_PLACE]; /* the function; "" */
	/* why it is not judged; NULL: it is judged, and `could_see` is valid */
	const char *because;
	bool share;       /* could_see is in percentage points, not percent */
	double could_see; /* the smallest change that would have been reported */
};

/* The sites of one function that calls a verb, by run; NULL: not in that run. */
struct diff_pair {
	enum verb verb;
	const char *function;
	const struct diff_site **of[2];
};

struct diff_side {
	struct diff_run *const *runs;
	size_t n;
};

struct diff {
	struct diff_side sides[2]; /* before, after */
	double threshold;          /* percent */
	struct diff_pair *pairs;
	size_t npairs;
	struct diff_change *changes;
	size_t nchanges;
	struct diff_test *tests;
	size_t ntests;
	uint64_t regressions;
	bool counted;    /* calls were compared */
	uint64_t shapes; /* functions whose gaps were compared for new modes */
	bool no_memory;
};
