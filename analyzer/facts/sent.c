/*
 * Messages that were sent to queue pairs that cannot refuse them
 */
#include "analyzer/facts/sent.h"

#include <stdlib.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/astray.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "core/base/vec.h"

enum { MULTICAST = 0xffffff };

#define GROUP (UINT64_C(1) << 63)

void sent_forget_peers(struct sent *sent)
{
	sent->process = 0;
}

/* The number that the poster is connected to if it is a UC queue pair, else 0. */
static uint32_t find_dest(struct sent *sent, struct model *model, const struct trace_event *event)
{
	const struct life *life;

	if (sent->process == event->process && sent->handle == event->post->handle)
		return sent->dest;
	life = model_life(model, event->process, OBJECT_qp, event->post->handle);
	sent->process = event->process;
	sent->handle = event->post->handle;
	sent->dest =
		life && life->qp && life->qp->type == ABI_QPT_UC && life->qp->set & ABI_QP_DEST_QPN
			? life->qp->dest_qp_num
			: 0;
	sent->refuses = life && life->qp && life->qp->type == ABI_QPT_RC;
	return sent->dest;
}

static struct sent_to *to_number(struct sent *sent, uint64_t number)
{
	struct sent_to *to;
	uint64_t at;

	if (map_get(&sent->by_number, number, &at))
		return &sent->all[at - 1];
	to = vec_push(sent->all, sent->n);
	return to && !map_put(&sent->by_number, number, sent->n) ? to : NULL;
}

static bool takes_receive(int opcode)
{
	return opcode == ABI_WR_SEND || opcode == ABI_WR_SEND_WITH_IMM;
}

/* The number, or the group, that a datagram is sent to; 0: not known. */
static uint64_t find_number(struct model *model, uint32_t process, const struct wr *wr)
{
	const struct life *ah;

	if (wr->remote_qpn != MULTICAST)
		return wr->remote_qpn;
	ah = model_life(model, process, OBJECT_ah, wr->ah);
	return ah && ah->path ? GROUP | astray_group(ah->path->dgid) : 0;
}

void sent_note_post(struct sent *sent, struct model *model, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t dest, taken;

	if (sent->refuses && sent->process == event->process && sent->handle == post->handle)
		return;
	taken = post_taken(post);
	if (!post_is_send(post) || !taken)
		return;
	dest = find_dest(sent, model, event);
	for (uint32_t i = 0; i < taken; i++) {
		const struct wr *wr = &post->wr[i];
		uint64_t number = wr->remote_qpn ? find_number(model, event->process, wr) : dest;
		struct sent_to *to =
			number && takes_receive(wr->opcode) ? to_number(sent, number) : NULL;

		if (!to)
			continue;
		to->messages++;
		to->bytes = wr_bytes(wr);
		to->process = event->process;
		to->qp = post->object;
	}
}

static const struct sent_to *find_sent(const struct sent *sent, uint64_t number)
{
	uint64_t at;

	return map_get(&sent->by_number, number, &at) ? &sent->all[at - 1] : NULL;
}

const struct sent_to *sent_find(const struct sent *sent, uint32_t number)
{
	return find_sent(sent, number);
}

const struct sent_to *sent_find_group(const struct sent *sent, uint64_t group)
{
	return find_sent(sent, GROUP | (group & ASTRAY_GROUP_MASK));
}

void sent_fini(struct sent *sent)
{
	map_fini(&sent->by_number);
	free(sent->all);
}
