/*
 * MKEY-005: memory that is deregistered, or replaced by ibv_rereg_mr(), under outstanding work
 *
 * It is an error if the request will have a completion that was not polled yet. It is a hazard if
 * the trace leaves open whether the device still uses the memory: a receive does no harm until a
 * message comes, and an unsignalled send may be done.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/key.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/mkey_text.h"

enum { LOC_PROT_ERR = ABI_WC_LOC_PROT_ERR };

/* A change of a region. */
struct region_change {
	const struct life *mr;
	const struct key *key; /* the key as it is now */
	uint32_t lkey;         /* its lkey before the change */
	bool stays;            /* requests may still use memory in its new range */
	bool any;              /* requests that use any of its memory count */
	struct moment at;
	const char *what; /* "deregistered" */
};

/* Outstanding requests of one kind that use a region. */
struct in_flight {
	const struct region_change *change;
	bool (*is_kind)(const struct queue *queue, const struct queue_request *request);
	uint64_t n;
	struct model_key first;
};

static int state_of(const struct life *life)
{
	return life ? qp_state(life) : QP_UNKNOWN;
}

/* Will the request have a completion, and is the device still executing it? */
static bool is_signalled(const struct queue *queue, const struct queue_request *request)
{
	int state = state_of(queue->owner);

	return queue->send && request->signalled && (state == ABI_QPS_RTS || state == ABI_QPS_SQD);
}

/*
 * Is @request an unsignalled send of which no completion or reply polled since shows that it is
 * done?
 */
static bool is_unsignalled(const struct queue *queue, const struct queue_request *request)
{
	const struct life *qp = queue->owner;

	return queue->send && !request->signalled && state_of(qp) == ABI_QPS_RTS &&
	       request->time > queue->polled && (!qp->rq || request->time > qp->rq->polled);
}

static bool takes_messages(const struct life *qp)
{
	int state = state_of(qp);

	return state >= ABI_QPS_RTR && state <= ABI_QPS_SQE;
}

/* May a message still arrive for the receive? */
static bool is_receive(const struct queue *queue, const struct queue_request *request)
{
	const struct life *owner = queue->owner;

	(void)request;
	if (queue->send || !owner)
		return false;
	if (owner->kind != OBJECT_srq)
		return takes_messages(owner);
	for (struct life_link *link = owner->children; link; link = link->next_child)
		if (link->child->kind == OBJECT_qp && link->child->state == LIFE_LIVE &&
		    takes_messages(link->child))
			return true;
	return false;
}

/* Does the element name memory that the region had, and no longer has? */
static bool names_lost_memory(const struct region_change *change, const struct sge *sge)
{
	return sge->lkey == change->lkey && sge->length &&
	       (change->any || !(change->stays && key_holds(change->key, sge->addr, sge->length)));
}

static bool count_request(void *arg, const struct queue *queue, const struct queue_request *request)
{
	struct in_flight *found = arg;
	const struct region_change *change = found->change;

	if (queue->doubt || request->time >= change->at.time ||
	    queue->owner->context != change->key->context || !found->is_kind(queue, request) ||
	    request->flags & ABI_SEND_INLINE)
		return false;
	for (uint32_t i = 0; i < request->nsge; i++) {
		if (!names_lost_memory(change, queue_sge(queue, request, i)))
			continue;
		if (!found->n++)
			found->first = (struct model_key){
				.at = queue_moment(queue, request),
				.queue = queue->owner,
				.index = request->index,
				.sge = (int)i,
				.opcode = request->opcode,
			};
		return false;
	}
	return false;
}

static void describe_in_flight(struct finding *finding, const struct in_flight *found)
{
	const struct region_change *change = found->change;
	char name[64], place[TEXT], id[32], when[32];

	finding_text(&finding->says,
		     "%s was %s while %" PRIu64 " request%s that use%s it %s "
		     "outstanding on %s: %s of %s at %s, %s earlier, had not completed.",
		     object_name_text(change->mr, name, sizeof(name)), change->what, found->n,
		     found->n == 1 ? "" : "s", found->n == 1 ? "s" : "",
		     found->n == 1 ? "was" : "were", found->first.queue->name,
		     key_place(&found->first, place), key_request(found->first.opcode),
		     event_id_text(found->first.at.id, id),
		     words_format_span(change->at.time - found->first.at.time, when));
	finding_step(finding, "registered", &change->mr->created);
	finding_step(finding, "posted", &found->first.at);
	finding_step(finding, change->what, &change->at);
}

static void report_hazard(struct check *check, const struct in_flight *found, const char *breaks)
{
	struct finding *finding;

	if (!found->n)
		return;
	finding =
		check_add_hazard(check, RULE_MKEY_005, &found->change->at, found->change->mr, "mr");
	if (!finding)
		return;
	describe_in_flight(finding, found);
	finding_text(&finding->breaks, "%s", breaks);
}

static struct in_flight find_requests(struct check *check, const struct region_change *change,
				      bool (*is_kind)(const struct queue *queue,
						      const struct queue_request *request))
{
	struct in_flight found = { .change = change, .is_kind = is_kind };

	queues_each(check->model, change->mr->process, count_request, &found);
	return found;
}

/* Requests to which the change makes no difference, if the device makes it in one step. */
static void judge_rest(struct check *check, struct region_change *change)
{
	static bool (*const kinds[])(
		const struct queue *queue,
		const struct queue_request *request) = { is_signalled, is_unsignalled, is_receive };
	struct in_flight found = { .n = 0 };

	change->any = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !found.n; i++)
		found = find_requests(check, change, kinds[i]);
	report_hazard(check, &found,
		      "the device deregisters the region and registers it again, as "
		      "ibv_rereg_mr(3) says, or gives it another key: the request then completes "
		      "with IBV_WC_LOC_PROT_ERR");
}

/* Returns whether it has reported anything. */
static bool check_change(struct check *check, const struct region_change *change)
{
	struct in_flight signalled = find_requests(check, change, is_signalled);
	struct in_flight unsignalled, receives;
	struct finding *finding;

	finding = signalled.n
			  ? check_add_finding(check, RULE_MKEY_005, &change->at, change->mr, "mr")
			  : NULL;
	if (finding)
		describe_in_flight(finding, &signalled);
	if (signalled.n)
		return true;
	unsignalled = find_requests(check, change, is_unsignalled);
	report_hazard(check, &unsignalled,
		      "the device has not executed the request by then: it is unsignalled, and no "
		      "later completion that would prove it was polled");
	receives = find_requests(check, change, is_receive);
	report_hazard(
		check, &receives,
		"a message comes before the queue pair is destroyed or in ERR: it completes "
		"with IBV_WC_LOC_PROT_ERR, or lands in memory that is used for something else");
	return unsignalled.n || receives.n;
}

/* MKEY-005 */
void mkey_005(struct check *check, const struct model_destroy *destroy)
{
	const struct life *mr = destroy->object;
	struct region_change change = { .mr = mr, .at = destroy->moment, .what = "deregistered" };

	if (mr->kind != OBJECT_mr || !destroy->returned || destroy->failed ||
	    model_keys(check->model)->shared)
		return;
	change.key = keys_find_object(model_keys(check->model), mr->process, OBJECT_mr, mr->handle);
	if (!change.key || !change.key->lkey)
		return;
	change.lkey = change.key->lkey;
	check_change(check, &change);
}

/*
 * MKEY-005: requests that use a region's memory, or protection domain, from before ibv_rereg_mr().
 */
void mkey_005_rereg(struct check *check, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct region_change change = { .at = moment_of(event),
					.what = "changed by ibv_rereg_mr()" };
	int64_t flags;

	if (call->verb != VERB_rereg_mr || call->failed || !call->args ||
	    !args_get(call->args, ARG(flags), &flags) || model_keys(check->model)->shared)
		return;
	change.mr = model_life(check->model, event->process, OBJECT_mr, call->handle);
	change.key =
		keys_find_object(model_keys(check->model), event->process, OBJECT_mr, call->handle);
	if (!change.mr || change.mr->inherited || !change.key || change.key->state != KEY_LIVE ||
	    !change.key->lkey_before)
		return;
	change.lkey = change.key->lkey_before;
	change.stays = !(flags & ABI_REREG_MR_CHANGE_PD) && change.lkey == change.key->lkey;
	if (!check_change(check, &change))
		judge_rest(check, &change);
}

/* The SGE, if any, whose dead region made a receive fail; -1: none. */
static int find_lost(struct check *check, const struct model_complete *complete,
		     const struct key **ret_key)
{
	const struct queue_request *request = complete->request;

	for (uint32_t i = 0; i < request->nsge; i++) {
		const struct sge *sge = queue_sge(complete->queue, request, i);
		const struct key *key =
			keys_find_lkey(model_keys(check->model), complete->event->process,
				       complete->qp->context, sge->lkey);

		*ret_key = key;
		if (key && key->state == KEY_DEAD && key->destroyed.time >= request->time)
			return (int)i;
	}
	return -1;
}

/* MKEY-005: a receive failed because its region was deregistered while it was outstanding. */
void mkey_005_late(struct check *check, const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct queue_request *request = complete->request;
	char place[TEXT], name[TEXT], id[32], posted[32], when[32];
	struct model_key use = { .fault = KEY_GONE, .opcode = -1 };
	struct finding *finding;

	if (wc->status != LOC_PROT_ERR || !request || !complete->qp || complete->queue->doubt ||
	    wc->candidates > 1 || complete->queue->send)
		return;
	use.sge = find_lost(check, complete, &use.key);
	if (use.sge < 0)
		return;
	use.at = (struct moment){ .id = queue_id(request),
				  .verb = VERB_post_recv,
				  .process = complete->event->process,
				  .stack = request->stack,
				  .time = request->time };
	use.queue = complete->qp;
	use.index = request->index;
	use.number = use.key->lkey;
	finding = key_finding(check, RULE_MKEY_005, &use);
	if (finding)
		finding_text(
			&finding->says,
			"%s of the receive at %s uses lkey 0x%x, which was %s until %s() at "
			"%s; the receive was outstanding then, and completed with "
			"IBV_WC_LOC_PROT_ERR %s later.",
			key_place(&use, place), event_id_text(use.at.id, posted), use.number,
			key_name(check, use.key, name), verb_infos[use.key->destroyed.verb].name,
			event_id_text(use.key->destroyed.id, id),
			words_format_span(complete->event->time - use.key->destroyed.time, when));
}
