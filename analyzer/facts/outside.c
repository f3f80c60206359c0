/*
 * Why a process may have failed although no verb did
 *
 * Two programs exchange the numbers of their queue pairs without verbs: by a name, a TCP port, a
 * file. A failure of that exchange is not in the trace, but until it succeeds the queue pairs stay
 * in INIT, whatever was posted to them. What librdmacm connects is in the trace, so a missing call
 * shows.
 */
#include "analyzer/facts/outside.h"

#include <stdio.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model.h"
#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "core/base/span.h"
#include "core/base/text.h"

struct unconnected_qps {
	const struct life *first;
	unsigned int n;
};

/*
 * Is @life a queue pair that librdmacm does not connect? librdmacm reports failures of those it
 * connects.
 */
static bool is_unconnected(const struct life *life)
{
	int state =
		life->kind == OBJECT_qp && life->state == LIFE_LIVE ? qp_state(life) : QP_UNKNOWN;

	return (state == ABI_QPS_RESET || state == ABI_QPS_INIT) && !life->inherited &&
	       !life->borrowed && !life->qp->shared;
}

static struct unconnected_qps find_unconnected(const struct model *model, uint32_t process)
{
	struct unconnected_qps found = { 0 };
	const struct life *life = NULL;

	while ((life = model_next_life(model, process, life)))
		if (is_unconnected(life)) {
			found.n++;
			if (!found.first || life->number < found.first->number)
				found.first = life;
		}
	return found;
}

/* Report an ibv_modify_qp() that failed. */
static void put_refused(struct text *t, const struct life *life)
{
	const struct qp *qp = life->qp;
	const char *name = strerrorname_np(qp->refused_error);
	char id[32];

	text_addf(t, " still in %s, since ibv_modify_qp(%s -> %s), %s, failed with %s",
		  qp_state_name(qp_state(life)), life->name, qp_state_name(qp->refused_to),
		  event_id_text(qp->refused.id, id), name ?: "an error");
}

static const struct life *find_id(const struct life *qp)
{
	const struct life_link *link = qp->parents;

	while (link && link->parent->kind != OBJECT_cm_id)
		link = link->next_parent;
	return link ? link->parent : NULL;
}

/* Is @id a connection request of queue pair @number that was not answered? */
static bool is_unanswered(const struct life *id, uint32_t number)
{
	return id->kind == OBJECT_cm_id && id->state == LIFE_LIVE && id->asked == number &&
	       !id->cm_call.id.thread && !id->inherited;
}

/*
 * The connection request of @qp, at the process that received it; NULL: there is none, or several.
 */
static const struct life *find_connection_request(const struct model *model, const struct life *qp)
{
	const struct life *found = NULL, *life = NULL;

	for (uint32_t p = 1; qp->number && trace_process(model->trace, p); p++)
		while ((life = model_next_life(model, p, life))) {
			if (!is_unanswered(life, qp->number))
				continue;
			if (found)
				return NULL;
			found = life;
		}
	return found;
}

/* The connection request of the identifier of @qp, and the end that did not answer it. */
static void put_cm_request(struct text *t, const struct model *model, const struct life *id,
			   const struct life *qp)
{
	const struct life *request = find_connection_request(model, qp);
	char at[32], got[32], process[PROCESS_TEXT];

	if (is_unanswered(id, id->asked) && id->asked) {
		text_addf(t,
			  "; its identifier %s, a connection request at %s, was neither accepted "
			  "nor rejected",
			  id->name, event_id_text(id->created.id, at));
		return;
	}
	if (!id->cm_call.id.thread) {
		text_addf(t,
			  "; neither rdma_connect() nor rdma_accept() of its identifier %s was "
			  "called",
			  id->name);
		return;
	}
	text_addf(t, "; %s() of its identifier %s was called at %s, and no connection established",
		  verb_infos[id->cm_call.verb].name, id->name, event_id_text(id->cm_call.id, at));
	if (request && id->cm_call.verb == VERB_rdma_connect)
		text_addf(t, ": %s got the request at %s, %s, and neither accepted nor rejected it",
			  process_id_text(request->process, process),
			  event_id_text(request->created.id, got), request->name);
}

static void put_unconnected(struct text *t, const struct model *model,
			    const struct unconnected_qps *found)
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
	if (find_id(life)) {
		text_addf(t, " still in %s", qp_state_name(qp_state(life)));
		put_cm_request(t, model, find_id(life), life);
		return;
	}
	text_addf(t,
		  " still in %s, without an ibv_modify_qp() to RTR%s: the data that programs "
		  "exchange before it (host, TCP port, numbers) is not in the trace",
		  qp_state_name(qp_state(life)), wants);
}

/* The last identifier of @process that was destroyed before its rdma_connect() had an answer. */
static const struct life *find_given_up(const struct model *model, uint32_t process)
{
	const struct life *id = model->lives.dead_newest;

	while (id && (id->kind != OBJECT_cm_id || id->process != process || !id->resolved ||
		      id->cm_call.verb != VERB_rdma_connect || id->got.time > id->cm_call.time ||
		      !id->destroyed.id.thread))
		id = id->older;
	return id;
}

static void put_given_up(struct text *t, const struct life *id)
{
	char called[32], gone[32], span[SPAN_TEXT];

	text_addf(t,
		  "; rdma_connect() of %s, %s, had no event when %s() at %s gave it up, %s later",
		  id->name, event_id_text(id->cm_call.id, called),
		  verb_infos[id->destroyed.verb].name, event_id_text(id->destroyed.id, gone),
		  span_text(id->destroyed.time - id->cm_call.time, span));
}

/* A queue pair of @process that the program itself has moved to ERR; NULL: none. */
static const struct life *find_flushed(const struct model *model, uint32_t process)
{
	const struct life *life = NULL;

	while ((life = model_next_life(model, process, life)))
		if (life->kind == OBJECT_qp && life->state == LIFE_LIVE && !life->inherited &&
		    life->qp && qp_state(life) == ABI_QPS_ERR &&
		    life->qp->moved.verb == VERB_modify_qp)
			return life;
	return NULL;
}

static void put_flushed(struct text *t, const struct life *qp)
{
	char at[32];

	text_addf(t, "; %s was moved to ERR by ibv_modify_qp() at %s, which flushes its requests",
		  qp->name, event_id_text(qp->qp->moved.id, at));
}

char *outside_describe_cause(const struct model *model, uint32_t process, bool exited,
			     const char *expected)
{
	const struct life *given_up = exited ? find_given_up(model, process) : NULL;
	const struct life *flushed = exited ? find_flushed(model, process) : NULL;
	struct unconnected_qps found = find_unconnected(model, process);
	struct text t = { 0 };

	if (exited && expected)
		text_addf(&t,
			  "its last failed verb: %s; many programs expect this failure, this one "
			  "may not%s",
			  expected, found.n ? "; " : "");
	else if (exited)
		text_addf(&t, "none of its recorded verbs failed%s", found.n ? "; " : "");
	if (found.n)
		put_unconnected(&t, model, &found);
	if (given_up)
		put_given_up(&t, given_up);
	if (flushed)
		put_flushed(&t, flushed);
	if (exited)
		text_addf(&t, ": see its output");
	if (!t.failed)
		return t.at;
	text_fini(&t);
	return NULL;
}
