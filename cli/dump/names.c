/*
 * Names for the numbers of a trace
 *
 *	lkey, rkey  process, number -> regions		from the objects
 *	peers       queue pair -> link -> link		from the control verbs, by the model
 */
#include "cli/dump/names.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyzer/model/model.h"
#include "cli/format.h"
#include "core/base/map.h"
#include "core/base/printable.h"
#include "core/base/vec.h"

/* An object in a list of those that had the same number. */
struct named {
	const struct object *object;
	uint32_t next; /* 1 + index, 0: none */
};

/* From @since on @qp was connected to @other. */
struct link {
	uint32_t qp, other; /* objects */
	int64_t since;
	uint32_t next; /* an earlier one of @qp: 1 + index, 0: none */
};

struct names {
	struct trace *trace;
	bool read, joined;
	struct map lkeys, rkeys; /* to 1 + index in named */
	struct named *named;
	size_t nnamed;
	struct map by_qp; /* object, to 1 + index in links */
	struct link *links;
	size_t nlinks;
	struct model *model; /* while links are made */
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
	map_fini(&names->by_qp);
	free(names->named);
	free(names->links);
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
	struct named *named = number ? vec_push(names->named, names->nnamed) : NULL;

	if (!named)
		return;
	*named = (struct named){ object, first_of(map, key) };
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

/* The object that had the number at @time, or the last one before. */
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
		print_foreign(out, object->name);
}

/* "<mr2 of pd1>", "<process 2 mr1, deregistered 2.00 ms before>" */
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
		fprintf(out, ", deregistered %s before",
			format_time(time - object->destroyed_at, when));
	} else if (pd && pd->kind == OBJECT_pd && object->process == process) {
		fputs(" of ", out);
		put_object(out, pd);
	}
	fputc('>', out);
}

void names_lkey(struct names *names, FILE *out, uint32_t queue, uint32_t lkey, int64_t time)
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

static void add_link(struct names *names, const struct peer *qp, const struct peer *other,
		     int64_t time)
{
	uint32_t before = first_of(&names->by_qp, qp->id);
	struct link *link;

	if (!qp->id || !other->id || (before && names->links[before - 1].other == other->id))
		return;
	link = vec_push(names->links, names->nlinks);
	if (!link)
		return;
	*link = (struct link){ qp->id, other->id, time, before };
	if (map_put(&names->by_qp, qp->id, names->nlinks))
		names->nlinks--;
}

/* Two queue pairs know each other once the second has the number of the first. */
static void note_modify(void *arg, const struct model_modify *modify)
{
	struct names *names = arg;
	struct peer *qp = modify->object->peer;
	const struct peer *other = qp ? peer_other(model_peers(names->model), qp) : NULL;

	if (!other)
		return;
	add_link(names, qp, other, modify->event->time);
	add_link(names, other, qp, modify->event->time);
}

static void join_peers(struct names *names)
{
	const struct model_watcher watcher = { .modify = note_modify, .arg = names };
	const struct trace_filter filter = { .control_only = true, .unmatched = true };
	const struct trace_event *event;
	struct cursor *cursor;

	names->joined = true;
	if (model_new(names->trace, &watcher, &names->model))
		return;
	if (!cursor_open(names->trace, &filter, &cursor)) {
		while (cursor_next(cursor, &event) == 1 && !model_event(names->model, event))
			;
		cursor_close(cursor);
	}
	model_free(names->model);
	names->model = NULL;
}

/* The link with @number, or any if it is 0: the last one at @time, else the first one after. */
static const struct object *find_peer(struct names *names, uint32_t queue, uint32_t number,
				      int64_t time)
{
	const struct object *found = NULL;

	if (!names->joined)
		join_peers(names);
	for (uint32_t i = first_of(&names->by_qp, queue); i; i = names->links[i - 1].next) {
		const struct link *link = &names->links[i - 1];
		const struct object *other = trace_object(names->trace, link->other);

		if (!other || (number && other->number != number))
			continue;
		found = other;
		if (link->since <= time)
			break;
	}
	return found;
}

void names_rkey(struct names *names, FILE *out, uint32_t queue, uint32_t rkey, int64_t time)
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

void names_peer(struct names *names, FILE *out, uint32_t queue, uint32_t number, int64_t time)
{
	const struct object *other = names && number ? find_peer(names, queue, number, time) : NULL;
	char text[PROCESS_TEXT];

	if (!other)
		return;
	fprintf(out, "<%s ", process_id_text(other->process, text));
	put_object(out, other);
	fputc('>', out);
}

static const struct object *find_peer_by(struct names *names, uint32_t queue, int64_t time)
{
	if (!names->joined)
		join_peers(names);
	for (uint32_t i = first_of(&names->by_qp, queue); i; i = names->links[i - 1].next)
		if (names->links[i - 1].since <= time)
			return trace_object(names->trace, names->links[i - 1].other);
	return NULL;
}

static void put_queue(struct names *names, FILE *out, const struct object *qp, int64_t time)
{
	const struct object *other = find_peer_by(names, qp->id, time);
	char text[PROCESS_TEXT];

	fprintf(out, "<0x%x", qp->number);
	if (other) {
		fprintf(out, ", peer %s ", process_id_text(other->process, text));
		put_object(out, other);
	}
	fputc('>', out);
}

void names_object(struct names *names, FILE *out, const struct object *object, int64_t time)
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
