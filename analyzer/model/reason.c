/*
 * Calls that failed: the request, and why it was refused
 *
 * A row has the verb, the errno and the function that finds the reason. The first matching row
 * whose function finds one is used.
 */
#include "analyzer/model/reason.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/control.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/refused_call.h"
#include "analyzer/model/refused_make.h"
#include "analyzer/model/refused_mask.h"
#include "analyzer/model/refused_missing.h"
#include "analyzer/model/refused_qp.h"
#include "analyzer/model/overflow.h"
#include "analyzer/model/words.h"

static bool is_call(const struct trace_event *event)
{
	return event->kind == TRACE_CALL || event->kind == TRACE_RETURN;
}

static int error_of_call(const struct call *call)
{
	int error = verb_infos[call->verb].fail == FAIL_NONZERO && call->ret > 0 ? (int)call->ret
										 : call->error;

	if (!call->failed)
		return 0;
	return error ? error : -1;
}

int reason_error(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return error_of_call(event->call);
	case TRACE_POST:
		return event->post->ret;
	case TRACE_POLL:
		/* -1 is the failure of providers, not an errno */
		return event->poll->ret < -1 ? -event->poll->ret : event->poll->ret < 0 ? -1 : 0;
	case TRACE_NOTIFY:
		return event->notify->ret;
	default:
		return 0;
	}
}

/* The first argument that is an object of the model. */
static const struct life *find_argument(struct model *model, const struct trace_event *event)
{
	const struct handle_list *list = handles_of_inputs(event->call->verb);

	for (unsigned int i = 0; i < list->n; i++) {
		int64_t handle;
		const struct life *life;

		if (!args_get(event->call->args, list->handles[i].arg, &handle))
			continue;
		life = model_find(model, event->process, list->handles[i].kind, (uint64_t)handle);
		if (life)
			return life;
	}
	return NULL;
}

static const struct life *find_object(struct model *model, const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		return find_argument(model, event);
	case TRACE_POST:
		return model_find(model, event->process, verb_infos[event->post->verb].object,
				  event->post->handle);
	case TRACE_POLL:
		return model_find(model, event->process, OBJECT_cq, event->poll->handle);
	case TRACE_NOTIFY:
		return model_find(model, event->process, OBJECT_cq, event->notify->handle);
	default:
		return NULL;
	}
}

/* Further arguments that describe the request. */
static const struct {
	enum verb verb;
	enum arg arg;
	const char *what; /* the number counts */
} asked[] = {
	{ VERB_reg_mr, ARG(length), "byte" },       { VERB_reg_mr_iova, ARG(length), "byte" },
	{ VERB_reg_mr_iova2, ARG(length), "byte" }, { VERB_reg_dmabuf_mr, ARG(length), "byte" },
	{ VERB_create_cq, ARG(cqe), "entry" },
};

enum { ASKED = sizeof(asked) / sizeof(asked[0]) };

/* " -> RTS" */
static int add_state(const struct call *call, char *text, size_t size)
{
	static const char prefix[] = "IBV_QPS_";
	const char *state = args_text(call->args, ARG(attr.qp_state));

	if (!state || strncmp(state, prefix, sizeof(prefix) - 1))
		return 0;
	return snprintf(text, size, " -> %s", state + sizeof(prefix) - 1);
}

/* " to 10.0.0.1:7471" */
static void add_address(const struct call *call, char *text, size_t size)
{
	const char *address = args_text(
		call->args, call->verb == VERB_rdma_bind_addr ? ARG(addr) : ARG(dst_addr));

	if (address)
		snprintf(text, size, " to %s", address);
}

static void add_request_value(const struct call *call, char *text, size_t size)
{
	int64_t value;

	if (call->verb == VERB_modify_qp)
		add_state(call, text, size);
	if (call->verb == VERB_rdma_bind_addr || call->verb == VERB_rdma_resolve_addr)
		add_address(call, text, size);
	for (size_t i = 0; i < ASKED; i++)
		if (asked[i].verb == call->verb && args_get(call->args, asked[i].arg, &value))
			snprintf(text, size, ", %s", WORDS_N((uint64_t)value, asked[i].what));
}

const char *reason_call(struct model *model, const struct trace_event *event, char *text,
			size_t size)
{
	const struct life *object = find_object(model, event);
	enum verb verb = trace_verb(event);
	char rest[64] = "";

	if (is_call(event))
		add_request_value(event->call, rest, sizeof(rest));
	snprintf(text, size, "%s(%s%s)", verb == VERB_COUNT ? "?" : verb_infos[verb].name,
		 object ? object->name : "", rest);
	return text;
}

const char *reason_element(struct model *model, const struct trace_event *event, char *text,
			   size_t size)
{
	const struct life *element = control_find_element(model, event);

	text[0] = '\0';
	if (!element)
		return NULL;
	snprintf(text, size, "%s", element->name);
	return text;
}

/* Did objects that depend on it prevent a destroy? */
static bool has_children(const struct refused *r, char *text, size_t size)
{
	const struct life_link *link, *first = NULL;
	unsigned int n = 0;
	char id[32], groups[WORDS_COUNT];

	if (!r->object)
		return false;
	for (link = r->object->children; link; link = link->next_child)
		if (link->child->state == LIFE_LIVE && ++n)
			first = link; /* the last of the list is the oldest */
	if (!first && r->object->ngroups)
		snprintf(text, size, "%s is attached to %s", r->object->name,
			 words_format_count(r->object->ngroups, "multicast group", groups));
	else if (n > 1)
		snprintf(text, size, "%s is in use by %u objects, the first %s, created at %s",
			 r->object->name, n, first->child->name,
			 event_id_text(first->child->created.id, id));
	else if (first)
		snprintf(text, size, "%s is in use by %s, created by thread %u at %s",
			 r->object->name, first->child->name,
			 thread_number(first->child->created.id.thread),
			 event_id_text(first->child->created.id, id));
	return first || r->object->ngroups;
}

/* Was the post refused because its queue was full? */
static bool is_queue_full(const struct refused *r, char *text, size_t size)
{
	const struct life *object = r->object;
	const struct queue *queue;

	if (r->event->kind != TRACE_POST || !object)
		return false;
	queue = post_is_send(r->event->post) ? object->sq : object->rq;
	return queue && queue->owner == object &&
	       overflow_reason(queue, r->event->post, text, size);
}

static bool lacks_start(const struct refused *r, char *text, size_t size)
{
	if (r->event->kind != TRACE_POST || r->event->post->nwr)
		return false;
	snprintf(text, size,
		 "possibly ibv_wr_start() was not called since the last ibv_wr_complete() or "
		 "ibv_wr_abort(): a batch ends with each of them");
	return true;
}

/* An ibv_wr_*() request whose opcode needs data, but without data. */
static bool has_no_data(const struct refused *r, char *text, size_t size)
{
	const struct post *post = r->event->kind == TRACE_POST ? r->event->post : NULL;

	for (uint32_t i = 0; post && i < post->nwr; i++) {
		const struct wr *wr = &post->wr[i];

		if (wr->nsge || (wr->opcode != ABI_WR_SEND && wr->opcode != ABI_WR_RDMA_WRITE &&
				 wr->opcode != ABI_WR_RDMA_READ))
			continue;
		snprintf(text, size,
			 "wr[%u], %s, has no data: call ibv_wr_set_sge() or a similar function "
			 "after the one that begins the request",
			 i, enum_name(enum_find("ibv_wr_opcode"), wr->opcode));
		return true;
	}
	return false;
}

/* Are these requests messages and WRITEs, which need no more than what is recorded? */
static bool are_plain(const struct post *post)
{
	for (uint32_t i = 0; i < post->nwr; i++)
		if (post->wr[i].opcode != ABI_WR_RDMA_WRITE &&
		    !operation_takes_receive(post->wr[i].opcode))
			return false;
	return post->nwr;
}

/* If nothing is wrong with the requests: the batch before was left open. */
static bool left_batch_open(const struct refused *r, char *text, size_t size)
{
	const struct qp *qp = r->object ? r->object->qp : NULL;

	if (!qp || r->event->kind != TRACE_POST || qp_state(r->object) != ABI_QPS_RTS ||
	    (qp->type != ABI_QPT_RC && qp->type != ABI_QPT_UC) || !are_plain(r->event->post))
		return false;
	snprintf(text, size,
		 "its requests look valid. Probably an earlier ibv_wr_start() of %s "
		 "was followed by neither ibv_wr_complete() nor ibv_wr_abort(), as when a function "
		 "returns in between; or the data of a request was set twice",
		 r->object->name);
	return true;
}

/* clang-format off */
static const struct reason_row {
	enum verb verb;          /* VERB_COUNT: any */
	int effect;              /* enum verb_effect; -1: any */
	int error;               /* errno; 0: any */
	bool (*find)(const struct refused *refused, char *text, size_t size);
} rows[] = {
	{ VERB_COUNT, EFFECT_DESTROY, EBUSY, has_children },
	{ VERB_COUNT, EFFECT_CREATE, 0, refused_explain_mask },
	{ VERB_open_device, -1, 0, refused_explain_null_object },
	{ VERB_alloc_parent_domain, -1, EINVAL, refused_explain_null_pd },
	{ VERB_qp_to_qp_ex, -1, 0, refused_explain_builders },
	{ VERB_get_cq_event, -1, EBADF, refused_explain_descriptor },
	{ VERB_get_async_event, -1, EBADF, refused_explain_descriptor },
	{ VERB_rdma_get_cm_event, -1, EBADF, refused_explain_descriptor },
	{ VERB_COUNT, -1, ENOMEM, refused_explain_list },
	{ VERB_COUNT, -1, ENOMEM, is_queue_full },
	{ VERB_reg_mr, -1, ENOMEM, refused_explain_memlock },
	{ VERB_reg_mr, -1, ENOMEM, refused_explain_other },
	{ VERB_reg_mr_iova, -1, ENOMEM, refused_explain_memlock },
	{ VERB_reg_mr_iova, -1, ENOMEM, refused_explain_other },
	{ VERB_reg_mr_iova2, -1, ENOMEM, refused_explain_memlock },
	{ VERB_reg_mr_iova2, -1, ENOMEM, refused_explain_other },
	{ VERB_modify_qp, -1, EINVAL, refused_explain_transition },
	{ VERB_modify_qp, -1, EINVAL, refused_explain_attribute },
	{ VERB_modify_qp, -1, EINVAL, refused_explain_path },
	{ VERB_modify_qp, -1, ENODATA, refused_explain_path },
	{ VERB_modify_qp, -1, ETIMEDOUT, refused_explain_resolution },
	{ VERB_create_ah, -1, EINVAL, refused_explain_path },
	{ VERB_create_ah, -1, EINVAL, refused_explain_destination },
	{ VERB_create_ah, -1, ENODATA, refused_explain_path },
	{ VERB_create_ah_from_wc, -1, EINVAL, refused_explain_query },
	{ VERB_create_ah, -1, ETIMEDOUT, refused_explain_resolution },
	{ VERB_post_send, -1, 0, refused_explain_post },
	{ VERB_post_recv, -1, 0, refused_explain_post },
	{ VERB_wr_complete, -1, 0, refused_explain_post },
	{ VERB_wr_complete, -1, EINVAL, lacks_start },
	{ VERB_wr_complete, -1, EINVAL, has_no_data },
	{ VERB_wr_complete, -1, EINVAL, left_batch_open },
	{ VERB_post_srq_recv, -1, 0, refused_explain_elements },
	{ VERB_post_wq_recv, -1, 0, refused_explain_elements },
	{ VERB_COUNT, -1, ENOMEM, refused_explain_full_queue },
	{ VERB_create_qp, -1, 0, refused_explain_qp },
	{ VERB_create_qp, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_qp, -1, ENOMEM, refused_explain_other },
	{ VERB_create_qp_ex, -1, 0, refused_explain_qp },
	{ VERB_create_qp_ex, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_qp_ex, -1, ENOMEM, refused_explain_other },
	{ VERB_create_cq, -1, 0, refused_explain_cq },
	{ VERB_create_cq, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_cq, -1, ENOMEM, refused_explain_other },
	{ VERB_create_cq_ex, -1, 0, refused_explain_cq },
	{ VERB_create_cq_ex, -1, EOPNOTSUPP, refused_explain_fields },
	{ VERB_create_cq_ex, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_cq_ex, -1, ENOMEM, refused_explain_other },
	{ VERB_create_srq, -1, 0, refused_explain_srq },
	{ VERB_create_srq, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_srq, -1, ENOMEM, refused_explain_other },
	{ VERB_create_srq_ex, -1, EINVAL, refused_explain_srq_parts },
	{ VERB_create_srq_ex, -1, 0, refused_explain_srq },
	{ VERB_create_srq_ex, -1, ENOMEM, refused_explain_memlock },
	{ VERB_create_srq_ex, -1, ENOMEM, refused_explain_other },
	{ VERB_rdma_connect, -1, EINVAL, refused_explain_role },
	{ VERB_rdma_accept, -1, EINVAL, refused_explain_role },
	{ VERB_rdma_connect, -1, EINVAL, refused_explain_connect },
	{ VERB_rdma_accept, -1, EINVAL, refused_explain_connect },
	{ VERB_reg_mr, -1, EINVAL, refused_explain_access },
	{ VERB_reg_mr_iova, -1, EINVAL, refused_explain_access },
	{ VERB_reg_mr_iova2, -1, EINVAL, refused_explain_access },
	{ VERB_reg_dmabuf_mr, -1, EINVAL, refused_explain_dmabuf },
	{ VERB_advise_mr, -1, 0, refused_explain_advice },
	{ VERB_reg_dm_mr, -1, EINVAL, refused_explain_dm },
	{ VERB_memcpy_to_dm, -1, 0, refused_explain_dm },
	{ VERB_memcpy_from_dm, -1, 0, refused_explain_dm },
	{ VERB_rereg_mr, -1, EINVAL, refused_explain_rereg },
	{ VERB_resize_cq, -1, EINVAL, refused_explain_cq },
	{ VERB_query_port, -1, EINVAL, refused_explain_query },
	{ VERB_query_gid, -1, EINVAL, refused_explain_query },
	{ VERB_query_pkey, -1, EINVAL, refused_explain_query },
	{ VERB_attach_mcast, -1, EINVAL, refused_explain_group },
	{ VERB_modify_srq, -1, EINVAL, refused_explain_limit },
	{ VERB_modify_srq, -1, EINVAL, refused_explain_capacity },
	{ VERB_bind_mw, -1, EINVAL, refused_explain_bind },
	{ VERB_alloc_mw, -1, EINVAL, refused_explain_window },
	{ VERB_rdma_create_id, -1, EINVAL, refused_explain_port_space },
	{ VERB_rdma_listen, -1, EINVAL, refused_explain_repetition },
	{ VERB_rdma_resolve_addr, -1, EINVAL, refused_explain_repetition },
	{ VERB_rdma_create_qp, -1, EINVAL, refused_explain_repetition },
	{ VERB_rdma_create_qp_ex, -1, EINVAL, refused_explain_repetition },
	{ VERB_rdma_create_qp, -1, EINVAL, refused_explain_role },
	{ VERB_rdma_create_qp, -1, EINVAL, refused_explain_type },
	{ VERB_rdma_create_qp, -1, EINVAL, refused_explain_contexts },
	{ VERB_rdma_reject, -1, EINVAL, refused_explain_role },
	{ VERB_rdma_reject, -1, EINVAL, refused_explain_rejection },
	{ VERB_rdma_disconnect, -1, EINVAL, refused_explain_role },
	{ VERB_rdma_bind_addr, -1, EADDRNOTAVAIL, refused_explain_address },
	{ VERB_rdma_resolve_addr, -1, EADDRNOTAVAIL, refused_explain_address },
	{ VERB_rdma_resolve_addr, -1, ENODEV, refused_explain_address },
	{ VERB_rdma_resolve_addr, -1, ENETUNREACH, refused_explain_address },
	{ VERB_rdma_resolve_addr, -1, EHOSTUNREACH, refused_explain_address },
	{ VERB_rdma_connect, -1, EINVAL, refused_explain_reconnect },
	{ VERB_rdma_accept, -1, EINVAL, refused_explain_reconnect },
	{ VERB_rdma_reject, -1, EINVAL, refused_explain_reconnect },
	{ VERB_rdma_disconnect, -1, EINVAL, refused_explain_reconnect },
	{ VERB_rdma_connect, -1, EINVAL, refused_explain_no_route },
	{ VERB_rdma_connect, -1, EINVAL, refused_explain_parameters },
	{ VERB_rdma_accept, -1, EINVAL, refused_explain_parameters },
	{ VERB_rdma_accept, -1, EINVAL, refused_explain_given_up },
	{ VERB_reg_mr, -1, EFAULT, refused_explain_memory },
	{ VERB_reg_mr_iova, -1, EFAULT, refused_explain_memory },
	{ VERB_reg_mr_iova2, -1, EFAULT, refused_explain_memory },
};
/* clang-format on */

const char *reason_of(struct model *model, const struct trace_event *event, char *text, size_t size)
{
	struct refused refused = { model, event, find_object(model, event) };
	bool polls = event->kind == TRACE_POLL || event->kind == TRACE_NOTIFY;
	const char *made = polls ? trace_made_fault_before(model->trace, event->id)
				 : trace_made_fault(model->trace, event->id);
	enum verb verb = trace_verb(event);
	int error = reason_error(event);

	if (made) {
		snprintf(text, size, "a fault injected by the recorder: %s", made);
		return text;
	}
	for (size_t i = 0; verb != VERB_COUNT && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct reason_row *row = &rows[i];

		if ((row->verb == VERB_COUNT || row->verb == verb) &&
		    (row->effect < 0 || row->effect == (int)verb_infos[verb].effect) &&
		    (!row->error || row->error == error) && row->find(&refused, text, size))
			return text;
	}
	return NULL;
}
