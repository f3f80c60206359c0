/*
 * Datagrams: each is one packet
 *
 * The packet's IP header is written in front of the payload (grh.c).
 */
#include "shim/soft/network/datagrams.h"

#include <arpa/inet.h>
#include <string.h>

#include "shim/soft/network/outbox.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/grh.h"
#include "shim/soft/transport/remote.h"

int datagrams_send(struct soft_qp *qp, const struct soft_wr *wr, uint32_t qkey,
		   struct copy_list *from)
{
	bool imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
	struct header h = {
		.bth = {
			.opcode = OPCODE_UD | (imm ? OPCODE_SEND_ONLY_IMM : OPCODE_SEND_ONLY),
			.solicited = !!(wr->flags & IBV_SEND_SOLICITED),
			.pkey = qp->shm->pkey,
			.dest_qp = wr->remote_qpn & PSN_MASK,
		},
		.deth = { .qkey = qkey, .src_qp = qp->shm->qpn },
		.immdt.imm = ntohl(wr->imm),
	};
	struct outbox box;

	h.bth.psn = qp->attr.sq_psn;
	qp->attr.sq_psn = psn_add(qp->attr.sq_psn, 1);
	outbox_init(&box);
	outbox_add(&box, &wr->ah->route, &h, from, wr->length);
	outbox_send(&box);
	return IBV_WC_SUCCESS;
}

/*
 * Rebuild the packet's IP header or GRH from its fields, as the sender's address handle builds it.
 */
static void make_grh(const struct arrival *a, bool imm, struct soft_ah *ah, struct ibv_grh *grh)
{
	union ibv_gid sgid;

	memcpy(&sgid, &a->from, sizeof(sgid));
	ah->attr.grh.traffic_class = a->traffic_class;
	ah->attr.grh.hop_limit = a->hop_limit;
	memcpy(&ah->attr.grh.dgid, &a->to, sizeof(sgid));
	grh_prepare(ah, &sgid, IBV_GID_TYPE_ROCE_V2);
	grh_fill(ah, a->len, imm, grh);
}

static void deliver_datagram_locked(struct network_qp *n, const struct arrival *a)
{
	const struct header *h = &a->header;
	bool imm = opcode_headers(h->bth.opcode) & OPCODE_IMMDT;
	struct copy_list from = { .count = a->len ? 2 : 1 };
	struct soft_ah ah = { 0 };
	struct ibv_grh grh;
	struct message m = {
		.from = &from,
		.length = sizeof(grh) + a->len,
		.src_qp = h->deth.src_qp,
		.imm = htonl(h->immdt.imm),
		.flags = SHM_CQE_DATAGRAM,
		.opcode = IBV_WC_RECV,
		.wc_flags = IBV_WC_GRH | (imm ? IBV_WC_WITH_IMM : 0),
		.solicited = h->bth.solicited,
		.guarded = true,
	};

	make_grh(a, imm, &ah, &grh);
	m.sl = ah.wc_sl;
	from.iov[0] = (struct iovec){ &grh, sizeof(grh) };
	from.iov[1] = (struct iovec){ a->payload, a->len };
	deliver_message(&n->self, &m);
}

void datagrams_take(struct network_qp *n, const struct arrival *arrival)
{
	if (!n->self.shm && !remote_resolve(&n->self, n->qpn))
		return;
	if (!remote_lock_datagram(n->qp, &n->self, n->qpn))
		return;
	if (n->self.shm->qkey == arrival->header.deth.qkey)
		deliver_datagram_locked(n, arrival);
	remote_unlock(&n->self);
}
