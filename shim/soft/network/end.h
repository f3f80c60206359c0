#pragma once
/*
 * The receiving end of a packet, and its memory. Callers hold the lock of the engine, and except
 * for end_find() also the locks of the end (remote.h).
 */
#include "shim/soft/network/network_qp.h"
#include "shim/soft/network/outbox.h"

/* The receiving end of a packet; NULL: it does not exist, or out of memory. */
struct soft_remote *end_find(struct network_qp *n, const struct arrival *arrival);

/* Copy to the memory of @end; same errors as copy_put(). */
int end_put(struct soft_remote *end, struct copy_list *from, struct copy_list *to);

/* Would a request overtake payload that another process has not polled yet (travel.h)? */
bool end_would_overtake(struct soft_remote *end, const struct copy_list *list);

/* Execute an atomic; *@old: the value before. Same errors as copy_put(). */
int end_execute_atomic(struct soft_remote *end, const struct header *h, struct copy_list *there,
		       uint64_t *old);

/*
 * Make the memory of a response accessible in this process until @box is sent. Returns a completion
 * status, or CARRY_*.
 */
int end_populate(struct soft_remote *end, struct copy_list *from, uint32_t len, struct outbox *box);
