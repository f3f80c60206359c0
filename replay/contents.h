#pragma once
/*
 * Contents: recorded bytes are sent again, and what is received is held
 * against what was. Where the trace has none, nothing of this does anything.
 *
 * One thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct replay;
struct contents;
struct arrival;

/* Returns 0 or -ENOMEM; r->contents stays NULL where the trace has no contents. */
int contents_init(struct replay *r);

void contents_fini(struct replay *r);

/* Before the requests of a post are filled in: room for what is sent inline. 0 or -ENOMEM. */
int contents_begin(struct replay *r, const struct post *post);

/*
 * Put the recorded bytes of request @i of @event where @sges say, or @sges,
 * of inline data, where the bytes are. 0 or -errno after log_err().
 */
int contents_fill(struct replay *r, const struct trace_event *event, uint32_t i,
		  struct ibv_sge *sges);

/* Note where receive @wr of @process lands: a number for struct request; 0 where that is not known. */
uint32_t contents_landing(struct replay *r, uint32_t process, const struct wr *wr);

/* Completion @i of @event has come as @arrival. */
void contents_check(struct replay *r, const struct trace_event *event, uint32_t i,
		    const struct arrival *arrival);

/* What could not be read of the trace meanwhile: 0 or -errno after log_err(). */
int contents_error(const struct replay *r);
