/*
 * The cause of the first error of a queue pair
 *
 *	completion in error       --> causes_note_error(): its keys and its peer at that time
 *	first_errors_note_poll()  --> causes_bind_errors(): that was the first error of a queue pair
 *	end of the trace          --> causes_finish(): what happened to the peer
 */
#include "analyzer/facts/cause_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/facts/why.h"
#include "analyzer/facts/outage.h"
#include "analyzer/model/key.h"
#include "analyzer/model/key_judge.h"
#include "analyzer/model/key_post.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/window.h"
#include "analyzer/model/words.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

enum { WAITING_MAX = 64 };

int causes_new(struct trace *trace, const struct first_list *errors, struct causes **ret_causes)
{
	struct causes *causes = calloc(1, sizeof(*causes));

	if (causes)
		causes->outages = outages_new();
	if (!causes || !causes->outages) {
		free(causes);
		return log_err(-ENOMEM, "causes of errors");
	}
	causes->trace = trace;
	causes->errors = errors;
	*ret_causes = causes;
	return 0;
}

static void free_noted(struct noted_error *noted)
{
	if (!noted)
		return;
	free(noted->answer);
	free(noted->nowhere);
	free(noted->unpolled_key);
	free(noted->disagree);
	free(noted->cause.name);
	free(noted->cause.port);
	free(noted->cause.key);
	free(noted->cause.peer);
	free(noted);
}

void causes_free(struct causes *causes)
{
	if (!causes)
		return;
	for (size_t i = 0; i < causes->n; i++)
		free_noted(causes->all[i]);
	for (size_t i = 0; i < causes->nfresh; i++)
		free_noted(causes->fresh[i]);
	outages_free(causes->outages);
	free(causes->all);
	free(causes->fresh);
	free(causes);
}

const struct cause *causes_of(const struct causes *causes, size_t i)
{
	return i < causes->n && causes->all[i] ? &causes->all[i]->cause : NULL;
}

enum { PSN_BITS = 0xffffff };

/* A key that a refused request used, and why it does not fit the request. */
struct use {
	struct trace *trace;
	const struct model *model;
	const struct key *key; /* NULL: not known */
	uint32_t process;      /* the process that owns the key */
	const char *name;      /* name of the queue pair at that end */
	char letter;           /* 'l', 'r' */
	uint32_t number;
	struct key_use range;
	struct key_judgement judgement;
};

static void describe_range(char **text, const struct use *use, const char *what)
{
	const struct key *key = &use->judgement.range;
	uint64_t addr = use->range.addr, length = use->range.length;
	char relation[WORDS_RELATION], holder[WORDS_HOLDER];

	cause_set_text(text,
		       "%ckey 0x%x is %s, %s at 0x%" PRIx64 "; the request accesses %" PRIu64
		       " at 0x%" PRIx64 ": %s%s",
		       use->letter, use->number, what, WORDS_N(key->length, "byte"), key->addr,
		       length, addr, words_describe_relation(key, addr, length, relation),
		       words_describe_holder(use->trace, model_keys(use->model), key, addr, length,
					     use->letter, holder));
}

static void describe_domain(char **text, const struct use *use, const char *what)
{
	const struct object *pd = trace_object_at(use->trace, use->process, OBJECT_pd,
						  use->range.pd, use->range.judged);

	cause_set_text(text, "%ckey 0x%x is %s; %s%s is in %s", use->letter, use->number, what,
		       use->name, use->letter == 'r' ? " there" : "",
		       pd && pd->name ? pd->name : "another domain");
}

static void describe_access(char **text, const struct use *use, const char *what)
{
	const char *lacks = words_name_access(use->judgement.missing);

	if (use->key->kind == OBJECT_mr)
		cause_set_text(text, "%ckey 0x%x is %s, registered without %s", use->letter,
			       use->number, what, lacks);
	else
		cause_set_text(text, "rkey 0x%x is %s, bound without %s", use->number, what, lacks);
}

static void describe_dead_key(char **text, const struct use *use, const char *what)
{
	const struct moment *destroyed = &use->key->destroyed;
	char id[32], when[32];

	if (destroyed->id.thread)
		cause_set_text(text, "%ckey 0x%x = %s; its %s %s began %s earlier", use->letter,
			       use->number, what, verb_infos[destroyed->verb].name,
			       event_id_text(destroyed->id, id),
			       words_format_span(use->range.judged - destroyed->time, when));
}

/* Set *@text to a sentence if the key explains the refusal. */
static void explain_by_key(char **text, const struct use *use)
{
	const struct key *key = use->key;
	char name[CAUSE_TEXT], what[CAUSE_TEXT + PROCESS_TEXT + 8], process[PROCESS_TEXT],
		inv[WINDOW_TEXT];

	if (!key)
		return;
	words_describe_key(use->trace, key, name, sizeof(name));
	snprintf(what, sizeof(what), use->letter == 'r' ? "%s of %s" : "%s", name,
		 process_id_text(key->process, process));
	switch (use->judgement.fault) {
	case KEY_INVALID:
		cause_set_text(text, "rkey 0x%x was %s: %s", use->number, what,
			       window_invalid_text(key, use->range.judged, inv));
		break;
	case KEY_GONE:
		describe_dead_key(text, use, what);
		break;
	case KEY_OTHER_PD:
		describe_domain(text, use, what);
		break;
	case KEY_UNBOUND:
		cause_set_text(text, "%ckey 0x%x is %s, which is not bound", use->letter,
			       use->number, what);
		break;
	case KEY_OUTSIDE:
		describe_range(text, use, what);
		break;
	case KEY_NO_ACCESS:
		describe_access(text, use, what);
		break;
	default:
		break;
	}
}

/* Set *@text if the local keys of a request of @qp, judged at @time, explain its failure. */
static void explain_by_local_keys(struct causes *causes, struct model *model, const struct life *qp,
				  const struct queue *queue, const struct queue_request *request,
				  int64_t time, char **text)
{
	struct use use = { .trace = causes->trace,
			   .model = model,
			   .process = qp->process,
			   .name = qp->name,
			   .letter = 'l',
			   .range = { .pd = qp->pd,
				      .needed = operation_needs(queue->send ? request->opcode : -1),
				      .posted = request->time,
				      .judged = time } };

	if (queue->owner && queue->owner->kind != OBJECT_qp)
		use.range.pd = queue->owner->pd; /* an SRQ has a protection domain of its own */
	for (uint32_t i = 0; i < request->nsge && !(request->flags & ABI_SEND_INLINE); i++) {
		const struct sge *sge = queue_sge(queue, request, i);

		use.key = keys_find_lkey(model_keys(model), use.process, qp->context, sge->lkey);
		use.number = sge->lkey;
		use.range.addr = sge->addr;
		use.range.length = sge->length;
		if (!sge->length)
			continue;
		key_judge(model, use.key, &use.range, &use.judgement);
		explain_by_key(text, &use);
		if (!*text && !use.key && keys_has_seen_all(model, qp))
			cause_set_text(text, "lkey 0x%x is not the key of a region", use.number);
		if (*text)
			return;
	}
}

static void add_key_sentence(struct causes *causes, struct model *model,
			     const struct model_complete *complete, struct noted_error *noted)
{
	explain_by_local_keys(causes, model, complete->qp, complete->queue, complete->request,
			      noted->time, &noted->cause.key);
}

/*
 * A send of the peer may have failed, and moved its queue pair to ERR: its program polled no
 * completion from that CQ since it was posted.
 */
static void note_unpolled_send(struct causes *causes, struct model *model, const struct life *other,
			       struct noted_error *noted)
{
	const struct queue *queue = other->sq;
	const struct queue_request *oldest = queue && !queue->doubt ? queue_oldest(queue) : NULL;

	if (!oldest || !queue->cq || oldest->time + noted->slack >= noted->time ||
	    queue->cq->stats.last_time > oldest->time)
		return;
	noted->unpolled_send = queue_id(oldest);
	explain_by_local_keys(causes, model, other, queue, oldest, noted->time,
			      &noted->unpolled_key);
}

/* Attributes of the two ends with which no packet of this end is ever acknowledged. */
static void note_disagreement(struct noted_error *noted, const struct life *qp,
			      const struct life *other)
{
	const struct peer *own = qp->peer, *peer = other->peer;
	const char *type = enum_name(enum_find("ibv_qp_type"), other->qp->type);
	bool unreliable = other->qp->type == ABI_QPT_UC || other->qp->type == ABI_QPT_UD;

	if (qp->qp && qp->qp->type == ABI_QPT_RC && unreliable && type)
		cause_set_text(&noted->disagree,
			       "its qp_type is %s, which does not acknowledge requests", type);
	else if (own && peer && !noted->cause.worked && own->psns & ABI_QP_SQ_PSN &&
		 peer->psns & ABI_QP_RQ_PSN && (own->sq_psn ^ peer->rq_psn) & PSN_BITS)
		cause_set_text(&noted->disagree,
			       "its rq_psn is 0x%x, not 0x%x, the sq_psn of this end: it drops "
			       "such packets",
			       peer->rq_psn & PSN_BITS, own->sq_psn & PSN_BITS);
}

static const char *qp_name(const struct causes *causes, const struct peer *peer)
{
	const struct object *object = trace_object(causes->trace, peer->id);

	return object && object->name ? object->name : "its queue pair";
}

/* A SEND_WITH_INV was refused: no window has the key, or none that can be invalidated. */
static void describe_invalidated(char **text, const struct use *use, bool whole)
{
	char name[CAUSE_TEXT], process[PROCESS_TEXT];

	process_id_text(use->process, process);
	if (use->key && use->key->kind == OBJECT_mr && use->key->state == KEY_LIVE)
		cause_set_text(
			text,
			"invalidate_rkey 0x%x is %s of %s, a region: only windows of type 2 can "
			"be invalidated",
			use->number, words_describe_key(use->trace, use->key, name, sizeof(name)),
			process);
	else if (!use->key && whole)
		cause_set_text(text, "invalidate_rkey 0x%x does not belong to a window of %s",
			       use->number, process);
}

/* What an rkey that the peer's queue pair cannot use was before, or is elsewhere; or "". */
static const char *describe_former_key(const struct use *use, const struct peer *peer,
				       uint32_t sender, char text[WORDS_HOLDER])
{
	const struct keys *keys = model_keys(use->model);
	const struct key *lkey = keys_find_lkey(keys, use->process, peer->context, use->number);
	const struct key *there = lkey ?: keys_find_rkey(keys, use->process, 0, use->number);
	const struct key *own =
		keys_find_own_range(keys, sender, use->number, use->range.addr, use->range.length);
	const struct key *third = keys_find_range(keys, use->process, sender, use->number,
						  use->range.addr, use->range.length);
	char name[WORDS_HOLDER / 2];

	words_describe_renamed(use->trace, keys, use->process, 'r', use->number, use->range.posted,
			       text);
	if (*text)
		return text;
	if (there)
		snprintf(text, WORDS_HOLDER, ", but %s %s%s", lkey ? "the lkey of" : "of",
			 words_describe_key(use->trace, there, name, sizeof(name)),
			 lkey ? "" : " in another context of that process");
	else if (third)
		words_describe_other_key(use->trace, third, own, text);
	return text;
}

/* Does the trace show that the key of a region permits the request? */
static bool is_permitted(const struct use *use)
{
	const struct key_judgement *judgement = &use->judgement;

	return use->key && use->key->kind == OBJECT_mr && judgement->fault == KEY_FITS &&
	       judgement->same_pd && judgement->ranged && !use->key->any;
}

static void describe_remote_key(struct causes *causes, struct model *model,
				const struct model_complete *complete, const struct peer *peer,
				struct noted_error *noted)
{
	const struct queue_request *request = complete->request;
	bool whole = !noted->slack && peer->life && keys_has_seen_all(model, peer->life);
	struct use use = { .trace = causes->trace,
			   .model = model,
			   .key = keys_find_rkey(model_keys(model), peer->process, peer->context,
						 request->rkey),
			   .process = peer->process,
			   .name = qp_name(causes, peer),
			   .letter = 'r',
			   .number = request->rkey,
			   .range = keys_remote_use(complete->queue, request) };
	char **text = &noted->cause.key, process[PROCESS_TEXT], former[WORDS_HOLDER];
	char name[CAUSE_TEXT];
	uint32_t lacks = keys_qp_lacks(peer->life, use.range.needed);

	use.range.pd = peer->pd;
	use.range.judged = noted->time;
	use.range.slack = noted->slack;
	key_judge(model, use.key, &use.range, &use.judgement);
	if (request->opcode == ABI_WR_SEND_WITH_INV && use.judgement.fault != KEY_INVALID) {
		describe_invalidated(text, &use, whole);
		return;
	}
	explain_by_key(text, &use);
	if (*text)
		return;
	if (!use.key && whole)
		cause_set_text(text, "rkey 0x%x is not the key of a region of %s for %s%s",
			       use.number, process_id_text(use.process, process), use.name,
			       describe_former_key(&use, peer, complete->event->process, former));
	else if (use.key && lacks)
		cause_set_text(text, "qp_access_flags of %s of %s lack %s", use.name,
			       process_id_text(use.process, process), words_name_access(lacks));
	else if (whole && noted->status == ABI_WC_REM_ACCESS_ERR && is_permitted(&use))
		cause_set_text(text,
			       "rkey 0x%x is %s of %s, which holds the range and permits the "
			       "access: the trace shows no reason for the refusal, except possibly "
			       "that the memory was unmapped",
			       use.number,
			       words_describe_key(causes->trace, use.key, name, sizeof(name)),
			       process_id_text(use.process, process));
}

/* The messages before the one that failed have arrived; 0: not known. */
static uint64_t count_sent(const struct model_complete *complete)
{
	const struct queue_request *request = complete->request;

	return request && request->message &&
			       complete->event->poll->wc[complete->index].candidates <= 1
		       ? request->message - 1
		       : 0;
}

static void note_peer(struct causes *causes, struct model *model,
		      const struct model_complete *complete, struct noted_error *noted,
		      const struct peer *peer)
{
	const struct life *qp = complete->qp;
	const struct life *other = peer->life;
	char process[CAUSE_TEXT];

	noted->slack = peer_slack(model_peers(model), complete->event->process, peer->process);
	noted->cause.process = peer->process;
	noted->cause.qp = peer->id;
	noted->theirs = noted->victim;
	noted->theirs.process = peer->process;
	noted->theirs.context = peer->context;
	noted->theirs.port = peer->port;
	noted->theirs.slack = noted->slack;
	noted->destroy = other && other->state == LIFE_DYING ? other->ending : peer->destroyed;
	noted->state = other ? qp_state(other) : QP_UNKNOWN;
	cause_set_text(&noted->cause.name, "%s %s",
		       words_name_process(causes->trace, peer->process, process, sizeof(process)),
		       qp_name(causes, peer));
	if (qp->qp)
		noted->tried = qp_retry_time(qp->qp);
	if (qp->qp && qp->qp->set & ABI_QP_RNR_RETRY)
		noted->rnr_retry = (int)qp->qp->rnr_retry;
	if (!other || !other->qp)
		return;
	noted->moved = other->qp->moved;
	noted->rtr = other->qp->rtr;
	if (other->qp->set & ABI_QP_MIN_RNR_TIMER)
		noted->min_rnr_timer = (int)other->qp->min_rnr_timer;
	if (noted->status == ABI_WC_RNR_RETRY_EXC_ERR)
		cause_note_receives(noted, other, count_sent(complete));
	if (noted->status == ABI_WC_RETRY_EXC_ERR)
		note_disagreement(noted, qp, other);
	if (noted->status == ABI_WC_RETRY_EXC_ERR && noted->slack != INT64_MAX)
		note_unpolled_send(causes, model, other, noted);
	if (noted->status == ABI_WC_REM_OP_ERR)
		cause_note_cq(noted, other);
}

/* "mr2 of pd1", "mr2, deregistered 2.0 ms earlier" */
static void name_key(const struct causes *causes, const struct model *model, const struct key *key,
		     const struct noted_error *noted, int64_t slack, char *text, size_t size)
{
	const struct object *object = key ? trace_object(causes->trace, key->object) : NULL;
	int64_t time = noted->time;
	char when[32], id[32];

	if (!object || !object->name)
		return;
	if (key->state == KEY_DEAD && key->destroyed.time + slack > time)
		words_describe_key(causes->trace, key, text, size);
	else if (key->state == KEY_DEAD && key->destroyed.id.thread)
		snprintf(text, size, "%s, deregistered %s earlier", object->name,
			 words_format_span(time - key->destroyed.time, when));
	else if (key->state == KEY_DEAD)
		snprintf(text, size, "%s, ended with its process", object->name);
	else if (key->kind == OBJECT_mw && window_state(model, key) == WINDOW_INVALID &&
		 key->invalid.at.time + slack < time)
		snprintf(text, size, "%s, invalidated by %s, %s earlier", object->name,
			 event_id_text(key->invalid.at.id, id),
			 words_format_span(time - key->invalid.at.time, when));
	else
		words_describe_key(causes->trace, key, text, size);
}

static void name_keys(const struct causes *causes, struct model *model,
		      const struct model_complete *complete, const struct peer *peer,
		      struct noted_error *noted)
{
	const struct queue_request *request = complete->request;
	const struct keys *keys = model_keys(model);
	uint32_t process = complete->event->process;
	struct cause *cause = &noted->cause;
	char other[PROCESS_TEXT];
	int n = 0;

	if (request->nsge)
		name_key(causes, model,
			 keys_find_lkey(keys, process, complete->qp->context,
					queue_sge(complete->queue, request, 0)->lkey),
			 noted, 0, cause->lkey, sizeof(cause->lkey));
	if (!peer || !operation_needs_remote(request->opcode))
		return;
	if (peer->process != process)
		n = snprintf(cause->rkey, sizeof(cause->rkey), "%s ",
			     process_id_text(peer->process, other));
	name_key(causes, model, keys_find_rkey(keys, peer->process, peer->context, request->rkey),
		 noted, noted->slack, cause->rkey + n, sizeof(cause->rkey) - (size_t)n);
	if (!cause->rkey[n])
		cause->rkey[0] = '\0';
}

/*
 * The queue pair that has the destination number of @qp, though not connected to @qp; NULL: none.
 */
static const struct peer *find_intended(struct causes *causes, struct model *model,
					const struct life *qp)
{
	const struct peer *meant =
		qp->peer ? peer_find_intended(model_peers(model), qp->peer) : NULL;
	int state = meant && meant->life && meant->life->qp ? qp_state(meant->life) : QP_UNKNOWN;

	if (state == QP_UNKNOWN ||
	    trace_is_other_recording(causes->trace, qp->process, meant->process))
		return NULL;
	return meant->connected || state == ABI_QPS_RESET || state == ABI_QPS_INIT ? meant : NULL;
}

/* No response came: note possible explanations. */
static void note_no_response(struct causes *causes, struct model *model,
			     const struct model_complete *complete, struct noted_error *noted,
			     const struct peer *peer)
{
	const struct life *qp = complete->qp;
	const struct peer *meant = peer ? NULL : find_intended(causes, model, qp);

	noted->nowhere = explain_unknown_address(qp);
	if (meant) {
		note_peer(causes, model, complete, noted, meant);
		cause_note_misconnected(noted, qp, meant);
	} else {
		noted->answer = explain_no_response(causes->trace, model_peers(model), qp, peer);
	}
}

static void note_history(struct cause *cause, const struct life *qp)
{
	cause->worked = (qp->sq && qp->sq->completed) ||
			(qp->rq && qp->rq->owner == qp && qp->rq->completed);
	cause->datagrams = qp->qp && qp->qp->type == ABI_QPT_UD;
	cause->xrc = !qp->qp || qp->qp->type == ABI_QPT_XRC_SEND || qp->qp->type == QP_UNKNOWN;
}

void causes_note_error(struct causes *causes, struct model *model,
		       const struct model_complete *complete)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	bool certain = complete->request && complete->queue && wc->candidates <= 1;
	const struct peer *peer = NULL;
	struct noted_error *noted, **place;

	if (!complete->qp || !(noted = calloc(1, sizeof(*noted))))
		return;
	place = vec_push(causes->fresh, causes->nfresh);
	if (!place) {
		free(noted);
		return;
	}
	*place = noted;
	*noted = (struct noted_error){ .event = complete->event->id,
				       .index = complete->index,
				       .time = complete->event->time,
				       .status = wc->status,
				       .state = QP_UNKNOWN,
				       .rnr_retry = -1,
				       .min_rnr_timer = -1,
				       .victim = { .process = complete->event->process,
						   .context = complete->qp->context,
						   .status = wc->status,
						   .failed = complete->event->time } };
	noted->posted_at = complete->request ? complete->request->time : 0;
	noted->victim.posted = complete->request ? complete->request->time : noted->time;
	if (complete->qp->qp && complete->qp->qp->set & ABI_QP_PORT)
		noted->victim.port = complete->qp->qp->port;
	note_history(&noted->cause, complete->qp);
	if (complete->qp->peer)
		peer = peer_find_other(model_peers(model), complete->qp->peer);
	if (peer)
		note_peer(causes, model, complete, noted, peer);
	if (certain)
		name_keys(causes, model, complete, peer, noted);
	if (certain && wc->status == ABI_WC_LOC_PROT_ERR)
		add_key_sentence(causes, model, complete, noted);
	if (certain && wc->status == ABI_WC_REM_ACCESS_ERR && peer)
		describe_remote_key(causes, model, complete, peer, noted);
	if (certain && wc->status == ABI_WC_REM_INV_REQ_ERR)
		noted->cause.key = explain_no_srq(causes->trace, model, complete, peer);
	if (certain && wc->status == ABI_WC_REM_INV_REQ_ERR && !noted->cause.key)
		noted->cause.key = explain_refusal(complete->request, peer,
						   peer ? qp_name(causes, peer) : NULL);
	if (certain && wc->status == ABI_WC_LOC_QP_OP_ERR)
		noted->cause.key = explain_failed_read(complete->request, complete->qp, peer);
	if (certain && wc->status == ABI_WC_MW_BIND_ERR)
		noted->cause.key = explain_failed_window(causes->trace, model, complete);
	if (certain && wc->status == ABI_WC_LOC_LEN_ERR)
		noted->cause.key = explain_too_long(model, complete);
	if (certain && !noted->cause.key &&
	    (wc->status == ABI_WC_LOC_LEN_ERR || wc->status == ABI_WC_REM_INV_REQ_ERR))
		noted->cause.key = explain_short_receive(complete, peer);
	if (wc->status == ABI_WC_RETRY_EXC_ERR)
		note_no_response(causes, model, complete, noted, peer);
}

static struct noted_error *take_new_note(struct causes *causes, const struct first_error *error)
{
	for (size_t i = 0; i < causes->nfresh; i++) {
		struct noted_error *noted = causes->fresh[i];

		if (noted && noted->event.thread == error->event.thread &&
		    noted->event.n == error->event.n && noted->index == error->index) {
			causes->fresh[i] = NULL;
			return noted;
		}
	}
	return NULL;
}

void causes_bind_errors(struct causes *causes)
{
	while (causes->n < causes->errors->n) {
		const struct first_error *error = &causes->errors->all[causes->n];
		struct noted_error **place = vec_push(causes->all, causes->n);

		if (!place)
			break;
		*place = take_new_note(causes, error);
		if (*place && (*place)->waiting && causes->waiting == WAITING_MAX) {
			(*place)->waiting = false;
			(*place)->missed = true;
		}
		causes->waiting += *place && (*place)->waiting;
	}
	for (size_t i = 0; i < causes->nfresh; i++)
		free_noted(causes->fresh[i]);
	free(causes->fresh);
	causes->fresh = NULL;
	causes->nfresh = 0;
}

void causes_note_post(struct causes *causes, const struct trace_event *event)
{
	if (!causes->waiting || post_is_send(event->post) || !post_taken(event->post))
		return;
	for (size_t i = 0; i < causes->n; i++) {
		struct noted_error *noted = causes->all[i];

		if (!noted || !noted->waiting || noted->cause.process != event->process ||
		    noted->queue != event->post->handle)
			continue;
		noted->waiting = false;
		causes->waiting--;
		noted->receive = event->id;
		noted->received = event->time;
	}
}

void causes_note_modify(struct causes *causes, const struct trace_event *event)
{
	for (size_t i = 0; i < causes->n; i++)
		if (causes->all[i])
			cause_note_modify(causes, causes->all[i], event);
}

void causes_note_event(struct causes *causes, const struct trace_event *event)
{
	outages_note_event(causes->outages, event);
}

/* Does the status mean that the other end did not respond? */
static bool is_silence(uint32_t status)
{
	return status == ABI_WC_RETRY_EXC_ERR || status == ABI_WC_RESP_TIMEOUT_ERR;
}

void causes_finish(struct causes *causes, const struct model *model)
{
	for (size_t i = 0; i < causes->n; i++) {
		struct noted_error *noted = causes->all[i];

		if (!noted)
			continue;
		free(noted->cause.port);
		noted->cause.port = outages_describe(causes->outages, &noted->victim, false);
		if (!noted->cause.port && is_silence(noted->victim.status))
			noted->cause.port = outages_describe(causes->outages, &noted->theirs, true);
		if (!noted->cause.port)
			noted->cause.port =
				outages_describe_removed(causes->trace, &noted->victim, false);
		if (!noted->cause.port && is_silence(noted->victim.status) && noted->theirs.process)
			noted->cause.port =
				outages_describe_removed(causes->trace, &noted->theirs, true);
		cause_describe_peer(causes, model, noted, &causes->errors->all[i]);
	}
}
