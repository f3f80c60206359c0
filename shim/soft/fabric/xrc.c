/*
 * XRC domains and receive queue pairs
 *
 * They may outlive the process that created them, while another process holds them; so they are in
 * the registry's file. A receive queue pair is only a connection: each message names its
 * destination, a shared receive queue.
 *
 *	domain: file, holders	<-- queue pair: state, attributes, holders
 *	      ^
 *	      +-- shared receive queue (in its process's segment)
 *
 * A holder's serial number is written last and cleared first, so that a process that dies in
 * between is not a holder.
 *
 * Not here: the verbs objects for them (xrcd.c, xrc_qp.c).
 */
#include "shim/soft/fabric/xrc.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/pipe.h"
#include "shim/soft/fabric/registry.h"

static int add_holder(struct shm_holder *holders, const struct shm_holder *holder)
{
	struct shm_holder *h;

	for (h = holders; h < holders + SHM_HOLDERS; h++)
		if (!h->serial) {
			h->instance = holder->instance;
			h->node = holder->node;
			h->index = holder->index;
			h->async = holder->async;
			__atomic_store_n(&h->serial, holder->serial, __ATOMIC_RELEASE);
			return 0;
		}
	return -ENOMEM;
}

static void del_holder(struct shm_holder *holders, uint32_t serial)
{
	struct shm_holder *h;

	for (h = holders; h < holders + SHM_HOLDERS; h++)
		if (h->serial == serial && h->node == node_self.node &&
		    h->instance == node_self.instance)
			__atomic_store_n(&h->serial, 0, __ATOMIC_RELEASE);
}

static bool has_holder(const struct shm_holder *holders)
{
	const struct shm_holder *h;

	for (h = holders; h < holders + SHM_HOLDERS; h++)
		if (h->serial)
			return true;
	return false;
}

typedef bool alive_fn(uint32_t node, uint64_t instance);

/* Remove dead holders. Returns whether a holder is left. */
static bool drop_dead_holders(struct shm_holder *holders, alive_fn *alive)
{
	struct shm_holder *h;

	for (h = holders; h < holders + SHM_HOLDERS; h++)
		if (h->serial && !alive(h->node, h->instance))
			__atomic_store_n(&h->serial, 0, __ATOMIC_RELEASE);
	return has_holder(holders);
}

static struct shm_xrcd *find_domain(struct shm_xrc *xrc, uint64_t dev, uint64_t ino)
{
	struct shm_xrcd *d;

	for (d = xrc->xrcd; d < xrc->xrcd + xrc->high_xrcd; d++) {
		if (!d->id || d->dev != dev || d->ino != ino)
			continue;
		if (drop_dead_holders(d->holder, node_has))
			return d;
		d->id = 0;
	}
	return NULL;
}

static struct shm_xrcd *new_domain(struct shm_xrc *xrc, uint64_t dev, uint64_t ino)
{
	struct shm_xrcd *d;
	uint32_t i;

	for (i = 0; i < xrc->high_xrcd && xrc->xrcd[i].id; i++)
		;
	d = &xrc->xrcd[i];
	if (i == SHM_XRCD_MAX || registry_reserve_pages(d, sizeof(*d)) < 0)
		return NULL;
	if (i == xrc->high_xrcd)
		xrc->high_xrcd++;
	memset(d->holder, 0, sizeof(d->holder));
	d->dev = dev;
	d->ino = ino;
	d->id = ++d->generation * SHM_XRCD_MAX + (d - xrc->xrcd);
	return d;
}

static int open_domain(uint64_t dev, uint64_t ino, int oflags, const struct shm_holder *holder,
		       uint32_t *ret_id)
{
	struct shm_xrc *xrc = registry_xrc();
	struct shm_xrcd *d = NULL;
	bool private = !dev && !ino;
	int err;

	if (!private)
		d = find_domain(xrc, dev, ino);
	if (d && oflags & O_EXCL)
		return -EINVAL;
	if (!d && !private && !(oflags & O_CREAT))
		return -EAGAIN;
	if (!d)
		d = new_domain(xrc, dev, ino);
	if (!d)
		return -ENOMEM;
	err = add_holder(d->holder, holder);
	if (!err)
		*ret_id = d->id;
	return err;
}

int xrc_open_domain(uint64_t dev, uint64_t ino, int oflags, const struct shm_holder *holder,
		    uint32_t *ret_id)
{
	int err;

	registry_lock();
	err = open_domain(dev, ino, oflags, holder, ret_id);
	registry_unlock();
	return err;
}

void xrc_close_domain(uint32_t id, uint32_t serial)
{
	struct shm_xrcd *d;

	registry_lock();
	d = &registry_xrc()->xrcd[id % SHM_XRCD_MAX];
	if (d->id == id) {
		del_holder(d->holder, serial);
		if (!has_holder(d->holder))
			d->id = 0;
	}
	registry_unlock();
}

/*
 * Initialise a queue pair, but not its locks: a peer that still knows an earlier queue pair in this
 * slot may hold them.
 */
static void init_qp(struct shm_xrc_qp *qp, uint32_t domain)
{
	memset(&qp->qp, 0, offsetof(struct shm_qp, resets));
	qp->qp.established = 0;
	qp->qp.type = IBV_QPT_XRC_RECV;
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(qp->holder, 0, sizeof(qp->holder));
	qp->xrcd = domain;
	qp->taker = 0;
}

static int new_qp(uint32_t domain, const struct shm_holder *holder, struct shm_xrc_qp **ret_qp)
{
	struct shm_xrc *xrc = registry_xrc();
	struct shm_xrc_qp *qp;
	uint32_t slot;
	int err;

	for (slot = 0; slot < xrc->high_qp && xrc->qp[slot].qp.qpn; slot++)
		;
	qp = &xrc->qp[slot];
	if (slot == SHM_XRC_QP_MAX || registry_reserve_pages(qp, sizeof(*qp)) < 0)
		return -ENOMEM;
	if (slot == xrc->high_qp)
		xrc->high_qp++;
	init_qp(qp, domain);
	add_holder(qp->holder, holder);
	err = registry_new_number(REGISTRY_XRC_QP, slot, &qp->qp.qpn);
	if (!err)
		*ret_qp = qp;
	return err;
}

int xrc_new_qp(uint32_t domain, const struct shm_holder *holder, struct shm_xrc_qp **ret_qp)
{
	int err;

	registry_lock();
	err = new_qp(domain, holder, ret_qp);
	registry_unlock();
	return err;
}

int xrc_open_qp(uint32_t domain, uint32_t qpn, const struct shm_holder *holder,
		struct shm_xrc_qp **ret_qp)
{
	struct shm_xrc_qp *qp;
	int err = -EINVAL;
	uint32_t slot;

	registry_lock();
	if (registry_find_xrc(qpn, &slot) == 0) {
		qp = &registry_xrc()->qp[slot];
		lock_take(&qp->qp.rq.lock);
		if (qp->xrcd == domain && drop_dead_holders(qp->holder, node_has))
			err = add_holder(qp->holder, holder);
		lock_drop(&qp->qp.rq.lock);
		if (!err)
			*ret_qp = qp;
	}
	registry_unlock();
	return err;
}

static void destroy_qp(struct shm_xrc_qp *qp)
{
	registry_free_number(qp->qp.qpn);
	__atomic_store_n(&qp->qp.state, IBV_QPS_RESET, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&qp->qp.resets, 1, __ATOMIC_RELEASE);
	qp->qp.qpn = 0;
}

void xrc_close_qp(struct shm_xrc_qp *qp, uint32_t serial)
{
	registry_lock();
	lock_take(&qp->qp.rq.lock);
	del_holder(qp->holder, serial);
	if (!has_holder(qp->holder))
		destroy_qp(qp);
	lock_drop(&qp->qp.rq.lock);
	registry_unlock();
}

void xrc_set_taker(struct shm_xrc_qp *qp)
{
	qp->taker_node = node_self.node;
	/* pairs with the load in xrc_find_taker() */
	__atomic_store_n(&qp->taker, node_self.instance, __ATOMIC_RELEASE);
}

bool xrc_is_taker(const struct shm_xrc_qp *qp)
{
	return __atomic_load_n(&qp->taker, __ATOMIC_ACQUIRE) == node_self.instance;
}

int xrc_find_taker(uint32_t qpn, uint32_t *ret_node, uint64_t *ret_instance)
{
	struct shm_xrc_qp *qp;
	uint32_t slot;

	if (registry_find_xrc(qpn, &slot) < 0)
		return -ENOENT;
	qp = &registry_xrc()->qp[slot];
	*ret_instance = __atomic_load_n(&qp->taker, __ATOMIC_ACQUIRE);
	*ret_node = qp->taker_node;
	return *ret_instance && *ret_node < NODE_MAX ? 0 : -ENOENT;
}

bool xrc_is_held(const struct shm_xrc_qp *qp)
{
	const struct shm_holder *h;

	for (h = qp->holder; h < qp->holder + SHM_HOLDERS; h++)
		if (h->serial && node_has(h->node, h->instance))
			return true;
	return false;
}

void xrc_notify(const struct shm_xrc_qp *qp, int type)
{
	const struct shm_holder *h;
	struct pipe_event event;

	for (h = qp->holder; h < qp->holder + SHM_HOLDERS; h++) {
		if (!h->serial)
			continue;
		event = (struct pipe_event){ PIPE_QP, h->index, h->serial, type };
		pipe_send_to(h->node, h->instance, h->async, &event);
	}
}

/*
 * A process that is joining cannot take locks yet, and this function needs none: a peer that still
 * delivers to a queue pair without holders finds it in RESET.
 */
void xrc_sweep(alive_fn *registered)
{
	struct shm_xrc *xrc = registry_xrc();
	uint32_t i;

	for (i = 0; i < xrc->high_qp && i < SHM_XRC_QP_MAX; i++)
		if (xrc->qp[i].qp.qpn && !drop_dead_holders(xrc->qp[i].holder, registered))
			destroy_qp(&xrc->qp[i]);
	for (i = 0; i < xrc->high_xrcd && i < SHM_XRCD_MAX; i++)
		if (xrc->xrcd[i].id && !drop_dead_holders(xrc->xrcd[i].holder, registered))
			xrc->xrcd[i].id = 0;
}
