/*
 * Flow rules
 *
 * A rule has values and masks for the fields of a packet, and the headers that must be present. The
 * rule is in the segment of the process that created it, so that all senders can match it. Its
 * queue pair is a member of the group of all queue pairs with rules (mcast.c).
 *
 * Source: ibv_create_flow(3). Tunnels, ESP and the actions of ibv_create_flow_action() are not
 * supported.
 *
 * Not here: which rules match a packet, and which of them wins (raw.c).
 */
#include "shim/soft/verbs/flow.h"

#include <stdlib.h>

#include "shim/soft/fabric/port.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/transport/mcast.h"
#include "shim/soft/transport/raw.h"
#include "shim/soft/transport/rss.h"
#include "shim/soft/verbs/enter.h"

struct soft_flow {
	struct ibv_flow flow;
	struct soft_qp *qp;
	struct soft_counters *counters; /* NULL: no counters */
	struct shm_flow *shm;
};

#define TABLE_BYTES (offsetof(struct shm_seg, heap) - offsetof(struct shm_seg, flow_lock))

static struct soft_flow *flows[SHM_FLOW_MAX];
static struct soft_slots slots;

/* Set the value and the mask of a field of the rule. */
#define FIELD(field, filter)                                                                    \
	do {                                                                                    \
		_Static_assert(sizeof(rule->val.field) == sizeof(spec->val.filter), "as wide"); \
		memcpy(&rule->val.field, &spec->val.filter, sizeof(rule->val.field));           \
		memcpy(&rule->mask.field, &spec->mask.filter, sizeof(rule->mask.field));        \
	} while (0)

static void add_eth(struct shm_flow *rule, const struct ibv_flow_spec_eth *spec)
{
	FIELD(dst_mac, dst_mac);
	FIELD(src_mac, src_mac);
	FIELD(ether_type, ether_type);
	FIELD(vlan_tag, vlan_tag);
	if (spec->mask.vlan_tag)
		rule->layers |= PACKET_VLAN;
}

static void add_ipv4_addresses(struct shm_flow *rule, const void *val, const void *mask)
{
	memcpy(rule->val.src_ip, val, 4);
	memcpy(rule->mask.src_ip, mask, 4);
	memcpy(rule->val.dst_ip, (const uint8_t *)val + 4, 4);
	memcpy(rule->mask.dst_ip, (const uint8_t *)mask + 4, 4);
}

static void add_ipv4_ext(struct shm_flow *rule, const struct ibv_flow_spec_ipv4_ext *spec)
{
	add_ipv4_addresses(rule, &spec->val, &spec->mask);
	FIELD(proto, proto);
	FIELD(tos, tos);
	FIELD(ttl, ttl);
	FIELD(ip_flags, flags);
}

static void add_ipv6(struct shm_flow *rule, const struct ibv_flow_spec_ipv6 *spec)
{
	FIELD(src_ip, src_ip);
	FIELD(dst_ip, dst_ip);
	FIELD(flow_label, flow_label);
	FIELD(proto, next_hdr);
	FIELD(tos, traffic_class);
	FIELD(ttl, hop_limit);
}

static void add_ports(struct shm_flow *rule, const struct ibv_flow_spec_tcp_udp *spec)
{
	FIELD(src_port, src_port);
	FIELD(dst_port, dst_port);
}

/* clang-format off */
static const struct {
	enum ibv_flow_spec_type	type;
	uint16_t		size;
	uint8_t			layer;
} specs[] = {
	{ IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth), PACKET_ETH },
	{ IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4), PACKET_IPV4 },
	{ IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext),
	  PACKET_IPV4 },
	{ IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6), PACKET_IPV6 },
	{ IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp), PACKET_TCP },
	{ IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp), PACKET_UDP },
	{ IBV_FLOW_SPEC_ACTION_TAG, sizeof(struct ibv_flow_spec_action_tag), 0 },
	{ IBV_FLOW_SPEC_ACTION_DROP, sizeof(struct ibv_flow_spec_action_drop), 0 },
	{ IBV_FLOW_SPEC_ACTION_COUNT,
	  sizeof(struct ibv_flow_spec_counter_action), 0 },
};
/* clang-format on */

/* Check a specification. 0, EINVAL or EOPNOTSUPP. */
static int check_spec(const struct ibv_flow_spec *spec, unsigned int layers,
		      unsigned int *ret_layer)
{
	size_t i;

	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
		if (specs[i].type == spec->hdr.type)
			break;
	if (i == sizeof(specs) / sizeof(specs[0]))
		return EOPNOTSUPP;
	if (spec->hdr.size < specs[i].size || layers & specs[i].layer)
		return EINVAL;
	*ret_layer = specs[i].layer;
	return 0;
}

static void add_spec(struct shm_flow *rule, const struct ibv_flow_spec *spec,
		     struct soft_counters **counters)
{
	switch (spec->hdr.type) {
	case IBV_FLOW_SPEC_ETH:
		add_eth(rule, &spec->eth);
		break;
	case IBV_FLOW_SPEC_IPV4:
		add_ipv4_addresses(rule, &spec->ipv4.val, &spec->ipv4.mask);
		break;
	case IBV_FLOW_SPEC_IPV4_EXT:
		add_ipv4_ext(rule, &spec->ipv4_ext);
		break;
	case IBV_FLOW_SPEC_IPV6:
		add_ipv6(rule, &spec->ipv6);
		break;
	case IBV_FLOW_SPEC_ACTION_TAG:
		rule->tag = spec->flow_tag.tag_id;
		break;
	case IBV_FLOW_SPEC_ACTION_DROP:
		rule->drop = true;
		break;
	case IBV_FLOW_SPEC_ACTION_COUNT:
		*counters = to_counters(spec->flow_count.counters);
		break;
	default:
		add_ports(rule, &spec->tcp_udp);
		break;
	}
}

/* Copy a specification: in memory they follow each other without alignment. */
static void copy_spec(const uint8_t *at, struct ibv_flow_spec *spec)
{
	size_t size;

	memcpy(&spec->hdr, at, sizeof(spec->hdr));
	size = spec->hdr.size;
	memcpy(spec, at, size < sizeof(*spec) ? size : sizeof(*spec));
	memcpy(&spec->hdr, at, sizeof(spec->hdr));
}

static int read_specs(const struct ibv_flow_attr *attr, struct shm_flow *rule,
		      struct soft_counters **counters)
{
	const uint8_t *at = (const uint8_t *)(attr + 1);
	struct ibv_flow_spec spec;
	unsigned int i, layer;
	int err;

	for (i = 0; i < attr->num_of_specs; i++) {
		copy_spec(at, &spec);
		err = check_spec(&spec, rule->layers, &layer);
		if (!err && layer && attr->type != IBV_FLOW_ATTR_NORMAL)
			err = EINVAL;
		if (err)
			return err;
		add_spec(rule, &spec, counters);
		rule->layers |= layer;
		at += spec.hdr.size;
	}
	return 0;
}

static int check_attr(struct ibv_qp *qp, const struct ibv_flow_attr *attr)
{
	int err;

	err = soft_enter(qp->context, "create_flow");
	if (!err)
		err = raw_check_allowed();
	if (err)
		return err;
	if (qp->qp_type != IBV_QPT_RAW_PACKET)
		return qp->qp_type == IBV_QPT_UD ? EOPNOTSUPP : EINVAL;
	if (attr->flags & IBV_FLOW_ATTR_FLAGS_EGRESS)
		return EOPNOTSUPP;
	if (attr->comp_mask || !port_is_roce(attr->port) ||
	    attr->flags & ~IBV_FLOW_ATTR_FLAGS_DONT_TRAP ||
	    (attr->flags && attr->type != IBV_FLOW_ATTR_NORMAL) ||
	    attr->type > IBV_FLOW_ATTR_SNIFFER)
		return EINVAL;
	return 0;
}

static int fill_rule(struct soft_qp *qp, const struct ibv_flow_attr *attr, struct shm_flow *rule,
		     struct soft_counters **counters)
{
	*rule = (struct shm_flow){
		.qpn = qp->shm->qpn,
		.priority = attr->priority,
		.type = attr->type,
		.passes_on = attr->flags & IBV_FLOW_ATTR_FLAGS_DONT_TRAP,
		.target = { qp->shm->qpn },
	};
	if (qp->rss)
		rss_fill(qp->rss, rule);
	return read_specs(attr, rule, counters);
}

/* Callers hold the object mutex. */
static int take_slot(struct soft_flow *flow, const struct shm_flow *rule)
{
	int slot = soft_slot(flows, SHM_FLOW_MAX, &slots);
	struct shm_seg *seg = segment_own;

	if (slot < 0)
		return ENOMEM;
	flow->shm = &seg->flow[slot];
	if (segment_reserve(&seg->flow_lock, TABLE_BYTES) < 0 ||
	    (!flow->qp->flows && mcast_join_raw(flow->qp) < 0))
		return ENOMEM;
	lock_take(&seg->flow_lock);
	*flow->shm = *rule;
	if (seg->flows <= (uint32_t)slot)
		__atomic_store_n(&seg->flows, slot + 1, __ATOMIC_RELEASE);
	lock_drop(&seg->flow_lock);
	flows[slot] = flow;
	flow->flow.handle = slot;
	flow->qp->flows++;
	return 0;
}

struct ibv_flow *soft_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct shm_flow rule;
	struct soft_flow *flow;
	int err;

	err = check_attr(qp, attr);
	if (err)
		return soft_fail(err);
	flow = calloc(1, sizeof(*flow));
	if (!flow)
		return soft_fail(ENOMEM);
	flow->flow.context = qp->context;
	flow->qp = to_qp(qp);
	pthread_mutex_lock(&soft_mutex);
	err = fill_rule(flow->qp, attr, &rule, &flow->counters);
	if (!err)
		err = take_slot(flow, &rule);
	if (!err && flow->counters)
		flow->counters->flows++;
	pthread_mutex_unlock(&soft_mutex);
	if (err) {
		free(flow);
		return soft_fail(err);
	}
	return &flow->flow;
}

/* Callers hold the object mutex. */
static void withdraw_flow(struct soft_flow *flow)
{
	struct shm_flow *shm = flow->shm;

	lock_take(&segment_own->flow_lock);
	shm->qpn = 0;
	lock_drop(&segment_own->flow_lock);
	flows[flow->flow.handle] = NULL;
	if (flow->counters) {
		flow->counters->packets += shm->packets;
		flow->counters->bytes += shm->bytes;
		flow->counters->flows--;
	}
	if (!--flow->qp->flows)
		mcast_leave_raw(flow->qp);
}

int soft_destroy_flow(struct ibv_flow *ibflow)
{
	struct soft_flow *flow = container(ibflow, struct soft_flow, flow);
	int err;

	err = soft_enter(ibflow->context, "destroy_flow");
	if (err)
		return err;
	pthread_mutex_lock(&soft_mutex);
	withdraw_flow(flow);
	pthread_mutex_unlock(&soft_mutex);
	free(flow);
	return 0;
}

void flow_count(const struct soft_counters *counters, uint64_t *packets, uint64_t *bytes)
{
	unsigned int i;

	*packets = counters->packets;
	*bytes = counters->bytes;
	for (i = 0; i < SHM_FLOW_MAX; i++) {
		if (!flows[i] || flows[i]->counters != counters)
			continue;
		*packets += __atomic_load_n(&flows[i]->shm->packets, __ATOMIC_RELAXED);
		*bytes += __atomic_load_n(&flows[i]->shm->bytes, __ATOMIC_RELAXED);
	}
}

void flow_close_all(struct ibv_context *context)
{
	unsigned int i;

	pthread_mutex_lock(&soft_mutex);
	for (i = 0; i < SHM_FLOW_MAX; i++)
		if (flows[i] && flows[i]->flow.context == context)
			withdraw_flow(flows[i]);
	pthread_mutex_unlock(&soft_mutex);
}

/* In a child: forget inherited rules. */
void flow_forget(void)
{
	memset(flows, 0, sizeof(flows));
}
