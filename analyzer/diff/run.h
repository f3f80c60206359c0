#pragma once
/*
 * The parts of a trace that are compared: its profile, the functions that call verbs, the
 * attributes that they gave to objects, and facts of its environment.
 *
 * The trace may be closed once the run was created. Not thread-safe.
 */
#include "analyzer/profile/pass.h"
#include "analyzer/report/symbols.h"
#include "core/base/map.h"

enum { DIFF_PLACE = 192, DIFF_CALLERS = 4 };

/* An attribute that calls gave to objects: its distinct values, in alphabetical order. */
struct diff_attribute {
	const char *name; /* of attribute_infos */
	char **values;
	size_t n;
};

/*
 * A function that calls a verb: all of its places, and all stacks that lead to them. Sites are
 * matched by the function, not by an address or a line, which change when the program is rebuilt.
 */
struct diff_site {
	enum verb verb;
	char *function;        /* without the suffixes of compilers; "": not known */
	char text[DIFF_PLACE]; /* "put_list (app.c:88)", the first place; "": not known */
	/* of a place: the line that called the function, the caller's caller...; "" */
	char callers[DIFF_CALLERS][DIFF_PLACE];
	struct profile_place sum;           /* of all its places */
	uint64_t polls, completions, empty; /* of the CQs that it created */
	uint32_t most;                      /* most completions of one of these polls */
	struct histogram poll_gap;          /* struct profile_cq.gap */
	struct diff_attribute *attributes;
	size_t nattributes;
	/* of a function: one per line and chain of callers; a place has no places */
	struct diff_site *places;
	size_t nplaces;
};

struct diff_fact {
	char *name, *value;
};

struct diff_run {
	const char *path; /* borrowed */
	struct profile *profile;
	struct diff_site *sites;
	size_t nsites;
	struct diff_fact *facts;
	size_t nfacts;
	bool lossy;         /* events are missing: its counts are too low */
	struct map by_call; /* (stack, verb) to 1 + index of the site; upper bits: of the place */
};

/* How an attribute is compared: by its value, or the number at the end of an enumerator. */
struct attribute_info {
	const char *name;
	int worse; /* -1: a lower value is worse; 1: a higher one; 0: neither */
};

/* The row of attribute @name, or NULL. */
const struct attribute_info *attribute_find(const char *name);

/* @select may be NULL; @path is borrowed. 0 or -errno after log_err(). */
int diff_run_new(struct trace *trace, const char *path, const struct profile_select *select,
		 struct symbols *symbols, struct diff_run **ret_run);

/* Do two places of a function have the same line and callers? */
bool diff_site_equals(const struct diff_site *a, const struct diff_site *b);

/* Merge all sites of unknown functions that call @verb into one. 0 or -ENOMEM. */
int diff_run_join(struct diff_run *run, enum verb verb);

/* Accepts NULL. */
void diff_run_free(struct diff_run *run);

/* A fact of the environment that is compared as text. 0 or -ENOMEM after log_err(). */
int diff_run_add_fact(struct diff_run *run, const char *name, const char *value);
