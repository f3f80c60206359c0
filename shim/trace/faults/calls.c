/*
 * Control verbs that inject faults
 *
 * They are generated from the list (scripts/gen-verbs): each asks the plan for a fault (enter.c),
 * and then calls the original function. An exported verb is called through the recorder's table of
 * original functions, where it replaces the original (next.h); a function of struct verbs_context
 * through the context, which is patched when it is opened. Both are replaced before the recorder
 * makes its own replacements, which therefore call them.
 *
 * Not here: the calls of librdmacm (calls_cm.c).
 */
#include "shim/trace/faults/calls.h"

#include <errno.h>

#include "shim/trace/base/next.h"
#include "shim/trace/faults/async.h"
#include "shim/trace/faults/backlog.h"
#include "shim/trace/faults/backlog_channel.h"
#include "shim/trace/faults/original.h"
#include "shim/trace/faults/builders.h"
#include "shim/trace/faults/connected.h"
#include "shim/trace/faults/forced_status.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/polls.h"
#include "shim/trace/faults/posts.h"
#include "shim/trace/faults/postponed.h"
#include "shim/trace/ring/recording.h"

#include "gen/later_gen.h"

static struct ibv_context *patch_context(struct ibv_context *context);

/* wrap_VERB() is called instead of VERB; @behind is the original function. */
static struct ibv_context *wrap_open_device(struct ibv_context *(*behind)(struct ibv_device *),
					    struct ibv_device *device)
{
	return patch_context(behind(device));
}

static struct ibv_context *wrap_import_device(struct ibv_context *(*behind)(int), int fd)
{
	return patch_context(behind(fd));
}

static struct ibv_context *
wrap_mlx5dv_open_device(struct ibv_context *(*behind)(struct ibv_device *, void *),
			struct ibv_device *device, void *attr)
{
	return patch_context(behind(device, attr));
}

static struct ibv_cq_ex *
wrap_create_cq_ex(struct ibv_cq_ex *(*behind)(struct ibv_context *, struct ibv_cq_init_attr_ex *),
		  struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq;

	backlog_channel_lend(attr->channel);
	cq = behind(context, attr);
	backlog_channel_return(attr->channel);
	if (cq)
		polls_patch_ex(cq, attr->wc_flags);
	return cq;
}

static struct ibv_cq *wrap_create_cq(struct ibv_cq *(*behind)(struct ibv_context *, int, void *,
							      struct ibv_comp_channel *, int),
				     struct ibv_context *context, int cqe, void *cq_context,
				     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq *cq;

	backlog_channel_lend(channel);
	cq = behind(context, cqe, cq_context, channel, comp_vector);
	backlog_channel_return(channel);
	if (cq)
		polls_hold(cq, false);
	return cq;
}

static int wrap_destroy_cq(int (*behind)(struct ibv_cq *), struct ibv_cq *cq)
{
	bool held = polls_release(cq);
	int ret;

	async_release(cq);
	ret = behind(cq);

	if (ret && held)
		polls_hold_again(cq);
	return ret;
}

static struct ibv_comp_channel *
wrap_create_comp_channel(struct ibv_comp_channel *(*behind)(struct ibv_context *),
			 struct ibv_context *context)
{
	struct ibv_comp_channel *channel = behind(context);

	if (channel && backlog_is_on())
		backlog_channel_add(channel);
	return channel;
}

static int wrap_destroy_comp_channel(int (*behind)(struct ibv_comp_channel *),
				     struct ibv_comp_channel *channel)
{
	struct backlog_channel *held = backlog_channel_begin_destroy(channel);
	int ret = behind(channel);

	if (held && ret)
		backlog_channel_undo_destroy(held);
	else if (held)
		backlog_channel_end_destroy(held);
	return ret;
}

static int wrap_get_cq_event(int (*behind)(struct ibv_comp_channel *, struct ibv_cq **, void **),
			     struct ibv_comp_channel *channel, struct ibv_cq **cq,
			     void **cq_context)
{
	if (backlog_channel_find(channel))
		return backlog_channel_get(channel, cq, cq_context);
	return behind(channel, cq, cq_context);
}

static void wrap_ack_cq_events(void (*behind)(struct ibv_cq *, unsigned int), struct ibv_cq *cq,
			       unsigned int n)
{
	if (cq->channel && backlog_channel_find(cq->channel))
		backlog_channel_ack(cq, n);
	else
		behind(cq, n);
}

static int wrap_close_device(int (*behind)(struct ibv_context *), struct ibv_context *context)
{
	async_forget_context(context);
	return behind(context);
}

static int wrap_get_async_event(async_get_fn *behind, struct ibv_context *context,
				struct ibv_async_event *event)
{
	return plan_has(FAULT_EVENT) ? async_get(behind, context, event) : behind(context, event);
}

static void wrap_ack_async_event(void (*behind)(struct ibv_async_event *),
				 struct ibv_async_event *event)
{
	if (!async_ack(event))
		behind(event);
}

/* An earlier queue pair at this address may have requests that were never polled: forget them. */
static struct ibv_qp *wrap_create_qp(struct ibv_qp *(*behind)(struct ibv_pd *,
							      struct ibv_qp_init_attr *),
				     struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = behind(pd, attr);

	forced_status_forget(qp);
	builders_forget(qp);
	if (qp)
		connected_add(qp);
	return qp;
}

static struct ibv_qp_ex *find_builders(struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*find)(struct ibv_qp *) = original_find(VERB_qp_to_qp_ex);

	return find ? find(qp) : NULL;
}

static struct ibv_qp *
wrap_create_qp_ex(struct ibv_qp *(*behind)(struct ibv_context *, struct ibv_qp_init_attr_ex *),
		  struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = behind(context, attr);
	struct ibv_qp_ex *ex = NULL;
	int saved = errno;

	forced_status_forget(qp);
	if (qp)
		connected_add(qp);
	if (qp && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ex = find_builders(qp);
	if (ex)
		builders_patch(ex, attr->send_ops_flags);
	errno = saved;
	return qp;
}

/* A queue pair was reset or destroyed: forget its completions. */
static void forget_completions(const struct ibv_qp *qp, struct ibv_cq *send_cq,
			       struct ibv_cq *recv_cq, uint32_t qpn)
{
	forced_status_forget(qp);
	postponed_forget(qp);
	polls_purge(send_cq, qpn);
	if (recv_cq != send_cq)
		polls_purge(recv_cq, qpn);
}

static int wrap_modify_qp(int (*behind)(struct ibv_qp *, struct ibv_qp_attr *, int),
			  struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_ex was;
	bool builders = builders_save(qp, &was);
	int ret;

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_ERR)
		postponed_release(qp);
	ret = behind(qp, attr, mask);
	if (builders)
		builders_repatch(qp, &was);
	if (!ret && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		forget_completions(qp, qp->send_cq, qp->recv_cq, qp->qp_num);
	return ret;
}

static int wrap_destroy_qp(int (*behind)(struct ibv_qp *), struct ibv_qp *qp)
{
	struct ibv_cq *send_cq = qp->send_cq, *recv_cq = qp->recv_cq;
	uint32_t qpn = qp->qp_num;
	int ret;

	async_release(qp);
	postponed_forget(qp);
	connected_remove(qp);
	ret = behind(qp);

	if (ret)
		connected_add(qp);
	else
		forget_completions(qp, send_cq, recv_cq, qpn);
	return ret;
}

static int wrap_destroy_srq(int (*behind)(struct ibv_srq *), struct ibv_srq *srq)
{
	async_release(srq);
	postponed_forget(srq);
	return behind(srq);
}

#include "gen/faults_gen.h"

/* A slot exists only if the provider's structure is long enough. */
#define PATCH_VCTX(slot, verb)                                                                \
	if (vctx->sz >= sizeof(*vctx) - offsetof(struct verbs_context, slot) && vctx->slot && \
	    vctx->slot != faulty_vctx_##verb) {                                               \
		behind->vctx.slot = vctx->slot;                                               \
		vctx->slot = faulty_vctx_##verb;                                              \
	}

#define PATCH_OPS(slot, verb)                                              \
	if (context->ops.slot && context->ops.slot != faulty_ops_##verb) { \
		behind->ops.slot = context->ops.slot;                      \
		context->ops.slot = faulty_ops_##verb;                     \
	}

static void patch_pointers(struct ibv_context *context, struct original_of_context *behind)
{
	struct verbs_context *vctx = verbs_get_ctx(context);

	FAULTY_OPS(PATCH_OPS)
	if (vctx) {
		FAULTY_VCTX(PATCH_VCTX)
	}
	posts_patch(&context->ops, &behind->ops);
	polls_patch(&context->ops, &behind->ops);
}

static struct ibv_context *patch_context(struct ibv_context *context)
{
	struct original_of_context *behind;
	int saved = errno;

	if (!context)
		return NULL;
	recording_lock();
	behind = original_add_context(context);
	if (behind)
		patch_pointers(context, behind);
	recording_unlock();
	async_note_opened(context);
	errno = saved;
	return context;
}

static void *find_faulty(enum verb verb)
{
	switch (verb) {
#define CASE(id)        \
	case VERB_##id: \
		return (void *)faulty_##id;
		FAULTY_SYMBOLS(CASE)
#undef CASE
	default:
		return calls_cm_find(verb);
	}
}

static void *insert_faulty(enum verb verb, void *at)
{
	if (!plan_is_on())
		return at;
	atomic_store_explicit(&original_verbs[verb], at, memory_order_relaxed);
	return find_faulty(verb);
}

REGISTER(next_tamper, insert_faulty)
