#pragma once
/*
 * Latencies that gather at a multiple of an RNR timer, of requests that waited for it.
 *
 * One thread.
 */
#include "analyzer/profile/profile.h"

enum { CLUSTERS = 16 };

struct cluster {
	int64_t constant;   /* ns */
	unsigned int code;  /* min_rnr_timer */
	unsigned int times; /* of the constant: 1, 2, ... */
	uint64_t n;         /* requests that waited that long, or up to 4 % more */
	uint64_t of;        /* all requests */
	uint64_t beside;    /* of them in as wide a span right before and after, the more of both */
	int64_t from, to;   /* what those that waited took, in classes of a histogram */
};

/* Those of the timers that made requests wait. Returns how many of @clusters are filled. */
size_t cluster_find(const struct profile *profile, struct cluster clusters[CLUSTERS]);

/* Has one of the requests of @queue been among those of @cluster? */
bool cluster_has(const struct cluster *cluster, const struct profile_queue *queue);
