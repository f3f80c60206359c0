#pragma once
/*
 * The rings of this process: each belongs to a thread, or waits for one.
 *
 * Any thread; rings_each() and rings_release() take the recorder's lock. Memory is allocated with
 * mmap(), in pieces that are never freed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "core/wire/tap.h"

/*
 * A new process begins, with a budget and no rings. @begun: ticks when this image of the process
 * joined, different in all other images of this pid. One thread calls it before any other function.
 */
void rings_begin(const struct session *session, uint64_t begun);

/* Take a free ring; false: there is none. */
bool rings_take(struct ring *ret_ring);

/*
 * Create a narrow ring, or take one that was set aside. Returns 0 or -errno; -EDQUOT: the budget is
 * used up; -EACCES: the process has changed its user.
 */
int rings_make(struct session *session, struct ring *ret_ring);

/*
 * The process is about to change its user, who cannot create rings: create some rings now, for its
 * next threads and for its children. Further calls do nothing.
 */
void rings_set_aside(struct session *session);

/*
 * Extend this thread's ring, if the budget allows it; with @must even beyond the budget. All its
 * events must be committed. Takes no lock. Returns 0 or -errno; -EDQUOT costs no system call; after
 * any other error do not try again.
 */
int rings_widen(struct session *session, struct ring *ring, bool must);

/*
 * The thread does not use @ring any more: the ring becomes free for the next thread. It is closed
 * instead if enough rings are free, or with @torn: an event was being written. The caller must not
 * use it any more.
 */
void rings_release(struct session *session, struct ring *ring, uint64_t ticks, bool torn);

/* The thread of @ring ends after the end of the recording: unmap the ring. */
void rings_drop_shared(struct ring *ring);

/*
 * The recording has ended: unmap the rings of all threads, except threads inside a function of the
 * recorder. Returns how many rings are left.
 */
unsigned int rings_end(bool (*is_inside)(uint32_t tid, const void *arg), const void *arg);

/* Call @visit for the head of each ring, while holding the lock. */
void rings_each(void (*visit)(struct ring_head *head, void *arg), void *arg);

/* The same for rings that have a thread; the caller holds the lock. */
void rings_each_locked(void (*visit)(struct ring_head *head, void *arg), void *arg);

/*
 * The tap finds this function by name, and calls it when the process ends: it notifies the tap of
 * the end of each ring.
 */
__attribute__((visibility("default"))) tap_end_fn verbatim_tap_end;
