#pragma once
/*
 * The rings of this process: each has a thread, or waits for one.
 *
 * Any thread; rings_each() and rings_give() take the recorder's lock. Memory is
 * taken from the kernel, in pieces that are never given back.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "core/wire/tap.h"

/*
 * A new process has none yet, and a budget. @begun: when this image of it
 * joined, in ticks; no other of this pid has the same. Called by one thread,
 * before any other call.
 */
void rings_begin(const struct session *session, uint64_t begun);

/* A ring that waits for a thread, or false. */
bool rings_take(struct ring *ret_ring);

/* Make one, narrow. Returns 0 or -errno; -EDQUOT: the budget is used up. */
int rings_make(struct session *session, struct ring *ret_ring);

/*
 * Let this thread's ring, of which all is committed, become wider, if the budget
 * allows; with @must beyond it. Takes no lock. Returns 0 or -errno: -EDQUOT after
 * no system call, or it failed and would again.
 */
int rings_widen(struct session *session, struct ring *ring, bool must);

/*
 * The thread is done with @ring: it waits for the next one, or is closed where
 * enough of them wait, or @torn: an event was being written. Not to be used by
 * the caller any more.
 */
void rings_give(struct session *session, struct ring *ring, uint64_t ticks, bool torn);

/* Call @visit for the head of each, with the lock held. */
void rings_each(void (*visit)(struct ring_head *head, void *arg), void *arg);

/* The same for those that have a thread; the caller has the lock. */
void rings_each_locked(void (*visit)(struct ring_head *head, void *arg), void *arg);

/* Found by name: the process ends, and the tap is told of each ring's end. */
__attribute__((visibility("default"))) tap_end_fn verbatim_tap_end;
