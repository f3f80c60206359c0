/*
 * What datagrams show of the clocks of two traces
 *
 * 	sends of A's queue pair to B's		 s1  s2  s3  s4
 * 	receives at B's with A's number		       r1  r2
 *
 * When k datagrams have been received, at least k have been posted, even if some were lost or
 * reordered: the k-th send was before the k-th receive. And a queue pair was made before a datagram
 * was sent to its number.
 *
 * The destination of a datagram is its address handle with the number; its source is the number
 * alone, and the LID if there is one. Ambiguous queue pairs are left out.
 */
#include "analyzer/model/clock_datagrams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/abi.h"
#include "analyzer/model/device.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/qp.h"
#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"

enum { AHEAD = 1 << 20, MULTICAST = 0xffffff, WITH_GRH = 1 /* IBV_WC_GRH */ };

/* A queue pair for datagrams. */
struct datagram_end {
	uint32_t id, number, part;
	struct device *device; /* NULL: not known */
	int64_t made;          /* -1: before the recording */
	size_t same;           /* 1 + index of another queue pair with its number; 0: none */
};

/* The destination of an address handle. */
struct datagram_ah {
	uint64_t handle;
	uint32_t process;
	struct place place; /* zeros: not known */
};

/* When a datagram was posted; or when it was received, and when its receive was posted. */
struct datagram_time {
	int64_t time, posted; /* -1: not known */
};

/* Datagrams from one queue pair to another: times not yet matched with those of the other end. */
struct datagram_flow {
	struct clock_edge *edge;
	uint32_t from, to;     /* queue pairs; from is 0 until something was sent */
	uint32_t part;         /* of @from */
	bool broken;           /* some datagrams may be missing, or are of another flow */
	bool counted, matched; /* counted in edge->pairs; a message was received */
	struct datagram_time *sent, *received;
	size_t nsent, nreceived, sent_size, received_size, sent_first, received_first;
};

struct clock_datagrams {
	struct trace *joint;
	struct clock_edges *edges;
	struct datagram_end *ends;
	size_t nends;
	struct map by_id, by_number; /* 1 + index of an end */
	struct datagram_ah *ahs;
	size_t nahs;
	struct map by_ah; /* 1 + index */
	struct datagram_flow *flows;
	size_t nflows;
	struct map by_flow; /* 1 + index */
	bool *whole;        /* by part: it has all messages that its processes have sent */
	int err;
};

struct clock_datagrams *clock_datagrams_new(struct trace *joint, struct clock_edges *edges)
{
	struct clock_datagrams *grams = calloc(1, sizeof(*grams));

	if (grams) {
		grams->joint = joint;
		grams->edges = edges;
	}
	return grams;
}

void clock_datagrams_free(struct clock_datagrams *grams)
{
	if (!grams)
		return;
	for (size_t i = 0; i < grams->nends; i++)
		device_put(grams->ends[i].device);
	for (size_t i = 0; i < grams->nflows; i++) {
		free(grams->flows[i].sent);
		free(grams->flows[i].received);
	}
	free(grams->ends);
	free(grams->ahs);
	free(grams->flows);
	free(grams->whole);
	map_fini(&grams->by_id);
	map_fini(&grams->by_number);
	map_fini(&grams->by_ah);
	map_fini(&grams->by_flow);
	free(grams);
}

/* Queue pairs */

int clock_datagrams_add_qp(struct clock_datagrams *grams, const struct life *qp)
{
	struct datagram_end *end;
	uint64_t at = 0;

	if (!qp->qp || qp->qp->type != ABI_QPT_UD || !qp->number || !qp->peer || qp->inherited ||
	    map_get(&grams->by_id, qp->id, &at))
		return 0;
	end = vec_push(grams->ends, grams->nends);
	if (!end)
		return -ENOMEM;
	map_get(&grams->by_number, qp->number, &at);
	*end = (struct datagram_end){ .id = qp->id,
				      .number = qp->number,
				      .part = (uint32_t)trace_part_of(grams->joint, qp->process),
				      .device = qp->peer->device ? device_get(&qp->peer->device)
								 : NULL,
				      .made = qp->created.id.thread ? qp->created.time : -1,
				      .same = at };
	return map_put(&grams->by_id, qp->id, grams->nends) ||
			       map_put(&grams->by_number, qp->number, grams->nends)
		       ? -ENOMEM
		       : 0;
}

bool clock_datagrams_has_any(const struct clock_datagrams *grams)
{
	for (size_t i = 1; i < grams->nends; i++)
		if (grams->ends[i].part != grams->ends[0].part)
			return true;
	return false;
}

static const struct datagram_end *end_at(const struct clock_datagrams *grams, size_t at)
{
	return at ? &grams->ends[at - 1] : NULL;
}

static const struct datagram_end *look_up_end(const struct clock_datagrams *grams,
					      const struct map *map, uint64_t key)
{
	uint64_t at;

	return map_get(map, key, &at) ? end_at(grams, at) : NULL;
}

/* Address handles */

static struct datagram_ah *find_ah(const struct clock_datagrams *grams, uint32_t process,
				   uint64_t handle)
{
	uint64_t at;
	struct datagram_ah *ah = map_get(&grams->by_ah, map_hash(process) ^ handle, &at)
					 ? &grams->ahs[at - 1]
					 : NULL;

	return ah && ah->process == process && ah->handle == handle ? ah : NULL;
}

/* The requested destination; or the source of a datagram, to reply to it. */
static void read_address(struct datagram_ah *ah, const struct call *call)
{
	bool back = call->verb == VERB_create_ah_from_wc;
	const char *gid = args_text(call->args, back ? ARG(grh.sgid.raw) : ARG(attr.grh.dgid.raw));

	ah->place.is_global = back ? args_number(call->args, ARG(wc.wc_flags)) & WITH_GRH
				   : args_number(call->args, ARG(attr.is_global)) != 0;
	if (!ah->place.is_global)
		ah->place.lid =
			(uint16_t)args_number(call->args, back ? ARG(wc.slid) : ARG(attr.dlid));
	else if (gid)
		place_parse_gid(gid, ah->place.gid);
}

static void learn_ah(struct clock_datagrams *grams, const struct trace_event *event)
{
	const struct call *call = event->call;
	struct datagram_ah *ah;

	if ((call->verb != VERB_create_ah && call->verb != VERB_create_ah_from_wc) ||
	    call->failed || !call->handle)
		return;
	ah = find_ah(grams, event->process, call->handle);
	if (!ah) {
		ah = vec_push(grams->ahs, grams->nahs);
		if (!ah ||
		    map_put(&grams->by_ah, map_hash(event->process) ^ call->handle, grams->nahs)) {
			grams->err = -ENOMEM;
			return;
		}
	}
	*ah = (struct datagram_ah){ .handle = call->handle, .process = event->process };
	read_address(ah, call);
}

static enum placed find_place(const struct datagram_ah *ah, const struct datagram_end *end)
{
	return ah ? device_place(end->device, 0, &ah->place) : PLACED_PERHAPS;
}

/* Flows */

static struct datagram_flow *get_flow(struct clock_datagrams *grams, const struct datagram_end *to,
				      uint32_t number)
{
	uint64_t key = (uint64_t)to->id << 32 | number, at;
	struct datagram_flow *flow;

	if (map_get(&grams->by_flow, key, &at))
		return &grams->flows[at - 1];
	flow = vec_push(grams->flows, grams->nflows);
	if (!flow || map_put(&grams->by_flow, key, grams->nflows)) {
		grams->err = -ENOMEM;
		return NULL;
	}
	flow->to = to->id;
	return flow;
}

static bool has_all_messages(struct clock_datagrams *grams, uint32_t part)
{
	size_t n = trace_nparts(grams->joint);

	if (!grams->whole) {
		grams->whole = calloc(n, sizeof(*grams->whole));
		for (size_t i = 0; i < n && grams->whole; i++)
			grams->whole[i] = clock_has_messages(trace_part(grams->joint, i));
	}
	return grams->whole && grams->whole[part];
}

/* Later datagrams cannot be matched; those that were matched are correct. */
static void break_flow(struct datagram_flow *flow)
{
	flow->broken = true;
}

static void push_time(struct datagram_flow *flow, bool sent, struct datagram_time time)
{
	struct datagram_time **at = sent ? &flow->sent : &flow->received;
	size_t *n = sent ? &flow->nsent : &flow->nreceived;
	size_t *first = sent ? &flow->sent_first : &flow->received_first;
	size_t *size = sent ? &flow->sent_size : &flow->received_size;

	if (*first == *n)
		*first = *n = 0;
	if (*n - *first == AHEAD || vec_reserve(*at, *size, *n + 1))
		break_flow(flow);
	else
		(*at)[(*n)++] = time;
}

/* Count the flows of both directions as one pair of queue pairs. */
static void count_pair(struct clock_datagrams *grams, struct datagram_flow *flow)
{
	const struct datagram_end *from = look_up_end(grams, &grams->by_id, flow->from);
	const struct datagram_end *to = look_up_end(grams, &grams->by_id, flow->to);
	struct datagram_flow *back = NULL;
	uint64_t at;

	flow->matched = true;
	if (map_get(&grams->by_flow, (uint64_t)from->id << 32 | to->number, &at))
		back = &grams->flows[at - 1];
	flow->counted = !back || !back->counted;
	flow->edge->pairs += flow->counted;
}

static void match_flow(struct clock_datagrams *grams, struct datagram_flow *flow)
{
	if (flow->broken || !flow->edge)
		return;
	while (flow->sent_first < flow->nsent && flow->received_first < flow->nreceived) {
		int64_t sent = flow->sent[flow->sent_first++].time;
		struct datagram_time receive = flow->received[flow->received_first++];

		clock_edge_add_order(flow->edge, &flow->edge->all, flow->part, sent, receive.time);
		if (receive.posted >= 0)
			clock_edge_add_order(flow->edge, &flow->edge->likely,
					     flow->edge->a ^ flow->edge->b ^ flow->part,
					     receive.posted, sent);
		flow->edge->messages++;
		if (!flow->matched)
			count_pair(grams, flow);
	}
}

/* The first datagram from @from to @to. */
static void begin_flow(struct clock_datagrams *grams, struct datagram_flow *flow,
		       const struct datagram_end *from, const struct datagram_end *to, int64_t time)
{
	flow->from = from->id;
	flow->part = from->part;
	if (from->part != to->part)
		flow->edge = clock_edge_get(grams->edges, from->part, to->part);
	if (!flow->edge || from->made < 0 || !has_all_messages(grams, from->part) ||
	    !has_all_messages(grams, to->part))
		break_flow(flow);
	if (flow->edge && to->made >= 0)
		clock_edge_add_order(flow->edge, &flow->edge->objects, to->part, to->made, time);
}

static void add_datagram(struct clock_datagrams *grams, const struct datagram_end *from,
			 const struct datagram_end *to, int64_t time)
{
	struct datagram_flow *flow = get_flow(grams, to, from->number);

	if (!flow)
		return;
	if (!flow->from)
		begin_flow(grams, flow, from, to, time);
	if (flow->from != from->id) /* two queue pairs have that number: the sender is unknown */
		break_flow(flow);
	if (flow->broken)
		return;
	push_time(flow, true, (struct datagram_time){ time, -1 });
	match_flow(grams, flow);
}

/* The only queue pair of a number that @ah leads to; NULL: none, or several. */
static const struct datagram_end *find_intended(const struct clock_datagrams *grams,
						const struct datagram_ah *ah, uint32_t number)
{
	const struct datagram_end *each = look_up_end(grams, &grams->by_number, number);
	const struct datagram_end *is = NULL, *may_be = NULL;
	size_t nis = 0, nmay = 0;

	for (; each; each = end_at(grams, each->same)) {
		enum placed placed = find_place(ah, each);

		is = placed == PLACED_AT_PORT ? each : is;
		may_be = placed == PLACED_PERHAPS ? each : may_be;
		nis += placed == PLACED_AT_PORT;
		nmay += placed == PLACED_PERHAPS;
	}
	return nis == 1 ? is : !nis && nmay == 1 ? may_be : NULL;
}

static void learn_wr(struct clock_datagrams *grams, const struct trace_event *event,
		     const struct datagram_end *from, const struct wr *wr)
{
	const struct datagram_ah *ah = find_ah(grams, event->process, wr->ah);
	const struct datagram_end *to = find_intended(grams, ah, wr->remote_qpn);
	const struct datagram_end *each =
		to ? NULL : look_up_end(grams, &grams->by_number, wr->remote_qpn);

	if (to)
		add_datagram(grams, from, to, event->time);
	for (; each; each = end_at(grams, each->same)) { /* any of them may be the receiver */
		struct datagram_flow *flow = find_place(ah, each) == PLACED_ELSEWHERE
						     ? NULL
						     : get_flow(grams, each, from->number);

		if (flow)
			break_flow(flow);
	}
}

static void learn_sends(struct clock_datagrams *grams, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t n = post_is_send(post) && !event->inner ? post_taken(post) : 0;
	const struct datagram_end *from =
		n ? look_up_end(grams, &grams->by_id, post->object) : NULL;

	for (uint32_t i = 0; i < n && from; i++)
		if (post->wr[i].ah && post->wr[i].remote_qpn && post->wr[i].remote_qpn != MULTICAST)
			learn_wr(grams, event, from, &post->wr[i]);
}

/* May a queue pair with that number have sent from @lid? 0: the source is not known. */
static bool may_be_from(const struct clock_datagrams *grams, uint32_t number, uint16_t lid)
{
	const struct datagram_end *each = look_up_end(grams, &grams->by_number, number);
	const struct place from = { .lid = lid };

	for (; each; each = end_at(grams, each->same))
		if (device_place(each->device, 0, &from) != PLACED_ELSEWHERE)
			return true;
	return false;
}

static void learn_received(struct clock_datagrams *grams, const struct wc *wc, int64_t time)
{
	const struct datagram_end *to = wc->status || !(wc->opcode & ABI_WC_RECV)
						? NULL
						: look_up_end(grams, &grams->by_id, wc->qp);
	struct datagram_flow *flow;

	if (!to || !may_be_from(grams, wc->src_qp, wc->slid))
		return;
	flow = get_flow(grams, to, wc->src_qp);
	if (!flow || flow->broken)
		return;
	push_time(flow, false,
		  (struct datagram_time){ time, wc->request.thread ? wc->posted_at : -1 });
	match_flow(grams, flow);
}

int clock_datagrams_process_event(struct clock_datagrams *grams, const struct trace_event *event)
{
	if (event->kind == TRACE_RETURN)
		learn_ah(grams, event);
	else if (event->kind == TRACE_POST)
		learn_sends(grams, event);
	else if (event->kind == TRACE_POLL && !event->inner)
		for (uint32_t i = 0; i < event->poll->nwc; i++)
			learn_received(grams, &event->poll->wc[i], event->time);
	return grams->err;
}
