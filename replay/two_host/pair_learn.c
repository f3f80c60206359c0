/*
 * The facts about this half from the trace, before the replay
 *
 *	control verbs   the lives of queue pairs, where they were connected to, address handles
 *	posts           requests, in their order; receives, in the order of their queue
 *	completions     which requests succeeded and which failed, what memory they named; which
 *	                receive each message consumed
 *
 * Requests are stored until they complete, at most as many as the queue's depth; only failures,
 * and a number for each message of a shared queue or of datagrams, are stored permanently.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"
#include "core/wire/log.h"
#include "replay/two_host/pair_priv.h"
#include "replay/state/recorded.h"

/* A request that has not completed yet. */
struct open_request {
	uint64_t key; /* event_part_key() */
	uint32_t rkey;
	bool names; /* it names memory of the other end */
};

struct open_requests {
	struct open_request *at;
	size_t size, first, n;
	uint64_t before; /* number of requests that have completed */
	bool broken;     /* a request has failed */
};

struct pair_pass {
	struct pair *p;
	struct replay *r;
	struct open_requests *requests; /* by life */
	size_t nrequests;
	struct map uses;     /* life << 32 | rkey, to 1 + the index */
	struct map streams;  /* life << 32 | source, to 1 + the index */
	struct map received; /* event_part_key() of a receive, to its number in its queue */
	uint64_t *posted;    /* by object: receives */
	const struct queue_table *queues;
};

static uint32_t find_port(struct pair_pass *s, uint32_t object, uint8_t number)
{
	const struct object *device = recorded_device(s->r, object);
	const struct device *here =
		devices_find_role(s->r->devices, recorded_device_name(s->r, object));
	struct pair_table *t = &s->p->mine;
	const struct place *place;
	struct pair_port *port;
	uint64_t key = (uint64_t)(device ? device->id : 0) << 8 | number, at;

	if (map_get(&s->p->key_of, key, &at)) /* used only later */
		return (uint32_t)at;
	port = vec_push(t->ports, t->nports);
	if (!port || map_put(&s->p->key_of, key, t->nports - 1))
		return UINT32_MAX;
	port->here = here->ports[device_port(here, number)];
	for (size_t i = 0;
	     device && (place = peers_known_place(s->r->connections->peers, device->id, number, i));
	     i++) {
		struct place *known = vec_push(port->known, port->nknown);

		if (!known)
			return UINT32_MAX;
		*known = *place;
	}
	return (uint32_t)t->nports - 1;
}

static struct pair_life *life_of(struct pair_pass *s, uint32_t object)
{
	uint32_t life = object < s->r->nreplicas ? s->p->now[object] : 0;

	return life ? &s->p->mine.lives[life - 1] : NULL;
}

static uint32_t index_of(const struct pair_pass *s, const struct pair_life *life)
{
	return (uint32_t)(life - s->p->mine.lives);
}

static int add_life(struct pair_pass *s, uint32_t object, uint32_t type, uint32_t queue,
		    uint8_t port)
{
	const struct object *o = trace_object(s->r->trace, object);
	struct pair *p = s->p;
	size_t nown = p->mine.nlives, n = nown;
	struct pair_life *life;
	uint32_t before = p->now[object];

	if (!vec_push(p->own, n) || !vec_push(s->requests, s->nrequests))
		return -ENOMEM;
	life = vec_push(p->mine.lives, p->mine.nlives);
	if (!life)
		return -ENOMEM;
	*life = (struct pair_life){ .object = object,
				    .process = o->process,
				    .number = o->number,
				    .type = type,
				    .shared = queue != object,
				    .port = find_port(s, object, port) };
	p->own[nown].queue = queue;
	p->now[object] = (uint32_t)p->mine.nlives;
	if (before)
		p->own[before - 1].next = p->now[object];
	else
		p->first[object] = p->now[object];
	return life->port == UINT32_MAX ? -ENOMEM : 0;
}

static int learn_create(struct pair_pass *s, const struct call *call)
{
	bool ex = call->verb == VERB_create_qp_ex;
	uint64_t type = args_number(call->args, ARG_EX(ex, qp_init_attr, qp_type));
	const struct queue_row *row =
		queue_table_at(s->queues, call->object, QUEUE_RECV, call->end);

	if (!replica_of(s->r, call->object) || s->p->now[call->object])
		return 0;
	return add_life(s, call->object, (uint32_t)type, row && row->srq ? row->srq : call->object,
			1);
}

static int learn_stream(struct pair_pass *s, uint32_t life, uint32_t source, bool direct,
			size_t *ret_stream)
{
	uint64_t key = (uint64_t)life << 32 | source, at;
	size_t nneeds = s->p->mine.nstreams;
	struct pair_stream *stream;

	if (map_get(&s->streams, key, &at)) {
		*ret_stream = at - 1;
		return 0;
	}
	if (!vec_push(s->p->needs, nneeds))
		return -ENOMEM;
	stream = vec_push(s->p->mine.streams, s->p->mine.nstreams);
	if (!stream || map_put(&s->streams, key, s->p->mine.nstreams))
		return -ENOMEM;
	*stream = (struct pair_stream){ .life = life, .source = source };
	*ret_stream = s->p->mine.nstreams - 1;
	s->p->needs[*ret_stream] =
		(struct pair_needs){ .queue = s->p->own[life].queue, .direct = direct };
	return 0;
}

static void note_psns(struct pair_life *life, const struct args *args)
{
	int64_t psn;

	if (args_get(args, ARG(attr.rq_psn), &psn)) {
		life->has_rq_psn = true;
		life->rq_psn = (uint32_t)psn;
	}
	if (args_get(args, ARG(attr.sq_psn), &psn)) {
		life->has_sq_psn = true;
		life->sq_psn = (uint32_t)psn;
	}
}

/* May the peer of the queue pair be in this trace? */
static bool is_inside(const struct pair_pass *s, const struct pair_life *life, int64_t time)
{
	return peers_is_claimed(s->r->connections->peers, life->object) ||
	       recorded_peer(s->r, life->object, time);
}

static int learn_connection(struct pair_pass *s, const struct call *call, struct pair_life *life,
			    uint32_t dest)
{
	struct pair_own_life *own = &s->p->own[index_of(s, life)];
	size_t stream;

	life->dest = dest;
	life->av = recorded_address(call->args, true);
	life->connected = !is_inside(s, life, call->begin);
	own->time = call->begin;
	if (!life->connected || learn_stream(s, index_of(s, life), 0, !life->shared, &stream))
		return life->connected ? -ENOMEM : 0;
	own->stream = (uint32_t)stream + 1;
	return 0;
}

static int learn_modify(struct pair_pass *s, const struct call *call)
{
	struct pair_life *life = life_of(s, call->object);
	int64_t value;
	int err = 0;

	if (!life)
		return 0;
	if (args_get(call->args, ARG(attr.qp_state), &value) && value == IBV_QPS_RESET) {
		s->posted[call->object] = 0;
		return add_life(s, call->object, life->type, s->p->own[index_of(s, life)].queue, 1);
	}
	if (args_get(call->args, ARG(attr.port_num), &value))
		life->port = find_port(s, call->object, (uint8_t)value);
	note_psns(life, call->args);
	if (args_get(call->args, ARG(attr.dest_qp_num), &value))
		err = learn_connection(s, call, life, (uint32_t)value);
	return life->port == UINT32_MAX ? -ENOMEM : err;
}

static int learn_handle(struct pair_pass *s, const struct call *call)
{
	struct ibv_ah_attr *av = vec_push(s->p->av, s->p->nav);

	if (!av)
		return -ENOMEM;
	*av = recorded_address(call->args, false);
	return map_put(&s->p->avs, call->object, s->p->nav);
}

/* Add a request: of a post, or of a call that completes like a post (a bind). */
static int add_request(struct pair_pass *s, struct pair_life *life, struct open_request request)
{
	struct open_requests *all = &s->requests[index_of(s, life)];

	if (all->first && all->first * 2 >= all->n) {
		all->n -= all->first;
		memmove(all->at, all->at + all->first, all->n * sizeof(*all->at));
		all->first = 0;
	}
	if (vec_reserve(all->at, all->size, all->n + 1))
		return -ENOMEM;
	all->at[all->n++] = request;
	return 0;
}

static int count_bind(struct pair_pass *s, uint32_t process, uint32_t rkey)
{
	uint64_t key = process_key(process, rkey), n = 0;

	map_get(&s->p->binds, key, &n);
	return map_put(&s->p->binds, key, n + 1);
}

/* The object of the call is the window. */
static int learn_bind(struct pair_pass *s, const struct trace_event *event)
{
	const struct args *args = event->call->args;
	const struct object *qp = trace_object_at(s->r->trace, event->process, OBJECT_qp,
						  args_number(args, ARG(qp)), event->time);
	struct pair_life *life = qp ? life_of(s, qp->id) : NULL;
	int64_t rkey;
	int err;

	if (!life)
		return 0;
	err = add_request(s, life, (struct open_request){ .key = event_part_key(event->id, 0) });
	if (!err && !args_parse(event->call->out) &&
	    args_get(event->call->out, ARG(mw.rkey), &rkey))
		err = count_bind(s, event->process, (uint32_t)rkey);
	return err;
}

static int learn_call(struct pair_pass *s, const struct trace_event *event)
{
	const struct call *call = event->call;
	int err;

	if (event->inner || call->ours || call->depth || call->failed || call->end < 0)
		return 0;
	err = args_parse(call->args);
	if (err)
		return err;
	switch (call->verb) {
	case VERB_create_qp:
	case VERB_create_qp_ex:
		return learn_create(s, call);
	case VERB_modify_qp:
		return learn_modify(s, call);
	case VERB_create_ah:
		return learn_handle(s, call);
	case VERB_bind_mw:
		return learn_bind(s, event);
	default:
		return 0;
	}
}

/* Does the trace show for each receive of the queue which message consumed it? */
static bool is_numbered(struct pair_pass *s, uint32_t queue)
{
	const struct object *o = trace_object(s->r->trace, queue);
	const struct pair_life *life = life_of(s, queue);

	return o && (o->kind == OBJECT_srq || (life && life->type == IBV_QPT_UD));
}

static int learn_request(struct pair_pass *s, const struct trace_event *event, uint32_t i,
			 struct pair_life *life)
{
	const struct wr *wr = &event->post->wr[i];
	int err = add_request(s, life,
			      (struct open_request){ event_part_key(event->id, i), wr->rkey,
						     operation_has_rkey(wr->opcode) });

	if (!err && wr->opcode == IBV_WR_BIND_MW)
		err = count_bind(s, event->process, wr->bind_rkey);
	return err;
}

static int learn_post(struct pair_pass *s, const struct trace_event *event)
{
	const struct post *post = event->post;
	struct pair_life *life = life_of(s, post->object);
	bool send = post_is_send(post), numbered;
	int err = 0;

	if (!post->object || post->object >= s->r->nreplicas || (send && !life))
		return 0;
	numbered = !send && is_numbered(s, post->object);
	for (uint32_t i = 0; i < post_taken(post) && !err; i++) {
		if (send)
			err = learn_request(s, event, i, life);
		else if (++s->posted[post->object] && numbered)
			err = map_put(&s->received, event_part_key(event->id, i),
				      s->posted[post->object]);
	}
	return err;
}

static int note_use(struct pair_pass *s, uint32_t life, uint32_t rkey, uint64_t last)
{
	uint64_t key = (uint64_t)life << 32 | rkey, at;
	struct pair_use *use;

	if (map_get(&s->uses, key, &at)) {
		s->p->mine.uses[at - 1].last = last;
		return 0;
	}
	use = vec_push(s->p->mine.uses, s->p->mine.nuses);
	if (!use)
		return -ENOMEM;
	*use = (struct pair_use){ life, rkey, last };
	return map_put(&s->uses, key, s->p->mine.nuses);
}

/*
 * Requests up to the one with that key are complete: those before one that failed have succeeded,
 * unless it was flushed. Returns 1; 0: there is none with that key.
 */
static int complete_requests(struct pair_pass *s, struct pair_life *life, uint64_t key,
			     enum ibv_wc_status status)
{
	struct open_requests *all = &s->requests[index_of(s, life)];
	bool success = status == IBV_WC_SUCCESS, flushed = status == IBV_WC_WR_FLUSH_ERR;
	bool answered = operation_is_answered((int)status);
	size_t at = all->first;
	int err = 0;

	while (at < all->n && all->at[at].key != key)
		at++;
	if (at == all->n)
		return 0;
	for (; all->first <= at && !err; all->first++) {
		const struct open_request *request = &all->at[all->first];
		bool is_failed = !success && all->first == at;

		all->before++;
		if (all->broken || flushed || (is_failed && !answered))
			continue;
		life->finished = all->before;
		if (request->names && !is_failed)
			err = note_use(s, index_of(s, life), request->rkey, all->before);
	}
	all->broken |= !success;
	return err ? err : 1;
}

/* Learn which receive a message consumed. */
static int learn_receive(struct pair_pass *s, struct pair_life *life, const struct wc *wc)
{
	uint64_t number = 0, key = event_part_key(wc->request, wc->request_index);
	bool datagram = life->type == IBV_QPT_UD;
	struct pair_needs *needs;
	size_t stream;

	if (!datagram && !life->connected)
		return 0;
	if (wc->request.thread && map_get(&s->received, key, &number))
		map_remove(&s->received, key);
	if (learn_stream(s, index_of(s, life), datagram ? wc->src_qp : 0, false, &stream))
		return -ENOMEM;
	s->p->mine.streams[stream].received++;
	needs = &s->p->needs[stream];
	if (needs->direct)
		return 0;
	if (vec_reserve(needs->posted, needs->size, needs->n + 1))
		return -ENOMEM;
	needs->posted[needs->n++] = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
	return 0;
}

static int learn_completion(struct pair_pass *s, const struct wc *wc)
{
	struct pair_life *life = life_of(s, wc->qp);
	uint64_t key = event_part_key(wc->request, wc->request_index);
	bool success = wc->status == IBV_WC_SUCCESS;
	int done;

	if (!life)
		return 0;
	if (success && wc->opcode & IBV_WC_RECV)
		return learn_receive(s, life, wc);
	done = wc->request.thread ? complete_requests(s, life, key, wc->status) : 0;
	if (done > 0 && !success)
		return map_put(&s->p->failed, key, (uint64_t)wc->status);
	return done < 0 ? done : 0;
}

static int learn_event(struct pair_pass *s, const struct trace_event *event)
{
	int err = 0;

	if (event->inner)
		return 0;
	if (event->kind == TRACE_CALL)
		return learn_call(s, event);
	if (event->kind == TRACE_POST)
		return learn_post(s, event);
	for (uint32_t i = 0; event->kind == TRACE_POLL && i < event->poll->nwc && !err; i++)
		err = learn_completion(s, &event->poll->wc[i]);
	return err;
}

static int read_trace(struct pair_pass *s)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(s->r->trace, NULL, &cursor);

	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = learn_event(s, event);
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	return err;
}

static void end_pass(struct pair_pass *s)
{
	for (size_t i = 0; i < s->nrequests; i++)
		free(s->requests[i].at);
	free(s->requests);
	free(s->posted);
	map_fini(&s->uses);
	map_fini(&s->streams);
	map_fini(&s->received);
}

int pair_learn(struct pair *p)
{
	struct pair_pass s = { .p = p, .r = p->r };
	int err = 0;

	p->now = calloc(p->r->nreplicas, sizeof(*p->now));
	p->first = calloc(p->r->nreplicas, sizeof(*p->first));
	p->posted = calloc(p->r->nreplicas, sizeof(*p->posted));
	s.posted = calloc(p->r->nreplicas, sizeof(*s.posted));
	if (!p->now || !p->first || !p->posted || !s.posted)
		err = -ENOMEM;
	err = err ?: trace_queues(p->r->trace, &s.queues) ?: read_trace(&s);
	end_pass(&s);
	for (uint32_t i = 0; !err && i < p->r->nreplicas; i++)
		p->now[i] = p->first[i];
	map_fini(&p->key_of);
	p->key_of = (struct map){ 0 };
	return err < 0 ? log_err(err, "replay: read the other host's half") : 0;
}
