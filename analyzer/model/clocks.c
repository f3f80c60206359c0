/*
 * Computes by how much the clocks of several traces differ
 *
 * Some events of one end must come before events of the other:
 *
 * 	a queue pair is made		before the other end uses its number (to RTR)
 * 	a message is posted		before it is received
 * 	a receive is posted		before the message in it completes at the sender
 * 	librdmacm: a call of one end	before the event at the other (clock_cm.c)
 * 	n datagrams are posted before n are received (clock_datagrams.c)
 *
 * One direction gives lower bounds of the offset of the clocks, the other one upper bounds. The
 * line between all bounds is taken: offset and drift. Its error is the whole gap between the
 * bounds. Where datagrams went in one direction only, the gap may be milliseconds: a line is
 * preferred by which a receive for each datagram was posted before it was sent, since a replay in
 * another order would lose the datagram.
 *
 * Two passes: control verbs alone, which give a first offset, then messages, in the order that this
 * offset gives. The offset of each trace is derived from the first one over the most certain edges.
 */
#include "analyzer/model/clocks.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyzer/model/clock_cm.h"
#include "analyzer/model/clock_datagrams.h"
#include "analyzer/model/clock_edge.h"
#include "analyzer/model/model.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/receive_order.h"
#include "core/base/vec.h"
#include "core/store/read/joint.h"
#include "core/wire/log.h"

enum { AHEAD = 1 << 20, ROUNDED = 2 /* ns */ };

/* Times not yet matched with those of the other end. */
struct times {
	int64_t *at;
	size_t n, size, first;
};

struct clock_end {
	uint32_t part;
	int64_t since; /* when it was connected: earlier messages are of another connection */
	struct times sent, received;
	struct receive_order order; /* its sends, the other end's receives */
};

/* Two queue pairs, by their numbers in the trace. */
struct pair {
	struct clock_edge *edge;
	struct clock_end ends[2]; /* of trace edge->a, edge->b */
	bool broken;              /* messages are missing */
};

struct clocks {
	struct trace *joint;
	struct clock_edges edges;
	struct clock_cm *cm;
	struct clock_datagrams *datagrams;
	struct pair **pairs;
	size_t npairs;
	struct map by_qp; /* 1 + 2 * pair + end */
	struct map seen;  /* numbers of queue pairs */
	struct map reset; /* queue pairs that were reset: their receives were dropped */
	uint32_t *numbers;
	size_t nnumbers;
	int err;
};

/* Pairs */

/* Are all receives of @qp in the trace, and is none of them of an earlier connection? */
static bool has_receives(const struct clocks *clocks, const struct object *qp)
{
	uint64_t reset;

	return qp->created.thread && !map_get(&clocks->reset, qp->id, &reset);
}

static void add_pair(void *arg, const struct peer *peer, const struct peer *other)
{
	struct clocks *clocks = arg;
	uint32_t a = (uint32_t)trace_part_of(clocks->joint, peer->process);
	uint32_t b = (uint32_t)trace_part_of(clocks->joint, other->process);
	const struct object *mine = trace_object(clocks->joint, peer->id);
	const struct object *theirs = trace_object(clocks->joint, other->id);
	struct clock_edge *edge =
		a < b && mine && theirs ? clock_edge_get(&clocks->edges, a, b) : NULL;
	struct pair *pair = edge ? calloc(1, sizeof(*pair)) : NULL, **place;

	place = pair ? vec_push(clocks->pairs, clocks->npairs) : NULL;
	if (!place || map_put(&clocks->by_qp, peer->id, 2 * clocks->npairs - 1) ||
	    map_put(&clocks->by_qp, other->id, 2 * clocks->npairs)) {
		clocks->npairs -= place != NULL;
		free(pair);
		return;
	}
	*place = pair;
	*pair = (struct pair){ .edge = edge,
			       .ends = { { .part = a, .since = peer->since },
					 { .part = b, .since = other->since } },
			       .broken = !peer->is_rc || !other->is_rc };
	pair->ends[0].order.broken = !has_receives(clocks, theirs) || !has_receives(clocks, mine);
	pair->ends[1].order.broken = pair->ends[0].order.broken;
	edge->pairs++;
	if (mine->created.thread)
		clock_edge_add_order(edge, &edge->objects, a, mine->created_at, other->since);
	if (theirs->created.thread)
		clock_edge_add_order(edge, &edge->objects, b, theirs->created_at, peer->since);
}

static void on_modify(void *arg, const struct model_modify *modify)
{
	struct clocks *clocks = arg;
	uint32_t number = modify->object->number, *place;
	uint64_t seen;

	if (modify->to == ABI_QPS_RESET && map_put(&clocks->reset, modify->object->id, 1))
		clocks->err = -ENOMEM;
	if (clock_datagrams_add_qp(clocks->datagrams, modify->object) ||
	    clock_cm_add_qp(clocks->cm, modify->object->process, number))
		clocks->err = -ENOMEM;
	if (!number || map_get(&clocks->seen, number, &seen))
		return;
	place = vec_push(clocks->numbers, clocks->nnumbers);
	if (!place || map_put(&clocks->seen, number, 1))
		clocks->err = -ENOMEM;
	else
		*place = number;
}

/* Build the model of all objects, and find the joined pairs. */
static int find_pairs(struct clocks *clocks)
{
	struct model_watcher watcher = { .modify = on_modify, .arg = clocks };
	struct trace_filter filter = { .control_only = true };
	const struct trace_event *event;
	struct cursor *cursor;
	struct model *model;
	int err = model_new(clocks->joint, &watcher, &model), more = 0;

	if (err)
		return err;
	err = cursor_open(clocks->joint, &filter, &cursor);
	if (!err) {
		while (!err && (more = cursor_next(cursor, &event)) == 1)
			err = model_process_event(model, event)
				      ?: clock_cm_process_event(clocks->cm, event);
		err = err ? err : more;
		cursor_close(cursor);
	}
	for (size_t i = 0; i < clocks->nnumbers && !err; i++)
		peer_visit_on_other_host(model_peers(model), clocks->numbers[i], add_pair, clocks);
	if (!err)
		clock_cm_finish(clocks->cm, &clocks->edges);
	model_free(model);
	return err ? err : clocks->err;
}

/* Messages */

static void push_time(struct pair *pair, struct times *times, int64_t time)
{
	if (times->first == times->n)
		times->first = times->n = 0;
	if (times->n - times->first == AHEAD || vec_reserve(times->at, times->size, times->n + 1))
		pair->broken = true;
	else
		times->at[times->n++] = time;
}

/* Match the messages of end @from that both ends have, in order. */
static void match_messages(struct pair *pair, int from)
{
	struct times *sent = &pair->ends[from].sent, *received = &pair->ends[!from].received;

	while (sent->first < sent->n && received->first < received->n) {
		clock_edge_add_order(pair->edge, &pair->edge->all, pair->ends[from].part,
				     sent->at[sent->first++], received->at[received->first++]);
		pair->edge->messages++;
	}
}

/* Match the receives that the messages of end @from have certainly consumed. */
static void match_receives(struct pair *pair, int from)
{
	int64_t posted, done;

	while (receive_order_take_next(&pair->ends[from].order, &posted, &done))
		clock_edge_add_order(pair->edge, &pair->edge->all, pair->ends[!from].part, posted,
				     done);
}

static struct pair *find_pair(const struct clocks *clocks, uint32_t qp, int64_t time, int *ret_end)
{
	struct pair *pair;
	uint64_t place;

	if (!qp || !map_get(&clocks->by_qp, qp, &place))
		return NULL;
	pair = clocks->pairs[(place - 1) / 2];
	*ret_end = (int)((place - 1) % 2);
	return pair->broken || time < pair->ends[*ret_end].since ? NULL : pair;
}

/* Receives count from the creation of the queue pair on, whatever it was connected to. */
static void learn_receives(const struct clocks *clocks, const struct trace_event *event)
{
	int end;
	struct pair *pair = find_pair(clocks, event->post->object, INT64_MAX, &end);
	uint32_t n = pair ? post_taken(event->post) : 0;

	for (uint32_t i = 0; i < n; i++)
		receive_order_add_receive(&pair->ends[!end].order, event->time);
	if (n)
		match_receives(pair, !end);
}

static void learn_post_order(const struct clocks *clocks, const struct trace_event *event)
{
	const struct post *post = event->post;
	uint32_t n = post_is_send(post) && !event->inner ? post_taken(post) : 0;
	int end;
	struct pair *pair = n ? find_pair(clocks, post->object, event->time, &end) : NULL;

	if (post->verb == VERB_post_recv && !event->inner)
		learn_receives(clocks, event);
	for (uint32_t i = 0; i < n && pair; i++) {
		bool message = operation_takes_receive(post->wr[i].opcode);

		if (message)
			push_time(pair, &pair->ends[end].sent, event->time);
		receive_order_add_send(&pair->ends[end].order, event->id, i, message);
	}
	if (pair)
		match_messages(pair, end);
}

/* An error means a broken connection: nothing more is concluded from it. */
static void learn_send_done(const struct clocks *clocks, const struct wc *wc, int64_t time)
{
	int end;
	struct pair *pair = find_pair(clocks, wc->qp, time, &end);

	if (!pair)
		return;
	if (wc->status)
		pair->ends[end].order.broken = true;
	else if (wc->request.thread)
		receive_order_end_send(&pair->ends[end].order, wc->request, wc->request_index,
				       time);
	match_receives(pair, end);
}

static void learn_poll_order(const struct clocks *clocks, const struct trace_event *event)
{
	const struct poll *poll = event->poll;

	for (uint32_t i = 0; i < poll->nwc && !event->inner; i++) {
		int end;
		struct pair *pair;

		if (poll->wc[i].status || !(poll->wc[i].opcode & ABI_WC_RECV)) {
			learn_send_done(clocks, &poll->wc[i], event->time);
			continue;
		}
		pair = find_pair(clocks, poll->wc[i].qp, event->time, &end);
		if (!pair)
			continue;
		push_time(pair, &pair->ends[end].received, event->time);
		match_messages(pair, !end);
	}
}

static int read_messages(struct clocks *clocks)
{
	const struct trace_event *event;
	struct cursor *cursor;
	bool any = clock_datagrams_has_any(clocks->datagrams);
	int err, more = 0;

	for (size_t i = 0; i < clocks->npairs; i++) {
		struct pair *pair = clocks->pairs[i];

		for (int end = 0; end < 2; end++)
			pair->broken |= !clock_has_messages(
				trace_part(clocks->joint, pair->ends[end].part));
		any |= !pair->broken;
	}
	err = any ? cursor_open(clocks->joint, NULL, &cursor) : 0;
	if (err || !any)
		return err;
	while (!err && (more = cursor_next(cursor, &event)) == 1) {
		if (event->kind == TRACE_POST)
			learn_post_order(clocks, event);
		else if (event->kind == TRACE_POLL)
			learn_poll_order(clocks, event);
		err = clock_datagrams_process_event(clocks->datagrams, event);
	}
	cursor_close(cursor);
	return err ? err : more;
}

/* Clocks */

/* The correction of a trace's times, as a function of uncorrected joint time. */
struct clock_correction {
	double offset, drift;
	double drift_error;
	bool known;
};

struct step {
	const struct clock_edge *edge;
	uint32_t from, part;
	bool messages; /* the bounds of messages fit, too */
	struct bounds_line line;
	double error; /* sum over all steps to this trace */
};

static int64_t length_of(struct trace *trace)
{
	const char *duration = trace_meta(trace, "duration");

	return duration ? strtoll(duration, NULL, 10) : 0;
}

/*
 * The span in which the clock of @part is used, in joint time. With two traces: the span of @part.
 * With more: the span of all, since a trace may be reached over another trace that began later, or
 * ended earlier.
 */
static void find_span(const struct clocks *clocks, uint32_t part, int64_t span[2])
{
	size_t n = trace_nparts(clocks->joint);

	span[0] = INT64_MAX;
	span[1] = INT64_MIN;
	for (uint32_t i = 0; i < n; i++) {
		struct trace_clock clock = trace_clock(clocks->joint, i);
		int64_t begin = trace_clock_time(&clock, 0);
		int64_t end = trace_clock_time(&clock, length_of(trace_part(clocks->joint, i)));

		if (n == 2 && i != part)
			continue;
		span[0] = begin < span[0] ? begin : span[0];
		span[1] = end > span[1] ? end : span[1];
	}
}

static double value_at(const struct bounds_line *line, int64_t time)
{
	return line->offset + line->drift * (double)time;
}

/* Move @line, within its error, so that each datagram finds its receive posted. */
static void fit_to_receives(struct clock_edge *edge, const int64_t span[2],
			    struct bounds_line *line)
{
	struct bounds_line likely;
	double moved = 0;

	if (!edge->likely.least.n && !edge->likely.most.n)
		return;
	if (!bounds_solve(&edge->likely, span, &likely))
		return;
	for (int i = 0; i < 2; i++)
		moved = fmax(moved, fabs(value_at(&likely, span[i]) - value_at(line, span[i])));
	likely.error = line->error + moved;
	likely.drift_error = line->drift_error + fabs(likely.drift - line->drift);
	*line = likely;
}

/* Solve an edge: from messages if they fit, else from control verbs alone; false: nothing fits. */
static bool solve_edge(const struct clocks *clocks, struct clock_edge *edge, struct step *step)
{
	int64_t span[2];

	find_span(clocks, step->part, span);
	step->messages = edge->messages && bounds_solve(&edge->all, span, &step->line);
	if (step->messages)
		fit_to_receives(edge, span, &step->line);
	return step->messages || bounds_solve(&edge->objects, span, &step->line);
}

/*
 * The most certain step from a trace whose clock is known to one whose is not; false: there is
 * none.
 */
static bool choose_step(const struct clocks *clocks, const struct clock_correction *lines,
			const double *errors, struct step *ret_step)
{
	bool found = false;

	for (size_t i = 0; i < clocks->edges.n; i++) {
		struct clock_edge *edge = clocks->edges.all[i];
		struct step step = { .edge = edge, .from = edge->a, .part = edge->b };

		if (lines[edge->a].known == lines[edge->b].known)
			continue;
		if (lines[edge->b].known) {
			step.from = edge->b;
			step.part = edge->a;
		}
		if (!solve_edge(clocks, edge, &step))
			continue;
		step.error = errors[step.from] + step.line.error;
		if (found && step.error >= ret_step->error)
			continue;
		*ret_step = step;
		found = true;
	}
	return found;
}

/* Concatenate two lines: time of a = time of b + offset + drift * time of b. */
static void apply_step(const struct step *step, struct clock_correction *lines)
{
	const struct clock_correction *from = &lines[step->from];
	double rate = 1 + from->drift, other = 1 + step->line.drift;
	bool back = step->part == step->edge->a;

	lines[step->part] = (struct clock_correction){
		.offset = from->offset +
			  (back ? -rate * step->line.offset / other : rate * step->line.offset),
		.drift = (back ? rate / other : rate * other) - 1,
		.drift_error = from->drift_error + step->line.drift_error,
		.known = true,
	};
}

static int correct_clock(struct clocks *clocks, const struct step *step,
			 const struct clock_correction *line)
{
	struct trace_clock clock = trace_clock(clocks->joint, step->part);

	clock.source = CLOCK_ESTIMATED;
	clock.offset += trace_clock_round(line->offset + line->drift * (double)clock.offset);
	clock.drift += line->drift * (1 + clock.drift);
	clock.error = trace_clock_round(step->error) + ROUNDED;
	clock.drift_error = line->drift_error;
	clock.pairs = step->edge->pairs;
	clock.messages = step->messages ? step->edge->messages : 0;
	return trace_set_clock(clocks->joint, step->part, &clock);
}

/* Set the clocks of traces that share a machine with one whose clock is known. */
static int set_same_machine_clocks(struct clocks *clocks, uint32_t part,
				   struct clock_correction *lines, double *errors)
{
	size_t n = trace_nparts(clocks->joint);
	struct trace_clock clock;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (lines[i].known || !trace_clock_like(clocks->joint, i, part, &clock))
			continue;
		lines[i] = lines[part];
		errors[i] = errors[part];
		err = trace_set_clock(clocks->joint, i, &clock);
	}
	return err;
}

/* Note traces with joined queue pairs whose clock is unknown, since their bounds contradict. */
static int note_contradictions(struct clocks *clocks, const struct clock_correction *lines)
{
	int err = 0;

	for (size_t i = 0; i < clocks->edges.n && !err; i++) {
		const struct clock_edge *edge = clocks->edges.all[i];
		uint32_t part = lines[edge->b].known ? edge->a : edge->b;
		struct trace_clock clock = trace_clock(clocks->joint, part);

		if (lines[part].known || !lines[edge->a].known == !lines[edge->b].known)
			continue;
		clock.contradicts = true;
		clock.pairs = edge->pairs;
		err = trace_set_clock(clocks->joint, part, &clock);
	}
	return err;
}

static int set_clocks(struct clocks *clocks)
{
	size_t n = trace_nparts(clocks->joint);
	struct clock_correction *lines = calloc(n, sizeof(*lines));
	double *errors = calloc(n, sizeof(*errors));
	struct step step = { 0 };
	int err = lines && errors ? 0 : log_err(-ENOMEM, "clocks of traces");

	for (size_t i = 0; i < n && !err; i++)
		lines[i].known = trace_clock(clocks->joint, i).source <= CLOCK_SAME;
	while (!err && choose_step(clocks, lines, errors, &step)) {
		apply_step(&step, lines);
		errors[step.part] = step.error;
		err = correct_clock(clocks, &step, &lines[step.part]);
		if (!err)
			err = set_same_machine_clocks(clocks, step.part, lines, errors);
	}
	if (!err)
		err = note_contradictions(clocks, lines);
	free(lines);
	free(errors);
	return err ? err : trace_set_start(clocks->joint);
}

/* Traces of one machine need no messages: only the number of matched queue pairs is reported. */
static int count_pairs(struct clocks *clocks)
{
	int err = 0;

	for (size_t i = 0; i < clocks->edges.n && !err; i++) {
		uint32_t parts[2] = { clocks->edges.all[i]->a, clocks->edges.all[i]->b };

		for (int end = 0; end < 2 && !err; end++) {
			struct trace_clock clock = trace_clock(clocks->joint, parts[end]);

			if (clock.source > CLOCK_SAME)
				continue;
			clock.pairs += clocks->edges.all[i]->pairs;
			err = trace_set_clock(clocks->joint, parts[end], &clock);
		}
	}
	return err;
}

static bool is_one_machine(const struct trace *joint)
{
	for (size_t i = 0; i < trace_nparts(joint); i++)
		if (trace_clock(joint, i).source > CLOCK_SAME)
			return false;
	return true;
}

static void free_clocks(struct clocks *clocks)
{
	for (size_t i = 0; i < clocks->npairs; i++) {
		for (int end = 0; end < 2; end++) {
			free(clocks->pairs[i]->ends[end].sent.at);
			free(clocks->pairs[i]->ends[end].received.at);
			receive_order_fini(&clocks->pairs[i]->ends[end].order);
		}
		free(clocks->pairs[i]);
	}
	clock_edges_fini(&clocks->edges);
	clock_cm_free(clocks->cm);
	clock_datagrams_free(clocks->datagrams);
	free(clocks->pairs);
	free(clocks->numbers);
	map_fini(&clocks->by_qp);
	map_fini(&clocks->seen);
	map_fini(&clocks->reset);
}

/* Combine the bounds from messages with those from control verbs. */
static void add_bounds(struct clocks *clocks)
{
	for (size_t i = 0; i < clocks->edges.n; i++) {
		struct clock_edge *edge = clocks->edges.all[i];

		bounds_add(&edge->all, &edge->objects);
		if (edge->likely.least.n || edge->likely.most.n)
			bounds_add(&edge->likely, &edge->all);
		if (!edge->pairs) /* the queue pairs of a connection that failed, or sent nothing */
			edge->pairs = edge->connections;
	}
}

/* Join by control verbs alone, or also by messages; 1 if messages may improve the result. */
static int join_clocks_by(struct trace *joint, bool messages)
{
	struct clocks clocks = { .joint = joint };
	int err, more = 0;

	clocks.cm = clock_cm_new(joint);
	clocks.datagrams = clock_datagrams_new(joint, &clocks.edges);
	err = clocks.cm && clocks.datagrams ? find_pairs(&clocks)
					    : log_err(-ENOMEM, "clocks of traces");
	if (!err && messages)
		err = read_messages(&clocks);
	add_bounds(&clocks);
	if (!err)
		more = (clocks.edges.n || clock_datagrams_has_any(clocks.datagrams)) &&
		       !is_one_machine(joint);
	if (!err && more)
		err = set_clocks(&clocks);
	if (!err && (messages || !more))
		err = count_pairs(&clocks);
	free_clocks(&clocks);
	return err ? err : more;
}

int clocks_join(struct trace *joint)
{
	int more = join_clocks_by(joint, false);

	if (more > 0)
		more = join_clocks_by(joint, true);
	return more < 0 ? more : 0;
}
