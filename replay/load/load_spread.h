#pragma once
/*
 * Traffic as shares: the totals of a class, and tracks generated from them. Not thread-safe.
 */
#include "replay/load/load.h"

/* A size of an operation, or a gap in ns, and its weight among all. */
struct load_share {
	int opcode; /* of a size; LOAD_GAP: a gap */
	double value, weight;
};

enum { LOAD_GAP = -1, LOAD_SHARES = 12 /* sizes of one operation, and gaps, at most */ };

/* The traffic of a class, per sender. */
struct load_summary {
	struct load_share *sizes; /* by opcode and size; the weights of all add up to 1 */
	size_t nsizes;
	struct load_share *gaps; /* gaps in ascending order; their weights add up to 1 */
	size_t ngaps;
	uint64_t requests; /* mean number of requests of its senders */
	double rate;   /* requests per second, from the first to the last; 0: there is only one */
	int64_t start; /* time of the first request of the first sender, ns */
};

/* 0 or -ENOMEM, after log_err(). */
int load_summarise(const struct load *load, const struct load_class *class,
		   struct load_summary *ret_summary);

/* Accepts a zeroed summary. */
void load_fini_summary(struct load_summary *summary);

/*
 * A track with these shares, exact to one request for each, in a random order that @seed
 * determines. Gaps are scaled to fit the rate; without gaps all are equal. 0 or -errno after
 * log_err().
 */
int load_make_track(struct load *load, const struct load_summary *summary, uint64_t seed,
		    struct load_track *ret_track);
