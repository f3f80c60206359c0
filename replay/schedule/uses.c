/*
 * The objects that an event uses
 *
 * An event whose objects are not all known connects all players.
 */
#include "replay/schedule/uses.h"

#include <infiniband/verbs.h>

#include "core/model/operation.h"

/* An event, and where to note its objects. */
struct use {
	struct groups *groups;
	const struct relations *relations;
	const struct trace_event *event;
	uint32_t player;
};

bool uses_is_local(const struct call *call)
{
	enum object_kind kind = verb_infos[call->verb].object;

	switch (verb_infos[call->verb].effect) {
	case EFFECT_CREATE:
	case EFFECT_DESTROY:
	case EFFECT_USE:
	case EFFECT_QUERY:
		return call->object && !call->failed && call->end >= 0 &&
		       (kind == OBJECT_qp || kind == OBJECT_cq || kind == OBJECT_mr);
	default:
		return false;
	}
}

static const struct object *object_of(const struct use *use, uint32_t id)
{
	return use->relations->trace ? trace_object(use->relations->trace, id) : NULL;
}

static void note_region(const struct use *use, uint32_t id)
{
	const struct object *mr = object_of(use, id);

	if (mr && mr->kind == OBJECT_mr)
		groups_use_region(use->groups, use->player, mr->process, mr->number, mr->rkey);
}

static void note_queues(const struct use *use, uint32_t id)
{
	const struct relation *of = relation_of(use->relations, id);
	const uint32_t used[] = { id, of->send_cq, of->recv_cq, of->receives, of->peer };

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		groups_use_object(use->groups, use->player, used[i]);
}

static void note_call(const struct use *use, const struct call *call)
{
	if (verb_infos[call->verb].effect == EFFECT_GET || call->verb == VERB_rereg_mr) {
		groups_join_all(use->groups);
	} else if (uses_is_local(call)) {
		note_queues(use, call->object);
		if (verb_infos[call->verb].effect == EFFECT_CREATE)
			note_region(use, call->object);
	}
}

static bool changes_region(const struct wr *wr)
{
	return wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV ||
	       wr->opcode == IBV_WR_SEND_WITH_INV;
}

static void note_buffers(const struct use *use, const struct wr *wr)
{
	for (uint32_t i = 0; i < wr->nsge; i++)
		groups_use_key(use->groups, use->player, use->event->process, wr->sge[i].lkey,
			       false);
}

static void note_send(const struct use *use, const struct wr *wr, uint32_t peer)
{
	const struct object *qp = object_of(use, peer);

	if (!peer || changes_region(wr)) {
		groups_join_all(use->groups);
		return;
	}
	if (!(wr->send_flags & IBV_SEND_INLINE))
		note_buffers(use, wr);
	if (operation_has_rkey(wr->opcode))
		groups_use_key(use->groups, use->player, qp ? qp->process : use->event->process,
			       wr->rkey, true);
}

static void note_post(const struct use *use, const struct post *post)
{
	uint32_t peer = relation_of(use->relations, post->object)->peer;

	note_queues(use, post->object);
	for (uint32_t i = 0; i < post->nwr; i++)
		if (post_is_send(post))
			note_send(use, &post->wr[i], peer);
		else
			note_buffers(use, &post->wr[i]);
}

static void note_poll(const struct use *use, const struct poll *poll)
{
	note_queues(use, poll->object);
	for (uint32_t i = 0; i < poll->nwc; i++)
		note_queues(use, poll->wc[i].qp);
}

void uses_note(struct groups *groups, const struct relations *relations,
	       const struct trace_event *event, uint32_t player)
{
	const struct use use = { groups, relations, event, player };

	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		note_call(&use, event->call);
		break;
	case TRACE_POST:
		note_post(&use, event->post);
		break;
	case TRACE_POLL:
		note_poll(&use, event->poll);
		break;
	case TRACE_NOTIFY:
		note_queues(&use, event->notify->object);
		break;
	default:
		groups_join_all(groups);
		break;
	}
}
