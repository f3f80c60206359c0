#pragma once
/*
 * The rings of this process: each belongs to a thread, or waits for one.
 *
 * Any thread; rings_each() and rings_give() take the recorder's lock. Memory is allocated with
 * mmap(), in pieces that are never freed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "core/wire/tap.h"

/*
 * A new process begins, with a budget and no rings. @begun: when this image of it joined, in ticks,
 * different from all other images of this pid. Called by one thread, before any other call.
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
 * The process is about to change its user, who cannot create rings: create some now, for its next
 * threads and for its children. Once is enough.
 */
void rings_set_aside(struct session *session);

/*
 * Extend this thread's ring, if the budget allows; with @must even beyond the budget. All its
 * events must be committed. Takes no lock. Returns 0 or -errno; -EDQUOT costs no system call, any
 * other error would occur again.
 */
int rings_widen(struct session *session, struct ring *ring, bool must);

/*
 * The thread has finished with @ring: the ring becomes free for the next thread, or is closed if
 * enough rings are free, or @torn (an event was being written). The caller must not use it any
 * more.
 */
void rings_give(struct session *session, struct ring *ring, uint64_t ticks, bool torn);

/* The thread of @ring ends after the recording has: unmap it. */
void rings_drop_shared(struct ring *ring);

/*
 * The recording has ended: unmap the rings of all threads but those that are inside a function of
 * the recorder. Returns how many are left.
 */
unsigned int rings_end(bool (*is_inside)(uint32_t tid, const void *arg), const void *arg);

/* Call @visit for the head of each ring, with the lock held. */
void rings_each(void (*visit)(struct ring_head *head, void *arg), void *arg);

/* The same for rings that have a thread; the caller holds the lock. */
void rings_each_locked(void (*visit)(struct ring_head *head, void *arg), void *arg);

/*
 * Called by the tap, which finds it by name: the process ends, and the tap is notified of each
 * ring's end.
 */
__attribute__((visibility("default"))) tap_end_fn verbatim_tap_end;
