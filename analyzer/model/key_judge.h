#pragma once
/*
 * Does a key allow what a request does? Decided only here.
 *
 * The answer is the same for the program's own keys and for those of its peer, when the request is
 * posted and when it was refused. The callers choose what they report, and word it.
 *
 * Not thread-safe.
 */
#include "analyzer/model/key.h"
#include "analyzer/model/watcher.h"

struct life;
struct model;
struct queue;
struct queue_request;

/* What a request does with the memory of a key. */
struct key_use {
	uint64_t pd; /* PD of the queue, or of the queue pair at the other end; 0: not known */
	uint64_t addr, length;
	uint32_t needed; /* enum ibv_access_flags */
	int64_t posted;  /* when */
	int64_t judged;  /* when the key was looked up; KEY_NOW: both times are now */
	int64_t slack;   /* of the two processes' clocks: the order of closer times is unknown */
};

/* clang-format off */
#define KEY_NOW .posted = INT64_MAX, .judged = INT64_MAX
/* clang-format on */

/* All that a device checks of a key. */
struct key_judgement {
	enum key_fault fault; /* the first fault that the device finds */
	/* KEY_FITS: the key is valid; else a fault up to KEY_INVALID, or KEY_UNBOUND */
	enum key_fault life;
	bool same_pd, other_pd; /* both false: one of the two domains is not known */
	bool ranged;            /* the range of the key is known, and the fields below are valid: */
	struct key range;       /* the region, or what the window is bound to */
	bool outside;
	uint32_t missing; /* flags of `needed` that the key lacks */
};

/* @key may be NULL: the trace has no such key. */
void key_judge(const struct model *model, const struct key *key, const struct key_use *use,
	       struct key_judgement *ret);

/* The flags of @needed that the queue pair at the other end does not allow, if that is known. */
uint32_t keys_qp_lacks(const struct life *qp, uint32_t needed);

/* The remote range of a request of @queue; the rest is for the caller to fill in. */
struct key_use keys_remote_use(const struct queue *queue, const struct queue_request *request);
