/*
 * What a reduction removes: items of one kind at a time
 *
 *	a process       with its objects and events
 *	a connection    two queue pairs and their identifiers of librdmacm, with all that needs them
 *	a thread        its events
 *	an object       with all that needs it
 *	a call that failed, or a query: a program may repeat these thousands of times
 *	a message, or another event: a unit (units.h)
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/reduce/delta.h"
#include "cli/reduce/reduce_priv.h"
#include "core/store/finish/connections.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

enum { COARSE = 8 };

static void remove_owned_units(struct removal *gone, bool thread, uint32_t id)
{
	const struct units *units = gone->units;

	for (size_t i = 0; i < units->count; i++)
		if ((thread ? units->units[i].thread : units->units[i].process) == id)
			removal_add_unit(gone, (uint32_t)i);
}

static void remove_process(struct reduction *r, struct removal *gone, uint32_t process)
{
	const struct object *object;

	for (uint32_t id = 1; (object = trace_object(r->trace, id)); id++)
		if (object->process == process)
			removal_add_object(gone, id);
	remove_owned_units(gone, false, process);
}

/* Remove a queue pair, with the identifier that it was created on. */
static void remove_connection_end(struct reduction *r, struct removal *gone, uint32_t qp)
{
	uint32_t unit = units_find_creator(&r->units, qp);

	for (size_t i = units_first_call(&r->units, unit);
	     i < r->units.ncalls && r->units.calls[i].who == unit; i++) {
		uint32_t id = r->units.calls[i].object;
		const struct object *object = trace_object(r->trace, id);

		if (object && object->kind == OBJECT_cm_id)
			removal_add_object(gone, id);
	}
	removal_add_object(gone, qp);
}

/* Remove @qp and all queue pairs that it was connected to. */
static void remove_connection(struct reduction *r, struct removal *gone, uint32_t qp)
{
	const struct connections *connections = r->connections;

	remove_connection_end(r, gone, qp);
	for (size_t i = 0; i < connections->count; i++)
		if (connections->list[i].qp == qp && connections->list[i].peer)
			remove_connection_end(r, gone, connections->list[i].peer);
}

static void remove_item(struct reduction *r, struct removal *gone, size_t item)
{
	switch (r->kind) {
	case ITEM_PROCESS:
		remove_process(r, gone, (uint32_t)item);
		break;
	case ITEM_CONNECTION:
		remove_connection(r, gone, (uint32_t)item);
		break;
	case ITEM_THREAD:
		remove_owned_units(gone, true, (uint32_t)item);
		break;
	case ITEM_OBJECT:
		removal_add_object(gone, (uint32_t)item);
		break;
	default:
		removal_add_unit(gone, (uint32_t)item);
	}
}

static int try_items(void *arg, const size_t *items, const struct delta_range *ranges, size_t n)
{
	struct reduction *r = arg;

	if (reduce_is_over(r))
		return -EINTR;
	for (size_t t = 0; t < n; t++) {
		removal_copy(&r->tried[t], &r->gone);
		for (size_t i = ranges[t].first; i < ranges[t].last; i++)
			remove_item(r, &r->tried[t], items[i]);
	}
	return reduce_try(r, n);
}

static bool is_item_left(void *arg, size_t item)
{
	const struct reduction *r = arg;

	switch (r->kind) {
	case ITEM_PROCESS:
	case ITEM_THREAD:
		return true;
	case ITEM_CONNECTION:
	case ITEM_OBJECT:
		return !r->gone.gone_objects[item];
	default:
		return !r->gone.gone[item];
	}
}

static bool is_of_kind(const struct reduction *r, size_t unit)
{
	if (r->kind == ITEM_IDLE)
		return r->units.units[unit].idle &&
		       !units_creates_object(&r->units, (uint32_t)unit);
	return (r->units.units[unit].kind == UNIT_MESSAGE) == (r->kind == ITEM_MESSAGES);
}

static size_t list_numbers(size_t *items, size_t most)
{
	for (size_t i = 0; i < most; i++)
		items[i] = i + 1;
	return most;
}

/* The end with the lower number represents both. */
static size_t list_connections(const struct reduction *r, size_t *items)
{
	const struct connections *connections = r->connections;
	size_t n = 0;

	for (size_t i = 0; i < connections->count; i++) {
		const struct connection *c = &connections->list[i];

		if ((!c->peer || c->qp <= c->peer) && (!n || items[n - 1] != c->qp))
			items[n++] = c->qp;
	}
	return n;
}

/* List the items of the kind to remove. Returns how many. */
static size_t list_items(struct reduction *r, size_t *items)
{
	size_t n = 0;

	switch (r->kind) {
	case ITEM_PROCESS:
		while (trace_process(r->trace, (uint32_t)n + 1))
			n++;
		return list_numbers(items, n);
	case ITEM_CONNECTION:
		return list_connections(r, items);
	case ITEM_THREAD:
		while (trace_thread(r->trace, (uint32_t)n + 1))
			n++;
		return list_numbers(items, n);
	case ITEM_OBJECT:
		return list_numbers(items, r->units.most);
	default:
		for (size_t i = 0; i < r->units.count; i++)
			if (is_of_kind(r, i))
				items[n++] = i;
		return n;
	}
}

static size_t max_items(const struct reduction *r)
{
	size_t n = r->units.count > r->units.most ? r->units.count : r->units.most;

	for (uint32_t id = 1; trace_thread(r->trace, id) || trace_process(r->trace, id); id++)
		n = id > n ? id : n;
	return n;
}

int reduce_items(struct reduction *r, enum item_kind kind)
{
	struct delta delta = { try_items, is_item_left, r, r->set->jobs, 0, &r->run };
	size_t *items = calloc(max_items(r) + 1, sizeof(*items));
	int err = items ? trace_connections(r->trace, &r->connections) : log_err(-ENOMEM, "reduce");

	size_t n;

	r->kind = kind;
	if (!err) {
		n = list_items(r, items);
		delta.least =
			/* the remaining items are removed with the calls */
			kind == ITEM_IDLE ? n / COARSE : 0;
		err = delta_reduce(&delta, items, n);
	}
	free(items);
	return err;
}
