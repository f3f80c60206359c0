/*
 * Which queue pairs are connected to each other
 *
 *	number   qp_num -> peer -> peer		all queue pairs that have or had it
 */
#include "analyzer/model/peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/device.h"
#include "analyzer/model/qp.h"
#include "core/model/fit.h"
#include "core/store/read/joint.h"

static void *get_pointer(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

int peer_add(struct peers *peers, struct life *qp, struct life *context)
{
	struct peer *peer;

	if (!qp->number)
		return 0;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	*peer = (struct peer){ .same = get_pointer(&peers->by_number, qp->number),
			       .life = qp,
			       .process = qp->process,
			       .id = qp->id,
			       .number = qp->number,
			       .context = qp->context,
			       .pd = qp->pd,
			       .takes_reads = UINT32_MAX,
			       .gone = INT64_MAX };
	if (map_put(&peers->by_number, qp->number, (uintptr_t)peer)) {
		free(peer);
		return -ENOMEM;
	}
	peer->device = context ? device_get(&context->device) : NULL;
	qp->peer = peer;
	peers->changes++;
	return 0;
}

static void drop_peer(struct peers *peers, struct peer *peer)
{
	struct peer *first = get_pointer(&peers->by_number, peer->number), **at = &first;

	while (*at && *at != peer)
		at = &(*at)->same;
	if (*at)
		*at = peer->same;
	if (first)
		map_put(&peers->by_number, peer->number, (uintptr_t)first);
	else
		map_remove(&peers->by_number, peer->number);
	if (peer->connected && get_pointer(&peers->by_dest, peer->dest) == peer)
		map_remove(&peers->by_dest, peer->dest);
	device_put(peer->device);
	peers->changes++;
	free(peer);
}

static void drop_oldest(struct peers *peers)
{
	struct peer *peer = peers->oldest;

	peers->oldest = peer->newer;
	*(peer->newer ? &peer->newer->older : &peers->newest) = NULL;
	peers->ngone--;
	drop_peer(peers, peer);
}

void peer_leave(struct peers *peers, struct life *qp, int64_t now)
{
	struct peer *peer = qp->peer;

	if (!peer)
		return;
	qp->peer = NULL;
	peer->life = NULL;
	peer->is_ud = qp->qp && qp->qp->type == ABI_QPT_UD;
	peer->gone = qp->destroyed.time ? qp->destroyed.time : now;
	peer->destroyed = qp->destroyed;
	peer->older = peers->newest;
	*(peer->older ? &peer->older->newer : &peers->oldest) = peer;
	peers->newest = peer;
	peers->changes++;
	if (++peers->ngone > PEERS_DEAD)
		drop_oldest(peers);
}

static void learn_attributes(struct peers *peers, struct peer *peer, const struct qp *qp)
{
	uint32_t psns = qp->set & (ABI_QP_RQ_PSN | ABI_QP_SQ_PSN);

	if (qp->set & ABI_QP_MAX_DEST_RD_ATOMIC)
		peer->takes_reads = qp->max_dest_rd_atomic;
	if (psns == peer->psns && qp->rq_psn == peer->rq_psn && qp->sq_psn == peer->sq_psn)
		return;
	peer->psns = psns;
	peer->rq_psn = qp->rq_psn;
	peer->sq_psn = qp->sq_psn;
	peers->changes++;
}

void peer_connect(struct peers *peers, const struct life *life)
{
	const struct qp *qp = life->qp;
	struct peer *peer = life->peer;
	bool told = qp && qp->set & ABI_QP_DEST_QPN && qp->set & ABI_QP_AV;

	if (peer && qp)
		learn_attributes(peers, peer, qp);
	if (!peer || (peer->connected == told && (!told || peer->since == qp->rtr.time)))
		return;
	if (peer->connected && get_pointer(&peers->by_dest, peer->dest) == peer)
		map_remove(&peers->by_dest, peer->dest);
	peer->connected = told;
	peers->changes++;
	if (!told)
		return;
	peer->dest = qp->dest_qp_num;
	map_put(&peers->by_dest, peer->dest, (uintptr_t)peer); /* out of memory: not found */
	peer->is_rc = qp->type == ABI_QPT_RC;
	peer->port = qp->set & ABI_QP_PORT ? qp->port : 0;
	peer->sgid_index = qp->path.sgid_index;
	peer->place = (struct place){ .is_global = qp->path.is_global, .lid = qp->path.dlid };
	memcpy(peer->place.gid, qp->path.dgid, sizeof(peer->place.gid));
	peer->since = qp->rtr.time;
	peer->compared = false;
}

/* Does the address that @peer is connected to belong to @other? */
static enum placed find_place(const struct peer *peer, const struct peer *other)
{
	return device_place(other->device, other->port, &peer->place);
}

/* Does the send PSN of @peer fit the receive PSN of @other? False if one is not known. */
static bool matches_psn(const struct peer *peer, const struct peer *other)
{
	return peer->psns & ABI_QP_SQ_PSN && other->psns & ABI_QP_RQ_PSN &&
	       fit_psn(peer->sq_psn, other->rq_psn);
}

static bool is_on_other_host(const struct peers *peers, uint32_t process, uint32_t other)
{
	return peers->trace && trace_is_other_recording(peers->trace, process, other);
}

int64_t peer_slack(const struct peers *peers, uint32_t process, uint32_t other)
{
	return trace_order_uncertainty(peers->trace, process, other);
}

/* Do the attributes of the two ends, without their times, make them peers? */
static bool are_peers_alike(const struct peer *peer, const struct peer *other, bool abroad)
{
	return peer->connected && other->connected && other->dest == peer->number &&
	       peer->dest == other->number &&
	       fit_ends(find_place(peer, other), find_place(other, peer),
			abroad && (matches_psn(peer, other) || matches_psn(other, peer)), abroad);
}

static bool may_be_peers(const struct peers *peers, const struct peer *peer,
			 const struct peer *other)
{
	int64_t slack;

	if (!are_peers_alike(peer, other, is_on_other_host(peers, peer->process, other->process)))
		return false;
	slack = peer_slack(peers, peer->process, other->process);
	return slack != INT64_MAX && other->gone > peer->since - slack &&
	       peer->gone > other->since - slack;
}

/* When it was destroyed, or its process ended; INT64_MAX: not known. */
static int64_t find_end(const struct peers *peers, const struct peer *peer)
{
	const struct process *process = trace_process(peers->trace, peer->process);
	int64_t end = process && process->end >= 0 ? process->end : INT64_MAX;

	return end < peer->gone ? end : peer->gone;
}

/* Was one of them gone before the other was connected, whatever the error of the clocks? */
static bool are_lives_apart(const struct peers *peers, const struct peer *peer,
			    const struct peer *other)
{
	int64_t slack = peer_slack(peers, peer->process, other->process);

	return slack != INT64_MAX && (find_end(peers, other) <= peer->since - slack ||
				      find_end(peers, peer) <= other->since - slack);
}

static const struct peer *find_on_other_host(const struct peers *peers, const struct peer *peer)
{
	const struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	for (; other; other = other->same) {
		if (other == peer || !are_peers_alike(peer, other, false) ||
		    are_lives_apart(peers, peer, other))
			continue;
		if (found || !is_on_other_host(peers, peer->process, other->process) ||
		    !are_peers_alike(peer, other, true))
			return NULL;
		found = other;
	}
	return found;
}

void peer_visit_on_other_host(const struct peers *peers, uint32_t number,
			      void (*tell)(void *arg, const struct peer *peer,
					   const struct peer *other),
			      void *arg)
{
	const struct peer *peer = get_pointer(&peers->by_number, number);

	for (; peer; peer = peer->same) {
		const struct peer *other = peer->connected ? find_on_other_host(peers, peer) : NULL;

		if (other && find_on_other_host(peers, other) == peer)
			tell(arg, peer, other);
	}
}

static struct peer *find_connected_peer(struct peers *peers, const struct peer *peer, bool gone)
{
	struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	for (; other; other = other->same) {
		if (gone != (other->gone != INT64_MAX) || !may_be_peers(peers, peer, other))
			continue;
		if (found && !gone)
			return NULL;
		if (!found || other->gone > found->gone)
			found = other;
	}
	return found;
}

struct peer *peer_find_other(struct peers *peers, struct peer *peer)
{
	if (!peer || !peer->connected)
		return NULL;
	if (peer->changes != peers->changes) {
		peer->other = find_connected_peer(peers, peer, false)
				      ?: find_connected_peer(peers, peer, true);
		peer->changes = peers->changes;
	}
	return peer->other;
}

struct peer *peer_find_at(const struct peers *peers, uint32_t process, uint32_t number,
			  const struct place *place)
{
	struct peer *other = get_pointer(&peers->by_number, number), *found = NULL;

	for (; other; other = other->same) {
		enum placed placed = device_place(other->device, other->port, place);

		if (other->gone != INT64_MAX || placed == PLACED_ELSEWHERE ||
		    peer_slack(peers, process, other->process) == INT64_MAX)
			continue;
		if (found || placed != PLACED_AT_PORT)
			return NULL;
		found = other;
	}
	return found;
}

struct peer *peer_find_intended(struct peers *peers, const struct peer *peer)
{
	return peer->connected ? peer_find_at(peers, peer->process, peer->dest, &peer->place)
			       : NULL;
}

struct peer *peer_find_misled(struct peers *peers, const struct peer *peer)
{
	struct peer *found = peer_find_intended(peers, peer);

	return found && found->connected && found->dest != peer->number ? found : NULL;
}

const struct peer *peer_next(const struct peers *peers, uint32_t number, const struct peer *peer)
{
	return peer ? peer->same : get_pointer(&peers->by_number, number);
}

unsigned int peer_count_candidates(const struct peers *peers, const struct peer *peer)
{
	const struct peer *other = get_pointer(&peers->by_number, peer->dest);
	unsigned int n = 0;

	for (; other && peer->connected; other = other->same)
		n += find_place(peer, other) != PLACED_ELSEWHERE;
	return n;
}

static struct peer *find_former(const struct peers *peers, const struct peer *peer)
{
	struct peer *other = get_pointer(&peers->by_number, peer->dest), *found = NULL;

	for (; other && peer->connected; other = other->same) {
		if (find_place(peer, other) == PLACED_ELSEWHERE)
			continue;
		if (other->gone == INT64_MAX)
			return NULL;
		if (!found || other->gone > found->gone)
			found = other;
	}
	return found;
}

const struct peer *peer_find_former(const struct peers *peers, const struct peer *peer)
{
	return find_former(peers, peer);
}

struct peer *peer_find_given(struct peers *peers, const struct peer *peer)
{
	return peer_find_intended(peers, peer) ?: find_former(peers, peer);
}

const struct peer *peer_find_claimant(const struct peers *peers, const struct peer *peer)
{
	const struct peer *other = get_pointer(&peers->by_dest, peer->number);

	return other && other != peer && other->gone == INT64_MAX && other->connected &&
			       find_place(other, peer) != PLACED_ELSEWHERE
		       ? other
		       : NULL;
}

bool peer_is_only(const struct peers *peers, const struct peer *peer)
{
	return !peer->same && get_pointer(&peers->by_number, peer->number) == peer;
}

void peer_fini(struct peers *peers)
{
	while (peers->oldest) /* at this point no object lives: drops all */
		drop_oldest(peers);
	map_fini(&peers->by_number);
	map_fini(&peers->by_dest);
}
