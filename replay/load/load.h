#pragma once
/*
 * Traffic: which rank sends what to which, and when
 *
 *	load --> classes --> edges, from rank to rank: a sender each
 *	            \-----> tracks, the requests of a sender; edge i has track i % ntracks
 *
 * It comes from a trace (load_learn.h), with the recorded times, or from a text of rates and shares
 * (load_spread.h makes tracks of these), may be changed (load_change.h), and is sent by load_run.h.
 * A rank is a process that sends or receives.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/map.h"
#include "replay/load/load_pattern.h"

enum load_transport { LOAD_RC, LOAD_UC, LOAD_UD, LOAD_TRANSPORTS };

/* A kind of request: opcode (enum ibv_wr_opcode), and length. */
struct load_kind {
	int opcode;
	uint32_t bytes;
};

enum {
	LOAD_GAP_BITS = 40,
	LOAD_KIND_BITS = 24,
	LOAD_DEPTH_MOST = 1 << 16,
	/* most ranks of a text, and after scaling, since patterns try all pairs */
	LOAD_RANKS_MOST = 1 << 12,
};

#define LOAD_GAP_MOST  ((UINT64_C(1) << LOAD_GAP_BITS) - 1)
#define LOAD_KIND_MOST (1u << LOAD_KIND_BITS)

struct load_request {
	/* ns since the previous request; of the first: since the last one, if the track repeats */
	uint64_t gap : LOAD_GAP_BITS;
	uint64_t kind : LOAD_KIND_BITS; /* index */
};

struct load_track {
	struct load_request *requests;
	size_t n;
	uint64_t count; /* requests to be sent; if more than n, the track begins again */
	int64_t start;  /* time of its first request, ns */
};

struct load_edge {
	uint32_t from, to; /* ranks, from 0 */
};

/* Senders whose traffic is alike. */
struct load_class {
	enum load_transport transport;
	enum load_pattern pattern; /* the pattern of its edges */
	uint32_t depth;            /* outstanding requests of each send queue */
	uint32_t signal;           /* one in @signal requests is signaled */
	struct load_edge *edges;
	size_t nedges;
	struct load_track *tracks;
	size_t ntracks;
};

struct load {
	uint32_t nranks;
	bool numbered; /* ranks have the numbers that a launcher gave them */
	struct load_kind *kinds;
	size_t nkinds;
	struct map kind_of; /* opcode and bytes, to an index */
	struct load_class *classes;
	size_t nclasses;
	uint64_t dropped;  /* requests that load_scale_ranks() could not continue */
	uint64_t left_out; /* recorded requests that move no bytes between ranks: bind_mw, ... */
	uint32_t outside;  /* number of ranks that are in the trace only as peers */
};

/* Find the index of a kind; it is added if there is none. 0 or -errno after log_err(). */
int load_find_kind(struct load *load, int opcode, uint32_t bytes, uint32_t *ret_kind);

/* Add a request to a track whose last one was @gap ns earlier. 0 or -ENOMEM. */
int load_add_request(struct load_track *track, uint64_t gap, uint32_t kind);

/* A new class without edges and tracks; NULL if out of memory. */
struct load_class *load_add_class(struct load *load);

/* Free the contents of @class, or of @load; all zeros are accepted. */
void load_fini_class(struct load_class *class);
void load_fini(struct load *load);

struct load_totals {
	uint64_t senders, requests;
	double bytes;
	int64_t end;     /* when the last request is due, ns */
	uint64_t memory; /* bytes that the tracks take */
};
struct load_totals load_totals(const struct load *load);

/* From the first request of a track to its last, all repetitions included, ns. */
double load_track_duration(const struct load_track *track);

/* The number of requests that a track sends with an opcode for which @is returns true. */
uint64_t load_track_count(const struct load *load, const struct load_track *track,
			  bool (*is)(int opcode));
