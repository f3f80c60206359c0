#pragma once
/*
 * Work requests, posted again.
 */
#include <stdint.h>

struct replay;
struct trace_event;

/* TRACE_POST. Returns 0 or -errno after log_err(). */
int posts_replay(struct replay *r, const struct trace_event *event);

/* Returns 0 or -ENOMEM. */
int posts_init(struct replay *r);
void posts_fini(struct replay *r);

/*
 * wr_id of a request here: the object of its queue, which side of it, and its
 * number there.
 *
 *	63          33 32   31          0
 *	| object      |side| number      |
 */
static inline uint64_t posts_cookie(uint32_t object, unsigned int side, uint32_t number)
{
	return (uint64_t)object << 33 | (uint64_t)side << 32 | number;
}
