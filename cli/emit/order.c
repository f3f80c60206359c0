/*
 * Which events of other threads a thread of the C program must wait for
 */
#include "cli/emit/order.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/names.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum {
	/* up to this many awaited events of a counter: only these increment it */
	COUNTED_ALONE = 4,
	SENT_MOST = 4096, /* messages in flight for which the sender's `known` is stored */
};

/* An object in one of its roles: its last change, and its last use by each thread since. */
struct shared_object {
	struct order_place change;
	struct order_place *uses;
	size_t nuses;
};

struct counter {
	char *name;
	uint32_t thread, count;
	uint32_t total; /* count of all events, once they are known */
	uint32_t done;  /* text of the statement that increments the counter; or 0 */
	/* ordinals of the first few that are waited for, sorted */
	uint32_t awaited[COUNTED_ALONE + 1];
	uint32_t nawaited;
};

/* The receives of a queue, and the events that the senders of its messages knew to be over. */
struct receive_queue {
	struct fifo receives; /* one struct order_place for each receive */
	uint64_t taken;
	/* of a sending queue pair: `known` at each message, nthreads + 1 numbers each */
	struct fifo sent;
	uint64_t received;
};

/* Initialise all but the counters. */
static int init_tables(struct order *order)
{
	size_t threads = order->program->nthreads + 1, objects = order->program->nobjects + 1;

	order->shared = calloc(objects * ROLES, sizeof(*order->shared));
	order->known = calloc(threads * threads, sizeof(*order->known));
	order->queues = calloc(objects, sizeof(*order->queues));
	order->peer = calloc(objects, sizeof(*order->peer));
	order->srq = calloc(objects, sizeof(*order->srq));
	order->send_cq = calloc(objects, sizeof(*order->send_cq));
	order->recv_cq = calloc(objects, sizeof(*order->recv_cq));
	order->type = calloc(objects, sizeof(*order->type));
	order->feeders = calloc(objects, sizeof(*order->feeders));
	order->goes_to = calloc(objects, sizeof(*order->goes_to));
	if (order->shared && order->known && order->queues && order->peer && order->srq &&
	    order->send_cq && order->recv_cq && order->type && order->feeders && order->goes_to)
		return 0;
	return log_err(-ENOMEM, "emit");
}

static void fini_tables(struct order *order)
{
	size_t objects = order->program ? order->program->nobjects + 1 : 0;

	for (size_t i = 0; order->shared && i < objects * ROLES; i++)
		free(order->shared[i].uses);
	for (size_t i = 0; order->queues && i < objects; i++) {
		fifo_fini(&order->queues[i].receives);
		fifo_fini(&order->queues[i].sent);
	}
	free(order->shared);
	free(order->known);
	free(order->queues);
	free(order->peer);
	free(order->srq);
	free(order->send_cq);
	free(order->recv_cq);
	free(order->type);
	free(order->feeders);
	free(order->goes_to);
	map_fini(&order->receives);
}

int order_init(struct order *order, struct program *program)
{
	memset(order, 0, sizeof(*order));
	order->program = program;
	return init_tables(order);
}

void order_fini(struct order *order)
{
	fini_tables(order);
	for (size_t i = 0; i < order->ncounters; i++)
		free(order->counters[i].name);
	free(order->counters);
	map_fini(&order->by_name);
}

int order_restart(struct order *order)
{
	struct order old = *order;

	fini_tables(&old);
	*order = (struct order){ .program = old.program,
				 .counters = old.counters,
				 .ncounters = old.ncounters,
				 .by_name = old.by_name };
	for (size_t i = 0; i < order->ncounters; i++) {
		order->counters[i].total = order->counters[i].count;
		order->counters[i].count = 0;
	}
	return init_tables(order);
}

static uint64_t *find_known(const struct order *order, uint32_t thread, uint32_t other)
{
	return &order->known[(size_t)thread * (order->program->nthreads + 1) + other];
}

/* The counter @name of @thread, created if needed: each thread has its own. */
static uint32_t find_counter(struct order *order, uint32_t thread, const char *name)
{
	uint64_t key = texts_number(&order->program->texts, name), found;
	struct counter *counter;
	bool taken;

	if (!key)
		return 0;
	if (map_get(&order->by_name, key << 16 | thread, &found))
		return (uint32_t)found;
	taken = map_get(&order->by_name, key << 16, &found);
	counter = vec_push(order->counters, order->ncounters);
	if (!counter)
		return 0;
	counter->thread = thread;
	if (!taken)
		counter->name = strdup(name);
	else if (asprintf(&counter->name, "%s_t%u", name, thread) < 0)
		counter->name = NULL;
	if (!counter->name || map_put(&order->by_name, key << 16 | thread, order->ncounters) ||
	    (!taken && map_put(&order->by_name, key << 16, order->ncounters)))
		return 0;
	return (uint32_t)order->ncounters;
}

int order_begin(struct order *order, const char *name, const char *what)
{
	struct program *program = order->program;
	char text[2 * NAME_TEXT];

	stpcpy(stpcpy(stpcpy(text, name), "_"), what);
	names_strip(text);
	order->now = (struct order_place){ program->at.thread, program->at.n,
					   find_counter(order, program->at.thread, text), 0 };
	if (!order->now.counter)
		return log_err(-ENOMEM, "emit");
	order->now.ordinal = ++order->counters[order->now.counter - 1].count;
	*find_known(order, order->now.thread, order->now.thread) = order->now.n;
	return 0;
}

bool order_has_begun(const struct order *order, struct event_id id)
{
	return id.thread <= order->program->nthreads &&
	       *find_known(order, id.thread, id.thread) >= id.n;
}

/*
 * Note that an event of the counter is awaited: the first few are remembered; if there are more,
 * every event increments the counter.
 */
static void await_ordinal(struct counter *counter, uint32_t ordinal)
{
	uint32_t at = 0;

	while (at < counter->nawaited && counter->awaited[at] < ordinal)
		at++;
	if ((at < counter->nawaited && counter->awaited[at] == ordinal) ||
	    counter->nawaited > COUNTED_ALONE)
		return;
	for (uint32_t i = counter->nawaited++; i > at; i--)
		counter->awaited[i] = counter->awaited[i - 1];
	counter->awaited[at] = ordinal;
}

int order_wait_for(struct order *order, const struct order_place *place)
{
	struct program *program = order->program;
	struct script *script = &program->scripts[order->now.thread];
	struct counter *counter;
	struct phrase phrase;

	if (!place->thread || place->thread == order->now.thread ||
	    *find_known(order, order->now.thread, place->thread) >= place->n)
		return 0;
	counter = &order->counters[place->counter - 1];
	await_ordinal(counter, place->ordinal);
	*find_known(order, order->now.thread, place->thread) = place->n;
	program->helpers |= HELPER_AWAIT;
	phrase = program->phrase; /* the statement that waits, if one was begun */
	memset(&program->phrase, 0, offsetof(struct phrase, values));
	program->phrase.ignored = phrase.ignored;
	phrase_addf(&program->phrase, "await(" SLOT "n, &%s, ", counter->name);
	phrase_number(&program->phrase, 'd', place->ordinal);
	phrase_addf(&program->phrase, ");");
	if (program_add(program, false)) {
		phrase_fini(&phrase);
		return -ENOMEM;
	}
	phrase_fini(&program->phrase);
	program->phrase = phrase;
	if (script->n)
		script->at[script->n - 1].counter = place->counter;
	return 0;
}

int order_await(struct order *order, struct event_id id, const char *name)
{
	struct order_place place = { id.thread, id.n, find_counter(order, id.thread, name), 0 };

	if (!place.counter)
		return log_err(-ENOMEM, "emit");
	place.ordinal = order->counters[place.counter - 1].count + 1;
	return order_wait_for(order, &place);
}

static struct shared_object *find_shared(const struct order *order, uint32_t object, enum role role)
{
	return &order->shared[(size_t)object * ROLES + role];
}

int order_note_use(struct order *order, uint32_t object, enum role role)
{
	struct shared_object *shared = find_shared(order, object, role);
	struct order_place *use;

	if (!object)
		return 0;
	for (size_t i = 0; i < shared->nuses; i++)
		if (shared->uses[i].thread == order->now.thread) {
			shared->uses[i] = order->now;
			return 0;
		}
	use = vec_push(shared->uses, shared->nuses);
	if (!use)
		return log_err(-ENOMEM, "emit");
	*use = order->now;
	return 0;
}

int order_read(struct order *order, uint32_t object, enum role role)
{
	return object ? order_wait_for(order, &find_shared(order, object, role)->change) : 0;
}

int order_change(struct order *order, uint32_t object, enum role role)
{
	struct shared_object *shared = find_shared(order, object, role);
	int err;

	if (!object)
		return 0;
	err = order_wait_for(order, &shared->change);
	for (size_t i = 0; !err && i < shared->nuses; i++)
		err = order_wait_for(order, &shared->uses[i]);
	shared->nuses = 0;
	free(shared->uses);
	shared->uses = NULL;
	shared->change = order->now;
	return err;
}

int order_post_receive(struct order *order, uint32_t queue, uint32_t requests)
{
	struct receive_queue *q = &order->queues[queue];

	for (uint32_t i = 0; i < requests; i++) {
		struct order_place *place = fifo_add(&q->receives, sizeof(*place));

		if (!place)
			return log_err(-ENOMEM, "emit");
		*place = order->now;
	}
	fifo_drop(&q->receives, q->taken);
	return 0;
}

/*
 * A receive posted after the message in the trace is not waited for: the message had none at first.
 */
int order_take_receive(struct order *order, uint32_t queue)
{
	struct receive_queue *q = &order->queues[queue];
	const struct order_place *place = fifo_get(&q->receives, sizeof(*place), q->taken);
	int err = 0;

	if (place)
		err = order_wait_for(order, place);
	else if (order->feeders[queue] > 1 && !order->program->objects[queue].starved)
		order->program->objects[queue].starved = order->program->again = true;
	fifo_drop(&q->receives, ++q->taken);
	return err;
}

int order_send(struct order *order, uint32_t qp)
{
	size_t threads = order->program->nthreads + 1;
	struct receive_queue *q = &order->queues[qp];
	uint64_t *sent;

	if (threads > 32) /* the tables would take more memory than they save lines */
		return 0;
	sent = fifo_add(&q->sent, threads * sizeof(*sent));
	if (!sent)
		return log_err(-ENOMEM, "emit");
	memcpy(sent, find_known(order, order->now.thread, 0), threads * sizeof(*sent));
	if (q->sent.n > SENT_MOST)
		fifo_drop(&q->sent, q->sent.dropped + 1);
	return 0;
}

int order_receive(struct order *order, uint32_t peer)
{
	size_t threads = order->program->nthreads + 1;
	struct receive_queue *q = &order->queues[peer];
	const uint64_t *sent = fifo_get(&q->sent, threads * sizeof(*sent), q->received);

	if (q->received < fifo_count(&q->sent))
		q->received++;
	for (uint32_t i = 1; sent && i < threads; i++)
		if (sent[i] > *find_known(order, order->now.thread, i))
			*find_known(order, order->now.thread, i) = sent[i];
	fifo_drop(&q->sent, q->received);
	return 0;
}

const char *order_counter(const struct order *order, size_t i)
{
	for (size_t c = 0; c < order->ncounters; c++)
		if (order->counters[c].nawaited && !i--)
			return order->counters[c].name;
	return NULL;
}

/* Only the awaited events count: their ordinals become 1, 2... */
static bool is_counted_alone(const struct counter *counter)
{
	return counter->nawaited <= COUNTED_ALONE && counter->total > counter->nawaited;
}

static uint32_t find_number(const struct counter *counter, uint32_t ordinal)
{
	uint32_t number = 0;

	if (!is_counted_alone(counter))
		return ordinal;
	while (number < counter->nawaited && counter->awaited[number] <= ordinal)
		number++;
	return number;
}

static bool is_counted(const struct order *order, const struct statement *s)
{
	const struct counter *counter = s->counter ? &order->counters[s->counter - 1] : NULL;
	uint32_t number;

	if (!s->event || !counter || !counter->nawaited)
		return false;
	number = find_number(counter, s->ordinal);
	return !is_counted_alone(counter) || (number && counter->awaited[number - 1] == s->ordinal);
}

/* May the device's order within a poll be changed? Not for a completion that others wait for. */
static bool may_reorder(const struct order *order, const struct statement *s)
{
	return s->completion && !is_counted(order, s);
}

/* Are both completions of one queue, whose order the program checks? */
static bool is_same_queue(const struct statement *a, const struct statement *b)
{
	return !a->qp || !b->qp ||
	       (a->qp == b->qp && (a->failed || b->failed || a->receive == b->receive));
}

/* Sort the completions of a poll in the order in which the program first expected their kind. */
static void sort_poll(struct statement *at, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct statement moved = at[i];
		size_t to = i;

		for (; to && at[to - 1].text > moved.text && !is_same_queue(&at[to - 1], &moved);
		     to--)
			at[to] = at[to - 1];
		at[to] = moved;
	}
}

/* Sort the completions of each poll, so that the rounds of a loop become equal. */
static void sort_completions(const struct order *order, struct script *script)
{
	for (size_t i = 0, n; i < script->n; i += n) {
		n = 1;
		if (!may_reorder(order, &script->at[i]))
			continue;
		while (i + n < script->n && script->at[i + n].n == script->at[i].n &&
		       may_reorder(order, &script->at[i + n]))
			n++;
		sort_poll(&script->at[i], n);
	}
}

/* Note, for each wait among the first @n statements, the event that it precedes. */
static void note_next_events(struct script *script, size_t n)
{
	uint32_t coming = 0;

	while (n--) {
		script->at[n].coming = script->at[n].event ? 0 : coming;
		if (script->at[n].event)
			coming = script->at[n].text;
	}
}

/* Add the statement that counts the event of @s. */
static int add_done(struct order *order, uint32_t thread, const struct statement *s)
{
	struct counter *counter = &order->counters[s->counter - 1];
	char text[3 * NAME_TEXT];

	if (!counter->done) {
		snprintf(text, sizeof(text), "done(&%s);", counter->name);
		counter->done = texts_number(&order->program->texts, text);
	}
	if (!counter->done)
		return -ENOMEM;
	return loops_add(&order->program->blocks[thread],
			 &(struct statement){ .text = counter->done, .n = s->n }, NULL);
}

static int flush_statement(struct order *order, uint32_t thread, const struct statement *s)
{
	struct program *program = order->program;
	int64_t *values = program->scripts[thread].values + s->first;
	int err;

	if (!s->event && s->counter) /* a wait, whose only number is the ordinal */
		*values = find_number(&order->counters[s->counter - 1], (uint32_t)*values);
	err = loops_add(&program->blocks[thread], s, values);
	if (!err && is_counted(order, s))
		err = add_done(order, thread, s);
	return err ? log_err(err, "emit") : program_check_size(program);
}

/* Move the first @n statements of the thread to its loops. */
static int flush_script(struct order *order, uint32_t thread, size_t n)
{
	struct script *script = &order->program->scripts[thread];
	int err = 0;

	sort_completions(order, script);
	note_next_events(script, n);
	for (size_t i = 0; !err && i < n; i++)
		err = flush_statement(order, thread, &script->at[i]);
	script_drop(script, n);
	return err;
}

int order_end(struct order *order)
{
	struct script *script = &order->program->scripts[order->now.thread];

	if (!script->n || !script->at[script->n - 1].event)
		return 0;
	script->at[script->n - 1].counter = order->now.counter;
	script->at[script->n - 1].ordinal = order->now.ordinal;
	return flush_script(order, order->now.thread, script->n);
}

int order_finish(struct order *order)
{
	struct program *program = order->program;
	int err = 0;

	for (uint32_t t = 1; !err && t <= program->nthreads; t++) {
		err = flush_script(order, t, program->scripts[t].n);
		if (!err && loops_finish(&program->blocks[t]))
			err = log_err(-ENOMEM, "emit");
	}
	return err;
}
