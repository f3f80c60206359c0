/*
 * Datagrams: each request names its receiver
 *
 * Receivers are cached by queue pair number; two with the same hash replace each other. The sender
 * does not learn the fate of a datagram. It is lost if there is no such queue pair or no receive
 * request, if the Q_Key differs, or if the buffer is too short.
 *
 * The receiver's buffer begins with space for a GRH, which is filled only if the datagram has a
 * GRH.
 *
 * Not here: the contents of the GRH (grh.c), the members of a group (mcast.c).
 */
#include "shim/soft/transport/datagram.h"

#include <stdlib.h>

#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/grh.h"
#include "shim/soft/transport/mcast.h"
#include "shim/soft/transport/remote.h"

enum { PEERS = 1024 };

struct receiver {
	struct soft_remote remote;
	uint32_t qpn;
};

struct datagram_peers {
	struct receiver *at[PEERS];
	struct mcast_groups groups;
};

void datagram_forget(struct soft_qp *qp)
{
	struct datagram_peers *peers = qp->peers;
	unsigned int i;

	if (!peers)
		return;
	for (i = 0; i < PEERS; i++)
		if (peers->at[i]) {
			remote_forget(&peers->at[i]->remote);
			free(peers->at[i]);
		}
	mcast_forget(&peers->groups);
	free(peers);
	qp->peers = NULL;
}

static void forget_receiver(struct receiver **at)
{
	remote_forget(&(*at)->remote);
	free(*at);
	*at = NULL;
}

static struct receiver *add_receiver(struct receiver **at, uint32_t qpn)
{
	struct receiver *receiver = calloc(1, sizeof(*receiver));

	if (!receiver)
		return NULL;
	if (!remote_resolve(&receiver->remote, qpn)) {
		free(receiver);
		return NULL;
	}
	receiver->qpn = qpn;
	if (*at)
		forget_receiver(at);
	*at = receiver;
	return receiver;
}

/* The receiver from the cache, which is looked up again if it is out of date. */
struct soft_remote *datagram_find(struct soft_qp *qp, uint32_t qpn)
{
	struct receiver **at = &qp->peers->at[qpn % PEERS];
	struct receiver *receiver = *at;

	if (likely(receiver && receiver->qpn == qpn)) {
		if (likely(remote_lock_datagram(qp, &receiver->remote, qpn)))
			return &receiver->remote;
		forget_receiver(at);
	}
	receiver = add_receiver(at, qpn);
	if (!receiver)
		return NULL;
	if (remote_lock_datagram(qp, &receiver->remote, qpn))
		return &receiver->remote;
	forget_receiver(at);
	return NULL;
}

/*
 * Send to queue pair @qpn. IBV_WC_SUCCESS; or EXECUTE_RNR: the sender should wait for the receiver.
 */
static int send_to(struct soft_qp *qp, uint32_t qpn, uint32_t qkey, struct message *m)
{
	struct soft_remote *r = datagram_find(qp, qpn);
	int status = IBV_WC_SUCCESS;

	if (unlikely(!r))
		return status;
	if (likely(r->shm->qkey == qkey))
		status = deliver_message(r, m);
	remote_unlock(r);
	return unlikely(status == EXECUTE_RNR || status == EXECUTE_LATER) && remote_lags(r)
		       ? EXECUTE_RNR
		       : IBV_WC_SUCCESS;
}

static void send_to_all(struct soft_qp *qp, const struct soft_ah *ah, uint32_t qkey,
			const struct message *m)
{
	const struct mcast_group *group;
	struct message each = *m;
	struct copy_list list;
	uint32_t i;

	group = mcast_find(&qp->peers->groups, &ah->attr);
	each.from = &list;
	for (i = 0; group && i < group->count; i++) {
		if (qp->deaf && group->qpn[i] == qp->shm->qpn)
			continue;
		list = *m->from;
		send_to(qp, group->qpn[i], qkey, &each);
	}
}

static void add_grh(const struct soft_ah *ah, const struct soft_wr *wr, struct message *m,
		    struct ibv_grh *grh)
{
	grh_fill(ah, wr->length, wr->opcode == IBV_WR_SEND_WITH_IMM, grh);
	copy_list_prepend(m->from, grh, sizeof(*grh));
	m->wc_flags |= IBV_WC_GRH;
	m->absent = 0;
}

static bool allocate_peers(struct soft_qp *qp)
{
	if (unlikely(!qp->peers))
		qp->peers = calloc(1, sizeof(*qp->peers));
	return qp->peers;
}

const struct mcast_group *datagram_group(struct soft_qp *qp, const struct ibv_ah_attr *attr)
{
	return allocate_peers(qp) ? mcast_find(&qp->peers->groups, attr) : NULL;
}

static int check_address(struct soft_qp *qp, const struct soft_wr *wr)
{
	return wr->ah->pd == qp->shm->pd && allocate_peers(qp) ? IBV_WC_SUCCESS
							       : IBV_WC_LOC_QP_OP_ERR;
}

/*
 * The Q_Key to send: if the high bit of the request's Q_Key is set, the queue pair's
 * (specification, 10.2.5).
 */
static uint32_t qkey_of(const struct soft_qp *qp, const struct soft_wr *wr)
{
	return wr->remote_qkey >> 31 ? qp->shm->qkey : wr->remote_qkey;
}

int (*datagram_send_away)(struct soft_qp *qp, const struct soft_wr *wr, uint32_t qkey,
			  struct copy_list *from);

int datagram_send(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *from)
{
	bool imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
	const struct soft_ah *ah = wr->ah;
	struct copy_list list;
	struct ibv_grh grh;
	struct message m = {
		.from = from,
		.length = sizeof(grh) + wr->length,
		.absent = sizeof(grh),
		.src_qp = qp->shm->qpn,
		.imm = wr->imm,
		.slid = ah->slid,
		.sl = ah->wc_sl,
		.flags = SHM_CQE_DATAGRAM,
		.opcode = IBV_WC_RECV,
		.wc_flags = imm ? IBV_WC_WITH_IMM : 0,
		.solicited = wr->flags & IBV_SEND_SOLICITED,
	};
	int status;

	status = check_address(qp, wr);
	if (unlikely(status))
		return status;
	if (unlikely(qp->sq.forced_status))
		return EXECUTE_FORCED;
	if (unlikely(ah->away))
		return datagram_send_away(qp, wr, qkey_of(qp, wr), from);
	if (unlikely(ah->spreads && wr->remote_qpn == GRH_MULTICAST_QPN)) {
		list = *from;
		datagram_send_away(qp, wr, qkey_of(qp, wr), &list);
	}
	if (ah->attr.is_global)
		add_grh(ah, wr, &m, &grh);
	if (likely(ah->reachable && wr->remote_qpn != GRH_MULTICAST_QPN))
		return send_to(qp, wr->remote_qpn, qkey_of(qp, wr), &m);
	if (ah->multicast && wr->remote_qpn == GRH_MULTICAST_QPN)
		send_to_all(qp, ah, qkey_of(qp, wr), &m);
	return IBV_WC_SUCCESS;
}
