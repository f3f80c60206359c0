/*
 * Whether a key allows what a request does, in the order in which devices check it
 *
 * 	key: alive? --> domain --> window: bound? --> range --> access
 *
 * The bind of a window counts only if it precedes the post by more than the clocks of the two
 * processes may differ; otherwise the range and access of the window are not known.
 */
#include "analyzer/model/key_judge.h"

#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/window.h"

uint32_t keys_qp_lacks(const struct life *qp, uint32_t needed)
{
	return qp && qp->qp && qp->qp->set & ABI_QP_ACCESS_FLAGS ? needed & ~qp->qp->access : 0;
}

struct key_use keys_remote_use(const struct queue *queue, const struct queue_request *request)
{
	struct key_use use = { .addr = request->remote_addr,
			       .needed = operation_needs_remote(request->opcode),
			       .posted = request->time };

	for (uint32_t i = 0; i < request->nsge; i++)
		use.length += queue_sge(queue, request, i)->length;
	return use;
}

static enum key_fault find_lifetime_fault(const struct model *model, const struct key *key,
					  const struct key_use *use)
{
	bool window = key->kind == OBJECT_mw;
	enum window_state state = window ? window_state(model, key) : WINDOW_BOUND;
	int64_t certain = use->judged - use->slack;

	if (state == WINDOW_INVALID && key->invalid.at.time < certain)
		return KEY_INVALID;
	if (key->state == KEY_CHANGING || key->created.time > certain ||
	    (key->state == KEY_DEAD && key->destroyed.time > certain))
		return KEY_UNCERTAIN;
	if (key->state == KEY_DEAD)
		return KEY_GONE;
	return state == WINDOW_UNBOUND ? KEY_UNBOUND : KEY_FITS;
}

static bool find_range(const struct model *model, const struct key *key, const struct key_use *use,
		       struct key *ret_range)
{
	if (key->kind == OBJECT_mw)
		return window_make_key(model, key, use->posted - use->slack, ret_range);
	*ret_range = *key;
	return true;
}

static enum key_fault find_first_fault(const struct key_judgement *judgement)
{
	if (judgement->life != KEY_FITS && judgement->life != KEY_UNBOUND)
		return judgement->life;
	if (judgement->other_pd)
		return KEY_OTHER_PD;
	if (judgement->life == KEY_UNBOUND)
		return KEY_UNBOUND;
	if (judgement->outside)
		return KEY_OUTSIDE;
	return judgement->missing ? KEY_NO_ACCESS : KEY_FITS;
}

void key_judge(const struct model *model, const struct key *key, const struct key_use *use,
	       struct key_judgement *ret)
{
	*ret = (struct key_judgement){ .fault = KEY_UNKNOWN, .life = KEY_UNKNOWN };
	if (!key)
		return;
	ret->life = find_lifetime_fault(model, key, use);
	ret->same_pd = key->pd && key->pd == use->pd;
	ret->other_pd = key->pd && use->pd && key->pd != use->pd;
	ret->ranged = find_range(model, key, use, &ret->range);
	if (ret->ranged) {
		ret->outside = !key_holds(&ret->range, use->addr, use->length);
		ret->missing = use->needed & ~ret->range.access;
	}
	ret->fault = find_first_fault(ret);
}
