/*
 * Which queue pair of the trace talks to which
 *
 *	by number:  dest -> qp -> qp -> ...     all that ever had the number
 *	by object:  id   -> qp -> link -> link  where it was connected to
 */
#include "replay/peers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/map.h"

struct link {
	struct link *next;
	uint32_t dest;
};

struct qp {
	struct qp *same; /* next of the same number */
	struct qp *all;
	struct link *links;
	uint32_t id, number;
	int64_t created, destroyed;
};

struct peers {
	struct map by_number; /* to struct qp */
	struct map by_id;
	struct qp *all;
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

void peers_free(struct peers *p)
{
	if (!p)
		return;
	while (p->all) {
		struct qp *qp = p->all;

		p->all = qp->all;
		free_qp(qp);
	}
	map_fini(&p->by_number);
	map_fini(&p->by_id);
	free(p);
}

static struct qp *find_qp(const struct map *map, uint32_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (struct qp *)(uintptr_t)value : NULL;
}

int peers_add(struct peers *p, uint32_t id, uint32_t number, int64_t created, int64_t destroyed)
{
	struct qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return -ENOMEM;
	*qp = (struct qp){
		find_qp(&p->by_number, number), p->all, NULL, id, number, created, destroyed
	};
	p->all = qp;
	if (map_put(&p->by_number, number, (uintptr_t)qp) || map_put(&p->by_id, id, (uintptr_t)qp))
		return -ENOMEM;
	return 0;
}

int peers_connect(struct peers *p, uint32_t id, uint32_t dest)
{
	struct qp *qp = find_qp(&p->by_id, id);
	struct link *link;

	if (!qp)
		return 0;
	link = calloc(1, sizeof(*link));
	if (!link)
		return -ENOMEM;
	*link = (struct link){ qp->links, dest };
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

uint32_t peers_find(const struct peers *p, uint32_t id, uint32_t dest, int64_t time)
{
	const struct qp *me = find_qp(&p->by_id, id), *best = NULL;
	bool best_mutual = false;

	for (const struct qp *qp = find_qp(&p->by_number, dest); qp; qp = qp->same) {
		bool mutual = me && connected_to(qp, me->number);

		if (best && best_mutual > mutual)
			continue;
		if (best && best_mutual == mutual &&
		    measure_distance(best, time) <= measure_distance(qp, time))
			continue;
		best = qp;
		best_mutual = mutual;
	}
	return best ? best->id : 0;
}
