#pragma once
/*
 * In-flight payload that is sent with completions; functions of the sender. Callers hold the locks
 * of the receiver (remote.h).
 */
#include "shim/soft/fabric/copy_list.h"
#include "shim/soft/transport/objects.h"

/*
 * The entry that is being added has payload for @to. Remember the address range of all payload in
 * flight, from its lowest to its highest address.
 */
static ALWAYS_INLINE void in_flight_note(struct soft_remote *r, const struct copy_list *to)
{
	uintptr_t from, end;
	unsigned int i;

	for (i = 0; i < to->count; i++) {
		from = (uintptr_t)to->iov[i].iov_base;
		end = from + to->iov[i].iov_len;
		if (unlikely(r->travels.from > from || !r->travels.to))
			r->travels.from = from;
		if (unlikely(r->travels.to < end))
			r->travels.to = end;
	}
	r->travels.pos = r->cq.shm->prod;
}

/* Like in_flight_is_overtaken(), if any payload is in flight. */
bool in_flight_is_overtaken_by(struct soft_remote *r, const struct copy_list *list);

/*
 * Would RDMA to or from @list, memory of the receiver, overtake payload of earlier messages that is
 * still in flight? If so, wait until the receiver has copied the payload. True if that takes too
 * long: the request must be retried (EXECUTE_LATER).
 */
static inline bool in_flight_is_overtaken(struct soft_remote *r, const struct copy_list *list)
{
	return unlikely(r->travels.to) && in_flight_is_overtaken_by(r, list);
}
