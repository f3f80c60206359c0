#pragma once
/*
 * Latencies that gather at a constant of the protocol: retransmissions and RNR waits.
 *
 * One thread.
 */
#include "analyzer/profile/profile.h"

enum { CLUSTERS = 16 };

struct cluster {
	int64_t constant;   /* ns */
	bool rnr;           /* a RNR timer; else the timeout of an acknowledgement */
	unsigned int code;  /* min_rnr_timer, timeout: 4.096 us x 2^code */
	unsigned int times; /* of the constant: 1, 2, ... */
	uint64_t n;         /* requests that took that long, or up to 4 % more */
	uint64_t of;        /* requests that were looked at */
	uint64_t beside;    /* in as wide a span right before and after, the more of both */
	int64_t from, to;   /* what they took, in classes of a histogram */
};

/*
 * Those of the constants that the run's queue pairs had, and the longest RNR timer, that many more
 * requests took than times right beside. Returns how many of @clusters are filled.
 */
size_t cluster_find(const struct profile *profile, struct cluster clusters[CLUSTERS]);

/* Has one of the requests of @queue been among those of @cluster, by a timer of its own? */
bool cluster_has(const struct cluster *cluster, const struct profile_queue *queue);
