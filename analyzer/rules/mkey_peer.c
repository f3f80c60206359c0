/*
 * MKEY: keys of the other end
 *
 * The other end is known only if its queue pair is in the trace, too, and the two are matched
 * without doubt (analyzer/model/peer.h).
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/key_judge.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/window.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/mkey_text.h"

static const char *qp_name(const struct check *check, const struct peer *peer)
{
	const struct object *object = trace_object(check->trace, peer->id);

	return object && object->name ? object->name : "its queue pair";
}

static const char *pd_name(const struct check *check, const struct peer *peer, int64_t time)
{
	const struct object *object =
		trace_object_at(check->trace, peer->process, OBJECT_pd, peer->pd, time);

	return object && object->name ? object->name : "another domain";
}

/* The key of a third process whose region holds the range. */
static const struct key *find_third(const struct keys *keys, const struct model_key *use)
{
	return keys_find_range(keys, use->peer->process, use->at.process, use->number, use->addr,
			       use->length);
}

/* An explanation for a number that is not a key of either end. "": nothing is known. */
static const char *guess_key(const struct check *check, const struct model_key *use,
			     char hint[2 * TEXT])
{
	const struct keys *keys = model_keys(check->model);
	const struct key *key = keys_find_sibling(keys, use->peer->process, use->number);
	const struct key *own;
	char name[TEXT];

	hint[0] = '\0';
	if (key) {
		snprintf(hint, 2 * TEXT,
			 "; it differs only in its last 8 bits, which change with each bind, from "
			 "0x%x of %s",
			 key->rkey, key_name(check, key, name));
		return hint;
	}
	key = find_third(keys, use)
		      ?: keys_find_elsewhere(keys, use->peer->process, use->at.process,
					     use->number);
	own = keys_find_own_range(keys, use->at.process, use->number, use->addr, use->length);
	if (key)
		words_describe_other_key(check->trace, key, own, hint);
	else if (!use->number)
		snprintf(hint, 2 * TEXT, ": the field was perhaps not filled in");
	return hint;
}

/* Describe an unknown rkey: maybe an lkey of the peer, or an rkey of another device or process. */
static void describe_unknown(struct check *check, struct finding *finding,
			     const struct model_key *use)
{
	const struct keys *keys = model_keys(check->model);
	uint32_t process = use->peer->process;
	const struct key *other = keys_find_lkey(keys, process, use->peer->context, use->number);
	const struct key *third = find_third(keys, use);
	const char *as = ", whose lkey it is";
	char place[TEXT], name[TEXT], outcome[TEXT], hint[2 * TEXT];
	char text[PROCESS_TEXT], renamed[WORDS_HOLDER];

	words_describe_renamed(check->trace, keys, process, 'r', use->number, use->at.time,
			       renamed);
	if (!other) {
		other = keys_find_rkey(keys, process, 0, use->number);
		as = " in another context of that process";
	}
	if (!other && !third) {
		other = keys_find_rkey(keys, use->at.process, 0, use->number);
		as = " of the sender itself";
	}
	if (!other && !third) {
		other = keys_find_rkey(keys, process, use->peer->context,
				       __builtin_bswap32(use->number));
		as = ", whose rkey has these bytes in reverse order";
	}
	if (*renamed)
		snprintf(hint, sizeof(hint), "%s", renamed);
	else if (other)
		snprintf(hint, sizeof(hint), ", but of %s%s", key_name(check, other, name), as);
	else
		guess_key(check, use, hint);
	finding_text(&finding->says,
		     "%s of %s uses rkey 0x%x, which is not the key of a region of %s for %s%s%s.",
		     key_place(use, place), key_request(use->opcode), use->number,
		     process_id_text(process, text), qp_name(check, use->peer), hint,
		     key_outcome(use, outcome));
}

static void describe_known(struct check *check, struct finding *finding,
			   const struct model_key *use)
{
	const struct key *key = use->key;
	char place[TEXT], name[TEXT], how[TEXT], outcome[TEXT], id[32], when[32], what[4 * TEXT];
	char process[PROCESS_TEXT], holder[WORDS_HOLDER];

	process_id_text(key->process, process);
	key_name(check, key, name);
	if (use->fault == KEY_GONE)
		snprintf(what, sizeof(what), "was %s of %s until %s() at %s, %s earlier", name,
			 process, verb_infos[key->destroyed.verb].name,
			 event_id_text(key->destroyed.id, id),
			 words_format_span(use->at.time - key->destroyed.time, when));
	else if (use->fault == KEY_OTHER_PD)
		snprintf(what, sizeof(what), "is %s of %s, and %s of that process is in %s", name,
			 process, qp_name(check, use->peer),
			 pd_name(check, use->peer, use->at.time));
	else
		snprintf(what, sizeof(what), "is %s of %s: %s at 0x%" PRIx64 "; %s%s", name,
			 process, WORDS_N(key->length, "byte"), key->addr, key_misses(use, how),
			 words_describe_holder(check->trace, model_keys(check->model), key,
					       use->addr, use->length, 'r', holder));
	finding_text(&finding->says,
		     "%s of %s uses %s at 0x%" PRIx64 " with rkey 0x%x, which %s%s.",
		     key_place(use, place), key_request(use->opcode), WORDS_N(use->length, "byte"),
		     use->addr, use->number, what, key_outcome(use, outcome));
}

/*
 * Given the uncertainty of the two clocks, may the key have been created or destroyed after the
 * use?
 */
static bool is_out_of_order(struct check *check, const struct model_key *use)
{
	int64_t slack = peer_slack(model_peers(check->model), use->at.process, use->peer->process);
	const struct object *object;

	if (!slack)
		return false;
	if (use->key)
		return use->key->created.time + slack >= use->at.time ||
		       (use->key->state == KEY_DEAD &&
			use->key->destroyed.time + slack >= use->at.time);
	for (uint32_t id = 1; (object = trace_object(check->trace, id)); id++)
		if (object->process == use->peer->process && object->rkey == use->number &&
		    object->created_at + slack >= use->at.time)
			return true;
	return false;
}

/* MKEY-004 */
void mkey_004(struct check *check, const struct model_key *use)
{
	struct finding *finding;

	if (!use->peer || use->fault == KEY_NO_ACCESS || use->fault == KEY_UNBOUND ||
	    use->fault == KEY_BINDING || use->fault == KEY_RELEASED || is_out_of_order(check, use))
		return;
	finding = key_finding(check, RULE_MKEY_004, use);
	if (!finding)
		return;
	if (use->fault == KEY_UNKNOWN)
		describe_unknown(check, finding, use);
	else
		describe_known(check, finding, use);
}

/* MKEY-008 */
void mkey_008(struct check *check, const struct model_key *use)
{
	const struct key *key = use->key;
	char place[TEXT], name[TEXT], id[32], when[32], why[TEXT], process[PROCESS_TEXT];
	struct finding *finding;

	if (use->fault != KEY_UNBOUND && use->fault != KEY_BINDING)
		return;
	finding = key_finding(check, RULE_MKEY_008, use);
	if (!finding)
		return;
	if (use->fault == KEY_BINDING)
		snprintf(why, sizeof(why),
			 "whose bind at %s, %s earlier, had not completed, and no message posted "
			 "after it can have passed the key",
			 event_id_text(key->bind.at.id, id),
			 words_format_span(use->at.time - key->bind.at.time, when));
	else
		snprintf(why, sizeof(why), "which %s bound",
			 key->bind.at.id.thread ? "was no longer" : "had never been");
	finding_text(&finding->says, "%s of %s uses rkey 0x%x of %s of %s, %s.",
		     key_place(use, place), key_request(use->opcode), use->number,
		     key_name(check, key, name), process_id_text(key->process, process), why);
	if (key->bind.at.id.thread)
		finding_step(finding, key->bind.ends ? "unbound" : "bound", &key->bind.at);
}

/* A request that its peer refused: IBV_WC_REM_ACCESS_ERR. */
struct refused_request {
	const struct peer *peer;
	struct model_key use;
	struct key_use range;
	struct key_judgement judgement; /* of its key, as it was when the error was polled */
};

static struct model_key describe_refused(const struct model_complete *complete,
					 const struct key_use *range)
{
	const struct queue_request *request = complete->request;

	return (struct model_key){ .at = { .id = queue_id(request),
					   .verb = VERB_post_send,
					   .process = complete->event->process,
					   .stack = request->stack,
					   .time = request->time },
				   .queue = complete->qp,
				   .index = request->index,
				   .sge = -1,
				   .opcode = request->opcode,
				   .number = request->rkey,
				   .addr = range->addr,
				   .length = range->length,
				   .status = ABI_WC_REM_ACCESS_ERR };
}

/* Judge the key of a refused request. False: it was not refused, or its peer is not known. */
static bool report_refused(struct check *check, const struct model_complete *complete,
			   struct refused_request *ret)
{
	const struct wc *wc = &complete->event->poll->wc[complete->index];
	const struct queue_request *request = complete->request;
	const struct peer *peer;

	if (wc->status != ABI_WC_REM_ACCESS_ERR || !request || complete->queue->doubt ||
	    wc->candidates > 1 || !operation_needs_remote(request->opcode) || !complete->qp->peer)
		return false;
	peer = peer_find_other(model_peers(check->model), complete->qp->peer);
	if (!peer)
		return false;
	ret->peer = peer;
	ret->range = keys_remote_use(complete->queue, request);
	ret->range.pd = peer->pd;
	ret->range.judged = complete->event->time;
	ret->range.slack =
		peer_slack(model_peers(check->model), complete->event->process, peer->process);
	ret->use = describe_refused(complete, &ret->range);
	ret->use.peer = peer;
	ret->use.key = keys_find_rkey(model_keys(check->model), peer->process, peer->context,
				      request->rkey);
	key_judge(check->model, ret->use.key, &ret->range, &ret->judgement);
	return true;
}

/* MKEY-004: the region was deregistered between the post and the completion. */
void mkey_004_late(struct check *check, const struct model_complete *complete)
{
	char place[TEXT], name[TEXT], id[32], when[32], process[PROCESS_TEXT];
	const struct moment *destroyed;
	struct finding *finding;
	struct refused_request refused;

	if (!report_refused(check, complete, &refused) || refused.judgement.fault != KEY_GONE)
		return;
	destroyed = &refused.use.key->destroyed;
	if (!destroyed->id.thread || destroyed->time < refused.range.posted - refused.range.slack)
		return;
	refused.use.fault = KEY_GONE;
	finding = key_finding(check, RULE_MKEY_004, &refused.use);
	if (finding)
		finding_text(&finding->says,
			     "%s of %s uses rkey 0x%x, which was %s of %s; its %s(), %s, began %s "
			     "before the request completed with IBV_WC_REM_ACCESS_ERR.",
			     key_place(&refused.use, place), key_request(refused.use.opcode),
			     refused.use.number, key_name(check, refused.use.key, name),
			     process_id_text(refused.peer->process, process),
			     verb_infos[destroyed->verb].name, event_id_text(destroyed->id, id),
			     words_format_span(complete->event->time - destroyed->time, when));
}

/* MKEY-004: the peer had invalidated the key of its window before it refused the request. */
void mkey_004_invalid(struct check *check, const struct model_complete *complete)
{
	char place[TEXT], name[TEXT], process[PROCESS_TEXT], how[WINDOW_TEXT];
	struct finding *finding;
	struct refused_request refused;

	if (!report_refused(check, complete, &refused) || refused.judgement.fault != KEY_INVALID)
		return;
	refused.use.fault = KEY_GONE;
	finding = key_finding(check, RULE_MKEY_004, &refused.use);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s of %s uses rkey 0x%x, which was %s of %s: %s. The request completed with "
		     "IBV_WC_REM_ACCESS_ERR.",
		     key_place(&refused.use, place), key_request(refused.use.opcode),
		     refused.use.number, key_name(check, refused.use.key, name),
		     process_id_text(refused.peer->process, process),
		     window_invalid_text(refused.use.key, complete->event->time, how));
	finding_step(finding, "invalidated", &refused.use.key->invalid.at);
}

/* MKEY-004: the peer's window is bound to another range. */
void mkey_004_window(struct check *check, const struct model_complete *complete)
{
	char place[TEXT], name[TEXT], process[PROCESS_TEXT], how[TEXT], id[32];
	const struct key *bound;
	struct finding *finding;
	struct refused_request refused;

	if (!report_refused(check, complete, &refused) || !refused.judgement.outside ||
	    refused.use.key->kind != OBJECT_mw)
		return;
	refused.use.fault = KEY_OUTSIDE;
	refused.use.key = bound = &refused.judgement.range;
	finding = key_finding(check, RULE_MKEY_004, &refused.use);
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s of %s uses %s at 0x%" PRIx64 " with rkey 0x%x, which is %s of %s, bound "
		     "by %s to %s at 0x%" PRIx64 "; %s. The request completed with "
		     "IBV_WC_REM_ACCESS_ERR.",
		     key_place(&refused.use, place), key_request(refused.use.opcode),
		     WORDS_N(refused.use.length, "byte"), refused.use.addr, refused.use.number,
		     key_name(check, bound, name), process_id_text(refused.peer->process, process),
		     event_id_text(bound->bind.at.id, id), WORDS_N(bound->length, "byte"),
		     bound->addr, key_misses(&refused.use, how));
	finding_step(finding, "bound", &bound->bind.at);
}

/* MKEY-003: the peer's region allows the access, but the peer's queue pair does not. */
void mkey_003_peer(struct check *check, const struct model_complete *complete)
{
	char place[TEXT], process[PROCESS_TEXT];
	struct finding *finding;
	struct refused_request refused;
	uint32_t missing;

	if (!report_refused(check, complete, &refused))
		return;
	missing = keys_qp_lacks(refused.peer->life, refused.range.needed);
	if (!missing)
		return;
	refused.use.key = NULL;
	refused.use.fault = KEY_NO_ACCESS;
	finding = key_finding(check, RULE_MKEY_003, &refused.use);
	if (finding)
		finding_text(&finding->says,
			     "%s of %s was refused: the qp_access_flags of %s of %s, 0x%x, "
			     "lack %s.",
			     key_place(&refused.use, place), key_request(refused.use.opcode),
			     qp_name(check, refused.peer),
			     process_id_text(refused.peer->process, process),
			     refused.peer->life->qp->access, words_name_access(missing));
}
