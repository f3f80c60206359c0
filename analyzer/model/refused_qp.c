/*
 * Why a queue pair refused a modify or a post
 */
#include "analyzer/model/refused_qp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/transition.h"
#include "analyzer/model/words.h"

static const struct device *device_of(const struct refused *r)
{
	const struct life *context;

	if (!r->object || !r->object->context)
		return NULL;
	context = model_find(r->model, r->event->process, OBJECT_context, r->object->context);
	return context ? context->device : NULL;
}

bool refused_explain_transition(const struct refused *r, char *text, size_t size)
{
	struct transition_fault fault;
	struct qp_change change;
	int from;

	if (!r->object || !r->object->qp)
		return false;
	from = qp_state(r->object);
	change = qp_read_change(r->object, r->event->call->args);
	if (change.mask & ABI_QP_CUR_STATE && from != QP_UNKNOWN && change.cur != from) {
		snprintf(text, size, "cur_qp_state is %s, and %s was in %s",
			 qp_state_name(change.cur), r->object->name, qp_state_name(from));
		return true;
	}
	if (change.to == QP_UNKNOWN)
		change.to = from;
	if (transition_check(r->object->qp->type, from, change.to, change.mask, &fault))
		return false;
	transition_explain(from, change.to, &fault, text, size);
	return true;
}

/* A value of the arguments that exceeds @most. */
static bool value_exceeds(const struct refused *r, enum arg arg, int64_t most, const char *whose,
			  char *text, size_t size)
{
	int64_t value;

	if (!args_get(r->event->call->args, arg, &value) || value <= most)
		return false;
	snprintf(text, size, "%s is %" PRId64 ", %s %" PRId64, arg_name(arg), value, whose, most);
	return true;
}

/* The port that the queue pair will use, or uses. */
static uint32_t port_of(const struct refused *r)
{
	int64_t port;

	if (args_get(r->event->call->args, ARG(attr.port_num), &port))
		return (uint32_t)port;
	return r->object && r->object->qp && r->object->qp->set & ABI_QP_PORT ? r->object->qp->port
									      : 0;
}

static bool explain_port(const struct refused *r, const struct device *device, char *text,
			 size_t size)
{
	const struct device_port *port = device_find_port(device, port_of(r));
	int64_t number, mtu;

	if (device && device->known &&
	    args_get(r->event->call->args, ARG(attr.port_num), &number) &&
	    (number < 1 || number > device->phys_port_cnt)) {
		snprintf(text, size, "port_num is %" PRId64 ", the device has ports 1 to %" PRId64,
			 number, device->phys_port_cnt);
		return true;
	}
	if (!port)
		return false;
	if (port->pkey_tbl_len && value_exceeds(r, ARG(attr.pkey_index), port->pkey_tbl_len - 1,
						"the last index of the port is", text, size))
		return true;
	if (!args_get(r->event->call->args, ARG(attr.path_mtu), &mtu) || !port->active_mtu ||
	    mtu <= port->active_mtu)
		return false;
	if (!enum_name(enum_find("ibv_mtu"), (int)mtu)) {
		snprintf(text, size,
			 "path_mtu is %" PRId64 ", which is not a value of enum ibv_mtu", mtu);
		return true;
	}
	snprintf(text, size, "path_mtu is %d bytes, port %u has %d", 128 << (mtu & 15), port_of(r),
		 128 << port->active_mtu);
	return true;
}

bool refused_explain_attribute(const struct refused *r, char *text, size_t size)
{
	const struct device *device = device_of(r);

	if (value_exceeds(r, ARG(attr.timeout), 31, "the maximum is", text, size) ||
	    value_exceeds(r, ARG(attr.retry_cnt), 7, "the maximum is", text, size) ||
	    value_exceeds(r, ARG(attr.rnr_retry), 7, "the maximum is", text, size) ||
	    value_exceeds(r, ARG(attr.min_rnr_timer), 31, "the maximum is", text, size) ||
	    value_exceeds(r, ARG(attr.dest_qp_num), 0xffffff, "the maximum is", text, size))
		return true;
	if (device && device->known &&
	    (value_exceeds(r, ARG(attr.max_rd_atomic), device->max_qp_init_rd_atom,
			   "the device's max_qp_init_rd_atom is", text, size) ||
	     value_exceeds(r, ARG(attr.max_dest_rd_atomic), device->max_qp_rd_atom,
			   "the device's max_qp_rd_atom is", text, size)))
		return true;
	return explain_port(r, device, text, size);
}

/* A member of the address: of ibv_modify_qp() in ah_attr, of ibv_create_ah() in attr. */
#define ADDRESS(r, member) \
	((r)->event->call->verb == VERB_modify_qp ? ARG(attr.ah_attr.member) : ARG(attr.member))

/* "fe80::1, RoCE v1, sgid_index 0 of port 1" */
static const char *name_source(const struct refused *r, char *text, size_t size)
{
	const struct device_gid *gid;
	int64_t port = port_of(r), index = 0;
	char address[48];

	args_get(r->event->call->args, ADDRESS(r, port_num), &port);
	args_get(r->event->call->args, ADDRESS(r, grh.sgid_index), &index);
	gid = device_find_gid(device_of(r), (uint32_t)port, (uint32_t)index);
	if (gid)
		snprintf(text, size, "%s, %s, sgid_index %" PRId64 " of port %" PRId64,
			 gid_text(gid->raw, address), gid_type_name(gid->type), index, port);
	else
		snprintf(text, size, "sgid_index %" PRId64 " of port %" PRId64, index, port);
	return text;
}

/* Is the address of the peer all zeros? */
static bool is_dgid_zero(const struct refused *r)
{
	const char *raw = args_text(r->event->call->args, ADDRESS(r, grh.dgid.raw));

	return raw && strspn(raw, "0") == strlen(raw);
}

bool refused_explain_path(const struct refused *r, char *text, size_t size)
{
	const struct device *device = device_of(r);
	int64_t port_num, global, index = 0;
	const struct device_port *port;

	if (!args_get(r->event->call->args, ADDRESS(r, port_num), &port_num) ||
	    !args_get(r->event->call->args, ADDRESS(r, is_global), &global))
		return false;
	port = device_find_port(device, (uint32_t)port_num);
	if (device && device->known && (port_num < 1 || port_num > device->phys_port_cnt)) {
		snprintf(text, size,
			 "the address' port_num is %" PRId64 ", the device has ports 1 to %" PRId64,
			 port_num, device->phys_port_cnt);
		return true;
	}
	if (port && port->ethernet && !global) {
		snprintf(text, size,
			 "port %" PRId64 " is Ethernet, and is_global of the address is 0",
			 port_num);
		return true;
	}
	args_get(r->event->call->args, ADDRESS(r, grh.sgid_index), &index);
	if (!global || !device_lacks_gid(device, (uint32_t)port_num, (uint32_t)index))
		return false;
	snprintf(text, size, "port %" PRId64 " has no GID at sgid_index %" PRId64 "%s", port_num,
		 index, is_dgid_zero(r) ? ", and dgid is ::" : "");
	return true;
}

bool refused_explain_resolution(const struct refused *r, char *text, size_t size)
{
	const char *raw = args_text(r->event->call->args, ADDRESS(r, grh.dgid.raw));
	char peer[48], source[128];
	uint8_t gid[DEVICE_GID];
	int64_t global = 0;

	args_get(r->event->call->args, ADDRESS(r, is_global), &global);
	if (!global || !raw || !place_parse_gid(raw, gid))
		return false;
	snprintf(text, size, "%s did not respond from %s", gid_text(gid, peer),
		 name_source(r, source, sizeof(source)));
	return true;
}

bool refused_explain_bind(const struct refused *r, char *text, size_t size)
{
	const struct args *args = r->event->call->args;
	char relation[WORDS_RELATION], name[64];
	const struct key *key;
	uint64_t addr, length;
	int state;

	if (!r->object || !r->object->qp)
		return false;
	state = qp_state(r->object);
	if (state != QP_UNKNOWN && state != ABI_QPS_RTS) {
		snprintf(text, size, "%s was in %s", r->object->name, qp_state_name(state));
		return true;
	}
	key = keys_find_object(&r->model->keys, r->event->process, OBJECT_mr,
			       args_number(args, ARG(mw_bind.bind_info.mr)));
	addr = args_number(args, ARG(mw_bind.bind_info.addr));
	length = args_number(args, ARG(mw_bind.bind_info.length));
	if (!key || key->any || key->state == KEY_DEAD || key_holds(key, addr, length))
		return false;
	words_describe_key(r->model->trace, key, name, sizeof(name));
	snprintf(text, size, "the range leaves %s: %s", name,
		 words_describe_relation(key, addr, length, relation));
	return true;
}

/* Posts */

/* The request that was refused: *bad_wr, or the first. */
static const struct wr *find_refused_wr(const struct post *post, uint32_t *ret_index)
{
	*ret_index = post->bad ? post->bad - 1 : 0;
	return *ret_index < post->nwr ? &post->wr[*ret_index] : NULL;
}

bool refused_explain_elements(const struct refused *r, char *text, size_t size)
{
	const struct post *post = r->event->post;
	bool send = post_is_send(post);
	const struct qp_cap *cap;
	const struct wr *wr;
	uint32_t index, most;
	uint64_t bytes;

	wr = find_refused_wr(post, &index);
	if (!wr || !r->object || !r->object->qp)
		return false;
	cap = &r->object->qp->cap;
	most = send ? cap->max_send_sge : cap->max_recv_sge;
	if (wr->num_sge > (int)most && (most || cap->max_send_wr || cap->max_recv_wr)) {
		snprintf(text, size, "%d SGEs, max_%s_sge is %u", wr->num_sge,
			 send ? "send" : "recv", most);
		return true;
	}
	bytes = wr_bytes(wr);
	if (!send || !(wr->send_flags & ABI_SEND_INLINE) || bytes <= cap->max_inline_data)
		return false;
	snprintf(text, size, "%" PRIu64 " bytes inline, max_inline_data is %u", bytes,
		 cap->max_inline_data);
	return true;
}

static bool explain_state(const struct life *qp, bool send, char *text, size_t size)
{
	int state = qp_state(qp);

	if (!send && qp->qp->srq) {
		snprintf(text, size, "%s has an SRQ", qp->name);
		return true;
	}
	if (state == QP_UNKNOWN || (send ? state >= ABI_QPS_RTS && state != ABI_QPS_ERR
					 : state != ABI_QPS_RESET && state != ABI_QPS_ERR))
		return false;
	snprintf(text, size, "%s was in %s", qp->name, qp_state_name(state));
	return true;
}

static bool explain_opcode(const struct life *qp, const struct post *post, char *text, size_t size)
{
	const struct wr *wr;
	const char *opcode;
	uint32_t index;

	wr = find_refused_wr(post, &index);
	opcode = wr ? enum_name(enum_find("ibv_wr_opcode"), wr->opcode) : NULL;
	if (!wr || (opcode && qp->qp->opcodes >> (wr->opcode & 31) & 1))
		return false;
	if (opcode)
		snprintf(text, size, "%s is of type %s, which does not support %s", qp->name,
			 qp_type_name(qp->qp->type), opcode);
	else
		snprintf(text, size, "opcode is %d, which is not a value of enum ibv_wr_opcode",
			 wr->opcode);
	return true;
}

/* Only what is sent can be inline, not what the response is written to. */
static bool explain_inline(const struct post *post, char *text, size_t size)
{
	const struct wr *wr;
	uint32_t index;

	wr = find_refused_wr(post, &index);
	if (!wr || !(wr->send_flags & ABI_SEND_INLINE) || !operation_reads(wr->opcode))
		return false;
	snprintf(text, size, "%s with IBV_SEND_INLINE: its data comes from the peer",
		 enum_name(enum_find("ibv_wr_opcode"), wr->opcode) ?: "a read");
	return true;
}

/* If nothing else is wrong with ibv_post_send(): the queue pair has builders, ibv_wr_*(), too. */
static bool explain_batch(const struct life *qp, const struct post *post, char *text, size_t size)
{
	if (!post_is_send(post) || post->verb != VERB_post_send || !qp->qp->has_send_ops ||
	    qp_state(qp) != ABI_QPS_RTS)
		return false;
	snprintf(text, size,
		 "possibly ibv_wr_start() was not followed by ibv_wr_complete() or "
		 "ibv_wr_abort()");
	return true;
}

static bool lacks_destination(const struct life *qp, const struct post *post, char *text,
			      size_t size)
{
	const struct wr *wr;
	uint32_t index;

	wr = find_refused_wr(post, &index);
	if (!wr || qp->qp->type != ABI_QPT_UD || wr->ah || post->verb != VERB_post_send)
		return false;
	snprintf(text, size, "wr[%u].wr.ud.ah is NULL", index);
	return true;
}

bool refused_explain_post(const struct refused *r, char *text, size_t size)
{
	const struct post *post = r->event->post;

	if (!r->object || !r->object->qp)
		return false;
	if (explain_state(r->object, post_is_send(post), text, size))
		return true;
	if (post->ret != EINVAL)
		return false;
	return (post_is_send(post) &&
		(explain_opcode(r->object, post, text, size) || explain_inline(post, text, size) ||
		 lacks_destination(r->object, post, text, size))) ||
	       refused_explain_elements(r, text, size) ||
	       explain_batch(r->object, post, text, size);
}
