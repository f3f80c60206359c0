#pragma once
/*
 * Contents of messages: recorded bytes are sent again, and received bytes are
 * compared with them. If the trace has no contents, these functions do nothing.
 *
 * Not thread-safe.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct replay;
struct contents;
struct arrival;
struct replica_qp;

/* Returns 0 or -ENOMEM; r->contents stays NULL if the trace has no contents. */
int contents_init(struct replay *r);

void contents_fini(struct replay *r);

/*
 * Called before the requests of a post are filled in: reserve space for inline data. 0 or -ENOMEM.
 */
int contents_begin(struct replay *r, const struct post *post);

/*
 * Copy the recorded bytes of request @i of @event to the buffers of @sges; for inline data, set
 * @sges to the bytes. 0 or -errno after log_err().
 */
int contents_fill(struct replay *r, const struct trace_event *event, uint32_t i,
		  struct ibv_sge *sges);

/*
 * Note the buffers of receive @wr of @process. Returns the value for request.landing; 0: not
 * known.
 */
uint32_t contents_note_buffers(struct replay *r, uint32_t process, const struct wr *wr);

/*
 * Note the buffers of request @wr, posted to @qp, if it is a read or an atomic, as
 * contents_note_buffers() does; else 0.
 */
uint32_t contents_fetch(struct replay *r, const struct trace_event *event, const struct wr *wr,
			const struct replica_qp *qp);

/*
 * Completion @i of @event, @wc, has come as @arrival. @doubt: its buffer may have been reused,
 * since other completions have come or it consumed another request than recorded.
 */
void contents_check(struct replay *r, const struct trace_event *event, uint32_t i,
		    const struct wc *wc, const struct arrival *arrival, bool doubt);

/* Report results that are known only at the end of the replay. */
void contents_end(struct replay *r);

/* An error in reading the trace since the start: 0 or -errno after log_err(). */
int contents_read_error(const struct replay *r);
