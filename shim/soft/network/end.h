#pragma once
/*
 * The receiving end of a packet, and its memory. With the lock of the engine held; all but
 * end_find() also with the locks of the end (remote.h).
 */
#include "shim/soft/network/network_qp.h"
#include "shim/soft/network/outbox.h"

/* NULL: it does not exist, or there is no memory. */
struct soft_remote *end_find(struct network_qp *n, const struct arrival *arrival);

/* Copy to the memory of @end; errors as those of copy_put(). */
int end_put(struct soft_remote *end, struct copy_list *from, struct copy_list *to);

/* Would a request overtake payload that another process has not polled yet? (travel.h) */
bool end_would_overtake(struct soft_remote *end, const struct copy_list *list);

/* Execute an atomic. Errors as those of copy_put(). */
int end_change(struct soft_remote *end, const struct header *h, struct copy_list *there,
	       uint64_t *old);

/*
 * Make the memory of a response accessible in this process until the outbox is sent. Returns a
 * status, or CARRY_*.
 */
int end_bring_in(struct soft_remote *end, struct copy_list *from, uint32_t len, struct outbox *box);
