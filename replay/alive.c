/*
 * Objects that are alive at the end of the replay
 *
 * Verbs cannot peek at a completion, so the completions in a queue are polled and listed. The
 * device may still be delivering, so polling continues until nothing more comes.
 */
#include "replay/alive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/vec.h"
#include "replay/data/polls.h"
#include "replay/device/dispatch.h"
#include "replay/report/alive_objects.h"
#include "replay/state/state.h"

enum { QUIET_ROUNDS = 20, ROUND_NS = 1000000 };

static uint32_t count_arrivals(const struct replay *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nmade; i++) {
		const struct replica_qp *qp = r->replicas[r->made[i]].qp;

		for (int side = 0; qp && side < SIDES; side++)
			n += qp->in[side].tail - qp->in[side].head;
	}
	return n;
}

static void take_completions(struct replay *r)
{
	uint32_t before = count_arrivals(r);

	for (int quiet = 0; quiet < QUIET_ROUNDS; quiet++) {
		uint32_t now;

		for (uint32_t i = 0; i < r->nmade; i++)
			if (r->replicas[r->made[i]].qp && r->replicas[r->made[i]].handle)
				polls_drain(r, &r->replicas[r->made[i]]);
		now = count_arrivals(r);
		if (now != before)
			quiet = 0;
		before = now;
		nanosleep(&(struct timespec){ .tv_nsec = ROUND_NS }, NULL);
	}
}

static int query_current_state(void *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	const uint64_t args[16] = { (uintptr_t)qp, (uintptr_t)&attr, IBV_QP_STATE,
				    (uintptr_t)&init };

	return dispatch_call(VERB_query_qp, args) ? -1 : (int)attr.qp_state;
}

static int list_objects(struct replay *r, struct alive_objects *m, size_t *places)
{
	for (uint32_t i = 0; i < r->nmade; i++) {
		const struct object *o = trace_object(r->trace, r->made[i]);
		const struct replica *replica = &r->replicas[r->made[i]];
		struct alive_object *to;

		if (!replica->handle)
			continue;
		to = vec_push(m->objects, m->nobjects);
		if (!to)
			return -ENOMEM;
		*to = (struct alive_object){ .kind = o->kind,
					     .handle = replica->handle,
					     .state = replica->qp
							      ? query_current_state(replica->handle)
							      : -1 };
		snprintf(to->name, sizeof(to->name), "%s/%u", o->name, o->process);
		places[r->made[i]] = m->nobjects;
	}
	return 0;
}

static int list_request(struct alive_objects *m, size_t object, const struct request *request,
			bool receive, const struct ibv_wc *wc, size_t cq)
{
	struct alive_request *to = vec_push(m->requests, m->nrequests);

	if (!to)
		return -ENOMEM;
	*to = (struct alive_request){ .object = object - 1,
				      .cq = cq ? cq - 1 : 0,
				      .post = request->event,
				      .index = request->index,
				      .receive = receive,
				      .completed = cq };
	if (wc)
		to->wc = *wc;
	return 0;
}

static int list_requests(struct alive_objects *m, size_t object, const struct requests *requests,
			 int side)
{
	int err = 0;

	for (uint32_t i = requests->head; i != requests->tail && !err; i++) {
		const struct request *request = &requests->cells[i & (requests->size - 1)];

		if (request->done)
			continue;
		m->objects[object - 1].under_way[side]++;
		err = list_request(m, object, request, side == SIDE_RECV, NULL, 0);
	}
	return err;
}

static int list_arrivals(struct alive_objects *m, size_t object, const struct arrivals *arrivals,
			 int side, const size_t *places)
{
	int err = 0;

	for (uint32_t i = arrivals->head; i != arrivals->tail && !err; i++) {
		const struct arrival *a = &arrivals->cells[i & (arrivals->size - 1)];

		if (!places[a->cq])
			continue;
		m->objects[object - 1].completed[side]++;
		m->objects[places[a->cq] - 1].completed[MOMENT_SEND]++;
		err = list_request(m, object, &a->request, side == SIDE_RECV, &a->wc,
				   places[a->cq]);
	}
	return err;
}

static int list_queues(struct replay *r, struct alive_objects *m, uint32_t id, const size_t *places)
{
	const struct replica *replica = &r->replicas[id];
	int err = 0;

	if (!places[id])
		return 0;
	if (replica->requests)
		err = list_requests(m, places[id], replica->requests, SIDE_RECV);
	for (int side = 0; replica->qp && side < SIDES && !err; side++) {
		err = list_requests(m, places[id], &replica->qp->out[side], side);
		if (!err)
			err = list_arrivals(m, places[id], &replica->qp->passed[side], side,
					    places);
		if (!err)
			err = list_arrivals(m, places[id], &replica->qp->in[side], side, places);
	}
	return err;
}

static int list_all(struct replay *r, struct alive_objects *m)
{
	/* one for each object, from 1 */
	size_t *places = calloc(r->nreplicas + 1ul, sizeof(*places));
	int err = places ? list_objects(r, m, places) : -ENOMEM;

	for (uint32_t i = 0; i < r->nmade && !err; i++)
		err = list_queues(r, m, r->made[i], places);
	free(places);
	return err;
}

int alive_show(struct replay *r)
{
	struct alive_objects *m = calloc(1, sizeof(*m));
	int err = m ? 0 : -ENOMEM;

	if (!err) {
		take_completions(r);
		err = list_all(r, m);
	}
	if (err) {
		alive_objects_free(m);
		return err;
	}
	replay_moment = m;
	outcome_set_alive(r->outcome, m);
	if (r->options->look && !outcome_stopped(r->outcome))
		r->options->look(m);
	return 0;
}
