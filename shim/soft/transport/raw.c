/*
 * Raw packets: an RoCE link is a loopback of all processes
 *
 * A packet is delivered to the queue pairs with matching rules, in all processes including the
 * sender's:
 *
 *	sniffer rules always match
 *	of the other rules that match, those of the best priority without DONT_TRAP; and
 *	those with DONT_TRAP whose priority is not worse
 *	if no rule without DONT_TRAP matches, the default rules for all, or all multicast, packets
 *
 * The sender does not learn the fate of a packet. It is lost if there is no receive request, or if
 * the buffer is too short.
 */
#include "shim/soft/transport/raw.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim/soft/fabric/packet.h"
#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/transport/datagram.h"
#include "shim/soft/transport/deliver.h"
#include "shim/soft/transport/mcast.h"
#include "shim/soft/transport/remote.h"
#include "shim/soft/transport/rss.h"

enum { NOBODY = UINT32_MAX, TARGETS = 256, ETHERNET_MIN = 14 };

/* The queue pairs with rules, and the number of changes to all groups when they were listed. */
struct raw_peers {
	uint32_t changes;
	uint32_t count;
	struct {
		uint32_t qpn;
		struct peer *peer;
	} at[];
};

struct raw_steering {
	struct packet packet;
	unsigned int layers;
	uint32_t length;
	uint32_t best; /* best priority of a rule that matches, or NOBODY */
	uint32_t count;
	struct {
		uint32_t qpn;
		uint32_t tag;
	} target[TARGETS];
};

static bool has_cap_net_raw(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &head, data) == 0 && data[0].effective & 1u << CAP_NET_RAW;
}

int raw_check_allowed(void)
{
	uint32_t num;

	for (num = 1; port_at(num); num++)
		if (port_is_roce(num))
			return has_cap_net_raw() ? 0 : EPERM;
	return EOPNOTSUPP; /* an InfiniBand link has no Ethernet packets */
}

static bool is_better(uint32_t priority, uint32_t best)
{
	return best == NOBODY || priority < best;
}

static void note_best_priority(struct shm_flow *flow, void *arg)
{
	struct raw_steering *s = arg;

	if (flow->type == IBV_FLOW_ATTR_NORMAL && !flow->passes_on &&
	    is_better(flow->priority, s->best))
		s->best = flow->priority;
}

static bool matches_packet(const struct shm_flow *flow, const struct raw_steering *s)
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

/*
 * Add a target. If several rules of a queue pair match, it gets one packet, with the tag of the
 * first rule.
 */
static void add_target(struct raw_steering *s, uint32_t qpn, uint32_t tag)
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

static void choose_target(struct shm_flow *flow, void *arg)
{
	struct raw_steering *s = arg;

	if (!matches_packet(flow, s))
		return;
	__atomic_add_fetch(&flow->packets, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&flow->bytes, s->length, __ATOMIC_RELAXED);
	if (!flow->drop)
		add_target(s, rss_target(flow, s->layers, &s->packet), flow->tag);
}

void raw_forget(struct soft_qp *qp)
{
	uint32_t i;

	for (i = 0; qp->raw && i < qp->raw->count; i++)
		registry_put_peer(qp->raw->at[i].peer);
	free(qp->raw);
	qp->raw = NULL;
}

static struct raw_peers *find_peers(const struct mcast_group *group)
{
	struct raw_peers *peers;
	uint32_t i, unused;

	peers = malloc(sizeof(*peers) + group->count * sizeof(peers->at[0]));
	if (!peers)
		return NULL;
	peers->changes = group->changes;
	peers->count = 0;
	for (i = 0; i < group->count; i++)
		if (registry_find_qp(group->qpn[i], &peers->at[peers->count].peer, &unused) == 0)
			peers->at[peers->count++].qpn = group->qpn[i];
	return peers;
}

static const struct raw_peers *peers_of(struct soft_qp *qp)
{
	const struct ibv_ah_attr everybody = { .port_num = qp->attr.port_num };
	const struct mcast_group *group = datagram_group(qp, &everybody);

	if (!group)
		return NULL;
	if (!qp->raw || qp->raw->changes != group->changes) {
		raw_forget(qp);
		qp->raw = find_peers(group);
	}
	return qp->raw;
}

typedef void flow_fn(struct shm_flow *flow, void *arg);

static bool rule_matches(const struct shm_flow *flow, unsigned int layers,
			 const struct packet *packet)
{
	const uint8_t *have = (const uint8_t *)packet;
	const uint8_t *val = (const uint8_t *)&flow->val;
	const uint8_t *mask = (const uint8_t *)&flow->mask;
	size_t i;

	if ((flow->layers & layers) != flow->layers)
		return false;
	for (i = 0; i < sizeof(*packet); i++)
		if ((have[i] ^ val[i]) & mask[i])
			return false;
	return true;
}

static void match_rules(struct shm_seg *seg, uint32_t qpn, unsigned int layers,
			const struct packet *packet, flow_fn *fn, void *arg)
{
	uint32_t i, count;

	lock_take(&seg->flow_lock);
	/* pairs with the store in take_slot() of flow.c */
	count = __atomic_load_n(&seg->flows, __ATOMIC_ACQUIRE);
	for (i = 0; i < count && i < SHM_FLOW_MAX; i++)
		if (seg->flow[i].qpn == qpn && rule_matches(&seg->flow[i], layers, packet))
			fn(&seg->flow[i], arg);
	lock_drop(&seg->flow_lock);
}

static void match_all_peers(const struct raw_peers *peers, struct raw_steering *s, flow_fn *fn)
{
	uint32_t i;

	for (i = 0; peers && i < peers->count; i++)
		if (peer_is_alive(peers->at[i].peer))
			match_rules(peers->at[i].peer->seg, peers->at[i].qpn, s->layers, &s->packet,
				    fn, s);
}

static void read_headers(const struct copy_list *from, struct raw_steering *s)
{
	uint8_t head[PACKET_HEADERS];
	struct copy_list rest = *from, first;
	size_t len = copy_list_cut(&rest, sizeof(head), &first);

	copy_list_gather(head, &first);
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
	deliver_message(r, m);
	remote_unlock(r);
}

int raw_send(struct soft_qp *qp, struct soft_wr *wr, struct copy_list *from)
{
	struct message m = {
		.length = wr->length,
		.opcode = IBV_WC_RECV,
		.flags = SHM_CQE_TAGGED,
		.solicited = wr->flags & IBV_SEND_SOLICITED,
	};
	struct raw_steering s = { .length = wr->length, .best = NOBODY };
	const struct raw_peers *peers;
	uint32_t i;

	if (wr->length < ETHERNET_MIN)
		return IBV_WC_LOC_LEN_ERR;
	if (unlikely(qp->sq.forced_status))
		return EXECUTE_FORCED;
	read_headers(from, &s);
	peers = peers_of(qp);
	match_all_peers(peers, &s, note_best_priority);
	match_all_peers(peers, &s, choose_target);
	for (i = 0; i < s.count; i++) {
		m.imm = s.target[i].tag;
		deliver_to(qp, s.target[i].qpn, &m, from);
	}
	return IBV_WC_SUCCESS;
}
