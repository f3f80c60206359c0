/*
 * The traffic of a trace
 *
 * One pass over the events. A sender is a queue pair and its peer, a class with one edge. Ranks are
 * numbered when all are known: the processes that send or receive, by their ranks in the job if
 * known, then the peers that are not in the trace, one for each address.
 *
 * Not here: which queue pair is connected to which (core/store/finish/connections.h).
 */
#include "replay/load/load_learn.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/model/operation.h"
#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"
#include "core/store/read/trace.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

enum { GRH = 40, OUTSIDE = 1u << 31 /* a bit of a party's id: it is not in the trace */ };

/* Data of a sender while it is learned. Its class has the same index. */
struct sender {
	int64_t last;      /* time of its latest request */
	uint64_t signaled; /* number of its signaled requests */
};

/* A queue pair, by object. */
struct qp_pair {
	bool known, signals_all;
	uint8_t type; /* enum ibv_qp_type */
};

struct load_learner {
	struct trace *trace;
	struct load *load;
	const struct connections *connections;
	const struct queue_table *queues;
	struct sender *senders;
	size_t nsenders;
	struct qp_pair *pairs;
	size_t npairs;
	struct map sender_of;  /* key of a queue pair and its peer, to an index */
	struct map outside_of; /* hash of an address, to a number */
	uint32_t noutside;
	int64_t origin; /* time of the first request; -1: none yet */
	uint64_t memory, most;
};

static const struct qp_pair *find_pair(const struct load_learner *l, uint32_t qp)
{
	static const struct qp_pair unknown = { .type = IBV_QPT_RC };

	return qp < l->npairs && l->pairs[qp].known ? &l->pairs[qp] : &unknown;
}

static int learn_pair(struct load_learner *l, const struct call *call)
{
	bool ex = call->verb == VERB_create_qp_ex;
	struct qp_pair *pair;

	if (call->failed || !call->object || (!ex && call->verb != VERB_create_qp))
		return 0;
	pair = vec_at(l->pairs, l->npairs, call->object);
	if (!pair)
		return log_err(-ENOMEM, "learn the traffic");
	pair->known = true;
	pair->type = (uint8_t)args_number(call->args, ARG_EX(ex, qp_init_attr, qp_type));
	pair->signals_all = args_number(call->args, ARG_EX(ex, qp_init_attr, sq_sig_all));
	return 0;
}

/* LOAD_TRANSPORTS: requests of this type of queue pair are not repeated. */
static enum load_transport find_transport(const struct qp_pair *pair)
{
	switch (pair->type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return LOAD_RC;
	case IBV_QPT_UC:
		return LOAD_UC;
	case IBV_QPT_UD:
		return LOAD_UD;
	default:
		return LOAD_TRANSPORTS;
	}
}

/* Find the party outside of the trace that has an address. */
static int find_outside_party(struct load_learner *l, const struct place *place,
			      uint32_t *ret_party)
{
	uint64_t key = place ? hash_of(place->gid, sizeof(place->gid), place->lid) : 0, found;

	if (!map_get(&l->outside_of, key, &found)) {
		found = l->noutside++;
		if (map_put(&l->outside_of, key, found))
			return log_err(-ENOMEM, "learn the traffic");
	}
	*ret_party = (uint32_t)found | OUTSIDE;
	return 0;
}

static uint32_t find_depth(const struct load_learner *l, uint32_t qp, int64_t time)
{
	const struct queue_row *row = queue_table_at(l->queues, qp, QUEUE_SEND, time);
	int64_t depth = row ? row->given > 0 ? row->given : row->asked : 0;

	return depth < 1 ? 1 : depth < LOAD_DEPTH_MOST ? (uint32_t)depth : LOAD_DEPTH_MOST;
}

/* Find the sender with that key; a class is added if there is none. */
static int find_sender(struct load_learner *l, uint64_t key, const struct load_class *like,
		       const struct load_edge *edge, size_t *ret_index)
{
	struct load_class *class;
	struct load_edge *added;
	uint64_t found;

	if (map_get(&l->sender_of, key, &found)) {
		*ret_index = (size_t)found;
		return 0;
	}
	class = load_add_class(l->load);
	if (!class || !vec_push(l->senders, l->nsenders) ||
	    !vec_push(class->tracks, class->ntracks))
		return -ENOMEM;
	class->transport = like->transport;
	class->depth = like->depth;
	added = vec_push(class->edges, class->nedges);
	if (!added)
		return -ENOMEM;
	*added = *edge;
	*ret_index = l->load->nclasses - 1;
	return map_put(&l->sender_of, key, *ret_index);
}

static int add_request(struct load_learner *l, size_t index, int opcode, uint64_t bytes,
		       int64_t time, bool signaled)
{
	struct load_track *track = l->load->classes[index].tracks;
	struct sender *sender = &l->senders[index];
	uint32_t kind;
	int err = load_find_kind(l->load, opcode, (uint32_t)bytes, &kind);

	if (err)
		return err;
	if (l->origin < 0)
		l->origin = time;
	if (!track->n)
		track->start = time - l->origin;
	if (load_add_request(track, track->n ? (uint64_t)(time - sender->last) : 0, kind))
		return log_err(-ENOMEM, "learn the traffic");
	sender->last = time;
	sender->signaled += signaled;
	l->memory += sizeof(*track->requests);
	if (l->memory <= l->most)
		return 0;
	return log_why(-ENOSPC,
		       "the times of all requests need more than %llu MiB of memory: increase "
		       "--max-memory, or replay a part (--from, --to)",
		       (unsigned long long)(l->most >> 20));
}

/* The peer that a request of @qp goes to: its object, or 0; *@ret_place: its address. */
static uint32_t find_peer(const struct load_learner *l, const struct trace_event *event,
			  uint32_t qp, const struct wr *wr, const struct place **ret_place)
{
	const struct connection *c;
	const struct object *ah;

	if (wr) {
		ah = trace_object_at(l->trace, event->process, OBJECT_ah, wr->ah, event->time);
		*ret_place = ah ? connections_handle(l->connections, ah->id) : NULL;
		return peers_find_datagram(l->connections->peers, qp, wr->remote_qpn, *ret_place,
					   event->time);
	}
	c = connections_at(l->connections, qp, event->time);
	*ret_place = c ? &c->place : NULL;
	return c ? c->peer : 0;
}

/* The party of @peer, an object; if @peer is 0, the party at address @place. */
static int find_party(struct load_learner *l, uint32_t peer, const struct place *place,
		      uint32_t *ret_party)
{
	const struct object *object = peer ? trace_object(l->trace, peer) : NULL;

	if (!object)
		return find_outside_party(l, place, ret_party);
	*ret_party = object->process;
	return 0;
}

static bool moves_bytes(int opcode)
{
	return operation_takes_receive(opcode) || operation_reads(opcode) ||
	       opcode == ABI_WR_RDMA_WRITE;
}

static int learn_request(struct load_learner *l, const struct trace_event *event,
			 const struct wr *wr)
{
	uint32_t qp = event->post->object, peer;
	const struct qp_pair *pair = find_pair(l, qp);
	struct load_class like = { .transport = find_transport(pair),
				   .depth = find_depth(l, qp, event->time) };
	bool ud = like.transport == LOAD_UD;
	struct load_edge edge = { .from = event->process };
	const struct place *place;
	size_t index;
	int err;

	if (!moves_bytes(wr->opcode) || like.transport == LOAD_TRANSPORTS || !qp) {
		l->load->left_out++;
		return 0;
	}
	peer = find_peer(l, event, qp, ud ? wr : NULL, &place);
	err = find_party(l, peer, place, &edge.to);
	if (!err)
		err = find_sender(l, (uint64_t)qp << 32 | (peer ?: edge.to), &like, &edge, &index);
	return err
		       ?: add_request(l, index,
				      wr->opcode == ABI_WR_SEND_WITH_INV ? ABI_WR_SEND : wr->opcode,
				      wr_bytes(wr), event->time,
				      pair->signals_all || wr->send_flags & IBV_SEND_SIGNALED);
}

static int learn_post(struct load_learner *l, const struct trace_event *event)
{
	int err = 0;

	if (!post_is_send(event->post))
		return 0;
	for (uint32_t i = 0; !err && i < post_taken(event->post); i++)
		err = learn_request(l, event, &event->post->wr[i]);
	return err;
}

/* Learn a message from a peer that is not in the trace. */
static int learn_arrival(struct load_learner *l, const struct trace_event *event,
			 const struct wc *wc)
{
	struct load_class like = { .transport = find_transport(find_pair(l, wc->qp)) };
	struct place lid = { .lid = (uint16_t)wc->slid };
	bool ud = like.transport == LOAD_UD;
	struct load_edge edge = { .to = event->process };
	const struct place *place = &lid;
	uint32_t peer;
	size_t index;
	int err, opcode;

	if (wc->status || !(wc->opcode & IBV_WC_RECV) || !wc->qp ||
	    like.transport == LOAD_TRANSPORTS)
		return 0;
	peer = ud ? peers_find_datagram(l->connections->peers, wc->qp, wc->src_qp, &lid,
					event->time)
		  : find_peer(l, event, wc->qp, NULL, &place);
	if (peer)
		return 0; /* the sender's posts are in the trace */
	like.depth = find_depth(l, wc->qp, event->time);
	err = find_outside_party(l, place, &edge.from);
	if (!err)
		err = find_sender(l, (uint64_t)wc->qp << 32 | edge.from | 1u << 30, &like, &edge,
				  &index);
	opcode = wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? ABI_WR_RDMA_WRITE_WITH_IMM
		 : wc->wc_flags & IBV_WC_WITH_IMM        ? ABI_WR_SEND_WITH_IMM
							 : ABI_WR_SEND;
	return err
		       ?: add_request(l, index, opcode,
				      ud && wc->byte_len >= GRH ? wc->byte_len - GRH : wc->byte_len,
				      event->time, true);
}

static int learn_event(struct load_learner *l, const struct trace_event *event)
{
	int err = 0;

	if (event->kind == TRACE_RETURN)
		return learn_pair(l, event->call);
	if (event->kind == TRACE_POST && !event->inner)
		return learn_post(l, event);
	if (event->kind != TRACE_POLL || event->inner)
		return 0;
	for (uint32_t i = 0; !err && i < event->poll->nwc; i++)
		err = learn_arrival(l, event, &event->poll->wc[i]);
	return err;
}

static int read_events(struct load_learner *l)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = trace_connections(l->trace, &l->connections)
			  ?: trace_queues(l->trace, &l->queues)
			  ?: cursor_open(l->trace, NULL, &cursor);

	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		err = learn_event(l, event);
		if (err == -ENOMEM)
			log_err(err, "learn the traffic");
		if (err < 0)
			break;
	}
	cursor_close(cursor);
	return err;
}

/* A process that sends or receives, or a peer outside the trace. */
struct party {
	uint32_t id;
	uint64_t order;
};

static bool is_ranked(struct trace *trace, uint32_t party)
{
	const struct process *process = party & OUTSIDE ? NULL : trace_process(trace, party);

	return process && process->rank.launcher && process->rank.rank >= 0;
}

static uint64_t order_of(struct trace *trace, uint32_t party)
{
	uint32_t rank = is_ranked(trace, party) ? (uint32_t)trace_process(trace, party)->rank.rank
						: 1u << 30;

	return (uint64_t)rank << 32 | party;
}

static int compare_parties(const void *a, const void *b)
{
	const struct party *x = a, *y = b;

	return x->order < y->order ? -1 : x->order > y->order;
}

static int add_party(struct party **parties, size_t *n, struct map *known, struct trace *trace,
		     uint32_t id)
{
	struct party *party;
	uint64_t found;

	if (map_get(known, id, &found))
		return 0;
	party = vec_push(*parties, *n);
	if (!party)
		return -ENOMEM;
	*party = (struct party){ id, order_of(trace, id) };
	return map_put(known, id, 0);
}

/* Change the parties of all edges to ranks. */
static void assign_edge_numbers(struct load *load, const struct map *rank_of)
{
	for (size_t i = 0; i < load->nclasses; i++) {
		struct load_edge *edge = load->classes[i].edges;
		uint64_t from = 0, to = 0;

		map_get(rank_of, edge->from, &from);
		map_get(rank_of, edge->to, &to);
		*edge = (struct load_edge){ (uint32_t)from, (uint32_t)to };
	}
}

static int assign_ranks(struct load_learner *l)
{
	struct party *parties = NULL;
	struct map known = { 0 };
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; !err && i < l->load->nclasses; i++) {
		const struct load_edge *edge = l->load->classes[i].edges;

		err = add_party(&parties, &n, &known, l->trace, edge->from)
			      ?: add_party(&parties, &n, &known, l->trace, edge->to);
	}
	if (n)
		qsort(parties, n, sizeof(*parties), compare_parties);
	for (size_t i = 0; !err && i < n; i++) {
		err = map_put(&known, parties[i].id, i);
		l->load->numbered |= is_ranked(l->trace, parties[i].id);
		l->load->outside += !!(parties[i].id & OUTSIDE);
	}
	if (!err)
		assign_edge_numbers(l->load, &known);
	l->load->nranks = (uint32_t)n;
	map_fini(&known);
	free(parties);
	return err ? log_err(err, "number the ranks") : 0;
}

static void set_signals(struct load_learner *l)
{
	for (size_t i = 0; i < l->nsenders; i++) {
		uint64_t signaled = l->senders[i].signaled, n = l->load->classes[i].tracks->n;

		l->load->classes[i].signal =
			signaled ? (uint32_t)((n + signaled / 2) / signaled) : 1;
	}
}

int load_learn(struct trace *trace, uint64_t most, struct load *ret_load)
{
	struct load load = { 0 };
	struct load_learner l = { .trace = trace, .load = &load, .origin = -1, .most = most };
	int err = read_events(&l);

	if (!err)
		err = assign_ranks(&l);
	if (!err)
		set_signals(&l);
	free(l.senders);
	free(l.pairs);
	map_fini(&l.sender_of);
	map_fini(&l.outside_of);
	if (err)
		load_fini(&load);
	else
		*ret_load = load;
	return err;
}
