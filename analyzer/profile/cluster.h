#pragma once
/*
 * Clusters of latencies at a multiple of an RNR timer, of requests that waited for it.
 *
 * Not thread-safe.
 */
#include "analyzer/profile/profile.h"

enum { CLUSTERS = 16 };

struct cluster {
	int64_t constant;   /* ns */
	unsigned int code;  /* min_rnr_timer */
	unsigned int times; /* of the constant: 1, 2, ... */
	uint64_t n;         /* requests that waited for that time, or up to 4 % longer */
	uint64_t stalls;    /* stalls in which these requests waited, one after the other */
	uint64_t of;        /* number of all requests */
	/* requests in an equally wide span just before or just after, the larger number */
	uint64_t beside;
	int64_t from, to; /* latencies of the requests that waited, in classes of a histogram */
};

/* Find the clusters of timers that made requests wait. Returns how many of @clusters are set. */
size_t cluster_find(const struct profile *profile, struct cluster clusters[CLUSTERS]);

/* Is a request of @queue among those of @cluster? */
bool cluster_has(const struct cluster *cluster, const struct profile_queue *queue);
