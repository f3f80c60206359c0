/*
 * The arguments of single control verbs, beyond handles and addresses
 *
 * A row for each verb whose arguments have numbers that were valid only in the recording.
 *
 * Not here: memory (translate_memory.c).
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "replay/cm/cm.h"
#include "replay/state/cut.h"
#include "replay/synth/synth.h"
#include "replay/two_host/pair.h"
#include "replay/state/recorded.h"
#include "replay/state/sent.h"
#include "replay/state/state.h"
#include "replay/state/translate.h"

static void *to_pointer(uint64_t value)
{
	return (void *)(uintptr_t)value;
}

static const struct device *device_of_qp(struct replay *r, uint32_t id)
{
	const struct replica *replica = replica_of(r, id);

	if (!replica || !replica->handle)
		return NULL;
	return devices_of(r->devices, ((struct ibv_qp *)replica->handle)->context);
}

/* Set the port, and the index of its GID of the same kind as the recorded one. */
static void translate_source(struct translation *t, const struct device *from,
			     struct ibv_ah_attr *av)
{
	const char *name = recorded_device_name(t->r, t->event->call->object);
	unsigned int index = av->grh.sgid_index;

	devices_translate_source(t->r->devices, name, from, av);
	if (av->is_global && av->grh.sgid_index != index)
		outcome_note(t->r->outcome, "GID index %u of %s is index %u of %s in the replay",
			     index, *name ? name : "the recorded device", av->grh.sgid_index,
			     from->name);
}

/* Set a connected queue pair's address to the port of its peer. */
static void connect_path(struct translation *t, struct ibv_qp *qp, uint32_t peer,
			 struct ibv_ah_attr *av)
{
	const struct device *from = devices_of(t->r->devices, qp->context);
	const struct device *to = device_of_qp(t->r, peer);
	const struct replica *replica = replica_of(t->r, peer);

	if (t->event->call->failed)
		return; /* an address that led nowhere must lead nowhere in the replay */
	av->port_num = replica_of(t->r, t->event->call->object)->qp->port;
	translate_source(t, from, av);
	if (!peer && pair_is_joined(t->r, t->event->call->object)) {
		pair_translate_path(t->r, t->event->call->object, from, av);
		return;
	}
	devices_translate(from, to ? to : from, to ? replica->qp->port : av->port_num, av);
}

/* Do not connect the queue pair, and stop replaying it. */
static void cut_qp(struct translation *t, uint32_t peer, const char *why)
{
	t->missing = why;
	t->missing_object = peer;
	cut_connection(t->r, t->event->call->object, peer, why);
}

static void cut_without_peer(struct translation *t, uint32_t number, bool known, uint32_t peer)
{
	char process[PROCESS_TEXT];

	snprintf(t->text, sizeof(t->text), "queue pair %s of %s is connected to number %u, %s",
		 trace_object(t->r->trace, t->event->call->object)->name,
		 process_id_text(t->event->process, process), number,
		 known ? "which was not created in the replay" : "which is not in the trace");
	outcome_note(t->r->outcome, "%s", t->text);
	cut_qp(t, peer,
	       known ? "the peer of its queue pair was not created in the replay"
		     : "the peer of its queue pair is not in the trace");
	t->missing = t->text;
}

/* Has the object not been created yet, but may it be created later? */
static bool may_be_created(const struct replica *replica)
{
	return replica && replica->created && !replica->made && !replica->why;
}

/* Does librdmacm connect the queue pair? */
static bool is_connected_otherwise(struct translation *t, const struct ibv_qp_attr *attr, int mask)
{
	uint32_t me = t->event->call->object, peer = 0;

	if (t->event->call->failed)
		return false;
	if (mask & IBV_QP_DEST_QPN)
		peer = recorded_peer(t->r, me, t->time);
	return cm_modify(t->r, me, peer, attr, mask, &t->needless, &t->missing);
}

/* Connect the queue pair; if its peer does not exist in the replay, stop replaying it. */
static void connect_qp(struct translation *t, const struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	uint32_t me = t->event->call->object;
	uint32_t peer = t->event->call->failed ? recorded_find_intended(t->r, me, attr->dest_qp_num,
									&attr->ah_attr, t->time)
					       : recorded_peer(t->r, me, t->time);
	struct replica *mine = replica_of(t->r, me), *replica = replica_of(t->r, peer);
	bool made = replica && replica->number;
	enum ibv_mtu mtu;

	if (t->event->call->failed || may_be_created(replica)) {
		/* a number that was wrong, or too early, is not corrected */
		attr->dest_qp_num = made ? replica->number : attr->dest_qp_num;
	} else if (qp->context->device->transport_type == IBV_TRANSPORT_IWARP) {
		cut_qp(t, 0, "ibv_modify_qp() does not connect on an iWARP device");
	} else if (!peer && pair_connect(t->r, me, &attr->dest_qp_num, &mtu)) {
		attr->path_mtu = mtu && attr->path_mtu > mtu ? mtu : attr->path_mtu;
	} else if (!peer && synth_connect(t->r, me, attr, &attr->dest_qp_num)) {
		return;
	} else if (!made) {
		cut_without_peer(t, attr->dest_qp_num, replica, peer);
	} else if (replica->qp && replica->qp->cut) {
		cut_qp(t, peer, "the peer of its queue pair is not replayed");
	} else {
		sent_remove_counted(t->r, mine->qp);
		mine->qp->peer = peer;
		outcome_relate_objects(t->r->outcome, me, peer);
		outcome_relate_objects(t->r->outcome, peer, me);
		attr->dest_qp_num = replica->number;
	}
}

static const char too_large[] = "a size above the limit of this device";

static bool may_lower_limits(const struct translation *t)
{
	return outcome_is_other_device(t->r->outcome) && !t->event->call->failed;
}

/* Lower a value above the limit of the replay's device to that limit. */
#define LOWER(t, value, max)                                                                 \
	do {                                                                                 \
		if (may_lower_limits(t) && (max) > 0 && (int64_t)(value) > (int64_t)(max)) { \
			(value) = (typeof(value))(max);                                      \
			outcome_note_tolerated((t)->r->outcome, too_large);                  \
		}                                                                            \
	} while (0)

static void lower_mtu(struct translation *t, const struct device *device, uint8_t port,
		      struct ibv_qp_attr *attr)
{
	enum ibv_mtu mtu = device->ports[device_port(device, port)].mtu;

	if (!mtu || attr->path_mtu <= mtu || attr->path_mtu > IBV_MTU_4096 ||
	    t->event->call->failed)
		return;
	attr->path_mtu = mtu;
	outcome_note_tolerated(t->r->outcome, "a path MTU above that of this port");
}

static void lower_caps(struct translation *t, const struct device *device, struct ibv_qp_cap *cap)
{
	LOWER(t, cap->max_send_wr, device->attr.max_qp_wr);
	LOWER(t, cap->max_recv_wr, device->attr.max_qp_wr);
	LOWER(t, cap->max_send_sge, device->attr.max_sge);
	LOWER(t, cap->max_recv_sge, device->attr.max_sge);
}

/* Request the size that the recorded device granted, if the program requested less. */
static void raise_size(const struct translation *t, enum arg arg, uint32_t *size)
{
	int64_t granted;

	if (args_get(t->event->call->out, arg, &granted) && granted > *size &&
	    granted <= UINT32_MAX)
		*size = (uint32_t)granted;
}

/*
 * Another device may grant less than the recorded one, and the program used what was granted: the
 * replay requests the granted sizes. translate_lower() lowers them again.
 */
static void raise_caps(struct translation *t, bool ex, struct ibv_qp_cap *cap)
{
	if (!may_lower_limits(t))
		return;
	t->cap = cap;
	t->asked = *cap;
	raise_size(t, ARG_EX(ex, qp_init_attr, cap.max_send_wr), &cap->max_send_wr);
	raise_size(t, ARG_EX(ex, qp_init_attr, cap.max_recv_wr), &cap->max_recv_wr);
	raise_size(t, ARG_EX(ex, qp_init_attr, cap.max_send_sge), &cap->max_send_sge);
	raise_size(t, ARG_EX(ex, qp_init_attr, cap.max_recv_sge), &cap->max_recv_sge);
	raise_size(t, ARG_EX(ex, qp_init_attr, cap.max_inline_data), &cap->max_inline_data);
}

static void create_qp(struct translation *t, uint64_t *a)
{
	struct ibv_pd *pd = to_pointer(a[0]);
	struct ibv_qp_init_attr *attr = to_pointer(a[1]);

	if (!pd || !attr)
		return;
	raise_caps(t, false, &attr->cap);
	lower_caps(t, devices_of(t->r->devices, pd->context), &attr->cap);
}

static void create_qp_ex(struct translation *t, uint64_t *a)
{
	struct ibv_qp_init_attr_ex *attr = to_pointer(a[1]);

	if (!a[0] || !attr)
		return;
	raise_caps(t, true, &attr->cap);
	lower_caps(t, devices_of(t->r->devices, to_pointer(a[0])), &attr->cap);
}

static void lower_srq(struct translation *t, const struct device *device, struct ibv_srq_attr *attr)
{
	LOWER(t, attr->max_wr, device->attr.max_srq_wr);
	LOWER(t, attr->max_sge, device->attr.max_srq_sge);
}

static void create_srq(struct translation *t, uint64_t *a)
{
	struct ibv_pd *pd = to_pointer(a[0]);
	struct ibv_srq_init_attr *attr = to_pointer(a[1]);

	if (pd && attr)
		lower_srq(t, devices_of(t->r->devices, pd->context), &attr->attr);
}

static void create_srq_ex(struct translation *t, uint64_t *a)
{
	struct ibv_srq_init_attr_ex *attr = to_pointer(a[1]);

	if (a[0] && attr)
		lower_srq(t, devices_of(t->r->devices, to_pointer(a[0])), &attr->attr);
}

static void modify_qp(struct translation *t, uint64_t *a)
{
	static struct ibv_qp_attr nothing;
	struct ibv_qp *qp = to_pointer(a[0]);
	struct ibv_qp_attr *attr = to_pointer(a[1]);
	struct replica *replica = replica_of(t->r, t->event->call->object);
	const struct device *device = devices_of(t->r->devices, qp->context);
	int mask = (int)a[2];

	if (!attr) /* nothing is changed, but devices read attr */
		a[1] = (uintptr_t)&nothing;
	if (!attr || !replica || !replica->qp)
		return;
	if (mask & IBV_QP_PORT && !t->event->call->failed) {
		replica->qp->port = attr->port_num;
		attr->port_num = device_port(device, attr->port_num);
	}
	if (is_connected_otherwise(t, attr, mask))
		return;
	if (mask & IBV_QP_DEST_QPN)
		connect_qp(t, qp, attr);
	translate_check_used(t); /* it may have waited for the other host's queue pair */
	if (t->missing)
		return;
	if (mask & IBV_QP_AV)
		connect_path(t, qp, replica->qp->peer, &attr->ah_attr);
	if (mask & IBV_QP_ALT_PATH)
		connect_path(t, qp, replica->qp->peer, &attr->alt_ah_attr);
	if (mask & IBV_QP_PATH_MTU)
		lower_mtu(t, device, replica->qp->port, attr);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
		LOWER(t, attr->max_rd_atomic, device->attr.max_qp_init_rd_atom);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
		LOWER(t, attr->max_dest_rd_atomic, device->attr.max_qp_rd_atom);
}

/* Is it a multicast address of IPv6, or of IPv4 (224.0.0.0/4) as RoCE writes it? */
static bool is_multicast(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff ||
	       (!memcmp(gid->raw, mapped, sizeof(mapped)) && gid->raw[12] >> 4 == 0xe);
}

/* Is it the address of a group? With a GRH the GID decides: on Ethernet LIDs have no meaning. */
static bool leads_to_group(const struct ibv_ah_attr *av)
{
	enum { MULTICAST_LID = 0xc000, PERMISSIVE_LID = 0xffff };

	if (av->is_global)
		return is_multicast(&av->grh.dgid);
	return av->dlid >= MULTICAST_LID && av->dlid != PERMISSIVE_LID;
}

static void translate_av(struct translation *t, struct ibv_context *context, struct ibv_ah_attr *av)
{
	const struct device *from = devices_of(t->r->devices, context), *to = from;
	uint8_t port = av->port_num;

	if (t->event->call->failed)
		return; /* an address that led nowhere must lead nowhere in the replay */
	translate_source(t, from, av);
	if (leads_to_group(av)) /* a multicast group is the same everywhere */
		return;
	if (!devices_find_address(t->r->devices, av, &to, &port)) {
		if (pair_translate_address(t->r, from, av))
			return;
		outcome_note(t->r->outcome,
			     "an address handle goes to LID %u, which no recorded process "
			     "queried; the replay uses its own port",
			     av->dlid);
	}
	devices_translate(from, to, port, av);
}

static void create_ah(struct translation *t, uint64_t *a)
{
	struct ibv_pd *pd = to_pointer(a[0]);

	if (pd && a[1])
		translate_av(t, pd->context, to_pointer(a[1]));
}

/*
 * Make the GRH of a packet from the replay's own port. With RoCE over IPv4 the recorded one is an
 * IP header; in the replay all addresses have the long form.
 */
static void make_grh(const struct port *port, struct ibv_grh *grh)
{
	enum { GRH_VERSION = 6, NEXT_UDP = 17, NEXT_IB = 0x1b };
	const struct gid *best = &port->gids.at[port->best_gid];

	*grh = (struct ibv_grh){ .version_tclass_flow = htonl(GRH_VERSION << 28),
				 .next_hdr = best->kind == GID_ROCE_V2 ? NEXT_UDP : NEXT_IB,
				 .hop_limit = 64,
				 .sgid = best->raw,
				 .dgid = best->raw };
}

/*
 * Replace the addresses in a completion by those of the replay's device, which sends all packets. A
 * completion that was invalid in the recording must stay invalid.
 */
static void translate_wc(struct translation *t, struct ibv_context *context, uint8_t number,
			 struct ibv_wc *wc, struct ibv_grh *grh)
{
	const struct device *device = devices_of(t->r->devices, context);
	const struct port *port = &device->ports[device_port(device, number)];

	if (!wc || t->event->call->failed)
		return;
	wc->slid = port->lid;
	wc->src_qp = translate_qpn(t->r, wc->src_qp, t->time);
	if (port->ethernet)
		wc->wc_flags |= IBV_WC_GRH;
	if (grh && (wc->wc_flags & IBV_WC_GRH))
		make_grh(port, grh);
}

static void create_ah_from_wc(struct translation *t, uint64_t *a)
{
	struct ibv_pd *pd = to_pointer(a[0]);

	if (pd)
		translate_wc(t, pd->context, (uint8_t)a[3], to_pointer(a[1]), to_pointer(a[2]));
}

static void init_ah_from_wc(struct translation *t, uint64_t *a)
{
	if (a[0])
		translate_wc(t, to_pointer(a[0]), (uint8_t)a[1], to_pointer(a[2]),
			     to_pointer(a[3]));
}

static void resolve_gid(struct translation *t, uint64_t *a)
{
	if (a[0] && a[1])
		translate_av(t, to_pointer(a[0]), to_pointer(a[1]));
}

static void alloc_parent_domain(struct translation *t, uint64_t *a)
{
	struct ibv_parent_domain_init_attr *attr = to_pointer(a[1]);

	(void)t;
	if (attr)
		attr->comp_mask &= ~(uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
}

int translate_xrc_file(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* Open an XRC domain: domains that processes shared by a file are also shared in the replay. */
static void open_xrcd(struct translation *t, uint64_t *a)
{
	struct ibv_xrcd_init_attr *attr = to_pointer(a[1]);

	if (!attr || attr->fd < 0)
		return;
	if (t->r->xrc_file < 0)
		t->r->xrc_file = translate_xrc_file();
	attr->fd = t->r->xrc_file;
}

static void create_ind_table(struct translation *t, uint64_t *a)
{
	static const struct field_info wq = { .name = "ind_tbl",
					      .kind = FIELD_OBJ,
					      .object = OBJECT_wq };
	struct ibv_rwq_ind_table_init_attr *attr = to_pointer(a[1]);

	for (uint32_t i = 0; attr && attr->ind_tbl && i < 1u << (attr->log_ind_tbl_size & 15); i++)
		attr->ind_tbl[i] = to_pointer(translate_field(t, &wq, (uintptr_t)attr->ind_tbl[i]));
}

/* Note a bind as an outstanding request, since it completes like one. */
static void note_bind(struct translation *t, uint64_t qp, const struct ibv_mw_bind *bind)
{
	struct request request = { .wr_id = bind->wr_id,
				   .posted = bind->wr_id,
				   .event = t->event->id,
				   .signaled = bind->send_flags & IBV_SEND_SIGNALED };
	struct replica *replica;
	uint32_t number;
	uint64_t id;

	if (!map_get(&t->r->handles, qp, &id))
		return;
	replica = replica_of(t->r, (uint32_t)id);
	if (!replica->qp)
		return;
	request.signaled |= replica->qp->signals_all;
	requests_put(&replica->qp->out[SIDE_SEND], &request, &number);
}

/* Is the queue pair replayed? The call fails if its queue pair is in error. */
static bool is_qp_replayed(struct translation *t, uint64_t qp)
{
	const struct replica *replica;
	uint64_t id;

	if (!map_get(&t->r->handles, qp, &id))
		return true;
	outcome_relate_objects(t->r->outcome, (uint32_t)id, t->event->call->object);
	replica = replica_of(t->r, (uint32_t)id);
	if (!replica->qp || !replica->qp->cut)
		return true;
	t->missing = replica->qp->cut;
	t->missing_object = (uint32_t)id;
	return false;
}

static void bind_mw(struct translation *t, uint64_t *a)
{
	struct ibv_mw_bind *bind = to_pointer(a[2]);
	uint64_t id;

	if (!bind || !is_qp_replayed(t, a[0]))
		return;
	note_bind(t, a[0], bind);
	if (!bind->bind_info.mr || !map_get(&t->r->handles, (uintptr_t)bind->bind_info.mr, &id))
		return;
	bind->bind_info.addr += replica_of(t->r, (uint32_t)id)->replayed_base -
				replica_of(t->r, (uint32_t)id)->recorded_base;
}

static void advise_mr(struct translation *t, uint64_t *a)
{
	struct ibv_sge *sge = to_pointer(a[3]);

	for (uint32_t i = 0; sge && i < (uint32_t)a[4]; i++) {
		translate_check_key(t, t->event->process, false, sge[i].lkey);
		sge[i].addr = translate_local(t->r, t->event->process, sge[i].addr, sge[i].length,
					      &sge[i].lkey);
	}
}

static void open_qp(struct translation *t, uint64_t *a)
{
	struct ibv_qp_open_attr *attr = to_pointer(a[1]);

	if (attr)
		attr->qp_num = translate_qpn(t->r, attr->qp_num, t->time);
}

static void port_argument(struct translation *t, uint64_t *a)
{
	if (a[0] && !t->event->call->failed)
		a[1] = device_port(devices_of(t->r->devices, to_pointer(a[0])), (uint8_t)a[1]);
}

/* Did the recorded table have the entry, even an empty one? */
static bool was_in_table(const struct call *call)
{
	return !call->failed || call->ret == ENODATA;
}

/* Translate an index into a table that may be shorter on another device. */
static void index_argument(struct translation *t, uint64_t *a)
{
	const struct device *device;
	const struct port *port;
	int length;

	port_argument(t, a);
	if (!a[0] || !outcome_is_other_device(t->r->outcome) || !was_in_table(t->event->call))
		return;
	device = devices_of(t->r->devices, to_pointer(a[0]));
	port = &device->ports[device_port(device, (uint8_t)a[1])];
	length = t->event->call->verb == VERB_query_pkey ? port->pkey_table : port->gid_table;
	if ((int)a[2] >= length)
		t->needless = "an index beyond a table of this port";
}

/* A completion vector of the device; an invalid one if the recorded one was refused as invalid. */
static uint64_t replayed_vector(struct translation *t, const struct ibv_context *context,
				uint64_t vector)
{
	uint64_t id = 0, here = (uint64_t)context->num_comp_vectors, there;

	if (context->num_comp_vectors <= 0 || !map_get(&t->r->handles, (uintptr_t)context, &id))
		return vector;
	there = (uint64_t)replica_of(t->r, (uint32_t)id)->vectors_there;
	if (!t->event->call->failed)
		return vector % here;
	return there && there < here && vector >= there && vector <= INT_MAX - here
		       ? vector - there + here
		       : vector;
}

static void create_cq(struct translation *t, uint64_t *a)
{
	struct ibv_context *context = to_pointer(a[0]);

	if (!context)
		return;
	LOWER(t, a[1], devices_of(t->r->devices, context)->attr.max_cqe);
	a[4] = replayed_vector(t, context, a[4]);
}

static void create_cq_ex(struct translation *t, uint64_t *a)
{
	struct ibv_context *context = to_pointer(a[0]);
	struct ibv_cq_init_attr_ex *attr = to_pointer(a[1]);

	if (!context || !attr)
		return;
	LOWER(t, attr->cqe, devices_of(t->r->devices, context)->attr.max_cqe);
	attr->comp_vector = (uint32_t)replayed_vector(t, context, attr->comp_vector);
}

static void (*const translators[VERB_COUNT])(struct translation *, uint64_t *) = {
	[VERB_modify_qp] = modify_qp,
	[VERB_create_ah] = create_ah,
	[VERB_create_ah_from_wc] = create_ah_from_wc,
	[VERB_init_ah_from_wc] = init_ah_from_wc,
	[VERB_resolve_eth_l2_from_gid] = resolve_gid,
	[VERB_alloc_parent_domain] = alloc_parent_domain,
	[VERB_open_xrcd] = open_xrcd,
	[VERB_create_rwq_ind_table] = create_ind_table,
	[VERB_bind_mw] = bind_mw,
	[VERB_advise_mr] = advise_mr,
	[VERB_open_qp] = open_qp,
	[VERB_create_cq] = create_cq,
	[VERB_create_cq_ex] = create_cq_ex,
	[VERB_create_qp] = create_qp,
	[VERB_create_qp_ex] = create_qp_ex,
	[VERB_create_srq] = create_srq,
	[VERB_create_srq_ex] = create_srq_ex,
	[VERB_query_port] = port_argument,
	[VERB_query_port_compat] = port_argument,
	[VERB_query_gid] = index_argument,
	[VERB_query_gid_ex] = index_argument,
	[VERB_query_pkey] = index_argument,
};

bool translate_lower(struct translation *t)
{
	if (!t->cap || !memcmp(t->cap, &t->asked, sizeof(t->asked)))
		return false;
	*t->cap = t->asked;
	return true;
}

void translate_call(struct translation *t, uint64_t *args)
{
	translate_memory(t, args);
	if (translators[t->event->call->verb])
		translators[t->event->call->verb](t, args);
}
