#pragma once
/*
 * The waits of processes in words: for the first screen and for JSON.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/stalls.h"
#include "core/base/text.h"

/*
 * Is a process to blame? Not if there are only two processes, whose wait is already a fact, unless
 * they are ranks of a job.
 */
bool waits_are_shown(struct trace *trace, const struct stalls *stalls);

/* Add "called no verb for 2.00 s": the state of a process that does not wait. */
void waits_put_state(struct text *t, struct trace *trace, const struct stall *stall);

/* Add " thread 3 (worker, TID 4711)"; nothing if @id is 0. */
void waits_put_thread(struct text *t, struct trace *trace, uint32_t id);

/*
 * Add "rank 4 (node n1) qp1 -> rank 5 (node n1) qp2: IBV_WR_SEND 5:70 for 2.00 s, no receive posted
 * there".
 */
void waits_put_link(struct text *t, struct trace *trace, const struct stall_link *link);

/*
 * Add "was late 12 times, for 740 ms: 93 % of all waiting, 4.62 s of 7 processes".
 */
struct delays;
void waits_put_late(struct text *t, const struct delays *delays, uint32_t process);

/* Add "6 ranks: 0-4, 7", or "process 3, b.db process 1 and 5 more". */
void waits_put_processes(struct text *t, struct trace *trace, const uint32_t *processes, size_t n);
