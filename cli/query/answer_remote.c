/*
 * What the other end of a one-sided request checks, in the order in which it does
 *
 * 	rkey --> region or window: alive? --> domain --> range --> its access, the queue pair's
 *
 * The clocks of two processes may differ: what changed just before the request was refused has its
 * time in the text.
 */
#include "cli/query/answer_remote.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyzer/model/key.h"
#include "analyzer/model/key_post.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/window.h"
#include "analyzer/model/words.h"
#include "cli/query/answer.h"
#include "core/base/text.h"

static const struct peer *other_end(const struct view *view, const struct life *qp)
{
	return qp->peer ? peer_other(model_peers(view->model), qp->peer) : NULL;
}

static const struct key *find_key(const struct view *view, const struct remote *remote)
{
	const struct peer *other = other_end(view, remote->qp);

	return other ? keys_find_rkey(model_keys(view->model), other->process, other->context,
				      remote->rkey)
		     : NULL;
}

/* The range and the access of a region, or of what a window is bound to; false: it is not bound. */
static bool find_range(const struct view *view, const struct key *key, struct key *ret_range)
{
	*ret_range = *key;
	return key->kind != OBJECT_mw || window_as_key(view->model, key, INT64_MAX, ret_range);
}

static const char *take_text(struct text *t, char text[REMOTE_TEXT])
{
	snprintf(text, REMOTE_TEXT, "%s", t->at ? t->at : "");
	text_fini(t);
	return text;
}

const char *remote_name(const struct view *view, const struct remote *remote,
			const struct key **ret_key, char text[REMOTE_TEXT])
{
	const struct key *key = find_key(view, remote);
	const struct object *object = key ? trace_object(view->trace, key->object) : NULL;
	char process[PROCESS_TEXT];
	struct text t = { 0 };
	struct key range;

	*ret_key = key;
	text_addf(&t, "%s at ", WORDS_N(remote->length, "byte"));
	if (object && object->name)
		text_addf(&t, "%s %s", process_id_text(key->process, process), object->name);
	if (object && object->name && find_range(view, key, &range))
		text_addf(&t, "+0x%" PRIx64, remote->addr - range.addr);
	else if (object && object->name)
		text_addf(&t, " (0x%" PRIx64 ")", remote->addr);
	else
		text_addf(&t, "0x%" PRIx64, remote->addr);
	text_addf(&t, ", rkey 0x%x", remote->rkey);
	return take_text(&t, text);
}

static void put_alive(struct text *t, const struct view *view, const struct key *key)
{
	char when[VIEW_TEXT];

	text_addf(t, "alive: ");
	if (key->state == KEY_CHANGING)
		text_addf(t, "not known, a call that changes it is under way");
	else if (key->state == KEY_DEAD)
		text_addf(t, "no, %s", view_moment(view, &key->destroyed, when) ?: "it is gone");
	else if (key->kind == OBJECT_mw && window_state(view->model, key) == WINDOW_INVALID)
		text_addf(t, "no, it was invalidated");
	else if (key->kind == OBJECT_mw && window_state(view->model, key) == WINDOW_UNBOUND)
		text_addf(t, "no, it is not bound");
	else
		text_addf(t, "yes");
}

static void put_domain(struct text *t, const struct view *view, const struct key *key,
		       const struct peer *other)
{
	const struct object *pd;

	if (!key->pd || !other->pd)
		return;
	text_addf(t, "; same domain: %s", key->pd == other->pd ? "yes" : "no");
	pd = key->pd == other->pd ? NULL
				  : trace_object_at(view->trace, key->process, OBJECT_pd, key->pd,
						    view->at.time);
	if (pd && pd->name)
		text_addf(t, ", it is in %s", pd->name);
}

static void put_range(struct text *t, const struct key *key, const struct remote *remote)
{
	bool holds = key_holds(key, remote->addr, remote->length);

	text_addf(t, "; in range: %s", holds ? "yes" : "no");
	if (!holds)
		text_addf(t, ", it has %s at 0x%" PRIx64, WORDS_N(key->length, "byte"), key->addr);
}

static void put_access(struct text *t, const char *what, uint32_t missing)
{
	char text[VIEW_TEXT];

	text_addf(t, "; %s: %s", what, missing ? "no, it lacks " : "yes");
	if (missing)
		text_addf(t, "%s", name_access(missing, text));
}

const char *remote_checks(const struct view *view, const struct remote *remote,
			  char text[REMOTE_TEXT])
{
	const struct peer *other = other_end(view, remote->qp);
	const struct key *key = find_key(view, remote);
	const struct qp *there = other && other->life ? other->life->qp : NULL;
	uint32_t needed = keys_needed(remote->opcode);
	char process[PROCESS_TEXT];
	struct text t = { 0 };
	struct key range;

	if (key) {
		put_alive(&t, view, key);
		put_domain(&t, view, key, other);
		if (find_range(view, key, &range)) {
			put_range(&t, &range, remote);
			put_access(&t, "access", needed & ~range.access);
		}
	} else if (other) {
		text_addf(&t, "alive: no, %s has no rkey 0x%x",
			  process_id_text(other->process, process), remote->rkey);
	} else {
		text_addf(&t, "not known: the peer is not in the trace");
	}
	if (there && there->set & ABI_QP_ACCESS_FLAGS)
		put_access(&t, "access of the queue pair", needed & ~there->access);
	return take_text(&t, text);
}
