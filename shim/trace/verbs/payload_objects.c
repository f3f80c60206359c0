/*
 * The effects of control verbs on payload capture
 *
 * If another thread uses an object between the device's answer and this hook, its state remains
 * unknown: then its payload is not captured, and that is reported.
 */
#include "shim/trace/verbs/payload_objects.h"

#include <errno.h>

#include "shim/trace/objects/endpoints.h"
#include "shim/trace/objects/keys.h"
#include "shim/trace/objects/pollers.h"
#include "shim/trace/objects/ranges.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/memory.h"
#include "shim/trace/payload/payload.h"

static const void *get_argument(const struct call *call, int i)
{
	return (const void *)(uintptr_t)call->args[i];
}

void payload_note_qp(const struct call *call, const struct ibv_qp *qp)
{
	const struct ibv_qp_init_attr *attr = get_argument(call, 1);
	int saved = errno;

	if (payload_on && qp)
		endpoints_add_qp(qp, &attr->cap, attr->sq_sig_all,
				 qp->qp_type != IBV_QPT_XRC_RECV &&
					 qp->qp_type != IBV_QPT_XRC_SEND);
	errno = saved;
}

void payload_note_qp_ex(const struct call *call, const struct ibv_qp *qp)
{
	const struct ibv_qp_init_attr_ex *attr = get_argument(call, 1);
	int saved = errno;

	if (payload_on && qp)
		endpoints_add_qp(qp, &attr->cap, attr->sq_sig_all,
				 qp->qp_type != IBV_QPT_XRC_RECV &&
					 qp->qp_type != IBV_QPT_XRC_SEND &&
					 !(attr->comp_mask & IBV_QP_INIT_ATTR_IND_TABLE));
	errno = saved;
}

/* The receiving end of an XRC connection was opened: its receives are in SRQs. */
void payload_note_opened_qp(const struct call *call, const struct ibv_qp *qp)
{
	static const struct ibv_qp_cap none;
	int saved = errno;

	(void)call;
	if (payload_on && qp)
		endpoints_add_qp(qp, &none, false, false);
	errno = saved;
}

void payload_note_modified_qp(const struct call *call, int ret)
{
	const struct ibv_qp_attr *attr = get_argument(call, 1);
	struct endpoint *e;

	if (!payload_on || ret || !(call->args[2] & IBV_QP_STATE) ||
	    attr->qp_state != IBV_QPS_RESET)
		return;
	e = endpoints_find(get_argument(call, 0));
	if (!e)
		return;
	queue_clear(&e->send);
	queue_clear(&e->recv);
}

void payload_note_wq(const struct call *call, const struct ibv_wq *wq)
{
	const struct ibv_wq_init_attr *attr = get_argument(call, 1);
	int saved = errno;

	if (payload_on && wq)
		endpoints_add_wq(wq, attr->max_wr, attr->max_sge);
	errno = saved;
}

void payload_note_cq(const struct ibv_cq *cq)
{
	int saved = errno;

	if (payload_on && cq)
		pollers_add(cq);
	errno = saved;
}

void hook_create_cq(const struct call *call, struct ibv_cq *cq)
{
	(void)call;
	if (strict_is_on() && cq)
		strict_note_created(cq, false);
	payload_note_cq(cq);
}

void hook_create_srq(const struct call *call, struct ibv_srq *srq)
{
	const struct ibv_srq_init_attr *attr = get_argument(call, 1);
	int saved = errno;

	if (strict_is_on() && srq)
		strict_note_created(srq, strict_has_domain(get_argument(call, 0)));
	if (payload_on && srq)
		endpoints_add_srq(srq, &attr->attr, NULL);
	errno = saved;
}

void hook_create_srq_ex(const struct call *call, struct ibv_srq *srq)
{
	const struct ibv_srq_init_attr_ex *attr = get_argument(call, 1);
	bool has_cq;
	int saved = errno;

	if (strict_is_on() && srq)
		strict_note_created(srq, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD &&
						 strict_has_domain(attr->pd));
	if (payload_on && srq) {
		has_cq = attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ;
		endpoints_add_srq(srq, &attr->attr, has_cq ? attr->cq : NULL);
	}
	errno = saved;
}

void hook_modify_srq(const struct call *call, int ret)
{
	const struct ibv_srq_attr *attr = get_argument(call, 1);
	struct endpoint *e;

	if (!payload_on || ret || !(call->args[2] & IBV_SRQ_MAX_WR))
		return;
	e = endpoints_find(get_argument(call, 0));
	if (e)
		queue_resize(&e->recv, attr->max_wr);
}

/*
 * A queue was destroyed. If another object is already at its address, the requests of that object
 * remain unknown.
 */
static void forget_queues(const struct call *call, int ret)
{
	struct endpoint *e = payload_on && !ret ? endpoints_find(get_argument(call, 0)) : NULL;

	if (!e)
		return;
	queue_begin(&e->send, 0, 0, false);
	queue_begin(&e->recv, 0, 0, false);
}

void hook_destroy_qp(const struct call *call, int ret)
{
	forget_queues(call, ret);
}

void hook_destroy_srq(const struct call *call, int ret)
{
	forget_queues(call, ret);
}

void hook_destroy_wq(const struct call *call, int ret)
{
	forget_queues(call, ret);
}

/* Are releases of registered memory recorded? */
static bool is_watched(void)
{
	return atomic_load_explicit(&ranges_on, memory_order_relaxed);
}

/*
 * Remote peers see zero-based addresses from 0; local addresses have different meanings on
 * different devices.
 */
static void add_region(const struct call *call, const struct ibv_mr *mr, uint64_t iova,
		       uint64_t access)
{
	int saved = errno;

	if (is_watched() && !(access & IBV_ACCESS_ON_DEMAND) &&
	    ranges_are_huge(call->args[1], call->args[2]))
		verbatim_memory_gone(MEMORY_HUGE, get_argument(call, 1), call->args[2]);
	if (mr && is_watched())
		ranges_add(mr, get_argument(call, 1), call->args[2]);
	if (payload_on && mr && access & IBV_ACCESS_ZERO_BASED)
		keys_remove(mr);
	else if (payload_on && mr)
		keys_add(mr, iova, get_argument(call, 1), call->args[2]);
	errno = saved;
}

void hook_reg_mr(const struct call *call, struct ibv_mr *mr)
{
	add_region(call, mr, call->args[1], call->args[3]);
}

void hook_reg_mr_iova(const struct call *call, struct ibv_mr *mr)
{
	add_region(call, mr, call->args[3], call->args[4]);
}

void hook_reg_mr_iova2(const struct call *call, struct ibv_mr *mr)
{
	add_region(call, mr, call->args[3], call->args[4]);
}

static void add_foreign(const struct ibv_mr *mr)
{
	int saved = errno;

	if (payload_on && mr)
		keys_add_foreign(mr);
	errno = saved;
}

void hook_reg_dmabuf_mr(const struct call *call, struct ibv_mr *mr)
{
	(void)call;
	add_foreign(mr);
}

void hook_reg_dm_mr(const struct call *call, struct ibv_mr *mr)
{
	(void)call;
	add_foreign(mr);
}

void hook_alloc_null_mr(const struct call *call, struct ibv_mr *mr)
{
	(void)call;
	add_foreign(mr);
}

void hook_import_mr(const struct call *call, struct ibv_mr *mr)
{
	(void)call;
	add_foreign(mr);
}

/* If ibv_rereg_mr() fails and destroys the region, its key is not valid any more. */
void hook_rereg_mr(const struct call *call, int ret)
{
	const struct ibv_mr *mr = get_argument(call, 0);
	int saved = errno;

	if (is_watched() && !ret && call->args[1] & IBV_REREG_MR_CHANGE_TRANSLATION)
		ranges_add(mr, get_argument(call, 3), call->args[4]);
	if (!payload_on || (ret && ret == IBV_REREG_MR_ERR_INPUT))
		return;
	if (ret)
		keys_remove(mr);
	else if (call->args[1] & IBV_REREG_MR_CHANGE_ACCESS &&
		 call->args[5] & IBV_ACCESS_ZERO_BASED)
		keys_remove(mr);
	else if (call->args[1] & IBV_REREG_MR_CHANGE_TRANSLATION)
		keys_add(mr, (uint64_t)(uintptr_t)mr->addr, mr->addr, mr->length);
	else
		keys_change_key(mr);
	errno = saved;
}

void hook_dereg_mr(const struct call *call, int ret)
{
	if (is_watched() && !ret)
		ranges_remove(get_argument(call, 0));
	if (payload_on && !ret)
		keys_remove(get_argument(call, 0));
}

void hook_unimport_mr(const struct call *call)
{
	if (payload_on)
		keys_remove(get_argument(call, 0));
}
