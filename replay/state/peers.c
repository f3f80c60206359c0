/*
 * Which queue pair of the trace talks to which
 *
 *	by number:  dest -> qp -> qp -> ...     all that ever had the number
 *	by object:  id   -> qp -> link -> link  where it was connected to
 *	by port:    device, port -> place -> place  the addresses that it was told to have
 *
 * Two hosts that were booted alike give the same numbers. A queue pair whose port is known by
 * addresses like the one that is looked for, but not by that one, is on another host. A port has
 * several kinds of addresses and programs are told of some, so only like ones contradict.
 */
#include "replay/state/peers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "replay/state/place.h"

struct link {
	struct link *next;
	uint32_t dest;
	struct ibv_ah_attr av; /* zeroed: not known */
};

struct qp {
	struct qp *same; /* next of the same number */
	struct qp *all;
	struct link *links;
	uint32_t id, number, device;
	uint8_t port;
	int64_t created, destroyed;
};

/* An address of a port. */
struct place {
	struct place *next; /* of the same port */
	struct place *all;
	uint16_t lid; /* 0: it is the GID */
	union ibv_gid gid;
};

struct peers {
	struct map by_number; /* to struct qp */
	struct map by_id;
	struct map by_port; /* to struct place */
	struct qp *all;
	struct place *places;
};

int peers_new(struct peers **ret_peers)
{
	struct peers *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	*ret_peers = p;
	return 0;
}

static void free_qp(struct qp *qp)
{
	while (qp->links) {
		struct link *link = qp->links;

		qp->links = link->next;
		free(link);
	}
	free(qp);
}

static uint64_t port_key(uint32_t device, uint8_t port)
{
	return (uint64_t)device << 8 | port;
}

static struct place *places_of(const struct peers *p, uint32_t device, uint8_t port)
{
	uint64_t value;

	return map_get(&p->by_port, port_key(device, port), &value)
		       ? (struct place *)(uintptr_t)value
		       : NULL;
}

static void free_places(struct peers *p)
{
	while (p->places) {
		struct place *place = p->places;

		p->places = place->all;
		free(place);
	}
}

void peers_free(struct peers *p)
{
	if (!p)
		return;
	free_places(p);
	while (p->all) {
		struct qp *qp = p->all;

		p->all = qp->all;
		free_qp(qp);
	}
	map_fini(&p->by_number);
	map_fini(&p->by_id);
	map_fini(&p->by_port);
	free(p);
}

static struct qp *find_qp(const struct map *map, uint32_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (struct qp *)(uintptr_t)value : NULL;
}

int peers_add(struct peers *p, uint32_t id, uint32_t device, uint32_t number, int64_t created,
	      int64_t destroyed)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	*qp = (struct qp){ .same = find_qp(&p->by_number, number),
			   .all = p->all,
			   .id = id,
			   .number = number,
			   .device = device,
			   .port = 1,
			   .created = created,
			   .destroyed = destroyed };
	p->all = qp;
	if (map_put(&p->by_number, number, (uintptr_t)qp) || map_put(&p->by_id, id, (uintptr_t)qp))
		return -ENOMEM;
	return 0;
}

void peers_use_port(struct peers *p, uint32_t id, uint8_t port)
{
	struct qp *qp = find_qp(&p->by_id, id);

	if (qp)
		qp->port = port;
}

static bool same_gid(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static int add_place(struct peers *p, uint32_t device, uint8_t port, uint16_t lid,
		     const union ibv_gid *gid)
{
	struct place *first = places_of(p, device, port), *place;

	for (place = first; place; place = place->next)
		if (place->lid == lid && same_gid(&place->gid, gid))
			return 0;
	place = calloc(1, sizeof(*place));
	if (!place)
		return -ENOMEM;
	*place = (struct place){ first, p->places, lid, *gid };
	p->places = place;
	return map_put(&p->by_port, port_key(device, port), (uintptr_t)place);
}

static const union ibv_gid no_gid;

int peers_told_lid(struct peers *p, uint32_t device, uint8_t port, uint16_t lid)
{
	return lid ? add_place(p, device, port, lid, &no_gid) : 0;
}

int peers_told_gid(struct peers *p, uint32_t device, uint8_t port, const union ibv_gid *gid)
{
	return same_gid(gid, &no_gid) ? 0 : add_place(p, device, port, 0, gid);
}

int peers_connect(struct peers *p, uint32_t id, uint32_t dest, const struct ibv_ah_attr *av)
{
	struct qp *qp = find_qp(&p->by_id, id);
	struct link *link;

	if (!qp)
		return 0;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	*link = (struct link){ .next = qp->links, .dest = dest };
	if (av)
		link->av = *av;
	qp->links = link;
	return 0;
}

static bool connected_to(const struct qp *qp, uint32_t dest)
{
	for (const struct link *link = qp->links; link; link = link->next)
		if (link->dest == dest)
			return true;
	return false;
}

/* The distance of @time from the lifetime of @qp. */
static int64_t measure_distance(const struct qp *qp, int64_t time)
{
	if (time < qp->created)
		return qp->created - time;
	return time < qp->destroyed ? 0 : time - qp->destroyed + 1;
}

/* Is that address one of the port's? */
static enum placed compare_place(const struct place *place, const struct ibv_ah_attr *av)
{
	enum placed found = PLACED_PERHAPS, one;

	for (; place; place = place->next) {
		one = place_compare(place->lid, &place->gid, av);
		if (one == PLACED_THERE)
			return one;
		if (one == PLACED_ELSEWHERE)
			found = one;
	}
	return found;
}

static enum placed find_place(const struct peers *p, const struct qp *qp,
			      const struct ibv_ah_attr *av)
{
	if (!av || !(av->is_global || av->dlid))
		return PLACED_PERHAPS;
	return compare_place(places_of(p, qp->device, qp->port), av);
}

/*
 * May @qp, which has the number that @me was connected to, not be its peer? It was gone, or not
 * there yet, or its address is not known, and connected to others; or it is @me itself, at an
 * address that nobody was told of.
 */
static bool is_stranger(const struct qp *me, const struct qp *qp, bool mutual, enum placed placed,
			const struct ibv_ah_attr *av, int64_t time)
{
	bool unknown = placed == PLACED_PERHAPS && av && av->is_global;

	if (qp == me)
		return unknown;
	return !mutual && qp->links && (unknown || measure_distance(qp, time));
}

uint32_t peers_find(const struct peers *p, uint32_t id, uint32_t dest, const struct ibv_ah_attr *av,
		    int64_t time)
{
	const struct qp *me = find_qp(&p->by_id, id), *best = NULL;
	int best_score = 0;

	for (const struct qp *qp = find_qp(&p->by_number, dest); qp; qp = qp->same) {
		enum placed placed = find_place(p, qp, av);
		bool mutual = me && connected_to(qp, me->number);
		int score = placed * 2 + mutual;

		if (placed == PLACED_ELSEWHERE || (best && best_score > score))
			continue;
		if (me && is_stranger(me, qp, mutual, placed, av, time))
			continue;
		if (best && best_score == score &&
		    measure_distance(best, time) <= measure_distance(qp, time))
			continue;
		best = qp;
		best_score = score;
	}
	return best ? best->id : 0;
}

bool peers_claimed(const struct peers *p, uint32_t id)
{
	const struct qp *me = find_qp(&p->by_id, id);

	for (const struct qp *qp = p->all; me && qp; qp = qp->all) {
		if (qp == me || connected_to(me, qp->number))
			continue;
		for (const struct link *link = qp->links; link; link = link->next)
			if (link->dest == me->number &&
			    find_place(p, me, &link->av) == PLACED_THERE)
				return true;
	}
	return false;
}

bool peers_place(const struct peers *p, uint32_t device, uint8_t port, size_t i, uint16_t *ret_lid,
		 union ibv_gid *ret_gid)
{
	const struct place *place = places_of(p, device, port);

	while (place && i--)
		place = place->next;
	if (!place)
		return false;
	*ret_lid = place->lid;
	*ret_gid = place->gid;
	return true;
}
