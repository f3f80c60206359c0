/*
 * Memory windows: the range of their keys, and how long these are valid
 *
 * 	bind		key 0x101 ---------- bind again, 0x102: 0x101 is replaced
 * 	LOCAL_INV	           | posted ------ polled: invalid
 * 	SEND_WITH_INV	           | posted ------ polled at either end: invalid
 *
 * While it is not known whether an invalidation was executed, no rule checks the window.
 */
#include "analyzer/model/window.h"

#include <stdio.h>

#include "analyzer/model/model_state.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"

/* Is the request that invalidates @key done? Its queue must not have been reset since. */
static bool is_invalidate_done(const struct model *model, const struct key *key)
{
	const struct life *qp =
		lives_find(&model->lives, key->invalid.at.process, OBJECT_qp, key->invalid.qp);
	const struct queue *queue = qp && qp->state == LIFE_LIVE ? qp->sq : NULL;

	if (!queue || queue->doubt || qp->created.time > key->invalid.at.time ||
	    (qp->qp && qp->qp->reset > key->invalid.at.time))
		return false;
	for (uint32_t i = 0; i < queue->count; i++) {
		const struct queue_request *request = queue_at(queue, i);

		if (!request->done && request->thread == key->invalid.at.id.thread &&
		    request->n == key->invalid.at.id.n && request->index == key->invalid.index)
			return false;
	}
	return true;
}

enum window_state window_state(const struct model *model, const struct key *key)
{
	if (!key->bind.at.id.thread || key->bind.ends)
		return WINDOW_UNBOUND;
	if (!key->invalid.at.id.thread)
		return WINDOW_BOUND;
	return key->invalid.certain || (!key->invalid.failed && is_invalidate_done(model, key))
		       ? WINDOW_INVALID
		       : WINDOW_INVALIDATING;
}

bool window_make_key(const struct model *model, const struct key *key, int64_t time,
		     struct key *ret_key)
{
	if (key->kind != OBJECT_mw || key->state != KEY_LIVE ||
	    window_state(model, key) != WINDOW_BOUND || key->bind.at.time >= time)
		return false;
	*ret_key = *key;
	ret_key->access = key->bind.access;
	ret_key->memory = key->bind.addr;
	ret_key->addr = key->bind.access & ABI_ACCESS_ZERO_BASED ? 0 : key->bind.addr;
	ret_key->length = key->bind.length;
	ret_key->any = false;
	return true;
}

const char *window_invalid_text(const struct key *key, int64_t time, char text[WINDOW_TEXT])
{
	const char *opcode = enum_name(enum_find("ibv_wr_opcode"), key->invalid.opcode);
	char id[32], when[32];

	snprintf(text, WINDOW_TEXT, "%s %s, %s earlier, invalidated it", opcode ?: "a request",
		 event_id_text(key->invalid.at.id, id),
		 words_format_span(time - key->invalid.at.time, when));
	return text;
}

int window_bind(struct keys *keys, struct key *key, const struct key_bind *bind, uint32_t rkey)
{
	struct event_id before;

	if (key->bind.at.id.thread && !key->bind.ends && key->rkey != rkey)
		keys_replace(keys, key, key->invalid.at.id.thread ? &key->invalid.at : &bind->at);
	before = key->bind.at.id;
	if (!before.thread || key->bind.ends || key->invalid.at.id.thread)
		before = (struct event_id){ 0 };
	key->bind = *bind;
	key->bind.before = before;
	key->invalid = (struct key_invalid){ 0 };
	return keys_rename(keys, key, 0, rkey);
}

static struct key *find_window(struct model *model, uint32_t process, uint64_t context,
			       uint32_t rkey)
{
	struct key *key = keys_find_rkey(&model->keys, process, context, rkey);

	return key && key->kind == OBJECT_mw && key->state != KEY_DEAD ? key : NULL;
}

void window_note_invalidated(struct model *model, const struct trace_event *event,
			     const struct life *queue, uint32_t i)
{
	const struct peer *other = peer_find_other(&model->peers, queue->peer);
	const struct wr *wr = &event->post->wr[i];
	struct key *key = NULL;

	if (wr->opcode == ABI_WR_LOCAL_INV)
		key = find_window(model, event->process, queue->context, wr->imm);
	else if (other)
		key = find_window(model, other->process, other->context, wr->imm);
	if (!key || key->state != KEY_LIVE)
		return;
	key->state = KEY_CHANGING;
	key->invalid = (struct key_invalid){
		.at = moment_of(event), .index = i, .opcode = wr->opcode, .qp = event->post->handle
	};
}

void window_restore(struct model *model, const struct trace_event *event,
		    const struct queue_request *request)
{
	for (struct key *key = model->keys.live.newest; key; key = key->older) {
		struct key_invalid *invalid = &key->invalid;

		if (invalid->at.id.thread != request->thread || invalid->at.id.n != request->n ||
		    invalid->index != request->index || invalid->at.process != event->process)
			continue;
		/* the message may have arrived nonetheless */
		if (request->opcode == ABI_WR_LOCAL_INV)
			*invalid = (struct key_invalid){ 0 };
		else
			invalid->failed = true;
	}
}

void window_note_remote_invalidation(struct model *model, const struct trace_event *event,
				     const struct life *qp, const struct wc *wc)
{
	struct key *key = find_window(model, event->process, qp->context, wc->imm);

	if (!key)
		return;
	if (!key->invalid.at.id.thread) {
		key->invalid.at = moment_of(event);
		key->invalid.opcode = ABI_WR_SEND_WITH_INV;
	}
	key->invalid.certain = true;
	key->state = KEY_CHANGING;
}
