/*
 * What the other end of a one-sided request checks, in its order
 *
 * 	rkey --> region or window: alive? --> domain --> range --> its access, the queue pair's
 *
 * The clocks of two processes may differ: the text has the time of a change just before the request
 * was refused.
 */
#include "cli/query/answer_remote.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/key_judge.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/words.h"
#include "cli/query/answer.h"
#include "core/base/text.h"

static const struct peer *other_end(const struct view *view, const struct life *qp)
{
	return qp->peer ? peer_find_other(model_peers(view->model), qp->peer) : NULL;
}

/* The key, and whether it allows the request now. @other: the other end; NULL: not known. */
static const struct key *judge_remote(const struct view *view, const struct remote_access *remote,
				      const struct peer *other, struct key_judgement *ret)
{
	const struct key_use use = { .pd = other ? other->pd : 0,
				     .addr = remote->addr,
				     .length = remote->length,
				     .needed = operation_needs_remote(remote->opcode),
				     KEY_NOW };
	const struct key *key = other ? keys_find_rkey(model_keys(view->model), other->process,
						       other->context, remote->rkey)
				      : NULL;

	key_judge(view->model, key, &use, ret);
	return key;
}

static const char *move_text(struct text *t, char text[REMOTE_TEXT])
{
	snprintf(text, REMOTE_TEXT, "%s", t->at ? t->at : "");
	text_fini(t);
	return text;
}

/* "+0x10"; "-0x1" before the region */
static void put_offset(struct text *t, uint64_t addr, uint64_t start)
{
	text_addf(t, "%c0x%" PRIx64, addr < start ? '-' : '+',
		  addr < start ? start - addr : addr - start);
}

const char *remote_name(const struct view *view, const struct remote_access *remote,
			const struct key **ret_key, char text[REMOTE_TEXT])
{
	const struct object *object;
	struct key_judgement judgement;
	char process[PROCESS_TEXT];
	struct text t = { 0 };
	const struct key *key = judge_remote(view, remote, other_end(view, remote->qp), &judgement);

	*ret_key = key;
	object = key ? trace_object(view->trace, key->object) : NULL;
	text_addf(&t, "%s at ", WORDS_N(remote->length, "byte"));
	if (object && object->name)
		text_addf(&t, "%s %s", process_id_text(key->process, process), object->name);
	if (object && object->name && judgement.ranged)
		put_offset(&t, remote->addr, judgement.range.addr);
	else if (object && object->name)
		text_addf(&t, " (0x%" PRIx64 ")", remote->addr);
	else
		text_addf(&t, "0x%" PRIx64, remote->addr);
	text_addf(&t, ", rkey 0x%x", remote->rkey);
	return move_text(&t, text);
}

static void put_is_alive(struct text *t, const struct view *view, const struct key *key,
			 enum key_fault life)
{
	char when[VIEW_TEXT];

	text_addf(t, "alive: ");
	if (life == KEY_UNCERTAIN)
		text_addf(t, "unknown: a call that changes the key is under way");
	else if (key->state == KEY_DEAD)
		text_addf(t, "no, %s",
			  view_moment(view, &key->destroyed, when) ?: "its process ended");
	else if (life == KEY_INVALID)
		text_addf(t, "no, it was invalidated");
	else if (life == KEY_UNBOUND)
		text_addf(t, "no, it is not bound");
	else
		text_addf(t, "yes");
}

static void put_domain(struct text *t, const struct view *view, const struct key *key,
		       const struct key_judgement *judgement)
{
	const struct object *pd;

	if (!judgement->same_pd && !judgement->other_pd)
		return;
	text_addf(t, "; same domain: %s", judgement->same_pd ? "yes" : "no");
	pd = judgement->same_pd ? NULL
				: trace_object_at(view->trace, key->process, OBJECT_pd, key->pd,
						  view->at.time);
	if (pd && pd->name)
		text_addf(t, ", it is in %s", pd->name);
}

static void put_range(struct text *t, const struct key_judgement *judgement)
{
	const struct key *range = &judgement->range;

	text_addf(t, "; in range: %s", judgement->outside ? "no" : "yes");
	if (judgement->outside)
		text_addf(t, ", it has %s at 0x%" PRIx64, WORDS_N(range->length, "byte"),
			  range->addr);
}

static void put_access(struct text *t, const char *what, uint32_t missing)
{
	char text[VIEW_TEXT];

	text_addf(t, "; %s: %s", what, missing ? "no, it lacks " : "yes");
	if (missing)
		text_addf(t, "%s", name_access(missing, text));
}

const char *remote_checks(const struct view *view, const struct remote_access *remote,
			  char text[REMOTE_TEXT])
{
	const struct peer *other = other_end(view, remote->qp);
	const struct life *there = other ? other->life : NULL;
	uint32_t needed = operation_needs_remote(remote->opcode);
	char process[PROCESS_TEXT];
	struct text t = { 0 };
	struct key_judgement judgement;
	const struct key *key = judge_remote(view, remote, other, &judgement);

	if (key) {
		put_is_alive(&t, view, key, judgement.life);
		put_domain(&t, view, key, &judgement);
		if (judgement.ranged) {
			put_range(&t, &judgement);
			put_access(&t, "access", judgement.missing);
		}
	} else if (other) {
		text_addf(&t, "alive: no, %s has no rkey 0x%x",
			  process_id_text(other->process, process), remote->rkey);
	} else {
		text_addf(&t, "not known: the peer is not in the trace");
	}
	if (there && there->qp && there->qp->set & ABI_QP_ACCESS_FLAGS)
		put_access(&t, "access of the queue pair", keys_qp_lacks(there, needed));
	return move_text(&t, text);
}
