/*
 * Control verbs that make faults
 *
 * They are generated from the list (scripts/gen-verbs): each asks the plan (enter.c), and calls
 * what is behind it. An exported verb is reached through the recorder's table of original
 * functions, where it replaces the original (next.h); one of struct verbs_context through the
 * context, which is patched when it is opened. Both are done before the recorder's own
 * replacements, which therefore call these.
 *
 * Not here: the calls of librdmacm (calls_cm.c).
 */
#include "shim/trace/faults/calls.h"

#include <errno.h>

#include "shim/trace/base/next.h"
#include "shim/trace/faults/behind.h"
#include "shim/trace/faults/builders.h"
#include "shim/trace/faults/doomed.h"
#include "shim/trace/faults/enter.h"
#include "shim/trace/faults/plan.h"
#include "shim/trace/faults/polls.h"
#include "shim/trace/faults/posts.h"
#include "shim/trace/ring/recording.h"

#include "gen/later_gen.h"

static struct ibv_context *patch_context(struct ibv_context *context);

static struct ibv_context *own_open_device(struct ibv_context *(*behind)(struct ibv_device *),
					   struct ibv_device *device)
{
	return patch_context(behind(device));
}

static struct ibv_context *own_import_device(struct ibv_context *(*behind)(int), int fd)
{
	return patch_context(behind(fd));
}

static struct ibv_context *own_mlx5dv_open_device(struct ibv_context *(*behind)(struct ibv_device *,
										void *),
						  struct ibv_device *device, void *attr)
{
	return patch_context(behind(device, attr));
}

static struct ibv_cq_ex *
own_create_cq_ex(struct ibv_cq_ex *(*behind)(struct ibv_context *, struct ibv_cq_init_attr_ex *),
		 struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct ibv_cq_ex *cq = behind(context, attr);

	if (cq)
		polls_patch_ex(cq);
	return cq;
}

/* A queue pair that was at this address had requests that were never polled. */
static struct ibv_qp *own_create_qp(struct ibv_qp *(*behind)(struct ibv_pd *,
							     struct ibv_qp_init_attr *),
				    struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp = behind(pd, attr);

	doomed_forget(qp);
	builders_forget(qp);
	return qp;
}

static struct ibv_qp_ex *find_builders(struct ibv_qp *qp)
{
	struct ibv_qp_ex *(*find)(struct ibv_qp *);

	next_symbol(VERB_qp_to_qp_ex);
	find = behind_verb(VERB_qp_to_qp_ex);
	return find ? find(qp) : NULL;
}

static struct ibv_qp *
own_create_qp_ex(struct ibv_qp *(*behind)(struct ibv_context *, struct ibv_qp_init_attr_ex *),
		 struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp = behind(context, attr);
	struct ibv_qp_ex *ex = NULL;
	int saved = errno;

	doomed_forget(qp);
	if (qp && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		ex = find_builders(qp);
	if (ex)
		builders_patch(ex);
	errno = saved;
	return qp;
}

static int own_modify_qp(int (*behind)(struct ibv_qp *, struct ibv_qp_attr *, int),
			 struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_ex was;
	bool builders = builders_save(qp, &was);
	int ret = behind(qp, attr, mask);

	if (builders)
		builders_again(qp, &was);
	if (!ret && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET)
		doomed_forget(qp);
	return ret;
}

static int own_destroy_qp(int (*behind)(struct ibv_qp *), struct ibv_qp *qp)
{
	int ret = behind(qp);

	if (!ret)
		doomed_forget(qp);
	return ret;
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

static void patch_pointers(struct ibv_context *context, struct behind_context *behind)
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
	struct behind_context *behind;
	int saved = errno;

	if (!context)
		return NULL;
	recording_lock();
	behind = behind_add(context);
	if (behind)
		patch_pointers(context, behind);
	recording_unlock();
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

static void *stand_before(enum verb verb, void *at)
{
	if (!plan_is_on())
		return at;
	atomic_store_explicit(&behind_verbs[verb], at, memory_order_relaxed);
	return find_faulty(verb);
}

REGISTER(next_tamper, stand_before)
