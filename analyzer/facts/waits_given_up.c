/*
 * Waits that a process gave up, to connect again
 *
 *	process		--- empty polls --- destroy, RESET or ERR; sends again
 *	the peer	--- empty polls ---
 *
 * Both ends had receives and no message in flight. That alone may be an idle connection; but this
 * process had something to send, since it does as soon as it has another connection.
 */
#include "analyzer/facts/waits_priv.h"
#include "analyzer/model/last_verb.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "core/base/vec.h"

enum { RESUME_NS = 1000000000 };

/* Ensure that @process has an entry. Entries may move. False: out of memory. */
static bool make_given_up(struct waits *waits, uint32_t process)
{
	const struct wait_given_up *made = vec_at(waits->given_up, waits->ngiven_up, process);

	return made != NULL;
}

/* Remember a wait, until later polls show whether both ends polled. */
static void store_given_up(struct waits *waits, uint32_t process, struct wait_given_up *new)
{
	struct wait_given_up *own = NULL;

	if (new->late.both && make_given_up(waits, process) &&
	    make_given_up(waits, new->late.process))
		own = &waits->given_up[process];
	if (!own || own->late.end - own->quiet > new->late.end - new->quiet) {
		activity_drop(&new->late.theirs);
		return;
	}
	activity_drop(&own->late.theirs);
	new->peer_of = own->peer_of;
	*own = *new;
	waits->given_up[new->late.process].peer_of = process;
}

/* The process leaves the connection of @qp: have both ends waited for each other? */
static void note_given_up(struct waits *waits, struct model *model, struct life *qp, int64_t time)
{
	struct wait_given_up new = { .quiet = last_verb_progress(model, qp->process) };
	struct activity_note note = { 0 };

	if (time - new.quiet < PATIENCE_NS || !qp->qp || !qp->rq || qp->rq->owner != qp ||
	    qp->rq->doubt || !qp->rq->outstanding || (qp->sq && qp->sq->outstanding))
		return;
	activity_store_sleep(waits->activity, model, qp->process, time, &note);
	waits_fill(waits, &new.late, model, qp->rq, NULL, &note);
	new.last = note.last;
	activity_drop(&note);
	store_given_up(waits, qp->process, &new);
}

static struct life *find_qp_argument(const struct model *model, const struct trace_event *event)
{
	struct life *qp = model_life(model, event->process, OBJECT_qp, event->call->handle);

	return qp && !qp->inherited ? qp : NULL;
}

/* The state that the call changes to; ERR for a destroy, which flushes as well. */
static int find_new_state(const struct life *qp, const struct call *call)
{
	if (call->verb != VERB_modify_qp)
		return ABI_QPS_ERR;
	return qp->qp && call->args ? qp_read_change(qp, call->args).to : QP_UNKNOWN;
}

void waits_leave(struct waits *waits, struct model *model, const struct trace_event *event)
{
	struct life *qp = find_qp_argument(model, event);
	int state = qp ? find_new_state(qp, event->call) : QP_UNKNOWN;

	if (state == ABI_QPS_RESET || state == ABI_QPS_ERR)
		note_given_up(waits, model, qp, event->time);
}

void waits_resume(struct waits *waits, const struct trace_event *event)
{
	struct wait_given_up *own =
		event->process < waits->ngiven_up ? &waits->given_up[event->process] : NULL;

	if (own && own->late.end && event->time - own->late.end < RESUME_NS)
		own->resumed = true;
}

/* The process may have given up its own wait, and may be the peer of a process that gave up. */
void waits_poll(struct waits *waits, const struct trace_event *event)
{
	struct wait_given_up *own =
		event->process < waits->ngiven_up ? &waits->given_up[event->process] : NULL;
	struct wait_given_up *other = own && own->peer_of ? &waits->given_up[own->peer_of] : NULL;

	if (own && !own->polled && event->poll->object == own->late.cq.id) {
		own->empty = event->poll->empty;
		own->polled = true;
	}
	if (other && !other->they_polled) {
		other->their_empty = event->poll->empty;
		other->they_polled = true;
	}
}
