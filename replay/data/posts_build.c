/*
 * Rebuilding requests that were built by ibv_wr_*()
 */
#include "replay/device/builder.h"
#include "replay/data/posting.h"
#include "replay/process/process.h"

bool posts_are_built(const struct post_in_progress *p)
{
	const struct post *post = p->post;
	const struct ibv_qp_ex *qp;

	if (post->verb != VERB_wr_complete && post->verb != VERB_wr_abort)
		return false;
	qp = process_qp_ex(p->replica->handle);
	for (uint32_t i = 0; qp && i < post->nwr; i++)
		if (!builder_has(qp, post->wr[i].opcode, p->replica->qp->flushes))
			return false;
	return qp && qp->wr_start && qp->wr_complete && qp->wr_abort;
}

int posts_build(struct post_in_progress *p)
{
	return process_build(p->replica->handle, p->wrs->send, p->post->nwr, p->wrs->bufs,
			     p->post->verb == VERB_wr_complete);
}
