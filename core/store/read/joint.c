/*
 * Several traces as one: tables and clocks
 *
 *	a.db  process 1, 2       thread 1..5      -> process 1, 2    thread 1..5
 *	b.db  process 1          thread 1..3      -> process 3       thread 6..8
 *
 * Texts are borrowed from the single traces. Not here: events (joint_cursor.c).
 */
#include "core/store/read/joint.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/map.h"
#include "core/store/read/merged.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

/* Names */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Set the name of @part; false: it does not fit, or has other characters than a name may have. */
static bool name_part(struct joint_part *part, bool suffix)
{
	const char *name = base_name(part->path);
	size_t n = strlen(name);

	if (!suffix && n > 3 && !strcmp(name + n - 3, ".db"))
		n -= 3;
	if (!n || n >= sizeof(part->ids.name))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-+", name[i]))
			return false;
	memcpy(part->ids.name, name, n);
	part->ids.name[n] = '\0';
	return true;
}

/* Name all parts in the same way: with or without their suffix. */
static bool name_parts(struct joint *joint, bool suffix)
{
	for (size_t i = 0; i < joint->n; i++) {
		if (!name_part(&joint->parts[i], suffix))
			return false;
		for (size_t k = 0; k < i; k++)
			if (!strcmp(joint->parts[k].ids.name, joint->parts[i].ids.name))
				return false;
	}
	return true;
}

static void choose_names(struct joint *joint)
{
	if (name_parts(joint, true) || name_parts(joint, false))
		return;
	for (size_t i = 0; i < joint->n; i++)
		snprintf(joint->parts[i].ids.name, sizeof(joint->parts[i].ids.name), "t%u",
			 (unsigned int)(i + 1));
}

/* Clocks */

static uint64_t number_of(struct trace *trace, const char *key)
{
	const char *text = trace_meta(trace, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

static bool is_same_meta(struct trace *a, struct trace *b, const char *key)
{
	const char *x = trace_meta(a, key), *y = trace_meta(b, key);

	return x && y && *x && !strcmp(x, y);
}

/*
 * Do both traces count the same ticks (core/wire/clock.h)? Then *@ret_clock converts between them.
 */
static bool find_tick_clock(struct trace *trace, struct trace *first, struct trace_clock *ret_clock)
{
	uint64_t mult = number_of(trace, "clock_mult"), its = number_of(first, "clock_mult");
	double rate = (double)its / (double)(1ull << (number_of(first, "clock_shift") & 63));
	double own = (double)mult / (double)(1ull << (number_of(trace, "clock_shift") & 63));
	int64_t apart;

	if (!is_same_meta(trace, first, "recorder_boot") || !is_same_meta(trace, first, "clock") ||
	    !mult || !its || !trace_clock_drifts(rate / own - 1))
		return false;
	apart = (int64_t)(number_of(trace, "clock_start") - number_of(first, "clock_start"));
	*ret_clock = (struct trace_clock){ .source = CLOCK_SAME,
					   .offset = trace_clock_round((long double)apart * rate),
					   .drift = rate / own - 1 };
	return true;
}

bool trace_clock_like(const struct trace *trace, size_t i, size_t like, struct trace_clock *ret)
{
	const struct trace_clock *known = &trace->joint->parts[like].clock;

	if (!find_tick_clock(trace->joint->parts[i].trace, trace->joint->parts[like].trace, ret))
		return false;
	ret->source = known->source;
	ret->offset = trace_clock_time(known, ret->offset);
	ret->drift += known->drift * (1 + ret->drift);
	ret->error = known->error;
	ret->drift_error = known->drift_error;
	return true;
}

/* How much later, by the time of day, did this recording begin than that of @first? ns. */
static int64_t start_distance(struct trace *trace, struct trace *first)
{
	return span_limit((int64_t)(number_of(trace, "realtime") - number_of(first, "realtime")));
}

int64_t trace_clock_ahead(const struct trace *trace, size_t i)
{
	const struct joint_part *part = &trace->joint->parts[i], *first = trace->joint->parts;
	int64_t began = start_distance(part->trace, first->trace);

	return began - (part->clock.offset - first->clock.offset);
}

static void choose_clock(struct joint_part *part, struct trace *first)
{
	if (part->trace == first || find_tick_clock(part->trace, first, &part->clock))
		return;
	part->clock = (struct trace_clock){
		.source = CLOCK_ASSUMED,
		.offset = start_distance(part->trace, first),
		.error = INT64_MAX,
	};
}

/* Convert a time; special values for "none", "not known" or "never" are unchanged. */
static int64_t place_time(const struct joint_part *part, int64_t time)
{
	return time == -1 || time == INT64_MAX || time == INT64_MIN
		       ? time
		       : trace_clock_time(&part->clock, time);
}

/* Tables */

static void place_processes(struct trace *whole, const struct joint_part *part)
{
	for (uint32_t i = 0; i < part->trace->nprocesses; i++) {
		struct process *p = &whole->processes[part->ids.processes + i];

		*p = part->trace->processes[i];
		p->id = joint_number(p->id, part->ids.processes);
		p->parent = joint_number(p->parent, part->ids.processes);
		p->fork.thread = joint_number(p->fork.thread, part->ids.threads);
		p->fork_stack = joint_number(p->fork_stack, part->stacks);
		p->fork_time = place_time(part, p->fork_time);
		p->start = place_time(part, p->start);
		p->end = place_time(part, p->end);
		whole->objects.lineages[part->ids.processes + i] =
			(struct lineage){ p->parent, p->fork_time, p->start };
	}
	for (uint32_t i = 0; i < part->trace->nthreads; i++) {
		struct thread *t = &whole->threads[part->ids.threads + i];

		*t = part->trace->threads[i];
		t->id = joint_number(t->id, part->ids.threads);
		t->end = place_time(part, t->end);
		t->process = joint_number(t->process, part->ids.processes);
	}
}

static void place_objects(struct trace *whole, const struct joint_part *part)
{
	for (uint32_t i = 0; i < part->trace->objects.count; i++) {
		struct object *o = &whole->objects.list[part->objects + i];

		*o = part->trace->objects.list[i];
		o->id = joint_number(o->id, part->objects);
		o->process = joint_number(o->process, part->ids.processes);
		o->parent = joint_number(o->parent, part->objects);
		o->created.thread = joint_number(o->created.thread, part->ids.threads);
		o->destroyed.thread = joint_number(o->destroyed.thread, part->ids.threads);
		o->created_at = place_time(part, o->created_at);
		o->destroyed_at = place_time(part, o->destroyed_at);
	}
}

static void renumber_rare_events(const struct joint_part *part)
{
	for (size_t i = 0; i < part->trace->nrares; i++) {
		struct rare_event *rare = &part->rares[i];

		*rare = part->trace->rares[i];
		if (rare->kind == TRACE_FORK) {
			rare->fork.child = joint_number(rare->fork.child, part->ids.processes);
			rare->fork.stack = joint_number(rare->fork.stack, part->stacks);
		} else if (rare->kind == TRACE_MEMORY) {
			rare->memory.stack = joint_number(rare->memory.stack, part->stacks);
		} else if (rare->kind == TRACE_MISUSE) {
			rare->misuse.stack = joint_number(rare->misuse.stack, part->stacks);
			rare->misuse.other = joint_number(rare->misuse.other, part->ids.threads);
		}
	}
}

static int place_parts(struct trace *whole)
{
	struct joint *joint = whole->joint;

	connections_fini(&whole->connections);
	queue_table_fini(&whole->queues);
	whole->whole_from = INT64_MIN;
	for (size_t i = 0; i < joint->n; i++) {
		const struct joint_part *part = &joint->parts[i];
		int64_t from = place_time(part, part->trace->whole_from);

		place_processes(whole, part);
		place_objects(whole, part);
		renumber_rare_events(part);
		whole->whole_from = from > whole->whole_from ? from : whole->whole_from;
	}
	return objects_index(&whole->objects);
}

static int64_t place_part_time(const void *part, int64_t time)
{
	return place_time(part, time);
}

void joint_sources(const struct trace *whole, struct source_calls *ret_sources)
{
	for (size_t i = 0; i < whole->joint->n; i++) {
		const struct joint_part *part = &whole->joint->parts[i];

		ret_sources[i] = (struct source_calls){ .db = part->trace->db,
							.threads = part->ids.threads,
							.processes = part->ids.processes,
							.objects = part->objects,
							.place_time = place_part_time,
							.arg = part };
	}
}

static int count_parts(struct trace *whole)
{
	struct joint *joint = whole->joint;
	uint32_t stacks = 0, more;
	int err = 0;

	for (size_t i = 0; i < joint->n && !err; i++) {
		struct joint_part *part = &joint->parts[i];

		part->ids.processes = whole->nprocesses;
		part->ids.threads = whole->nthreads;
		part->objects = whole->objects.count;
		part->stacks = stacks;
		err = sql_max_id(part->trace->db, "stack", &more);
		stacks += more;
		whole->nprocesses += part->trace->nprocesses;
		whole->nthreads += part->trace->nthreads;
		whole->objects.count += part->trace->objects.count;
		part->rares = calloc(part->trace->nrares + 1, sizeof(*part->rares));
		if (!part->rares)
			err = log_err(-ENOMEM, "join traces");
	}
	return err;
}

static int make_tables(struct trace *whole)
{
	whole->processes = calloc(whole->nprocesses + 1ul, sizeof(*whole->processes));
	whole->threads = calloc(whole->nthreads + 1ul, sizeof(*whole->threads));
	whole->objects.list = calloc(whole->objects.count + 1ul, sizeof(struct object));
	whole->objects.lineages = calloc(whole->nprocesses + 1ul, sizeof(struct lineage));
	whole->objects.nlineages = whole->nprocesses;
	if (!whole->processes || !whole->threads || !whole->objects.list ||
	    !whole->objects.lineages)
		return log_err(-ENOMEM, "join traces");
	return 0;
}

static void add_losses(struct trace *whole)
{
	for (size_t i = 0; i < whole->joint->n; i++) {
		const struct trace_loss *loss = &whole->joint->parts[i].trace->loss;

		whole->loss.events += loss->events;
		whole->loss.overwritten += loss->overwritten;
		whole->loss.late += loss->late;
		whole->loss.handlers += loss->handlers;
		whole->loss.damaged += loss->damaged;
		whole->loss.unwritten += loss->unwritten;
		whole->loss.interrupted |= loss->interrupted;
	}
	whole->carried = -1;
	whole->cut = INT64_MIN; /* each part has its own cut */
}

/*
 * Refuse a file that is given twice, under different names: its queue pairs would be their own
 * peers.
 */
static int refuse_duplicates(const char *const *paths, size_t n)
{
	struct stat *files = calloc(n, sizeof(*files)); /* st_ino 0: the file cannot be read */
	int err = files ? 0 : log_err(-ENOMEM, "join traces");

	for (size_t i = 0; i < n && !err; i++) {
		if (stat(paths[i], &files[i]))
			continue;
		for (size_t k = 0; k < i && !err; k++)
			if (files[i].st_ino == files[k].st_ino &&
			    files[i].st_dev == files[k].st_dev)
				err = log_why(-EINVAL, "%s is given twice%s%s", paths[k],
					      strcmp(paths[i], paths[k]) ? ", also as " : "",
					      strcmp(paths[i], paths[k]) ? paths[i] : "");
	}
	free(files);
	return err;
}

/* A hash that identifies recording @i of @trace, which may be a merged trace; 0: not known. */
static uint64_t identify_recording(struct trace *trace, size_t i)
{
	static const char *const keys[] = { "recorder_boot", "recorder", "recorder_start",
					    "clock_start", "realtime" };
	struct hash hash;

	hash_begin(&hash, 0);
	for (size_t n = 0; n < sizeof(keys) / sizeof(*keys); n++) {
		const char *value = trace_merged_meta(trace, i, keys[n]);

		if (!value || !*value || !strcmp(value, "0"))
			return 0;
		hash_add(&hash, value, strlen(value) + 1);
	}
	return hash_end(&hash);
}

/*
 * Add the recordings of part @i to @seen. Returns the number of an earlier part that has one of
 * these recordings, @i if none has, or -ENOMEM.
 */
static int64_t note_recordings(struct map *seen, struct trace *part, size_t i)
{
	size_t r = 0;

	do {
		uint64_t recording = identify_recording(part, r), earlier;

		if (!recording)
			continue;
		if (map_get(seen, recording, &earlier) && earlier != i)
			return (int64_t)earlier;
		if (map_put(seen, recording, i))
			return log_err(-ENOMEM, "join traces");
	} while (++r < part->nmerged);
	return (int64_t)i;
}

/* Refuse two copies of a recording: a queue pair would have two peers. */
static int refuse_copies(struct trace **parts, const char *const *paths, size_t n)
{
	struct map seen = { 0 };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		int64_t earlier = note_recordings(&seen, parts[i], i);

		if (earlier < 0)
			err = (int)earlier;
		else if ((size_t)earlier != i)
			err = log_why(-EINVAL,
				      "%s and %s are from the same recording: give only "
				      "one of them",
				      paths[earlier], paths[i]);
	}
	map_fini(&seen);
	return err;
}

static int fill_joint(struct trace *whole, struct trace **parts, const char *const *paths)
{
	struct joint *joint = whole->joint;
	int err;

	for (size_t i = 0; i < joint->n; i++)
		joint->parts[i] = (struct joint_part){ .trace = parts[i], .path = paths[i] };
	err = refuse_duplicates(paths, joint->n) ?: refuse_copies(parts, paths, joint->n);
	if (err)
		return err;
	for (size_t i = 0; i < joint->n; i++)
		choose_clock(&joint->parts[i], parts[0]);
	err = count_parts(whole) ?: make_tables(whole) ?: trace_set_start(whole);
	if (err)
		return err;
	add_losses(whole);
	choose_names(joint);
	return 0;
}

/* Pass the ranges of the parts to ids.h, which needs them in a separate array. */
static int publish_names(struct joint *joint)
{
	joint->ranges = calloc(joint->n, sizeof(*joint->ranges));
	if (!joint->ranges)
		return log_err(-ENOMEM, "join traces");
	for (size_t i = 0; i < joint->n; i++)
		joint->ranges[i] = joint->parts[i].ids;
	ids_set_ranges(joint->ranges, joint->n);
	return 0;
}

int trace_join(struct trace **parts, const char *const *paths, size_t n, struct trace **ret_trace)
{
	struct trace *whole = calloc(1, sizeof(*whole));
	struct joint *joint = calloc(1, sizeof(*joint));
	int err = -ENOMEM;

	if (joint)
		joint->parts = calloc(n, sizeof(*joint->parts));
	if (!whole || !joint || !joint->parts) {
		for (size_t i = 0; i < n; i++)
			trace_close(parts[i]);
		free(whole);
		free(joint);
		return log_err(err, "join traces");
	}
	joint->n = n;
	whole->joint = joint;
	whole->borrowed = true;
	err = fill_joint(whole, parts, paths) ?: publish_names(joint);
	if (err) {
		trace_close(whole);
		return err;
	}
	*ret_trace = whole;
	return 0;
}

/* Queries about one of the joined traces */

size_t trace_nparts(const struct trace *trace)
{
	return trace->joint ? trace->joint->n : 1;
}

struct trace *trace_part(struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].trace : trace;
}

const char *trace_part_name(const struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].ids.name : NULL;
}

const char *trace_part_path(const struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].path : NULL;
}

size_t trace_part_of(const struct trace *trace, uint32_t process)
{
	return trace->joint
		       ? (size_t)(joint_of_process(trace->joint, process) - trace->joint->parts)
		       : 0;
}

uint32_t trace_part_process(const struct trace *trace, uint32_t process)
{
	return trace->joint && process
		       ? process - joint_of_process(trace->joint, process)->ids.processes
		       : process;
}

struct event_id trace_part_event(const struct trace *trace, struct event_id id)
{
	if (trace->joint && id.thread)
		id.thread -= joint_of_thread(trace->joint, id.thread)->ids.threads;
	return id;
}

uint32_t trace_part_object(const struct trace *trace, uint32_t process, uint32_t object)
{
	return trace->joint && object ? object - joint_of_process(trace->joint, process)->objects
				      : object;
}

uint32_t trace_whole_object(const struct trace *trace, size_t part, uint32_t object)
{
	return trace->joint ? joint_number(object, trace->joint->parts[part].objects) : object;
}

int trace_find_event(struct trace *trace, const char *name, struct event_id id,
		     struct event_id *ret_id)
{
	size_t n = trace_nparts(trace), i = 0;

	if (!trace->joint == (*name != '\0'))
		return -EINVAL;
	while (i < n && *name && strcmp(trace->joint->parts[i].ids.name, name))
		i++;
	if (i == n || !trace_thread(trace_part(trace, i), id.thread))
		return -ENOENT;
	*ret_id = trace_whole_event(trace, i, id);
	return 0;
}

uint32_t trace_whole_process(const struct trace *trace, size_t part, uint32_t process)
{
	return trace->joint ? joint_number(process, trace->joint->parts[part].ids.processes)
			    : process;
}

struct event_id trace_whole_event(const struct trace *trace, size_t part, struct event_id id)
{
	if (trace->joint)
		id.thread = joint_number(id.thread, trace->joint->parts[part].ids.threads);
	return id;
}

struct trace_clock trace_clock(const struct trace *trace, size_t i)
{
	return trace->joint ? trace->joint->parts[i].clock : (struct trace_clock){ 0 };
}

int trace_set_clock(struct trace *trace, size_t i, const struct trace_clock *clock)
{
	struct trace_clock *its = &trace->joint->parts[i].clock, before = *its;

	*its = *clock;
	trace_clock_bound(its);
	if (its->offset == before.offset && its->drift == before.drift)
		return 0;
	return place_parts(trace);
}

int trace_set_start(struct trace *trace)
{
	struct joint *joint = trace->joint;
	int64_t first = INT64_MAX;

	for (size_t i = 0; i < joint->n; i++)
		if (joint->parts[i].clock.offset < first)
			first = joint->parts[i].clock.offset;
	for (size_t i = 0; i < joint->n; i++)
		joint->parts[i].clock.offset -= first;
	return place_parts(trace);
}

static int64_t add_errors(const struct trace_clock *a, const struct trace_clock *b)
{
	if (a->error == INT64_MAX || b->error == INT64_MAX)
		return INT64_MAX;
	return a->error + b->error;
}

static int64_t merged_slack(const struct trace *trace, uint32_t process, uint32_t other)
{
	size_t a = trace_merged_of(trace, process), b = trace_merged_of(trace, other);

	return a == b ? 0 : add_errors(&trace->merged[a].clock, &trace->merged[b].clock);
}

int64_t trace_order_uncertainty(const struct trace *trace, uint32_t process, uint32_t other)
{
	const struct joint_part *a, *b;

	if (!trace || !trace->joint)
		return trace && trace->nmerged ? merged_slack(trace, process, other) : 0;
	a = joint_of_process(trace->joint, process);
	b = joint_of_process(trace->joint, other);
	if (a == b)
		return trace_order_uncertainty(a->trace, process - a->ids.processes,
					       other - a->ids.processes);
	return add_errors(&a->clock, &b->clock);
}

bool trace_is_other_recording(const struct trace *trace, uint32_t process, uint32_t other)
{
	const struct joint_part *a, *b;

	if (!trace->joint)
		return trace_merged_of(trace, process) != trace_merged_of(trace, other);
	a = joint_of_process(trace->joint, process);
	b = joint_of_process(trace->joint, other);
	return a != b || trace_is_other_recording(a->trace, process - a->ids.processes,
						  other - a->ids.processes);
}

const char *trace_process_meta(struct trace *trace, uint32_t process, const char *key)
{
	const struct joint_part *part;

	if (!trace->joint)
		return trace_merged_meta(trace, trace_merged_of(trace, process), key);
	part = joint_of_process(trace->joint, process);
	return trace_process_meta(part->trace, process - part->ids.processes, key);
}

struct trace_loss trace_process_loss(struct trace *trace, uint32_t process)
{
	const struct joint_part *part;

	if (!trace->joint)
		return trace->nmerged ? trace_merged_loss(trace, trace_merged_of(trace, process))
				      : trace_loss(trace);
	part = joint_of_process(trace->joint, process);
	return trace_process_loss(part->trace, process - part->ids.processes);
}
