/*
 * Which queue pairs exchange datagrams
 *
 * A UD queue pair has no peer: it waits for a datagram from a queue pair that has sent it datagrams
 * before, or for the answer of a queue pair that it has sent to. Datagrams to multicast groups, and
 * to queue pairs that are not in the trace, are ignored.
 *
 *	queue pair --> its partners, newest first: a list
 *	address handle, number of a queue pair --> where datagrams go: looked up once
 */
#include "analyzer/facts/stalls_datagram.h"

#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "analyzer/model/queue.h"
#include "core/base/map.h"
#include "core/base/vec.h"

enum { MULTICAST = 0xffffff, MOST = 64 /* partners of a queue pair */ };

struct partner {
	struct stall_datagram datagram;
	uint32_t of;   /* object */
	uint32_t next; /* next partner of that queue pair: 1 + index; 0: this is the last */
};

struct stalls_datagram {
	struct partner *all;
	size_t n;
	struct map pairs; /* (object, object) to 1 + index */
	uint32_t *by_qp;  /* by object: 1 + index of its newest partner; 0: none */
	size_t nqps;
	/* the last datagram: most go to the same destination */
	uint32_t from, number;
	uint64_t ah;
	int64_t after;    /* when the address handle was created */
	uint32_t there;   /* 1 + index of the receiver's partner; 0: not known */
	uint64_t changes; /* the model's count of peer changes when the receiver was looked up */
};

struct stalls_datagram *stalls_datagram_new(void)
{
	return calloc(1, sizeof(struct stalls_datagram));
}

void stalls_datagram_free(struct stalls_datagram *datagrams)
{
	if (!datagrams)
		return;
	free(datagrams->all);
	free(datagrams->by_qp);
	map_fini(&datagrams->pairs);
	free(datagrams);
}

/* The index of the partner + 1; 0: no memory. */
static uint32_t get_partner(struct stalls_datagram *datagrams, uint32_t of, uint32_t process,
			    uint32_t qp)
{
	uint64_t key = (uint64_t)of << 32 | qp, at;
	struct partner *partner;
	uint32_t *newest;

	if (map_get(&datagrams->pairs, key, &at))
		return (uint32_t)at;
	newest = vec_at(datagrams->by_qp, datagrams->nqps, of);
	partner = newest ? vec_push(datagrams->all, datagrams->n) : NULL;
	if (!partner || map_put(&datagrams->pairs, key, datagrams->n)) {
		datagrams->n -= partner != NULL;
		return 0;
	}
	*partner = (struct partner){ { process, qp, 0 }, of, *newest };
	*newest = (uint32_t)datagrams->n;
	return *newest;
}

static const struct peer *find_receiver(struct model *model, const struct life *from,
					const struct life *ah, uint32_t number)
{
	struct place place = { .is_global = ah->path->is_global, .lid = ah->path->dlid };
	const struct peer *peer;

	memcpy(place.gid, ah->path->dgid, sizeof(place.gid));
	peer = peer_find_at(model_peers(model), from->process, number, &place);
	return peer && peer->id && peer->id != from->id ? peer : NULL;
}

/* Does the datagram go to the same queue pair as the last one? */
static bool is_same_destination(const struct stalls_datagram *datagrams, const struct life *from,
				const struct life *ah, uint32_t number, uint64_t changes)
{
	return datagrams->from == from->id && datagrams->ah == ah->handle &&
	       datagrams->number == number && datagrams->after == ah->created.time &&
	       datagrams->changes == changes;
}

static void find_far_qp(struct stalls_datagram *datagrams, struct model *model,
			const struct life *from, const struct life *ah, uint32_t number)
{
	const struct peer *peer = find_receiver(model, from, ah, number);

	datagrams->from = from->id;
	datagrams->ah = ah->handle;
	datagrams->number = number;
	datagrams->after = ah->created.time;
	datagrams->changes = model_peers(model)->changes;
	datagrams->there = 0;
	if (peer && get_partner(datagrams, from->id, peer->process, peer->id))
		datagrams->there = get_partner(datagrams, peer->id, from->process, from->id);
}

static void count_datagram(struct stalls_datagram *datagrams, struct model *model,
			   const struct life *from, const struct wr *wr)
{
	const struct life *ah = model_life(model, from->process, OBJECT_ah, wr->ah);
	uint32_t number = (uint32_t)wr->remote_qpn;

	if (!ah || !ah->path || number == MULTICAST)
		return;
	if (!is_same_destination(datagrams, from, ah, number, model_peers(model)->changes))
		find_far_qp(datagrams, model, from, ah, number);
	if (datagrams->there)
		datagrams->all[datagrams->there - 1].datagram.received++;
}

void stalls_datagram_note_post(struct stalls_datagram *datagrams, struct model *model,
			       const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t taken = post_taken(post);
	const struct life *from;

	if (!taken || !post->wr[0].remote_qpn) /* the usual case: not a datagram */
		return;
	from = model_life(model, event->process, OBJECT_qp, post->handle);
	if (!from || !from->id || !from->qp || from->qp->type != ABI_QPT_UD)
		return;
	for (uint32_t i = 0; i < taken; i++)
		count_datagram(datagrams, model, from, &post->wr[i]);
}

void stalls_datagram_visit(const struct stalls_datagram *datagrams, uint32_t qp,
			   void (*each)(void *arg, const struct stall_datagram *datagram),
			   void *arg)
{
	uint32_t at = qp < datagrams->nqps ? datagrams->by_qp[qp] : 0;

	for (int i = 0; at && i < MOST; i++, at = datagrams->all[at - 1].next)
		each(arg, &datagrams->all[at - 1].datagram);
}
