/*
 * The receiving end of a packet
 *
 * Usually it is the queue pair itself. With XRC it is the shared receive queue that the packet
 * names. If this queue belongs to another process of the fabric, the memory of that process is
 * accessed as for requests within the fabric.
 */
#include "shim/soft/network/end.h"

#include <errno.h>

#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/travel.h"

static bool resolve_self(struct network_qp *n)
{
	if (n->self.shm)
		return true;
	return n->qp->xrc ? remote_resolve_xrc(&n->self, n->qpn) : remote_resolve(&n->self, n->qpn);
}

struct soft_remote *end_find(struct network_qp *n, const struct arrival *a)
{
	if (!resolve_self(n))
		return NULL;
	return n->qp->xrc ? remote_find_shared(&n->self, a->header.xrceth.srqn) : &n->self;
}

static bool is_own(const struct soft_remote *end)
{
	return end->peer->seg == segment_own;
}

int end_put(struct soft_remote *end, struct copy_list *from, struct copy_list *to)
{
	return is_own(end) ? copy_put_guarded(from, to) : copy_put(end->peer, from, to);
}

static int end_get(struct soft_remote *end, struct copy_list *to, struct copy_list *from)
{
	return is_own(end) ? copy_put_guarded(from, to) : copy_get(end->peer, to, from);
}

bool end_would_overtake(struct soft_remote *end, const struct copy_list *list)
{
	return !is_own(end) && in_flight_is_overtaken(end, list);
}

static uint64_t change_value(const struct header *h, uint64_t old)
{
	if ((h->bth.opcode & ~OPCODE_TRANSPORT) == OPCODE_FETCH_ADD)
		return old + h->atomic.swap_add;
	return old == h->atomic.compare ? h->atomic.swap_add : old;
}

int end_execute_atomic(struct soft_remote *end, const struct header *h, struct copy_list *there,
		       uint64_t *old)
{
	struct shm_seg *seg = end->peer->seg;
	struct copy_list here = { .count = 1 }, from = *there;
	uint64_t new;
	int err;

	here.iov[0] = (struct iovec){ old, sizeof(*old) };
	if (lock_take_live(&seg->atomics) == LOCK_STUCK)
		return -EAGAIN;
	err = end_get(end, &here, &from);
	if (!err) {
		new = change_value(h, *old);
		here.count = 1;
		here.iov[0] = (struct iovec){ &new, sizeof(new) };
		err = end_put(end, &here, there);
	}
	lock_drop(&seg->atomics);
	return err;
}

int end_populate(struct soft_remote *end, struct copy_list *from, uint32_t len, struct outbox *box)
{
	static uint8_t copies[OUTBOX_PACKETS][NETWORK_MTU_MAX];
	struct copy_list to = { .count = 1 };
	uint8_t *copy;
	int err;

	if (is_own(end))
		return copy_list_populate(from, false) ? IBV_WC_SUCCESS : IBV_WC_REM_OP_ERR;
	if (box->packets == OUTBOX_PACKETS)
		outbox_send(box);
	copy = copies[box->packets];
	to.iov[0] = (struct iovec){ copy, len };
	if (end_would_overtake(end, from))
		return EXECUTE_LATER;
	err = len ? copy_get(end->peer, &to, from) : 0;
	*from = (struct copy_list){ .count = 1 };
	from->iov[0] = (struct iovec){ copy, len };
	return deliver_copy_error(err);
}
