/*
 * The exported verbs, and those of struct verbs_context
 *
 * They are generated from the list: each writes the event of its begin, calls the provider's
 * function, and writes the event of its return (gen/wrappers_gen.h). The hooks, which run after
 * that, are written by hand.
 *
 * A context is patched in place when it is opened: its pointers are replaced, and the provider's
 * are stored in the table of contexts (context.h).
 */
#include "shim/trace/verbs/wrappers.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/trace/base/next.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/undo.h"
#include "shim/trace/interpose/import.h"
#include "shim/trace/objects/descriptors.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/verbs/call.h"
#include "shim/trace/verbs/context.h"
#include "shim/trace/verbs/data.h"
#include "shim/trace/verbs/filter.h"
#include "shim/trace/verbs/payload_objects.h"
#include "shim/trace/verbs/poll.h"
#include "shim/trace/verbs/poll_ex.h"
#include "shim/trace/verbs/qp_ex.h"
#include "shim/trace/verbs/strict_cq.h"
#include "shim/trace/verbs/wq_dm.h"

#include "gen/later_gen.h"

/* Functions for libraries close to libibverbs: exported, but in no public header. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static void hook_open_device(const struct call *call, struct ibv_context *context);
static void hook_import_device(const struct call *call, struct ibv_context *context);
static void hook_close_device(const struct call *call, int ret);
static void hook_create_comp_channel(const struct call *call, struct ibv_comp_channel *channel);
static void hook_destroy_comp_channel(const struct call *call, int ret);
static void hook_destroy_cq(const struct call *call, int ret);
static void hook_qp_to_qp_ex(const struct call *call, struct ibv_qp_ex *qp);
static void hook_create_qp(const struct call *call, struct ibv_qp *qp);
static void hook_create_qp_ex(const struct call *call, struct ibv_qp *qp);
static void hook_open_qp(const struct call *call, struct ibv_qp *qp);
static void hook_modify_qp(const struct call *call, int ret);
static void hook_create_cq_ex(const struct call *call, struct ibv_cq_ex *cq);
static void hook_create_wq(const struct call *call, struct ibv_wq *wq);
static void hook_alloc_dm(const struct call *call, struct ibv_dm *dm);
static void hook_alloc_parent_domain(const struct call *call, struct ibv_pd *pd);
static void hook_import_dm(const struct call *call, struct ibv_dm *dm);

/* Providers' own calls have the relevant arguments in the same positions as the verbs. */
#define hook_mlx5dv_open_device     hook_open_device
#define hook_mlx5dv_create_cq       hook_create_cq_ex
#define hook_mlx5dv_create_qp       hook_create_qp_ex
#define hook_mlx5dv_create_wq       hook_create_wq
#define hook_mlx5dv_alloc_dm        hook_alloc_dm
#define hook_mlx4dv_create_qp       hook_create_qp_ex
#define hook_efadv_create_driver_qp hook_create_qp
#define hook_efadv_create_qp_ex     hook_create_qp_ex
#define hook_efadv_create_cq        hook_create_cq_ex

#include "gen/wrappers_gen.h"

/* A slot exists only if the provider's structure is long enough. */
#define PATCH_VCTX(slot, verb)                                                                \
	if (vctx->sz >= sizeof(*vctx) - offsetof(struct verbs_context, slot) && vctx->slot && \
	    vctx->slot != vctx_##verb) {                                                      \
		next->vctx.slot = vctx->slot;                                                 \
		undo_note((void **)&vctx->slot);                                              \
		vctx->slot = vctx_##verb;                                                     \
	}

#define PATCH_OPS(slot, verb)                                       \
	if (context->ops.slot && context->ops.slot != ops_##verb) { \
		next->ops.slot = context->ops.slot;                 \
		undo_note((void **)&context->ops.slot);             \
		context->ops.slot = ops_##verb;                     \
	}

static int patch_pointers(struct ibv_context *context, struct context_next *next)
{
	struct verbs_context *vctx = verbs_get_ctx(context);

	CONTROL_OPS(PATCH_OPS)
	if (vctx) {
		CONTROL_VCTX(PATCH_VCTX)
	}
	return data_patch(&context->ops);
}

int wrappers_patch(struct ibv_context *context)
{
	struct context *known;
	int err = -ENOMEM;

	recording_lock();
	known = context_get(context);
	if (known)
		err = patch_pointers(context, &known->next);
	recording_unlock();
	return err;
}

enum { SNAPSHOT_GIDS = 256 };

static void snapshot_gids(struct ibv_context *context)
{
	struct ibv_gid_entry *gids = permit_alloc(SNAPSHOT_GIDS, sizeof(*gids));

	if (gids && next_symbol(VERB_query_gid_table))
		_ibv_query_gid_table(context, gids, SNAPSHOT_GIDS, 0, sizeof(*gids));
	free(gids);
}

/*
 * Record the state of the device (attributes, ports, GIDs) by calling the
 * recorded verbs themselves.
 */
static void snapshot_device(struct ibv_context *context)
{
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex attr_ex;
	struct ibv_port_attr port;
	int saved = errno;
	int ports = 0;

	recorder.ours = EVENT_OURS;
	if (!ibv_query_device_ex(context, NULL, &attr_ex))
		ports = attr_ex.phys_port_cnt_ex ? (int)attr_ex.phys_port_cnt_ex
						 : attr_ex.orig_attr.phys_port_cnt;
	else if (!ibv_query_device(context, &attr))
		ports = attr.phys_port_cnt;
	for (int i = 1; i <= ports && i <= UINT8_MAX; i++)
		ibv_query_port(context, (uint8_t)i, &port);
	snapshot_gids(context);
	recorder.ours = 0;
	errno = saved;
}

static void patch_opened(struct ibv_context *context)
{
	int saved = errno;

	if (!context || !record_ready())
		return;
	descriptors_add(context, context->cmd_fd);
	descriptors_add(context, context->async_fd);
	if (wrappers_patch(context))
		record_report_blind(BLIND_PROVIDERS, context);
	if (!recorder.ours && !recorder.depth && permit_has(NEED_DEVICE))
		snapshot_device(context);
	errno = saved;
}

static void hook_open_device(const struct call *call, struct ibv_context *context)
{
	(void)call;
	patch_opened(context);
}

static void hook_import_device(const struct call *call, struct ibv_context *context)
{
	(void)call;
	patch_opened(context);
}

static void hook_close_device(const struct call *call, int ret)
{
	if (!ret)
		descriptors_remove((const void *)(uintptr_t)call->args[0]);
}

static void hook_create_comp_channel(const struct call *call, struct ibv_comp_channel *channel)
{
	(void)call;
	if (channel)
		descriptors_add(channel, channel->fd);
}

static void hook_destroy_comp_channel(const struct call *call, int ret)
{
	if (!ret)
		descriptors_remove((const void *)(uintptr_t)call->args[0]);
}

static void hook_destroy_cq(const struct call *call, int ret)
{
	if (!ret)
		poll_forget((const struct ibv_cq *)(uintptr_t)call->args[0]);
}

static void watch_builders(struct ibv_qp *qp, struct ibv_qp_ex *ex, uint64_t ops)
{
	int saved = errno;

	if (ex && qp_ex_watch(qp, ex, ops))
		record_report_blind(BLIND_EXTENDED_QP, qp);
	errno = saved;
}

/* Forget another queue pair that was at this address. @pd: its domain; NULL: it has none. */
static void forget_qp_before(const struct ibv_qp *qp, const struct ibv_pd *pd)
{
	qp_ex_forget(qp);
	filter_note_qp(qp);
	if (strict_is_on() && qp)
		strict_note_created(qp, strict_has_domain(pd));
}

static void hook_alloc_parent_domain(const struct call *call, struct ibv_pd *pd)
{
	const struct ibv_parent_domain_init_attr *attr = (const void *)(uintptr_t)call->args[1];

	if (strict_is_on() && pd)
		strict_note_created(pd, attr->td != NULL);
}

static void hook_create_qp(const struct call *call, struct ibv_qp *qp)
{
	forget_qp_before(qp, (const void *)(uintptr_t)call->args[0]);
	payload_note_qp(call, qp);
}

static void hook_open_qp(const struct call *call, struct ibv_qp *qp)
{
	forget_qp_before(qp, NULL);
	payload_note_opened_qp(call, qp);
}

static void hook_create_qp_ex(const struct call *call, struct ibv_qp *qp)
{
	const struct ibv_qp_init_attr_ex *attr = (const void *)(uintptr_t)call->args[1];
	struct ibv_qp_ex *(*find)(struct ibv_qp *) = next_symbol(VERB_qp_to_qp_ex);

	forget_qp_before(qp, attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL);
	if (qp && find && attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		watch_builders(qp, find(qp), attr->send_ops_flags);
	payload_note_qp_ex(call, qp);
}

static void hook_modify_qp(const struct call *call, int ret)
{
	const struct ibv_qp *qp = (const void *)(uintptr_t)call->args[0];

	if (!ret && qp_ex_repatch(qp))
		record_report_blind(BLIND_EXTENDED_QP, qp);
	payload_note_modified_qp(call, ret);
}

/* A queue pair that a provider's own call has created, which is not recorded. */
static void hook_qp_to_qp_ex(const struct call *call, struct ibv_qp_ex *ex)
{
	struct ibv_qp *qp = (void *)(uintptr_t)call->args[0];

	if (ex && ex->wr_start && !qp_ex_watched(qp))
		watch_builders(qp, ex, QP_EX_UNKNOWN);
}

static bool is_for_one_thread(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return true;
	return attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && strict_has_domain(attr->parent_domain);
}

static void hook_create_cq_ex(const struct call *call, struct ibv_cq_ex *cq)
{
	const struct ibv_cq_init_attr_ex *attr = (const void *)(uintptr_t)call->args[1];

	if (cq && poll_ex_patch(cq, attr->wc_flags))
		record_report_blind(BLIND_EXTENDED_CQ, cq);
	if (cq && strict_is_on() && strict_note_created(cq, is_for_one_thread(attr)))
		strict_cq_patch(cq, attr->wc_flags);
	if (cq)
		payload_note_cq(ibv_cq_ex_to_cq(cq));
}

static void hook_create_wq(const struct call *call, struct ibv_wq *wq)
{
	if (wq && wq_patch(wq))
		record_report_blind(BLIND_WQ, wq);
	payload_note_wq(call, wq);
}

static void hook_alloc_dm(const struct call *call, struct ibv_dm *dm)
{
	(void)call;
	if (dm && dm_patch(dm))
		record_report_blind(BLIND_DM, dm);
}

static void hook_import_dm(const struct call *call, struct ibv_dm *dm)
{
	hook_alloc_dm(call, dm);
}
