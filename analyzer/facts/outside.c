/*
 * Why a process may have failed although no verb did
 *
 * Two programs exchange the numbers of their queue pairs without verbs: by a name, a TCP port, a
 * file. A failure of that is not in the trace. But until it has succeeded the queue pairs stay in
 * INIT, whatever was posted to them.
 */
#include "analyzer/facts/outside.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "core/base/text.h"

struct unconnected {
	const struct life *first;
	unsigned int n;
};

/* One that librdmacm does not connect: librdmacm reports itself why it failed. */
static bool is_unconnected(const struct life *life)
{
	int state =
		life->kind == OBJECT_qp && life->state == LIFE_LIVE ? qp_state(life) : QP_UNKNOWN;

	return (state == ABI_QPS_RESET || state == ABI_QPS_INIT) && !life->inherited &&
	       !life->borrowed && !life->qp->shared;
}

static struct unconnected find_unconnected(const struct model *model, uint32_t process)
{
	struct unconnected found = { 0 };
	const struct life *life = NULL;

	while ((life = model_next_life(model, process, life)))
		if (is_unconnected(life)) {
			found.n++;
			if (!found.first || life->number < found.first->number)
				found.first = life;
		}
	return found;
}

/* It was tried. */
static void put_refused(struct text *t, const struct life *life)
{
	const struct qp *qp = life->qp;
	const char *name = strerrorname_np(qp->refused_error);
	char id[32];

	text_addf(t, " still in %s, since ibv_modify_qp(%s -> %s), %s, failed with %s",
		  qp_state_name(qp_state(life)), life->name, qp_state_name(qp->refused_to),
		  event_id_text(qp->refused.id, id), name ?: "an error");
}

static void put_unconnected(struct text *t, const struct unconnected *found)
{
	const struct life *life = found->first;
	const char *wants = life->qp->type == ABI_QPT_UD ? "" : " with the number of its peer";

	if (found->n > 1)
		text_addf(t, "%u queue pairs, the first %s, were", found->n, life->name);
	else
		text_addf(t, "%s was", life->name);
	if (life->qp->refused.id.thread && life->qp->refused_to >= 0) {
		put_refused(t, life);
		return;
	}
	text_addf(t,
		  " still in %s, without an ibv_modify_qp() to RTR%s: the data that programs "
		  "exchange before it (host, TCP port, numbers) is not in the trace",
		  qp_state_name(qp_state(life)), wants);
}

char *outside_cause(const struct model *model, uint32_t process, bool exited, const char *expected)
{
	struct unconnected found = find_unconnected(model, process);
	struct text t = { 0 };

	if (exited && expected)
		text_addf(&t,
			  "its last failed verb: %s; many programs expect this failure, this one "
			  "may not%s",
			  expected, found.n ? "; " : "");
	else if (exited)
		text_addf(&t, "no recorded verb of it failed%s", found.n ? "; " : "");
	if (found.n)
		put_unconnected(&t, &found);
	if (exited)
		text_addf(&t, ": see its output");
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}
