/*
 * Storing control verbs in tables call, ref and event
 *
 * A call is held in memory until it and all calls around it have returned. Then it is stored as a
 * row; but if many calls of its shape (call_batch.h) are rows already, it goes into the thread's
 * block. A block is stored with each commit, and grows until it has many calls. A call that has not
 * returned when the writer commits is stored as a row without an end, which is added later. Calls
 * of a thread nest: the library or a provider may call a verb inside another.
 *
 * Not here: data that is only known at the end, such as objects (objects.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/args_visit.h"
#include "core/store/db/args_json.h"
#include "core/store/db/row_tables.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/hash.h"
#include "core/wire/log.h"

enum { NESTED_MAX = 64 };

/*
 * A stored block may grow, and is then stored again by the next commit, because small blocks take
 * more bytes per call: while it has fewer calls than GROWING, or if more than one in NEW_CALLS of
 * its calls are new. With more calls than GROWING, sizes grow by a third, so a call is packed at
 * most four times.
 */
enum { GROWING = 512, NEW_CALLS = 4 };

/* Collects handles while JSON is written. */
struct refs {
	struct writer *writer;
	struct thread_log *log;
	struct call_in_progress *call;
	bool out;
};

static int push_ref(struct call_in_progress *call, const char *path, enum object_kind kind,
		    uint64_t handle)
{
	struct pending_ref *ref = vec_push(call->refs, call->nrefs);

	if (!ref)
		return -ENOMEM;
	*ref = (struct pending_ref){ call->paths.used, kind, handle };
	text_add(&call->paths, path, strlen(path) + 1);
	return call->paths.failed ? -ENOMEM : 0;
}

static int put_ref(struct writer *writer, uint32_t thread, uint64_t n, const char *path,
		   const char *kind, uint64_t handle)
{
	return WRITER_RUN(writer, ref, "uitti", thread, n, path, kind, handle);
}

/* Add a reference: at once if its call is stored already, else together with the call. */
static void add_ref(const struct refs *refs, const char *path, enum object_kind kind,
		    uint64_t handle)
{
	struct text text = { 0 };

	if (refs->out) {
		text_addf(&text, "out.%s", path);
		path = text.at;
	}
	if (path && handle && refs->call->stored)
		put_ref(refs->writer, refs->log->id, refs->call->n, path, object_names[kind],
			handle);
	else if (path && handle)
		writer_fail(refs->writer, push_ref(refs->call, path, kind, handle));
	text_fini(&text);
}

/*
 * Report handles without a handle's type: tables of handles that are declared as numbers, and
 * fields of any kind.
 */
static void report_untyped_handles(const struct refs *refs, const char *path,
				   const struct field_info *field, int64_t value)
{
	if (field->kind == FIELD_ENUM && args_is(field, ARG(event.event_type)))
		refs->call->async_type = (uint64_t)value;
	else if (field->kind == FIELD_ADDR && args_is(field, ARG(event.element)))
		refs->call->async_element = (uint64_t)value;
	else if (strstr(path, "ind_tbl["))
		add_ref(refs, path, OBJECT_wq, (uint64_t)value);
}

static void note_ref(void *arg, const char *path, const struct field_info *field, int64_t value)
{
	const struct refs *refs = arg;
	const struct verb_info *verb = &verb_infos[refs->call->verb];

	if (refs->out && verb->effect == EFFECT_CREATE && field->kind == FIELD_OBJ &&
	    field->object == verb->object)
		/* stored in an argument, not returned: rdma_create_id() */
		refs->call->handle = (uint64_t)value;
	if (!refs->out && field->kind == FIELD_OBJ && value && !refs->call->parent) {
		refs->call->parent_kind = field->object;
		refs->call->parent = (uint64_t)value;
	}
	if (refs->out && verb->effect != EFFECT_GET)
		return; /* not reported: the same handles as before the call */
	if (verb->self >= 0 && field == &verb->args.fields[verb->self])
		refs->call->handle = (uint64_t)value;
	if (refs->out && refs->call->verb == VERB_get_cq_event && field->object == OBJECT_cq)
		refs->call->got = (uint64_t)value;
	if (field->kind == FIELD_OBJ)
		add_ref(refs, path, field->object, (uint64_t)value);
	else
		report_untyped_handles(refs, path, field, value);
}

/* The kind of object that an asynchronous event is about: ibv_get_async_event(3). */
static int element_kind(const char *type)
{
	if (!type)
		return -1;
	if (!strncmp(type, "IBV_EVENT_CQ", 12))
		return OBJECT_cq;
	if (!strncmp(type, "IBV_EVENT_SRQ", 13))
		return OBJECT_srq;
	if (!strncmp(type, "IBV_EVENT_WQ", 12))
		return OBJECT_wq;
	if (strstr(type, "PORT") || strstr(type, "DEVICE") || strstr(type, "LID") ||
	    strstr(type, "PKEY") || strstr(type, "SM_") || strstr(type, "CLIENT") ||
	    strstr(type, "GID"))
		return -1;
	return OBJECT_qp;
}

static int store_async(struct writer *writer, struct thread_log *log, struct call_in_progress *call,
		       int64_t time)
{
	const char *type = enum_name(enum_find("ibv_event_type"), (int64_t)call->async_type);
	int kind = element_kind(type);
	struct refs refs = { writer, log, call, call->verb == VERB_get_async_event };

	if (kind >= 0)
		add_ref(&refs, "event.element", (enum object_kind)kind, call->async_element);
	if (kind >= 0 && call->verb == VERB_ack_async_event)
		call->handle = call->async_element;
	if (call->verb != VERB_get_async_event)
		return writer->err;
	alarms_note_event(writer, log, call, type, time);
	return WRITER_RUN(writer, event, "uiuitzz", log->id, call->n, log->process, time, type,
			  kind >= 0 ? (int64_t)call->async_element : 0,
			  kind >= 0 ? 0 : (int64_t)(uint32_t)call->async_element);
}

/* Store the row of a call that has not returned. */
static int store_begin(struct writer *writer, struct thread_log *log, struct call_in_progress *call)
{
	if (call->stored)
		return 0;
	call->stored = true;
	for (size_t i = 0; i < call->nrefs; i++)
		put_ref(writer, log->id, call->n, call->paths.at + call->refs[i].path,
			object_names[call->refs[i].kind], call->refs[i].handle);
	call->nrefs = 0;
	return WRITER_RUN(writer, call, "uiutinnnnudztnzz", log->id, call->n, log->process,
			  verb_infos[call->verb].name, call->begin, call->depth, call->ours,
			  (int64_t)call->stack, call->args, (int64_t)call->handle, (int64_t)0);
}

/* Redact the arguments of librdmacm's calls, which may name hosts. */
static const char *redact_args(struct writer *writer, const struct call_in_progress *call,
			       const struct text *args)
{
	return verb_infos[call->verb].via == VIA_CM
		       ? writer_redact_text(writer, WRITER_ARGUMENTS, args->at)
		       : args->at;
}

static int compare_ref_paths(const void *a, const void *b)
{
	return strcmp(((const struct ref_row *)a)->path, ((const struct ref_row *)b)->path);
}

/* Read the references as table `ref` stores them: sorted, and of each path only the first. */
static int read_refs(struct writer *writer, const struct call_in_progress *call,
		     struct call_row *row)
{
	struct ref_row *refs;
	size_t n = 0;

	if (vec_reserve(writer->refs, writer->refs_size, call->nrefs + 1))
		return -ENOMEM;
	refs = writer->refs;
	for (size_t i = 0; i < call->nrefs; i++) {
		const char *path = call->paths.at + call->refs[i].path;
		size_t k = 0;

		while (k < n && strcmp(refs[k].path, path) != 0)
			k++;
		if (k == n)
			refs[n++] = (struct ref_row){ path, object_names[call->refs[i].kind],
						      call->refs[i].handle, 0 };
	}
	if (n > 1)
		qsort(refs, n, sizeof(*refs), compare_ref_paths);
	row->refs = refs;
	row->nrefs = n;
	return 0;
}

int calls_put_row(struct writer *writer, uint32_t thread, const struct call_row *row)
{
	for (size_t i = 0; i < row->nrefs && !writer->err; i++)
		put_ref(writer, thread, row->n, row->refs[i].path, row->refs[i].kind,
			row->refs[i].handle);
	if (writer->err)
		return writer->err;
	return WRITER_RUN(writer, call, "uiutiiiidudzttzi", thread, row->n, row->process, row->verb,
			  row->begin, row->end, row->ret, row->error, (int)row->failed, row->depth,
			  (int)row->ours, (int64_t)row->stack, row->args, row->out,
			  (int64_t)row->handle, row->end_n);
}

/* Blocks */

/*
 * Are there enough rows with calls of this shape? In a trace that may be cut, stacks do not
 * distinguish shapes, since a cut forgets stacks, which are later stored again with other numbers.
 */
static bool is_repeated(struct writer *writer, const struct call_shape *of)
{
	const struct text *key = &of->key;
	uint64_t n = 0, shape = writer->needed
					? hash_of(key->at + of->body, key->used - of->body, 0)
					: of->hash;
	bool known = map_get(&writer->shapes, shape, &n);

	if (n >= writer->calls_plain)
		return true;
	if (known || writer->shapes.used < CALL_SHAPES_MAX)
		writer_fail(writer, map_put(&writer->shapes, shape, n + 1));
	return false;
}

static int store_block(struct writer *writer, struct thread_log *log)
{
	const struct call_extent *e = log->calls ? call_batch_extent(log->calls) : NULL;

	if (!e || e->calls == log->calls_stored)
		return 0;
	if (call_batch_pack(log->calls, &writer->calls))
		return writer_fail(writer, log_err(-ENOMEM, "pack %u calls", e->calls));
	log->calls_new = e->calls - log->calls_stored;
	log->calls_stored = e->calls;
	writer->chunk_bytes += writer->calls.block.used;
	return WRITER_RUN(writer, call_chunk, "uiiiiuiuub", log->id, e->first_n, e->last_n,
			  e->begin, e->end, e->calls, e->verbs, e->least, e->most,
			  writer->calls.block.at, writer->calls.block.used);
}

void calls_cut(struct thread_log *log)
{
	if (log->calls)
		call_batch_clear(log->calls);
	log->calls_stored = 0;
}

/* Add a call to the block. 1: added; 0: it must be a row; or the writer's failure. */
static int add_to_block(struct writer *writer, struct thread_log *log, const struct call_row *row)
{
	int err = call_shape_read(&writer->shape, row);

	if (!err && !is_repeated(writer, &writer->shape))
		return 0;
	if (!err && !log->calls) {
		log->calls = call_batch_new();
		err = log->calls ? 0 : -ENOMEM;
	}
	if (!err)
		err = call_batch_add(log->calls, &writer->shape, row);
	if (err == -E2BIG)
		return 0;
	if (err)
		return writer_fail(writer, log_err(err, "store a call"));
	if (call_batch_is_full(log->calls) && !store_block(writer, log))
		calls_cut(log);
	return writer->err ? writer->err : 1;
}

static int store_end(struct writer *writer, struct thread_log *log,
		     const struct call_in_progress *call)
{
	return WRITER_RUN(writer, call_end, "uiiiidtzi", log->id, call->n, call->end, call->ret,
			  call->error, (int)verb_failed(call->verb, call->ret), call->out,
			  (int64_t)call->handle, call->end_n);
}

/*
 * The size of the rows that will describe the object created by a call in a block: one for the
 * object, and those of its queues and connection. Many such rows will be in blocks, which take a
 * tenth of the size. For a call that is a row, writer_size() includes this size.
 */
static uint64_t derived_bytes(struct writer *writer, const struct call_in_progress *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	bool packed;

	if (verb->effect != EFFECT_CREATE || verb_failed(call->verb, call->ret))
		return 0;
	packed = writer->made >= ROW_TABLE_LEAST;
	writer->made++;
	switch (verb->object) {
	case OBJECT_qp:
		return packed ? 40 : 320;
	case OBJECT_cq:
	case OBJECT_srq:
	case OBJECT_wq:
		return packed ? 20 : 160;
	default:
		return packed ? 12 : 96;
	}
}

/* Store a call that has returned, as a row or in the block. */
static int store_whole(struct writer *writer, struct thread_log *log,
		       const struct call_in_progress *call)
{
	struct call_row row = { .n = call->n,
				.end_n = call->end_n,
				.begin = call->begin,
				.end = call->end,
				.process = log->process,
				.depth = call->depth,
				.stack = call->stack,
				.failed = verb_failed(call->verb, call->ret),
				.ours = call->ours,
				.verb = verb_infos[call->verb].name,
				.ret = call->ret,
				.error = call->error,
				.handle = call->handle,
				.args = call->args,
				.out = call->out };
	int err;

	if (call->stored)
		return store_end(writer, log, call);
	if (read_refs(writer, call, &row))
		return writer_fail(writer, log_err(-ENOMEM, "store a call"));
	err = add_to_block(writer, log, &row);
	if (err > 0)
		writer->derived += derived_bytes(writer, call);
	return err < 0 ? err : err ? 0 : calls_put_row(writer, log->id, &row);
}

static struct call_in_progress *push_call(struct thread_log *log)
{
	if (vec_reserve(log->pending, log->pending_size, log->npending + 1))
		return NULL;
	log->pending[log->npending] = (struct call_in_progress){ 0 };
	return &log->pending[log->npending++];
}

static void pop_call(struct thread_log *log, struct call_in_progress *call)
{
	free(call->args);
	free(call->out);
	free(call->refs);
	text_fini(&call->paths);
	log->npending--;
	memmove(call, call + 1, (size_t)(log->pending + log->npending - call) * sizeof(*call));
}

/*
 * Store the calls that have returned, in the order of their begins: a call inside another that has
 * not returned waits for the outer one, unless the outer one's row is stored already.
 */
static int store_returned(struct writer *writer, struct thread_log *log)
{
	size_t i = 0;

	while (i < log->npending && !writer->err) {
		struct call_in_progress *call = &log->pending[i];

		if (call->done) {
			store_whole(writer, log, call);
			pop_call(log, call);
		} else if (call->stored) {
			i++;
		} else {
			break;
		}
	}
	return writer->err;
}

/* If too many calls are open, the return of the outermost one must be lost: stop waiting for it. */
static int drop_outermost(struct writer *writer, struct thread_log *log)
{
	if (store_begin(writer, log, &log->pending[0]) || store_returned(writer, log))
		return writer->err;
	if (log->npending == NESTED_MAX)
		pop_call(log, &log->pending[0]);
	return writer->err;
}

/* Convert the arguments to JSON; false if they could not be read completely. */
static bool read_args(struct writer *writer, struct thread_log *log, struct call_in_progress *call,
		      const uint64_t *words, size_t nwords)
{
	struct refs refs = { writer, log, call, false };
	struct args_writer json = { .out = &writer->args, .visit = note_ref, .arg = &refs };
	ssize_t used;

	text_cut(&writer->args, 0);
	text_char(&writer->args, '{');
	used = args_write_members(&json, words, nwords, &verb_infos[call->verb].args);
	text_char(&writer->args, '}');
	args_writer_fini(&json);
	call->args = writer->args.failed ? NULL : strdup(redact_args(writer, call, &writer->args));
	if (!call->args)
		writer_fail(writer, -ENOMEM);
	return used >= 0 && (size_t)used == nwords;
}

static int cover_cut(struct writer *writer, struct thread_log *log, const struct event_head *head,
		     uint64_t n, int64_t time)
{
	if (!(head->flags & EVENT_CUT))
		return -EBADMSG;
	return writer_cover(writer, log, n, time, "cut", 0, "arguments are missing");
}

int calls_note_begin(struct writer *writer, struct thread_log *log, const struct event_call *event,
		     uint64_t n, int64_t time)
{
	const uint64_t *frames = (const void *)(event + 1);
	size_t words = event->head.words, fixed = sizeof(*event) / 8;
	struct call_in_progress *call;

	if (words < fixed || event->verb >= VERB_COUNT || event->nframes > words - fixed ||
	    event->nargs != words - fixed - event->nframes)
		return -EBADMSG;
	if (log->npending == NESTED_MAX && drop_outermost(writer, log))
		return writer->err;
	call = push_call(log);
	if (!call)
		return writer_fail(writer, -ENOMEM);
	call->n = n;
	call->begin = time;
	call->verb = event->verb;
	call->depth = event->depth ? event->depth : !!(event->head.flags & EVENT_INNER);
	call->ours = event->head.flags & EVENT_OURS;
	if (stacks_find_or_add(writer, log->process, event->modules, frames, event->nframes,
			       &call->stack))
		return writer->err;
	if (!read_args(writer, log, call, frames + event->nframes, event->nargs))
		return cover_cut(writer, log, &event->head, n, time);
	if (call->verb == VERB_ack_async_event)
		store_async(writer, log, call, time);
	return writer->err;
}

static struct call_in_progress *find_call(struct thread_log *log, uint32_t seq)
{
	for (size_t i = log->npending; i > 0; i--)
		if ((uint32_t)log->pending[i - 1].n == seq && !log->pending[i - 1].done)
			return &log->pending[i - 1];
	return NULL;
}

static bool read_out(struct writer *writer, struct thread_log *log, struct call_in_progress *call,
		     const struct event_return *event)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const uint64_t *words = (const void *)(event + 1);
	struct refs refs = { writer, log, call, true };
	struct args_writer json = { .out = &writer->out, .visit = note_ref, .arg = &refs };
	ssize_t used = 0, more;

	text_cut(&writer->out, 0);
	text_char(&writer->out, '{');
	if (event->nouts)
		used = args_write_members(&json, words, event->nouts, &verb->args);
	json.visit = NULL; /* no references: the object's own row has its context, PD and CQs */
	if (used >= 0) {
		more = args_write_changed(&json, &verb->args, words + used,
					  event->nouts - (size_t)used);
		used = more < 0 ? more : used + more;
	}
	if (used >= 0 && (uint32_t)used < event->nouts &&
	    (verb->ret.kind == FIELD_OBJ || verb->ret.kind == FIELD_OBJS)) {
		more = args_write_made(&json, &verb->ret, words + used,
				       event->nouts - (size_t)used);
		used = more < 0 ? more : used + more;
	}
	text_char(&writer->out, '}');
	args_writer_fini(&json);
	if (writer->out.failed)
		writer_fail(writer, -ENOMEM);
	return used >= 0 && (uint32_t)used == event->nouts;
}

static void note_needed(struct writer *writer, const struct thread_log *log,
			const struct call_in_progress *call, const struct event_return *event,
			uint64_t end_n, int64_t end)
{
	struct needed_call now = { .id = { log->id, call->n },
				   .end_n = end_n,
				   .begin = call->begin,
				   .end = end,
				   .process = log->process,
				   .stack = call->stack,
				   .verb = call->verb,
				   .ret = event->ret,
				   .handle = call->handle,
				   .parent_kind = call->parent_kind,
				   .parent = call->parent,
				   .args = call->args,
				   .out = writer->out.at };

	writer_fail(writer, needed_call(writer->needed, &now));
}

static void note_return(struct writer *writer, struct call_in_progress *call,
			const struct event_return *event, uint64_t n, int64_t time)
{
	const char *out = redact_args(writer, call, &writer->out);

	call->done = true;
	call->end = time;
	call->end_n = n;
	call->ret = event->ret;
	call->error = event->error;
	call->out = out ? strdup(out) : NULL;
	if (out && !call->out)
		writer_fail(writer, -ENOMEM);
}

int calls_note_end(struct writer *writer, struct thread_log *log, const struct event_return *event,
		   uint64_t n, int64_t time)
{
	size_t words = event->head.words, fixed = sizeof(*event) / 8;
	struct call_in_progress *call;
	bool whole;

	if (words < fixed || event->nouts != words - fixed)
		return -EBADMSG;
	call = find_call(log, event->call_seq - log->base);
	if (!call)
		return writer_cover(writer, log, n, time, "orphan", 0, "its begin was lost");
	if (event->verb != call->verb)
		return -EBADMSG;
	whole = read_out(writer, log, call, event);
	if (verb_infos[call->verb].ret.kind == FIELD_OBJ && !verb_failed(call->verb, event->ret) &&
	    verb_infos[call->verb].effect == EFFECT_CREATE)
		call->handle = (uint64_t)event->ret;
	if (call->verb == VERB_get_async_event && !event->ret && event->nouts)
		store_async(writer, log, call, time);
	alarms_note_call(writer, log, call, event, time);
	if (writer->outstanding && !verb_failed(call->verb, event->ret))
		writer_note_outstanding_call(writer, log, call, writer->out.at, time);
	if (writer->needed && !verb_failed(call->verb, event->ret))
		note_needed(writer, log, call, event, n, time);
	if (!writer->err)
		note_return(writer, call, event, n, time);
	if (!writer->err)
		store_returned(writer, log);
	if (!whole && !writer->err)
		return cover_cut(writer, log, &event->head, n, time);
	return writer->err;
}

int calls_flush(struct writer *writer, struct thread_log *log)
{
	int err = 0;

	for (size_t i = 0; i < log->npending && !err; i++)
		if (!log->pending[i].done)
			err = store_begin(writer, log, &log->pending[i]);
	if (err || store_returned(writer, log) || store_block(writer, log))
		return writer->err;
	if (log->calls_stored >= GROWING && log->calls_new < log->calls_stored / NEW_CALLS)
		calls_cut(log);
	return 0;
}

void calls_fini(struct thread_log *log)
{
	while (log->npending)
		pop_call(log, &log->pending[log->npending - 1]);
	free(log->pending);
	log->pending = NULL;
	log->pending_size = 0;
	call_batch_free(log->calls);
	log->calls = NULL;
	log->calls_stored = 0;
}

void calls_free_all(struct writer *writer)
{
	map_fini(&writer->shapes);
	call_shape_fini(&writer->shape);
	free(writer->refs);
	shapes_packer_fini(&writer->calls);
}
