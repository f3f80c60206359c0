/*
 * What a thread of the C program must wait for in others
 */
#include "cli/emit/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/names.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

enum { COUNTED_ALONE = 4 }; /* so few of a counter's events that are waited for count alone */

/* An object in one of its roles: its last change, and its last use by each thread since. */
struct shared {
	struct place change;
	struct place *uses;
	size_t nuses;
};

struct counter {
	char *name;
	uint32_t thread, count;
	uint32_t *awaited; /* ordinals */
	size_t nawaited;
	struct map is_awaited;
};

/* The receives of a queue, and what the senders of messages knew. */
struct queue {
	struct place *receives; /* one for each request */
	size_t nreceives, taken;
	uint64_t *sent; /* known of each message, nthreads + 1 each; of a sending queue pair */
	size_t nsent, received;
};

int order_init(struct order *order, struct program *program)
{
	size_t threads = program->nthreads + 1, objects = program->nobjects + 1;

	memset(order, 0, sizeof(*order));
	order->program = program;
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

void order_fini(struct order *order)
{
	size_t objects = order->program ? order->program->nobjects + 1 : 0;

	for (size_t i = 0; order->shared && i < objects * ROLES; i++)
		free(order->shared[i].uses);
	for (size_t i = 0; order->queues && i < objects; i++) {
		free(order->queues[i].receives);
		free(order->queues[i].sent);
	}
	for (size_t i = 0; i < order->ncounters; i++) {
		free(order->counters[i].name);
		free(order->counters[i].awaited);
		map_fini(&order->counters[i].is_awaited);
	}
	free(order->counters);
	map_fini(&order->by_name);
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

static uint64_t *find_known(const struct order *order, uint32_t thread, uint32_t other)
{
	return &order->known[(size_t)thread * (order->program->nthreads + 1) + other];
}

/* The counter of that name in @thread; where another thread has it, one of its own. */
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

int order_begin(struct order *order, const char *format, ...)
{
	struct program *program = order->program;
	char name[2 * NAME_TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(name, sizeof(name), format, args);
	va_end(args);
	names_strip(name);
	order->now = (struct place){ program->at.thread, program->at.n,
				     find_counter(order, program->at.thread, name), 0 };
	if (!order->now.counter)
		return log_err(-ENOMEM, "emit");
	order->now.ordinal = ++order->counters[order->now.counter - 1].count;
	*find_known(order, order->now.thread, order->now.thread) = order->now.n;
	return 0;
}

int order_wait_for(struct order *order, const struct place *place)
{
	struct program *program = order->program;
	struct counter *counter;
	uint32_t *awaited;
	struct phrase phrase;

	if (!place->thread || place->thread == order->now.thread ||
	    *find_known(order, order->now.thread, place->thread) >= place->n)
		return 0;
	counter = &order->counters[place->counter - 1];
	awaited = vec_push(counter->awaited, counter->nawaited);
	if (!awaited || map_put(&counter->is_awaited, place->ordinal, 1))
		return log_err(-ENOMEM, "emit");
	*awaited = place->ordinal;
	*find_known(order, order->now.thread, place->thread) = place->n;
	program->helpers |= HELPER_AWAIT;
	phrase = program->phrase; /* of the statement that waits, if it was begun */
	memset(&program->phrase, 0, sizeof(program->phrase));
	phrase_addf(&program->phrase, "await(" SLOT "n, &%s, ", counter->name);
	phrase_number(&program->phrase, 'd', place->ordinal);
	phrase_addf(&program->phrase, ");");
	if (program_add(program, false)) {
		phrase_fini(&phrase);
		return -ENOMEM;
	}
	phrase_fini(&program->phrase);
	program->phrase = phrase;
	return 0;
}

int order_await(struct order *order, struct event_id id, const char *name)
{
	struct place place = { id.thread, id.n, find_counter(order, id.thread, name), 0 };

	if (!place.counter)
		return log_err(-ENOMEM, "emit");
	place.ordinal = order->counters[place.counter - 1].count + 1;
	return order_wait_for(order, &place);
}

static struct shared *find_shared(const struct order *order, uint32_t object, enum role role)
{
	return &order->shared[(size_t)object * ROLES + role];
}

int order_touch(struct order *order, uint32_t object, enum role role)
{
	struct shared *shared = find_shared(order, object, role);
	struct place *use;

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
	struct shared *shared = find_shared(order, object, role);
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

void order_end(struct order *order)
{
	struct script *script = &order->program->scripts[order->now.thread];

	if (!script->n || !script->at[script->n - 1].event)
		return;
	script->at[script->n - 1].counter = order->now.counter;
	script->at[script->n - 1].ordinal = order->now.ordinal;
}

int order_post_receive(struct order *order, uint32_t queue, uint32_t requests)
{
	struct queue *q = &order->queues[queue];

	for (uint32_t i = 0; i < requests; i++) {
		struct place *place = vec_push(q->receives, q->nreceives);

		if (!place)
			return log_err(-ENOMEM, "emit");
		*place = order->now;
	}
	return 0;
}

/* A receive that comes later in the trace is not waited for: the message found none at first. */
int order_take_receive(struct order *order, uint32_t queue)
{
	struct queue *q = &order->queues[queue];
	size_t i = q->taken++;

	if (i < q->nreceives)
		return order_wait_for(order, &q->receives[i]);
	if (order->feeders[queue] > 1 && !order->program->objects[queue].starved)
		order->program->objects[queue].starved = order->program->again = true;
	return 0;
}

int order_send(struct order *order, uint32_t qp)
{
	size_t threads = order->program->nthreads + 1;
	struct queue *q = &order->queues[qp];
	uint64_t *sent;

	if (threads > 32) /* what is known would take more memory than it saves lines */
		return 0;
	if (!(q->nsent & (q->nsent - 1))) {
		sent = reallocarray(q->sent, (q->nsent ? 2 * q->nsent : 1) * threads,
				    sizeof(*sent));
		if (!sent)
			return log_err(-ENOMEM, "emit");
		q->sent = sent;
	}
	memcpy(q->sent + q->nsent++ * threads, find_known(order, order->now.thread, 0),
	       threads * sizeof(*sent));
	return 0;
}

int order_receive(struct order *order, uint32_t peer)
{
	size_t threads = order->program->nthreads + 1;
	struct queue *q = &order->queues[peer];
	const uint64_t *sent;

	if (q->received >= q->nsent)
		return 0;
	sent = q->sent + q->received++ * threads;
	for (uint32_t i = 1; i < threads; i++)
		if (sent[i] > *find_known(order, order->now.thread, i))
			*find_known(order, order->now.thread, i) = sent[i];
	return 0;
}

const char *order_counter(const struct order *order, size_t i)
{
	for (size_t c = 0; c < order->ncounters; c++)
		if (order->counters[c].nawaited && !i--)
			return order->counters[c].name;
	return NULL;
}

static int compare_ordinals(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Only the awaited events count: their ordinals become 1, 2... */
static bool counts_alone(const struct counter *counter)
{
	return counter->is_awaited.used <= COUNTED_ALONE &&
	       counter->count > counter->is_awaited.used;
}

static uint32_t find_number(const struct counter *counter, uint32_t ordinal)
{
	uint32_t number = 0, last = 0;

	if (!counts_alone(counter))
		return ordinal;
	for (size_t i = 0; i < counter->nawaited; i++)
		if (counter->awaited[i] != last && counter->awaited[i] <= ordinal) {
			number++;
			last = counter->awaited[i];
		}
	return number;
}

static bool is_counted(const struct order *order, const struct statement *s)
{
	const struct counter *counter = s->counter ? &order->counters[s->counter - 1] : NULL;
	uint64_t value;

	return counter && counter->nawaited &&
	       (!counts_alone(counter) || map_get(&counter->is_awaited, s->ordinal, &value));
}

/* Which completion of a poll came first is the device's choice, unless others wait for one. */
static bool may_move(const struct order *order, const struct statement *s)
{
	return s->completion && !is_counted(order, s);
}

/* Those of a poll in the order in which the program was first to expect their like. */
static void sort_poll(struct statement *at, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct statement moved = at[i];
		size_t to = i;

		for (; to && at[to - 1].text > moved.text; to--)
			at[to] = at[to - 1];
		at[to] = moved;
	}
}

/* Rounds of a loop look alike then. */
static void sort_completions(const struct order *order, struct script *script)
{
	for (size_t i = 0, n; i < script->n; i += n) {
		n = 1;
		if (!may_move(order, &script->at[i]))
			continue;
		while (i + n < script->n && script->at[i + n].n == script->at[i].n &&
		       may_move(order, &script->at[i + n]))
			n++;
		sort_poll(&script->at[i], n);
	}
}

static int finish_script(struct order *order, struct script *script)
{
	struct script old = *script;
	struct phrase phrase = { 0 };
	int err = 0;

	*script = (struct script){ .values = old.values,
				   .nvalues = old.nvalues,
				   .values_size = old.values_size };
	for (size_t i = 0; !err && i < old.n; i++) {
		err = vec_reserve(script->at, script->size, script->n + 1);
		if (err)
			break;
		script->at[script->n++] = old.at[i];
		if (!is_counted(order, &old.at[i]))
			continue;
		phrase_addf(&phrase, "done(&%s);", order->counters[old.at[i].counter - 1].name);
		err = script_add(script, &order->program->texts, &phrase, old.at[i].n, false);
	}
	free(old.at);
	phrase_fini(&phrase);
	return err;
}

/* The waits name their counters in their texts: those that count alone are numbered anew there. */
static void renumber_waits(struct order *order, struct script *script)
{
	for (size_t c = 0; c < order->ncounters; c++) {
		const struct counter *counter = &order->counters[c];
		char text[3 * NAME_TEXT];
		uint32_t number;

		if (!counter->nawaited || !counts_alone(counter))
			continue;
		snprintf(text, sizeof(text), "await(" SLOT "n, &%s, " SLOT "d);", counter->name);
		number = texts_number(&order->program->texts, text);
		for (size_t i = 0; i < script->n; i++) {
			int64_t *value = &script->values[script->at[i].first];

			if (script->at[i].text == number)
				*value = find_number(counter, (uint32_t)*value);
		}
	}
}

int order_finish(struct order *order)
{
	int err = 0;

	for (size_t c = 0; c < order->ncounters; c++)
		if (order->counters[c].nawaited)
			qsort(order->counters[c].awaited, order->counters[c].nawaited,
			      sizeof(uint32_t), compare_ordinals);
	for (uint32_t t = 1; !err && t <= order->program->nthreads; t++) {
		renumber_waits(order, &order->program->scripts[t]);
		sort_completions(order, &order->program->scripts[t]);
		err = finish_script(order, &order->program->scripts[t]);
	}
	return err ? log_err(err, "emit") : 0;
}
