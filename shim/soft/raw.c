/*
 * Raw packets: all of an RoCE link is one loopback
 *
 * A packet goes to the queue pairs whose rules match it, in whichever process
 * they are, the sender's own among them:
 *
 *	sniffers get it in any case
 *	of the others, those of the best priority that keep what they match;
 *	and those of no worse priority that let it pass on (DONT_TRAP)
 *	if nobody keeps it, those that want all, or all multicast, by default
 *
 * Nobody tells the sender what became of it: it is lost where there is no
 * receive request, and where the buffer is too short.
 */
#include "shim/soft/raw.h"

#include "shim/soft/datagram.h"
#include "shim/soft/deliver.h"
#include "shim/soft/flow.h"
#include "shim/soft/mcast.h"
#include "shim/soft/remote.h"
#include "shim/soft/rss.h"

enum { NOBODY = UINT32_MAX, TARGETS = 256, ETHERNET_MIN = 14 };

struct steering {
	struct packet	packet;
	unsigned int	layers;
	uint32_t	length;
	uint32_t	best;		/* priority, or NOBODY */
	uint32_t	count;
	struct {
		uint32_t	qpn;
		uint32_t	tag;
	}		target[TARGETS];
};

static bool is_better(uint32_t priority, uint32_t best)
{
	return best == NOBODY || priority < best;
}

static void note_best(struct shm_flow *flow, void *arg)
{
	struct steering *s = arg;

	if (flow->type == IBV_FLOW_ATTR_NORMAL && !flow->passes_on &&
	    is_better(flow->priority, s->best))
		s->best = flow->priority;
}

static bool gets_it(const struct shm_flow *flow, const struct steering *s)
{
	switch (flow->type) {
	case IBV_FLOW_ATTR_NORMAL:
		return s->best == NOBODY || flow->priority <= s->best;
	case IBV_FLOW_ATTR_ALL_DEFAULT:
		return s->best == NOBODY;
	case IBV_FLOW_ATTR_MC_DEFAULT:
		return s->best == NOBODY && s->packet.dst_mac[0] & 1;
	default:
		return true;
	}
}

/* Many rules of one queue pair make one packet, with the first one's tag. */
static void add_target(struct steering *s, uint32_t qpn, uint32_t tag)
{
	uint32_t i;

	for (i = 0; i < s->count; i++)
		if (s->target[i].qpn == qpn)
			return;
	if (s->count == TARGETS)
		return;
	s->target[s->count].qpn = qpn;
	s->target[s->count++].tag = tag;
}

static void choose(struct shm_flow *flow, void *arg)
{
	struct steering *s = arg;

	if (!gets_it(flow, s))
		return;
	__atomic_add_fetch(&flow->packets, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&flow->bytes, s->length, __ATOMIC_RELAXED);
	if (!flow->drop)
		add_target(s, rss_target(flow, s->layers, &s->packet),
			   flow->tag);
}

static void ask_all(const struct mcast_group *group, struct steering *s,
		    flow_fn *fn)
{
	struct fabric_peer *peer;
	uint32_t i, unused;

	for (i = 0; group && i < group->count; i++) {
		if (fabric_find(group->qpn[i], &peer, &unused) < 0)
			continue;
		flow_match(peer->seg, group->qpn[i], s->layers, &s->packet, fn,
			   s);
		fabric_put(peer);
	}
}

static void read_headers(const struct copy_list *from, struct steering *s)
{
	uint8_t head[PACKET_HEADERS];
	struct copy_list rest = *from, first;
	size_t len = copy_cut(&rest, sizeof(head), &first);

	copy_gather(head, &first);
	s->layers = packet_read(head, len, &s->packet);
}

static void deliver_to(struct soft_qp *qp, uint32_t qpn, struct message *m,
		       const struct copy_list *from)
{
	struct copy_list list = *from;
	struct soft_remote *r;

	m->from = &list;
	r = datagram_find(qp, qpn);
	if (!r)
		return;
	deliver(r, m);
	remote_unlock(r);
}

int raw_send(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *from)
{
	const struct ibv_ah_attr everybody = { .port_num = qp->attr.port_num };
	struct message m = {
		.length		= wr->length,
		.opcode		= IBV_WC_RECV,
		.flags		= SHM_CQE_TAGGED,
		.solicited	= wr->flags & IBV_SEND_SOLICITED,
	};
	struct steering s = { .length = wr->length, .best = NOBODY };
	const struct mcast_group *group;
	uint32_t i;

	if (wr->length < ETHERNET_MIN)
		return IBV_WC_LOC_LEN_ERR;
	read_headers(from, &s);
	group = datagram_group(qp, &everybody);
	ask_all(group, &s, note_best);
	ask_all(group, &s, choose);
	for (i = 0; i < s.count; i++) {
		m.imm = s.target[i].tag;
		deliver_to(qp, s.target[i].qpn, &m, from);
	}
	return IBV_WC_SUCCESS;
}
