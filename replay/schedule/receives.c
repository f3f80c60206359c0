/*
 * Which receive request a message consumes
 *
 * Each queue pair counts its receive requests and its messages from its creation on, and stores the
 * steps of requests that no message of its peer has consumed yet.
 *
 * A message that waits only for its own request may be earlier than recorded, and so may its
 * completion: so the CQ must have entries for all completions of its queues.
 */
#include "core/model/operation.h"
#include "replay/schedule/receives.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

enum { LEAST = 64, MOST = 1 << 16 }; /* number of stored requests */

struct receive_count {
	uint64_t posted, sent;
	struct mark *steps; /* of the last requests */
	uint32_t size;      /* capacity: 0 or a power of two */
	bool uneven;        /* the count may be wrong */
};

struct receives {
	const struct relations *relations;
	uint32_t nobjects;
	struct receive_count of[];
};

static struct receive_count *count_of(const struct receives *receives, uint32_t object)
{
	struct receives *all = (struct receives *)receives;

	return object && object < all->nobjects ? &all->of[object] : NULL;
}

static bool grow_steps(struct receive_count *c)
{
	uint32_t size = c->size ? 2 * c->size : LEAST;
	struct mark *steps = size > MOST ? NULL : malloc(size * sizeof(*steps));

	if (!steps)
		return false;
	for (uint64_t i = c->posted - c->size; i < c->posted; i++)
		steps[i & (size - 1)] = c->steps[i & (c->size - 1)];
	free(c->steps);
	c->steps = steps;
	c->size = size;
	return true;
}

/* Add a receive request. @sent: number of messages that the peer has sent. */
static void add_receive(struct receive_count *c, uint64_t sent, struct mark mark)
{
	if (c->uneven)
		return;
	if ((!c->size || sent + c->size <= c->posted) && !grow_steps(c))
		c->uneven = true;
	else
		c->steps[c->posted++ & (c->size - 1)] = mark;
}

void receives_note(struct receives *receives, const struct post *post, struct mark mark)
{
	const struct relation *of = relation_of(receives->relations, post->object);
	const struct receive_count *peer = count_of(receives, of->peer);
	struct receive_count *c = count_of(receives, post->object);

	if (!c || post->verb == VERB_wr_abort)
		return;
	if (post->ret || of->stopped)
		c->uneven = true;
	for (uint32_t i = 0; i < post->nwr; i++)
		if (!post_is_send(post))
			add_receive(c, peer ? peer->sent : 0, mark);
		else
			c->sent += operation_takes_receive(post->wr[i].opcode);
}

void receives_mark_uneven(struct receives *receives, uint32_t qp)
{
	struct receive_count *c = count_of(receives, qp);

	if (c)
		c->uneven = true;
}

/* The count of the peer whose receive requests the messages of @qp consume, one each; or NULL. */
static const struct receive_count *receiver_of(const struct receives *receives, uint32_t qp)
{
	const struct relation *of = relation_of(receives->relations, qp);
	const struct relation *to = relation_of(receives->relations, of->peer);
	const struct relation *cq = relation_of(receives->relations, to->recv_cq);
	const struct receive_count *own = count_of(receives, qp),
				   *other = count_of(receives, of->peer);

	if (!own || own->uneven || !other || other->uneven)
		return NULL;
	return to->peer == qp && to->receives == of->peer && to->recv_cq && !to->unreliable &&
			       !of->unreliable && cq->room >= cq->promised
		       ? other
		       : NULL;
}

bool receives_find(const struct receives *receives, uint32_t qp, struct mark *ret_mark)
{
	const struct receive_count *to = receiver_of(receives, qp), *own = count_of(receives, qp);

	*ret_mark = (struct mark){ 0 };
	if (!to || own->sent > to->posted || own->sent + to->size <= to->posted)
		return false;
	if (own->sent)
		*ret_mark = to->steps[(own->sent - 1) & (to->size - 1)];
	return true;
}

int receives_new(const struct relations *relations, uint32_t nobjects,
		 struct receives **ret_receives)
{
	struct receives *all = calloc(1, sizeof(*all) + nobjects * sizeof(*all->of));

	if (!all)
		return -ENOMEM;
	all->relations = relations;
	all->nobjects = nobjects;
	*ret_receives = all;
	return 0;
}

void receives_free(struct receives *receives)
{
	for (uint32_t i = 0; receives && i < receives->nobjects; i++)
		free(receives->of[i].steps);
	free(receives);
}
