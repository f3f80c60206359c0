/*
 * Names for the numbers of a trace
 *
 *	lkey, rkey  process, number -> regions		from the objects
 *	peers       queue pair -> connections		of the trace
 */
#include "cli/dump/names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/format.h"
#include "core/base/map.h"
#include "core/base/printable.h"
#include "core/base/vec.h"
#include "core/store/finish/connections.h"

/* An object in a list of those that had the same number. */
struct named_object {
	const struct object *object;
	uint32_t next; /* 1 + index, 0: none */
};

struct names {
	struct trace *trace;
	bool read, joined;       /* keys, connections */
	struct map lkeys, rkeys; /* to 1 + index in named */
	struct named_object *named;
	size_t nnamed;
	const struct connections *connections; /* the trace's, if they are known */
};

struct names *names_new(struct trace *trace)
{
	struct names *names = calloc(1, sizeof(*names));

	if (names)
		names->trace = trace;
	return names;
}

void names_free(struct names *names)
{
	if (!names)
		return;
	map_fini(&names->lkeys);
	map_fini(&names->rkeys);
	free(names->named);
	free(names);
}

/* Keys */

static uint64_t number_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

static uint32_t first_of(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? (uint32_t)value : 0;
}

static void add_number(struct names *names, struct map *map, const struct object *object,
		       uint32_t number)
{
	uint64_t key = number_key(object->process, number);
	struct named_object *named = number ? vec_push(names->named, names->nnamed) : NULL;

	if (!named)
		return;
	*named = (struct named_object){ object, first_of(map, key) };
	if (map_put(map, key, names->nnamed))
		names->nnamed--;
}

static void read_objects(struct names *names)
{
	const struct object *object;

	names->read = true;
	for (uint32_t id = 1; (object = trace_object(names->trace, id)); id++) {
		if (object->kind == OBJECT_mr) {
			add_number(names, &names->lkeys, object, object->number);
			add_number(names, &names->rkeys, object, object->rkey);
		} else if (object->kind == OBJECT_mw) {
			add_number(names, &names->rkeys, object, object->number);
		}
	}
}

static const struct object *context_of(const struct names *names, const struct object *object)
{
	while (object && object->kind != OBJECT_context)
		object = trace_object(names->trace, object->parent);
	return object;
}

/* The object that had the number at @time, or the last object that had it before. */
static const struct object *find_named(const struct names *names, const struct map *map,
				       const struct object *queue, uint32_t number, int64_t time)
{
	const struct object *context = context_of(names, queue), *best = NULL;

	for (uint32_t i = first_of(map, number_key(queue->process, number)); i;
	     i = names->named[i - 1].next) {
		const struct object *object = names->named[i - 1].object;

		if (object->created_at > time || context_of(names, object) != context)
			continue;
		if (!best || object->destroyed_at > best->destroyed_at)
			best = object;
	}
	return best;
}

static void put_object(FILE *out, const struct object *object)
{
	if (object)
		print_untrusted(out, object->name);
}

/* "<mr2 of pd1>", "<process 2 mr1, deregistered 2.00 ms earlier>" */
static void put_key(const struct names *names, FILE *out, const struct object *object,
		    uint32_t process, int64_t time)
{
	const struct object *pd = trace_object(names->trace, object->parent);
	char when[FORMAT_TEXT], other[PROCESS_TEXT];

	fputc('<', out);
	if (object->process != process)
		fprintf(out, "%s ", process_id_text(object->process, other));
	put_object(out, object);
	if (object->destroyed_at < time) {
		fprintf(out, ", deregistered %s earlier",
			format_time(time - object->destroyed_at, when));
	} else if (pd && pd->kind == OBJECT_pd && object->process == process) {
		fputs(" of ", out);
		put_object(out, pd);
	}
	fputc('>', out);
}

void names_print_lkey(struct names *names, FILE *out, uint32_t queue, uint32_t lkey, int64_t time)
{
	const struct object *owner = names ? trace_object(names->trace, queue) : NULL, *region;

	if (!owner || !lkey)
		return;
	if (!names->read)
		read_objects(names);
	region = find_named(names, &names->lkeys, owner, lkey, time);
	if (region)
		put_key(names, out, region, owner->process, time);
}

/* Peers */

/* The trace's connections; NULL: not known. */
static const struct connections *find_connections(struct names *names)
{
	if (!names->joined && trace_connections(names->trace, &names->connections))
		names->connections = NULL;
	names->joined = true;
	return names->connections;
}

/* The peer with @number (0: any): the last one connected before @time, else the first one after. */
static const struct object *find_peer(struct names *names, uint32_t queue, uint32_t number,
				      int64_t time)
{
	const struct connections *all = find_connections(names);
	const struct connection *c = all ? connections_first(all, queue) : NULL, *found = NULL;

	for (; c && c < all->list + all->count && c->qp == queue; c++) {
		if (c->how != PEERS_BOTH || (number && c->dest != number))
			continue;
		if (found && c->since > time)
			break;
		found = c;
	}
	return found ? trace_object(names->trace, found->peer) : NULL;
}

void names_print_rkey(struct names *names, FILE *out, uint32_t queue, uint32_t rkey, int64_t time)
{
	const struct object *owner = names ? trace_object(names->trace, queue) : NULL;
	const struct object *other, *region;

	if (!owner || owner->kind != OBJECT_qp || !rkey)
		return;
	other = find_peer(names, queue, 0, time);
	if (!names->read)
		read_objects(names);
	region = other ? find_named(names, &names->rkeys, other, rkey, time) : NULL;
	if (region)
		put_key(names, out, region, owner->process, time);
}

void names_print_peer(struct names *names, FILE *out, uint32_t queue, uint32_t number, int64_t time)
{
	const struct object *other = names && number ? find_peer(names, queue, number, time) : NULL;
	char text[PROCESS_TEXT];

	if (!other)
		return;
	fprintf(out, "<%s ", process_id_text(other->process, text));
	put_object(out, other);
	fputc('>', out);
}

static void put_queue(struct names *names, FILE *out, const struct object *qp, int64_t time)
{
	const struct connections *all = find_connections(names);
	const struct object *other =
		all ? trace_object(names->trace, connections_peer(all, qp->id, time)) : NULL;
	char text[PROCESS_TEXT];

	fprintf(out, "<0x%x", qp->number);
	if (other) {
		fprintf(out, ", peer %s ", process_id_text(other->process, text));
		put_object(out, other);
	}
	fputc('>', out);
}

void names_print_object(struct names *names, FILE *out, const struct object *object, int64_t time)
{
	if (!names || !object)
		return;
	if (object->kind == OBJECT_qp && object->number)
		put_queue(names, out, object, time);
	else if (object->kind == OBJECT_mr)
		fprintf(out, "<lkey 0x%x, rkey 0x%x>", object->number, object->rkey);
	else if (object->kind == OBJECT_mw)
		fprintf(out, "<rkey 0x%x>", object->number);
	else if (object->kind == OBJECT_wq && object->number)
		fprintf(out, "<0x%x>", object->number);
}
