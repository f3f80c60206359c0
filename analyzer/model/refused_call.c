/*
 * Why a call on an object that exists was refused
 */
#include "analyzer/model/refused_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"

enum {
	MULTICAST = 0xff, /* first byte of a GID */
	CM_PRIVATE = 56,  /* most bytes of private data of an RDMA_PS_TCP request */
	CM_REJECT = 148,  /* and of a rejection */
	CM_ACCEPT = 196,  /* most bytes of private data of the reply */
	CM_MOST = 255,    /* the limit that devices have */
};

static bool get_number(const struct refused *r, enum arg arg, int64_t *ret_value)
{
	return args_get(r->event->call->args, arg, ret_value);
}

static const struct device *device_of(const struct refused *r, const struct life *object)
{
	const struct life *context = object;

	if (context && context->kind != OBJECT_context)
		context = model_find(r->model, r->event->process, OBJECT_context, context->context);
	return context && context->device && context->device->known ? context->device : NULL;
}

bool refused_explain_query(const struct refused *r, char *text, size_t size)
{
	const struct device *device = device_of(r, r->object);
	const bool keys = r->event->call->verb == VERB_query_pkey;
	const struct device_port *port;
	int64_t number, index;
	uint32_t length;

	if (!device || !get_number(r, ARG(port_num), &number))
		return false;
	if (number < 1 || number > device->phys_port_cnt) {
		snprintf(text, size, "port_num is %" PRId64 ", the device has ports 1 to %" PRId64,
			 number, device->phys_port_cnt);
		return true;
	}
	port = device_find_port(device, (uint32_t)number);
	if (!get_number(r, ARG(index), &index) || !port)
		return false;
	length = keys ? port->pkey_tbl_len : port->gid_tbl_len;
	if (!length || (index >= 0 && index < (int64_t)length))
		return false;
	snprintf(text, size, "index is %" PRId64 ", and %s_tbl_len of port %" PRId64 " is %u",
		 index, keys ? "pkey" : "gid", number, length);
	return true;
}

bool refused_explain_group(const struct refused *r, char *text, size_t size)
{
	const char *raw = args_text(r->event->call->args, ARG(gid.raw));
	const struct qp *qp = r->object ? r->object->qp : NULL;
	uint8_t gid[DEVICE_GID];
	char name[48];

	if (qp && qp->type != QP_UNKNOWN && qp->type != ABI_QPT_UD &&
	    qp->type != ABI_QPT_RAW_PACKET) {
		snprintf(text, size, "%s is of type %s, and only UD joins a multicast group",
			 r->object->name, qp_type_name(qp->type));
		return true;
	}
	if (!raw || !place_parse_gid(raw, gid) || gid[0] == MULTICAST)
		return false;
	snprintf(text, size, "%s is not a multicast GID: these begin with ff", gid_text(gid, name));
	return true;
}

/* ibv_modify_srq() */
bool refused_explain_limit(const struct refused *r, char *text, size_t size)
{
	const struct queue *queue = r->object ? r->object->rq : NULL;
	int64_t mask, limit;

	if (!queue || !queue->limits.given || !get_number(r, ARG(srq_attr_mask), &mask) ||
	    !(mask & ABI_SRQ_LIMIT) || mask & ABI_SRQ_MAX_WR ||
	    !get_number(r, ARG(srq_attr.srq_limit), &limit) || limit <= queue->limits.given)
		return false;
	snprintf(text, size, "srq_limit is %" PRId64 ", and max_wr of %s is %u", limit,
		 r->object->name, queue->limits.given);
	return true;
}

/* ibv_modify_srq(): the new capacity. */
bool refused_explain_capacity(const struct refused *r, char *text, size_t size)
{
	const struct device *device = device_of(r, r->object);
	int64_t mask, most;

	if (!device || !get_number(r, ARG(srq_attr_mask), &mask) || !(mask & ABI_SRQ_MAX_WR) ||
	    !get_number(r, ARG(srq_attr.max_wr), &most) || most <= device->max_srq_wr)
		return false;
	snprintf(text, size, "max_wr is %" PRId64 ", the device's max_srq_wr is %" PRId64, most,
		 device->max_srq_wr);
	return true;
}

/* An argument is not a value of its enum. */
static bool is_not_enum_value(const struct refused *r, enum arg arg, const char *name, char *text,
			      size_t size)
{
	int64_t value;

	if (!get_number(r, arg, &value) || enum_name(enum_find(name), (int)value))
		return false;
	snprintf(text, size, "%s is %" PRId64 ", which is not a value of enum %s", arg_name(arg),
		 value, name);
	return true;
}

bool refused_explain_window(const struct refused *r, char *text, size_t size)
{
	return is_not_enum_value(r, ARG(type), "ibv_mw_type", text, size);
}

bool refused_explain_port_space(const struct refused *r, char *text, size_t size)
{
	return is_not_enum_value(r, ARG(ps), "rdma_port_space", text, size);
}

/* Is @ip an address of the loopback interface, or of a private network? */
static bool is_local_address(const uint8_t ip[4])
{
	return ip[0] == 127 || ip[0] == 10 || (ip[0] == 192 && ip[1] == 168) ||
	       (ip[0] == 172 && ip[1] >= 16 && ip[1] < 32);
}

/* "1.0.0.127:0": an address whose bytes are in the order of a little-endian host. */
static bool is_reversed(const char *address, char *text, size_t size)
{
	uint8_t ip[4], back[4];

	if (!address ||
	    sscanf(address, "%hhu.%hhu.%hhu.%hhu:", &ip[0], &ip[1], &ip[2], &ip[3]) != 4)
		return false;
	for (int i = 0; i < 4; i++)
		back[i] = ip[3 - i];
	if (is_local_address(ip) || !is_local_address(back))
		return false;
	snprintf(text, size,
		 "%u.%u.%u.%u is %u.%u.%u.%u with its bytes reversed: sin_addr is in network byte "
		 "order (htonl())",
		 ip[0], ip[1], ip[2], ip[3], back[0], back[1], back[2], back[3]);
	return true;
}

bool refused_explain_address(const struct refused *r, char *text, size_t size)
{
	const struct args *args = r->event->call->args;

	if (r->event->call->verb == VERB_rdma_bind_addr)
		return is_reversed(args_text(args, ARG(addr)), text, size);
	return is_reversed(args_text(args, ARG(dst_addr)), text, size) ||
	       is_reversed(args_text(args, ARG(src_addr)), text, size);
}

bool refused_explain_role(const struct refused *r, char *text, size_t size)
{
	const struct life *id = r->object;
	enum verb verb = r->event->call->verb;

	if (!id || id->kind != OBJECT_cm_id)
		return false;
	if (id->listens && verb != VERB_rdma_create_qp)
		snprintf(text, size,
			 "%s listens: use the identifier of its RDMA_CM_EVENT_CONNECT_REQUEST",
			 id->name);
	else if (id->created.verb == VERB_rdma_create_id && !id->placed)
		snprintf(text, size,
			 "%s has no device: neither rdma_resolve_addr() nor rdma_bind_addr() was "
			 "called",
			 id->name);
	else
		return false;
	return true;
}

bool refused_explain_type(const struct refused *r, char *text, size_t size)
{
	const struct life *id = r->object;
	const char *type = args_text(r->event->call->args, ARG(qp_init_attr.qp_type));

	if (!id || id->kind != OBJECT_cm_id || !id->ps_datagrams || !type ||
	    !strcmp(type, "IBV_QPT_UD"))
		return false;
	snprintf(text, size,
		 "qp_type is %s, and %s is of a port space of datagrams: it takes IBV_QPT_UD; "
		 "connections need RDMA_PS_TCP or RDMA_PS_IB",
		 type, id->name);
	return true;
}

/* An identifier serves one connection: rdma_connect() or rdma_accept() succeeds once. */
bool refused_explain_reconnect(const struct refused *r, char *text, size_t size)
{
	const struct life *id = r->object;
	enum verb verb = r->event->call->verb, before;
	char at[32];

	if (!id || id->kind != OBJECT_cm_id || id->inherited)
		return false;
	before = id->cm_call.id.thread ? id->cm_call.verb : VERB_COUNT;
	event_id_text(id->cm_call.id, at);
	if (before == VERB_rdma_reject && verb != VERB_rdma_connect)
		snprintf(text, size, "%s was rejected by rdma_reject() at %s", id->name, at);
	else if (before == VERB_rdma_disconnect && verb != VERB_rdma_disconnect)
		snprintf(text, size,
			 "%s was disconnected at %s: a new connection needs a new identifier",
			 id->name, at);
	else if (before == VERB_rdma_accept && verb != VERB_rdma_disconnect)
		snprintf(text, size, "%s was already accepted at %s", id->name, at);
	else if (before == VERB_rdma_connect && verb == VERB_rdma_connect)
		snprintf(text, size,
			 "rdma_connect() was called for %s at %s: a second attempt needs a new "
			 "identifier",
			 id->name, at);
	else
		return false;
	return true;
}

/* rdma_accept(): the last queue pair with the number that asked is gone. */
bool refused_explain_given_up(const struct refused *r, char *text, size_t size)
{
	const struct peers *peers = &r->model->peers;
	const struct peer *peer = NULL, *last = NULL;
	const struct life *id = r->object;
	char process[PROCESS_TEXT], at[32], span[32];

	if (!id || id->kind != OBJECT_cm_id || !id->asked)
		return false;
	while ((peer = peer_next(peers, id->asked, peer)))
		if (!last || peer->gone > last->gone)
			last = peer;
	if (!last || last->gone == INT64_MAX || !last->destroyed.id.thread)
		return false;
	snprintf(text, size,
		 "the peer gave up: the queue pair that asked, number 0x%x of %s, was destroyed at "
		 "%s, %s earlier",
		 id->asked, process_id_text(last->process, process),
		 event_id_text(last->destroyed.id, at),
		 words_format_span(r->event->time - last->gone, span));
	return true;
}

static bool has_channel(const struct life *id)
{
	const struct life_link *link = id->parents;

	while (link && link->parent->kind != OBJECT_cm_channel)
		link = link->next_parent;
	return link;
}

/*
 * Was the call made before the event that it needs? (An identifier without a channel waits in its
 * calls.)
 */
bool refused_explain_no_route(const struct refused *r, char *text, size_t size)
{
	const struct life *id = r->object;

	if (!id || id->kind != OBJECT_cm_id || id->inherited || id->routed || !has_channel(id) ||
	    id->created.verb != VERB_rdma_create_id)
		return false;
	snprintf(text, size, "no RDMA_CM_EVENT_ROUTE_RESOLVED has come for %s", id->name);
	return true;
}

/* The queue pair of an identifier; NULL: none is known. */
static const struct life *find_qp(const struct life *id)
{
	const struct life_link *link = id && id->kind == OBJECT_cm_id ? id->children : NULL;

	for (; link; link = link->next_child)
		if (link->child->kind == OBJECT_qp && link->child->state == LIFE_LIVE)
			return link->child;
	return NULL;
}

/* What happens once to an identifier. */
bool refused_explain_repetition(const struct refused *r, char *text, size_t size)
{
	const enum verb verb = r->event->call->verb;
	const struct life *id = r->object, *qp = find_qp(id);

	if (!id || id->kind != OBJECT_cm_id || id->inherited)
		return false;
	if (verb == VERB_rdma_listen && id->listens)
		snprintf(text, size, "%s already listens", id->name);
	else if (verb == VERB_rdma_resolve_addr && id->resolved)
		snprintf(text, size, "the address of %s was already resolved", id->name);
	else if ((verb == VERB_rdma_create_qp || verb == VERB_rdma_create_qp_ex) && qp)
		snprintf(text, size, "%s already has %s", id->name, qp->name);
	else
		return false;
	return true;
}

static bool depth_exceeds(const struct refused *r, enum arg arg, int64_t most, const char *limit,
			  char *text, size_t size)
{
	int64_t value;

	if (!get_number(r, arg, &value) || value <= most || value == CM_MOST)
		return false;
	snprintf(text, size, "%s is %" PRId64 ", the device's %s is %" PRId64, arg_name(arg), value,
		 limit, most);
	return true;
}

bool refused_explain_parameters(const struct refused *r, char *text, size_t size)
{
	bool accepts = r->event->call->verb == VERB_rdma_accept;
	const struct life *qp = find_qp(r->object);
	const struct device *device = device_of(r, qp);
	int64_t most = accepts ? CM_ACCEPT : CM_PRIVATE, bytes;

	if (!qp || !qp->qp || qp->qp->type != ABI_QPT_RC)
		return false;
	if (device &&
	    (depth_exceeds(r, ARG(conn_param.responder_resources), device->max_qp_rd_atom,
			   "max_qp_rd_atom", text, size) ||
	     depth_exceeds(r, ARG(conn_param.initiator_depth), device->max_qp_init_rd_atom,
			   "max_qp_init_rd_atom", text, size)))
		return true;
	if (!get_number(r, ARG(conn_param.private_data_len), &bytes) || bytes <= most)
		return false;
	snprintf(text, size, "private_data_len is %" PRId64 ", and %s has room for %" PRId64, bytes,
		 accepts ? "the reply" : "a request by RDMA_PS_TCP", most);
	return true;
}

bool refused_explain_rejection(const struct refused *r, char *text, size_t size)
{
	int64_t bytes;

	if (!get_number(r, ARG(private_data_len), &bytes) || bytes <= CM_REJECT)
		return false;
	snprintf(text, size, "private_data_len is %" PRId64 ", and a rejection has room for %d",
		 bytes, CM_REJECT);
	return true;
}

/* Does the advice not suit the region? Writes why. */
static bool is_bad_advice(const struct refused *r, const struct key *key, size_t i, char *text,
			  size_t size)
{
	char name[64], id[32], relation[WORDS_RELATION];
	int64_t addr = 0, length = 0;

	words_describe_key(r->model->trace, key, name, sizeof(name));
	if (key->state == KEY_DEAD) {
		snprintf(text, size, "sg_list[%zu].lkey is %s, which was deregistered at %s", i,
			 name, event_id_text(key->destroyed.id, id));
		return true;
	}
	if (!(key->access & ABI_ACCESS_ON_DEMAND)) {
		snprintf(text, size,
			 "sg_list[%zu].lkey is %s, which was registered without "
			 "IBV_ACCESS_ON_DEMAND at %s",
			 i, name, event_id_text(key->created.id, id));
		return true;
	}
	if (!args_get_at(r->event->call->args, ARG(sg_list.addr), i, &addr) ||
	    !args_get_at(r->event->call->args, ARG(sg_list.length), i, &length) || key->any ||
	    key_holds(key, (uint64_t)addr, (uint64_t)length))
		return false;
	snprintf(text, size, "sg_list[%zu] leaves %s: %s", i, name,
		 words_describe_relation(key, (uint64_t)addr, (uint64_t)length, relation));
	return true;
}

/* ibv_advise_mr(): the first element that it refuses. */
bool refused_explain_advice(const struct refused *r, char *text, size_t size)
{
	const struct keys *keys = &r->model->keys;
	int64_t lkey;

	for (size_t i = 0;
	     !keys->shared && args_get_at(r->event->call->args, ARG(sg_list.lkey), i, &lkey); i++) {
		const struct key *key = keys_find_lkey(keys, r->event->process, 0, (uint32_t)lkey);

		if (key && key->kind == OBJECT_mr && is_bad_advice(r, key, i, text, size))
			return true;
	}
	return false;
}
