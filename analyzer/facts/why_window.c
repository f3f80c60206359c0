/*
 * Why a window was not bound, or a key not invalidated: IBV_WC_MW_BIND_ERR
 *
 * Not here: uses of windows (cause.c).
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyzer/facts/why.h"
#include "analyzer/model/key.h"
#include "analyzer/model/key_post.h"
#include "analyzer/model/model.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "core/base/text.h"

enum { TEXT = 96 };

static bool is_same(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

/* The window that @request has bound, if it was not bound again since; NULL: not known. */
static const struct key *find_bound(const struct model *model, uint32_t process,
				    const struct queue_request *request)
{
	const struct key *key = model_keys(model)->live.oldest;

	for (; key; key = key->newer)
		if (key->process == process && is_same(key->bind.at.id, queue_id(request)) &&
		    key->bind.index == request->index)
			return key;
	return NULL;
}

static void describe_bind_range(struct text *t, const struct key_bind *bind,
				const struct key *region, const char *name)
{
	char relation[WORDS_RELATION];

	text_addf(t, "the window is %s at 0x%" PRIx64 ", and %s is %s at 0x%" PRIx64 ": %s",
		  WORDS_N(bind->length, "byte"), bind->addr, name, WORDS_N(region->length, "byte"),
		  region->addr,
		  words_describe_relation(region, bind->addr, bind->length, relation));
}

static void describe_bind(struct trace *trace, const struct life *qp, const struct key *window,
			  const struct key *region, struct text *t)
{
	const struct key_bind *bind = &window->bind;
	uint32_t writes = bind->access & (ABI_ACCESS_REMOTE_WRITE | ABI_ACCESS_REMOTE_ATOMIC);
	char name[TEXT], id[32];

	words_describe_key(trace, region, name, sizeof(name));
	if (region->state == KEY_DEAD)
		text_addf(t, "%s was destroyed by %s", name,
			  event_id_text(region->destroyed.id, id));
	else if (!(region->access & ABI_ACCESS_MW_BIND))
		text_addf(t, "%s was registered without %s", name,
			  words_name_access(ABI_ACCESS_MW_BIND));
	else if (writes && !(region->access & ABI_ACCESS_LOCAL_WRITE))
		text_addf(t, "the window has %s, and %s was registered without %s",
			  words_name_access(writes), name,
			  words_name_access(ABI_ACCESS_LOCAL_WRITE));
	else if (!region->any && bind->length && !key_holds(region, bind->addr, bind->length))
		describe_bind_range(t, bind, region, name);
	else if (region->pd && qp->pd && region->pd != qp->pd)
		text_addf(t, "%s and %s do not belong to one PD", name, qp->name);
	else if (bind->before.thread && bind->length)
		text_addf(t,
			  "the window was bound by %s, and not invalidated since: one of type 2 is "
			  "bound again only after IBV_WR_LOCAL_INV or IBV_WR_SEND_WITH_INV",
			  event_id_text(bind->before, id));
}

/* @own is the event of the failed request. */
static void describe_invalidation(struct trace *trace, const struct key *key, uint32_t number,
				  struct event_id own, struct text *t)
{
	char name[TEXT], id[32];

	if (!key)
		text_addf(t, "invalidate_rkey 0x%x does not belong to a window of this process",
			  number);
	else if (key->kind == OBJECT_mr && key->state == KEY_LIVE)
		text_addf(t,
			  "invalidate_rkey 0x%x is %s, a region: only windows of type 2 can be "
			  "invalidated",
			  number, words_describe_key(trace, key, name, sizeof(name)));
	else if (key->kind == OBJECT_mw && !is_same(key->invalid.at.id, own) &&
		 key->invalid.at.id.thread)
		text_addf(t, "invalidate_rkey 0x%x is %s, which %s had invalidated", number,
			  words_describe_key(trace, key, name, sizeof(name)),
			  event_id_text(key->invalid.at.id, id));
}

char *explain_failed_window(struct trace *trace, struct model *model,
			    const struct model_complete *complete)
{
	const struct queue_request *request = complete->request;
	const struct life *qp = complete->qp;
	uint32_t process = complete->event->process;
	const struct keys *keys = model_keys(model);
	struct text t = { 0 };

	if (request->opcode == ABI_WR_LOCAL_INV) {
		const struct key *key = keys_find_rkey(keys, process, qp->context, request->rkey);

		if (key || keys_has_seen_all(model, qp))
			describe_invalidation(trace, key, request->rkey, queue_id(request), &t);
	} else if (request->opcode == ABI_WR_BIND_MW) {
		const struct key *window = find_bound(model, process, request);
		const struct key *region =
			window ? keys_find_object(keys, process, OBJECT_mr, window->bind.mr) : NULL;

		if (region)
			describe_bind(trace, qp, window, region, &t);
	}
	if (t.failed)
		text_fini(&t);
	return t.at;
}
