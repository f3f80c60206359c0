/*
 * Which queue pairs are connected
 *
 *	by number: dest -> qp -> qp -> ... all queue pairs that ever had the number
 *	by object:  id   -> qp -> link -> link      where it was connected to
 *	by dest:    number -> link -> link -> ...   connections to the number
 *	by port:    device, port -> known -> known  its addresses that programs know
 *
 * Two identical hosts assign the same numbers after booting. A queue pair is on another host if the
 * known addresses of its port have the kind of the wanted address, but differ from it.
 */
#include "core/model/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/model/fit.h"

struct psn {
	bool known;
	uint32_t value;
};

struct qp;

struct link {
	struct link *next;      /* older connection of the same queue pair */
	struct link *same_dest; /* another connection to the same number */
	struct qp *qp;
	struct peers_link to;
	struct psn sends, expects;
};

struct qp {
	struct qp *same; /* another queue pair with the same number */
	struct qp *all;
	struct link *links;
	struct peers_qp is;
	uint8_t port;
};

/* A known address of a port. */
struct known_address {
	struct known_address *next; /* another address of the same port */
	struct known_address *all;
	struct place place;
};

struct peers {
	struct map by_number; /* to struct qp */
	struct map by_id;
	struct map by_dest; /* to struct link */
	struct map by_port; /* to struct known_address */
	struct qp *all;
	struct known_address *places;
};

static void *get_pointer(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (void *)(uintptr_t)value : NULL;
}

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

static void free_places(struct peers *p)
{
	while (p->places) {
		struct known_address *known = p->places;

		p->places = known->all;
		free(known);
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
	map_fini(&p->by_dest);
	map_fini(&p->by_port);
	free(p);
}

int peers_add(struct peers *p, const struct peers_qp *is)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	*qp = (struct qp){
		.same = get_pointer(&p->by_number, is->number), .all = p->all, .is = *is, .port = 1
	};
	p->all = qp;
	if (map_put(&p->by_number, is->number, (uintptr_t)qp) ||
	    map_put(&p->by_id, is->id, (uintptr_t)qp))
		return -ENOMEM;
	return 0;
}

void peers_use_port(struct peers *p, uint32_t id, uint8_t port)
{
	struct qp *qp = get_pointer(&p->by_id, id);

	if (qp)
		qp->port = port;
}

static uint64_t make_port_key(uint32_t device, uint8_t port)
{
	return (uint64_t)device << 8 | port;
}

static bool is_same_place(const struct place *a, const struct place *b)
{
	return a->is_global == b->is_global && a->lid == b->lid && a->lmc == b->lmc &&
	       !memcmp(a->gid, b->gid, PLACE_GID);
}

int peers_add_place(struct peers *p, uint32_t device, uint8_t port, const struct place *place)
{
	uint64_t key = make_port_key(device, port);
	struct known_address *first = get_pointer(&p->by_port, key), *known;

	if (!place_is_known(place))
		return 0;
	for (known = first; known; known = known->next)
		if (is_same_place(&known->place, place))
			return 0;
	known = calloc(1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	*known = (struct known_address){ first, p->places, *place };
	p->places = known;
	return map_put(&p->by_port, key, (uintptr_t)known);
}

int peers_connect(struct peers *p, uint32_t id, const struct peers_link *to)
{
	struct qp *qp = get_pointer(&p->by_id, id);
	struct link *link;

	if (!qp)
		return 0;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	*link = (struct link){ .next = qp->links,
			       .same_dest = get_pointer(&p->by_dest, to->dest),
			       .qp = qp,
			       .to = *to };
	qp->links = link;
	return map_put(&p->by_dest, to->dest, (uintptr_t)link);
}

static struct link *find_last_link(struct peers *p, uint32_t id)
{
	struct qp *qp = get_pointer(&p->by_id, id);

	return qp ? qp->links : NULL;
}

void peers_send_psn(struct peers *p, uint32_t id, uint32_t psn)
{
	struct link *link = find_last_link(p, id);

	if (link)
		link->sends = (struct psn){ true, psn };
}

void peers_receive_psn(struct peers *p, uint32_t id, uint32_t psn)
{
	struct link *link = find_last_link(p, id);

	if (link)
		link->expects = (struct psn){ true, psn };
}

/* How far is @time outside the lifetime of @qp, in ns? */
static int64_t measure_distance(const struct qp *qp, int64_t time)
{
	if (time < qp->is.created)
		return qp->is.created - time;
	return time < qp->is.destroyed ? 0 : time - qp->is.destroyed + 1;
}

/* Does @place lead to the port of @qp? */
static enum placed find_place(const struct peers *p, const struct qp *qp, const struct place *place)
{
	const struct known_address *known =
		get_pointer(&p->by_port, make_port_key(qp->is.device, qp->port));
	enum placed found = PLACED_PERHAPS;

	for (; known && place_is_known(place); known = known->next) {
		enum placed one = place_compare(&known->place, place);

		if (one == PLACED_AT_PORT)
			return one;
		if (one == PLACED_ELSEWHERE)
			found = one;
	}
	return found;
}

/* 1: @to expects the PSN with which @from begins; -1: another one; 0: unknown. */
static int compare_psn(const struct link *from, const struct link *to)
{
	if (!from->sends.known || !to->expects.known)
		return 0;
	return fit_psn(from->sends.value, to->expects.value) ? 1 : -1;
}

/* How well a queue pair matches the wanted one. */
struct peer_fit {
	enum placed placed; /* is the address one of its port? */
	/* is its destination an address of the port of the queue pair that asks? */
	enum placed back;
	bool mutual; /* it was connected to the queue pair that asks */
	int psns;    /* number of directions whose PSNs fit, minus those whose PSNs do not */
	bool psn;    /* do the PSNs of at least one direction fit? */
};

/* The connection of @me that a query means: the last one to @dest until @time, else the first. */
static const struct link *find_asked_link(const struct qp *me, uint32_t dest, int64_t time)
{
	const struct link *found = NULL;

	for (const struct link *link = me->links; link; link = link->next) {
		if (link->to.dest != dest)
			continue;
		found = link;
		if (link->to.time <= time)
			break;
	}
	return found;
}

static struct peer_fit measure_fit(const struct peers *p, const struct qp *me,
				   const struct link *asked, const struct qp *qp,
				   const struct place *place)
{
	struct peer_fit fit = { .placed = find_place(p, qp, place) };

	for (const struct link *link = qp->links; link; link = link->next) {
		enum placed back = find_place(p, me, &link->to.place);
		int one = asked ? compare_psn(asked, link) : 0;
		int other = asked ? compare_psn(link, asked) : 0, psns = one + other;

		if (link->to.dest != me->is.number || back == PLACED_ELSEWHERE)
			continue;
		if (fit.mutual && (back < fit.back || (back == fit.back && psns <= fit.psns)))
			continue;
		fit.mutual = true;
		fit.back = back;
		fit.psns = psns;
		fit.psn = one > 0 || other > 0;
	}
	return fit;
}

/* How much better does @a match than @b, without regard to time? */
static int compare_fits(const struct peer_fit *a, const struct peer_fit *b)
{
	if (a->placed != b->placed)
		return (int)a->placed - (int)b->placed;
	if (a->mutual != b->mutual)
		return (int)a->mutual - (int)b->mutual;
	return a->psns - b->psns;
}

/*
 * Is it possible that @qp, which has the number that @me was connected to, is not its peer? Yes, if
 * it is on another host and the match is not certain; if it was connected to others and was
 * destroyed, not yet created, or has an unknown address; or if it is @me itself at an unknown
 * address.
 */
static bool may_be_unrelated(const struct qp *me, const struct qp *qp, const struct peer_fit *fit,
			     const struct place *place, int64_t time)
{
	bool unknown = fit->placed == PLACED_PERHAPS && place && place->is_global;

	if (qp == me)
		return unknown;
	if (qp->is.host != me->is.host)
		return !fit_ends(fit->placed, fit->back, fit->psn, true);
	return !fit->mutual && qp->links && (unknown || measure_distance(qp, time));
}

static enum peers_known find_known(const struct peer_fit *fit)
{
	if (fit->mutual)
		return PEERS_BOTH;
	return fit->placed == PLACED_AT_PORT ? PEERS_ADDRESS : PEERS_NUMBER;
}

uint32_t peers_find(const struct peers *p, uint32_t id, uint32_t dest, const struct place *place,
		    int64_t time, enum peers_known *ret_known)
{
	const struct qp *me = get_pointer(&p->by_id, id), *best = NULL;
	const struct link *asked = me ? find_asked_link(me, dest, time) : NULL;
	struct peer_fit best_fit = { 0 };

	if (ret_known)
		*ret_known = PEERS_UNKNOWN;
	if (!me)
		return 0;
	for (const struct qp *qp = get_pointer(&p->by_number, dest); qp; qp = qp->same) {
		struct peer_fit fit = measure_fit(p, me, asked, qp, place);
		int better = best ? compare_fits(&fit, &best_fit) : 1;

		if (fit.placed == PLACED_ELSEWHERE || better < 0)
			continue;
		if (may_be_unrelated(me, qp, &fit, place, time))
			continue;
		if (!better && measure_distance(best, time) <= measure_distance(qp, time))
			continue;
		best = qp;
		best_fit = fit;
	}
	if (ret_known && best)
		*ret_known = find_known(&best_fit);
	return best ? best->is.id : 0;
}

uint32_t peers_find_datagram(const struct peers *p, uint32_t id, uint32_t number,
			     const struct place *place, int64_t time)
{
	const struct qp *best = NULL;
	enum placed best_placed = PLACED_ELSEWHERE;
	int64_t best_far = 0;

	for (const struct qp *qp = get_pointer(&p->by_number, number); qp; qp = qp->same) {
		enum placed placed = find_place(p, qp, place);
		int64_t far = measure_distance(qp, time);

		if (placed == PLACED_ELSEWHERE || (best && placed < best_placed))
			continue;
		if (best && placed == best_placed &&
		    (far > best_far || (far == best_far && best->is.id != id)))
			continue;
		best = qp;
		best_placed = placed;
		best_far = far;
	}
	return best ? best->is.id : 0;
}

static bool is_connected_to(const struct qp *qp, uint32_t dest)
{
	for (const struct link *link = qp->links; link; link = link->next)
		if (link->to.dest == dest)
			return true;
	return false;
}

bool peers_is_claimed(const struct peers *p, uint32_t id)
{
	const struct qp *me = get_pointer(&p->by_id, id);
	const struct link *link = me ? get_pointer(&p->by_dest, me->is.number) : NULL;

	for (; link; link = link->same_dest)
		if (link->qp != me && !is_connected_to(me, link->qp->is.number) &&
		    find_place(p, me, &link->to.place) == PLACED_AT_PORT)
			return true;
	return false;
}

const struct place *peers_known_place(const struct peers *p, uint32_t device, uint8_t port,
				      size_t i)
{
	const struct known_address *known = get_pointer(&p->by_port, make_port_key(device, port));

	while (known && i--)
		known = known->next;
	return known ? &known->place : NULL;
}

const char *peers_known_name(enum peers_known known)
{
	static const char *const names[] = {
		[PEERS_NUMBER] = "number", [PEERS_ADDRESS] = "address", [PEERS_BOTH] = "both"
	};

	return known < sizeof(names) / sizeof(*names) ? names[known] : NULL;
}
