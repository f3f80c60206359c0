/*
 * Objects, processes and stacks of a trace that is still being written
 *
 * Three hash tables with chains through the same objects:
 *
 *	by address process, kind, handle --> the last object at it
 *	by number  process, qp_num ---------> queue pairs, newest first
 *	by id
 *
 * A dead object whose address was reused is found only by its id.
 *
 * Not here: events (stream_live.c), their order (cursor.c).
 */
#include "core/store/read/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/store/finish/complete.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"

enum { BUCKETS = 1 << 14, PLACE = 0, NUMBER, ID, TABLES };

struct live_entry {
	struct object object;
	struct live_entry *next[TABLES];
	struct live_entry *older, *newer; /* in the list of the dead */
	bool dead;
};

/* The number of objects of each kind that a process has created. */
struct created_counts {
	uint32_t process;
	uint32_t made[OBJECT_COUNT];
	struct created_counts *next;
};

struct live {
	struct trace *trace;
	struct writer *writer;
	struct live_entry *tables[TABLES][BUCKETS];
	struct live_entry *oldest, *newest; /* the list of the dead */
	uint32_t ids, ndead;
	uint64_t alive[OBJECT_COUNT];
	struct created_counts *tallies;
	uint32_t unended; /* the lowest id of a process that has not ended */
	char fault[256];  /* result of live_fault() */
};

static struct live_entry **find_bucket(const struct live *live, int table, uint64_t a, uint64_t b)
{
	return (struct live_entry **)&live->tables[table][map_hash(a ^ b << 40) % BUCKETS];
}

static struct live_entry **bucket_of(const struct live *live, int table, const struct object *o)
{
	switch (table) {
	case PLACE:
		return find_bucket(live, table, o->handle, o->process);
	case NUMBER: /* other kinds by handle, to distribute them better: most have number 0 */
		return find_bucket(live, table, o->kind == OBJECT_qp ? o->number : o->handle,
				   o->process);
	default:
		return find_bucket(live, table, o->id, 0);
	}
}

static void unlink_dead(struct live *live, struct live_entry *l)
{
	if (!l->dead)
		return;
	*(l->older ? &l->older->newer : &live->oldest) = l->newer;
	*(l->newer ? &l->newer->older : &live->newest) = l->older;
	live->ndead--;
}

static void unlink_object(struct live *live, struct live_entry *l, int table)
{
	struct live_entry **at = bucket_of(live, table, &l->object);

	while (*at && *at != l)
		at = &(*at)->next[table];
	if (*at)
		*at = l->next[table];
}

static void drop_object(struct live *live, struct live_entry *l)
{
	for (int t = 0; t < TABLES; t++)
		unlink_object(live, l, t);
	live->alive[l->object.kind] -= !l->dead;
	unlink_dead(live, l);
	free((char *)l->object.name);
	free(l);
}

static void mark_object_dead(struct live *live, struct live_entry *l)
{
	if (l->dead)
		return;
	l->dead = true;
	live->alive[l->object.kind]--;
	l->older = live->newest;
	*(live->newest ? &live->newest->newer : &live->oldest) = l;
	live->newest = l;
	if (++live->ndead > LIVE_DEAD)
		drop_object(live, live->oldest);
}

/* Another object has taken the address of @l, but references by id still need its name. */
static void supersede_object(struct live *live, struct live_entry *l)
{
	unlink_object(live, l, PLACE);
	unlink_object(live, l, NUMBER);
	mark_object_dead(live, l);
}

int live_new(struct trace *trace, struct writer *writer, struct live **ret_live)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return log_err(-ENOMEM, "follow the trace");
	if (writer_follow(writer)) {
		free(live);
		return -ENOMEM;
	}
	live->trace = trace;
	live->writer = writer;
	*ret_live = live;
	return 0;
}

int live_read_chunk(struct live *live, uint32_t thread, uint64_t first_n)
{
	return writer_note_followed(live->writer, thread, first_n);
}

void live_free(struct live *live)
{
	struct created_counts *tally;

	if (!live)
		return;
	writer_unfollow(live->writer);
	for (int i = 0; i < BUCKETS; i++)
		while (live->tables[ID][i])
			drop_object(live, live->tables[ID][i]);
	while ((tally = live->tallies)) {
		live->tallies = tally->next;
		free(tally);
	}
	free(live);
}

/* Objects */

const struct object *live_object(const struct live *live, uint32_t id)
{
	struct live_entry *l = *find_bucket(live, ID, id, 0);

	while (l && l->object.id != id)
		l = l->next[ID];
	return l ? &l->object : NULL;
}

static struct live_entry *find_at_place(const struct live *live, uint32_t process,
					enum object_kind kind, uint64_t handle)
{
	struct live_entry *l = *find_bucket(live, PLACE, handle, process);

	while (l && (l->object.handle != handle || l->object.process != process ||
		     l->object.kind != kind))
		l = l->next[PLACE];
	return l;
}

static uint32_t parent_of(const struct live *live, uint32_t process)
{
	const struct process *p = trace_process(live->trace, process);

	return p && p->parent < process ? p->parent : 0;
}

const struct object *live_at(const struct live *live, uint32_t process, enum object_kind kind,
			     uint64_t handle)
{
	for (; process && handle; process = parent_of(live, process)) {
		const struct live_entry *l = find_at_place(live, process, kind, handle);

		if (l)
			return &l->object;
	}
	return NULL;
}

static uint32_t context_of(const struct live *live, uint32_t id)
{
	for (int depth = 0; id && depth < 8; depth++) {
		const struct object *o = live_object(live, id);

		if (!o || o->kind == OBJECT_context)
			return o ? id : 0;
		id = o->parent;
	}
	return 0;
}

const struct object *live_qp(const struct live *live, uint32_t process, uint32_t number,
			     uint32_t cq)
{
	uint32_t context = context_of(live, cq);
	const struct object *first = NULL;

	for (; process && !first; process = parent_of(live, process))
		for (struct live_entry *l = *find_bucket(live, NUMBER, number, process); l;
		     l = l->next[NUMBER]) {
			uint32_t its;

			if (l->object.kind != OBJECT_qp || l->object.number != number ||
			    l->object.process != process)
				continue;
			its = context ? context_of(live, l->object.parent) : 0;
			if (!its || its == context)
				return &l->object;
			first = first ? first : &l->object;
		}
	return first;
}

static uint32_t *count_created(struct live *live, uint32_t process, enum object_kind kind)
{
	struct created_counts *tally = live->tallies;

	while (tally && tally->process != process)
		tally = tally->next;
	if (!tally) {
		tally = calloc(1, sizeof(*tally));
		if (!tally)
			return NULL;
		tally->process = process;
		tally->next = live->tallies;
		live->tallies = tally;
	}
	return &tally->made[kind];
}

static int add_object(struct live *live, const struct object *object,
		      struct live_entry **ret_living)
{
	uint32_t *made = count_created(live, object->process, object->kind);
	struct live_entry *l = calloc(1, sizeof(*l));
	char name[64];

	if (!l || !made) {
		free(l);
		return log_err(-ENOMEM, "objects of the program");
	}
	l->object = *object;
	l->object.id = ++live->ids;
	l->object.ordinal = ++*made;
	l->object.destroyed_at = INT64_MAX;
	live->alive[object->kind]++;
	snprintf(name, sizeof(name), "%s%u", object_names[object->kind], l->object.ordinal);
	l->object.name = strdup(name);
	for (int t = 0; t < TABLES; t++) {
		struct live_entry **at = bucket_of(live, t, &l->object);

		l->next[t] = *at;
		*at = l;
	}
	*ret_living = l;
	return 0;
}

/* Was the object created inside @outer? Then @outer counts as its creator: lifetimes.c. */
static bool is_created_inside(const struct live_entry *l, const struct trace_event *outer)
{
	return !l->dead && l->object.created.thread == outer->id.thread &&
	       l->object.created.n > outer->id.n;
}

static int note_creation(struct live *live, const struct trace_event *event,
			 const struct call *call, enum object_kind kind, uint64_t handle,
			 uint32_t *ret_object)
{
	struct object object = { .process = event->process, .kind = kind, .handle = handle };
	struct live_entry *l = find_at_place(live, event->process, kind, handle);
	const struct object *parent;
	struct object_creation made;
	int err;

	if (l && !is_created_inside(l, event)) {
		supersede_object(live, l);
		l = NULL;
	}
	if (!l) {
		err = object_read_created(kind, call->out, &made);
		if (err)
			return log_err(err, "objects of the program");
		parent = live_at(live, event->process, made.parent_kind, made.parent);
		object.number = made.number;
		object.rkey = made.rkey;
		object.parent = parent ? parent->id : 0;
		err = add_object(live, &object, &l);
		if (err)
			return err;
	}
	l->object.created = event->id;
	l->object.created_at = event->time;
	*ret_object = l->object.id;
	return 0;
}

/* Note the new identifier of a connection request. */
static int note_request(struct live *live, const struct trace_event *event, const struct call *call)
{
	const char *type;
	uint32_t object;
	int64_t id;
	int err = args_parse(call->out);

	if (err)
		return err;
	type = args_text(call->out, ARG(event.event));
	if (type && !strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST") &&
	    args_get(call->out, ARG(event.id), &id))
		err = note_creation(live, event, call, OBJECT_cm_id, (uint64_t)id, &object);
	return err;
}

int live_note_call(struct live *live, const struct trace_event *event, struct call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const struct object *o;

	if (event->kind == TRACE_RETURN && !call->failed && call->verb == VERB_rdma_get_cm_event) {
		int err = note_request(live, event, call);

		if (err)
			return err;
	}
	if (!call->handle)
		return 0;
	if (event->kind == TRACE_RETURN && !call->failed && verb->effect == EFFECT_CREATE)
		return note_creation(live, event, call, verb->object, call->handle, &call->object);
	if (verb->effect == EFFECT_CREATE)
		return 0;
	o = live_at(live, event->process, verb->object, call->handle);
	if (!o)
		return 0;
	call->object = o->id;
	/* an object created after the destroy began is another one at the same address */
	if (event->kind == TRACE_RETURN && !call->failed && verb->effect == EFFECT_DESTROY &&
	    o->process == event->process && o->created_at <= call->begin)
		mark_object_dead(live, find_at_place(live, o->process, o->kind, o->handle));
	return 0;
}

void live_end_process(struct live *live, uint32_t process)
{
	struct created_counts **at, *tally;

	for (at = &live->tallies; (tally = *at); at = &tally->next)
		if (tally->process == process) {
			*at = tally->next;
			free(tally);
			break;
		}
	if (!tally)
		return; /* the process has no objects */
	for (int i = 0; i < BUCKETS; i++)
		for (struct live_entry *l = live->tables[PLACE][i]; l;) {
			bool its = l->object.process == process && !l->dead;

			if (its)
				/* it may free another dead object: start the bucket again */
				mark_object_dead(live, l);
			l = its ? live->tables[PLACE][i] : l->next[PLACE];
		}
}

/* Processes and threads */

/* Read a process again. After announcing its exit, it may still have events before it ends. */
static int refresh_process(struct live *live, uint32_t id, bool last)
{
	const struct known_process *known = live->writer->processes[id - 1];
	bool over = last || !known || known->over;
	int err = known ? trace_read_process(live->trace, id) : 0;

	if (!err && !over)
		live->trace->processes[id - 1].end = -1;
	return err;
}

static int refresh_processes(struct live *live, bool last)
{
	struct trace *trace = live->trace;
	int err = 0;

	if (sql_int(trace->db,
		    "SELECT EXISTS(SELECT 1 FROM process WHERE forked_from IS NOT NULL"
		    " AND parent IS NULL)",
		    0))
		err = complete_forks(trace->db);
	for (uint32_t id = live->unended + 1; id <= live->writer->nprocesses && !err; id++) {
		const struct process *p = trace_process(trace, id);

		if (!p || !p->id || p->end < 0)
			err = refresh_process(live, id, last);
		p = trace_process(trace, id);
		if (p && p->id && p->end >= 0 && id == live->unended + 1)
			live->unended++;
	}
	return err;
}

int live_refresh(struct live *live, bool last)
{
	int err = refresh_processes(live, last);

	for (uint32_t id = live->trace->nthreads + 1; id <= live->writer->nlogs && !err; id++)
		err = trace_read_thread(live->trace, id);
	for (uint32_t i = 0; i < live->trace->nthreads; i++) {
		const struct thread_log *log = live->writer->logs[i];

		if (!log)
			continue; /* removed: the thread has ended, and all its events were read */
		live->trace->threads[i].process = log->process;
		live->trace->threads[i].events = log->n;
		live->trace->threads[i].end = log->gone ?: log->last;
	}
	if (!err)
		trace_read_loss(live->trace);
	return err;
}

uint64_t live_count_alive(const struct live *live, enum object_kind kind)
{
	return live->alive[kind];
}

struct totals live_totals(const struct live *live)
{
	const struct trace *trace = live->trace;
	struct totals totals = totals_read(trace->db);

	totals.events = 0;
	totals.overwritten = 0;
	for (uint32_t i = 0; i < trace->nthreads; i++)
		totals.events += trace->threads[i].events - trace->threads[i].carried;
	totals.events -= totals.events < trace->loss.late ? totals.events : trace->loss.late;
	for (size_t i = 0; i < live->writer->nlogs; i++)
		if (live->writer->logs[i] && live->writer->logs[i]->last > totals.duration)
			totals.duration = live->writer->logs[i]->last;
	return totals;
}

uint64_t live_last_stored(const struct live *live, uint32_t id, bool *ret_ended)
{
	const struct thread_log *log = live->writer->logs[id - 1];

	*ret_ended = !log || log->ended;
	return log ? log->settled : UINT64_MAX;
}

/* Stacks */

static const char frames_sql[] =
	"SELECT f.ip, m.id, f.ip - m.base FROM frame f JOIN stack s ON s.id = f.stack"
	" LEFT JOIN module m ON m.id = coalesce("
	"  (SELECT id FROM module WHERE process = s.process AND f.ip >= start AND f.ip < end"
	"   AND serial <= s.modules ORDER BY serial DESC LIMIT 1),"
	"  (SELECT a.id FROM module a JOIN process p ON p.parent = a.process"
	"   WHERE p.id = s.process AND f.ip >= a.start AND f.ip < a.end"
	"   AND a.serial <= s.modules AND a.time <= p.fork_time ORDER BY a.serial DESC LIMIT 1))"
	" WHERE f.stack = ? ORDER BY f.i";

unsigned int live_stack(struct live *live, uint32_t stack, struct frame *frames, unsigned int max)
{
	struct trace *trace = live->trace;
	sqlite3_stmt *stmt;
	unsigned int n = 0;

	if (trace_read_modules(trace) || sql_prepare(trace->db, frames_sql, &stmt))
		return 0;
	sql_bind(stmt, "u", stack);
	while (n < max && sql_step(stmt) > 0)
		frames[n++] =
			trace_frame(trace, sqlite3_column_int64(stmt, 0),
				    sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2));
	sqlite3_finalize(stmt);
	return n;
}

/* The text of the row that @stmt finds, and its event; NULL: no row. Finalizes @stmt. */
static const char *read_fault(struct live *live, sqlite3_stmt *stmt, struct event_id *ret_id)
{
	bool found = sql_step(stmt) > 0;
	const char *text = found ? (const char *)sqlite3_column_text(stmt, 2) : NULL;

	if (found)
		*ret_id = (struct event_id){ sql_u32(stmt, 0),
					     (uint64_t)sqlite3_column_int64(stmt, 1) };
	snprintf(live->fault, sizeof(live->fault), "%s", text ?: "");
	sqlite3_finalize(stmt);
	return found ? live->fault : NULL;
}

const char *live_fault(struct live *live, uint32_t thread, uint64_t n)
{
	struct event_id id;
	sqlite3_stmt *stmt;

	if (sql_prepare(live->trace->db,
			"SELECT thread, n, text FROM mark"
			" WHERE thread = ? AND n = ? AND kind = 'fault'",
			&stmt))
		return NULL;
	sql_bind(stmt, "ui", thread, n);
	return read_fault(live, stmt, &id);
}

const char *live_nth_fault(struct live *live, size_t n, struct event_id *ret_id)
{
	sqlite3_stmt *stmt;

	if (sql_prepare(live->trace->db,
			"SELECT thread, n, text FROM mark WHERE kind = 'fault'"
			" ORDER BY thread, n LIMIT 1 OFFSET ?",
			&stmt))
		return NULL;
	sql_bind(stmt, "i", (uint64_t)n);
	return read_fault(live, stmt, ret_id);
}

size_t live_count_faults(const struct live *live)
{
	sqlite3_stmt *stmt;
	size_t count = 0;

	if (sql_prepare(live->trace->db, "SELECT count(*) FROM mark WHERE kind = 'fault'", &stmt))
		return 0;
	if (sql_step(stmt) > 0)
		count = (size_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return count;
}
