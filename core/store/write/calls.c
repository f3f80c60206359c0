/*
 * Storing control verbs in tables call, ref and event
 *
 * A call is held in memory until it returns, then stored as one row. One that has not returned when
 * the writer commits is stored without an end, which is added later. Calls of a thread nest: the
 * library or a provider may call a verb inside another.
 *
 * Not here: data that is only known at the end, such as objects (objects.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/db/args_walk.h"
#include "core/store/write/writer_priv.h"
#include "core/store/db/args_json.h"

enum { NESTED_MAX = 64 };

/* Collects handles while JSON is written. */
struct refs {
	struct writer *writer;
	struct thread_log *log;
	struct pending *call;
	bool out;
};

static void add_ref(const struct refs *refs, const char *path, enum object_kind kind,
		    uint64_t handle)
{
	struct text text = { 0 };

	if (refs->out) {
		text_addf(&text, "out.%s", path);
		path = text.at;
	}
	if (path && handle)
		WRITER_RUN(refs->writer, ref, "uitti", refs->log->id, refs->call->n, path,
			   object_names[kind], handle);
	text_fini(&text);
}

/* Handles without a handle's type: tables of handles declared as numbers, a field of any kind. */
static void report_odd(const struct refs *refs, const char *path, const struct field_info *field,
		       int64_t value)
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
		refs->call->handle = (uint64_t)value; /* not returned: rdma_create_id() */
	if (!refs->out && field->kind == FIELD_OBJ && value && !refs->call->parent) {
		refs->call->parent_kind = field->object;
		refs->call->parent = (uint64_t)value;
	}
	if (refs->out && verb->effect != EFFECT_GET)
		return; /* the same handles as before the call */
	if (verb->self >= 0 && field == &verb->args.fields[verb->self])
		refs->call->handle = (uint64_t)value;
	if (refs->out && refs->call->verb == VERB_get_cq_event && field->object == OBJECT_cq)
		refs->call->got = (uint64_t)value;
	if (field->kind == FIELD_OBJ)
		add_ref(refs, path, field->object, (uint64_t)value);
	else
		report_odd(refs, path, field, value);
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

static int store_async(struct writer *writer, struct thread_log *log, struct pending *call,
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
	alarms_event(writer, log, call, type, time);
	return WRITER_RUN(writer, event, "uiuitzz", log->id, call->n, log->process, time, type,
			  kind >= 0 ? (int64_t)call->async_element : 0,
			  kind >= 0 ? 0 : (int64_t)(uint32_t)call->async_element);
}

/* Store a call's row without an end. */
static int store_begin(struct writer *writer, struct thread_log *log, struct pending *call)
{
	if (call->stored)
		return 0;
	call->stored = true;
	return WRITER_RUN(writer, call, "uiutinnnnudztnzz", log->id, call->n, log->process,
			  verb_infos[call->verb].name, call->begin, call->depth, call->ours,
			  (int64_t)call->stack, call->args, (int64_t)call->handle, (int64_t)0);
}

/* Calls of librdmacm may name hosts. */
static const char *redact_args(struct writer *writer, const struct pending *call,
			       const struct text *args)
{
	return verb_infos[call->verb].via == VIA_CM
		       ? writer_redacted(writer, WRITER_ARGUMENTS, args->at)
		       : args->at;
}

static int store_whole(struct writer *writer, struct thread_log *log, struct pending *call,
		       const struct event_return *event, uint64_t n, int64_t time)
{
	bool failed = verb_failed(call->verb, event->ret);
	const char *out = redact_args(writer, call, &writer->out);

	if (call->stored)
		return WRITER_RUN(writer, call_end, "uiiiddtzi", log->id, call->n, time, event->ret,
				  event->error, (int)failed, out, (int64_t)call->handle, n);
	return WRITER_RUN(writer, call, "uiutiiiddudzttzi", log->id, call->n, log->process,
			  verb_infos[call->verb].name, call->begin, time, event->ret, event->error,
			  (int)failed, call->depth, (int)call->ours, (int64_t)call->stack,
			  call->args, out, (int64_t)call->handle, n);
}

static struct pending *push_call(struct thread_log *log)
{
	if (vec_reserve(log->pending, log->pending_size, log->npending + 1))
		return NULL;
	log->pending[log->npending] = (struct pending){ 0 };
	return &log->pending[log->npending++];
}

static void pop_call(struct thread_log *log, struct pending *call)
{
	free(call->args);
	log->npending--;
	memmove(call, call + 1, (size_t)(log->pending + log->npending - call) * sizeof(*call));
}

/* Convert the arguments to JSON; false if they could not be read completely. */
static bool read_args(struct writer *writer, struct thread_log *log, struct pending *call,
		      const uint64_t *words, size_t nwords)
{
	struct refs refs = { writer, log, call, false };
	struct args_writer json = { .out = &writer->args, .told = note_ref, .arg = &refs };
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

static int not_whole(struct writer *writer, struct thread_log *log, const struct event_head *head,
		     uint64_t n, int64_t time)
{
	if (!(head->flags & EVENT_CUT))
		return -EBADMSG;
	return writer_cover(writer, log, n, time, "cut", 0, "arguments are missing");
}

int calls_begin(struct writer *writer, struct thread_log *log, const struct event_call *event,
		uint64_t n, int64_t time)
{
	const uint64_t *frames = (const void *)(event + 1);
	size_t words = event->head.words, fixed = sizeof(*event) / 8;
	struct pending *call;

	if (words < fixed || event->verb >= VERB_COUNT || event->nframes > words - fixed ||
	    event->nargs != words - fixed - event->nframes)
		return -EBADMSG;
	if (log->npending == NESTED_MAX) { /* returns were lost */
		if (store_begin(writer, log, &log->pending[0]))
			return writer->err;
		pop_call(log, &log->pending[0]);
	}
	call = push_call(log);
	if (!call)
		return writer_fail(writer, -ENOMEM);
	call->n = n;
	call->begin = time;
	call->verb = event->verb;
	call->depth = event->depth ? event->depth : !!(event->head.flags & EVENT_INNER);
	call->ours = event->head.flags & EVENT_OURS;
	if (stacks_number(writer, log->process, event->modules, frames, event->nframes,
			  &call->stack))
		return writer->err;
	if (!read_args(writer, log, call, frames + event->nframes, event->nargs))
		return not_whole(writer, log, &event->head, n, time);
	if (call->verb == VERB_ack_async_event)
		store_async(writer, log, call, time);
	return writer->err;
}

static struct pending *find_call(struct thread_log *log, uint32_t seq)
{
	for (size_t i = log->npending; i > 0; i--)
		if ((uint32_t)log->pending[i - 1].n == seq)
			return &log->pending[i - 1];
	return NULL;
}

static bool read_out(struct writer *writer, struct thread_log *log, struct pending *call,
		     const struct event_return *event)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const uint64_t *words = (const void *)(event + 1);
	struct refs refs = { writer, log, call, true };
	struct args_writer json = { .out = &writer->out, .told = note_ref, .arg = &refs };
	ssize_t used = 0, more;

	text_cut(&writer->out, 0);
	text_char(&writer->out, '{');
	if (event->nouts)
		used = args_write_members(&json, words, event->nouts, &verb->args);
	json.told = NULL; /* its own row has its context, PD and CQs */
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
			const struct pending *call, const struct event_return *event,
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

int calls_end(struct writer *writer, struct thread_log *log, const struct event_return *event,
	      uint64_t n, int64_t time)
{
	size_t words = event->head.words, fixed = sizeof(*event) / 8;
	struct pending *call;
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
	alarms_call(writer, log, call, event, time);
	if (!writer->err)
		store_whole(writer, log, call, event, n, time);
	if (writer->outstanding && !verb_failed(call->verb, event->ret))
		cuts_call(writer, log, call, writer->out.at, time);
	if (writer->needed && !verb_failed(call->verb, event->ret))
		note_needed(writer, log, call, event, n, time);
	pop_call(log, call);
	if (!whole && !writer->err)
		return not_whole(writer, log, &event->head, n, time);
	return writer->err;
}

int calls_flush(struct writer *writer, struct thread_log *log)
{
	int err = 0;

	for (size_t i = 0; i < log->npending && !err; i++)
		err = store_begin(writer, log, &log->pending[i]);
	return err;
}

void calls_fini(struct thread_log *log)
{
	while (log->npending)
		pop_call(log, &log->pending[log->npending - 1]);
	free(log->pending);
	log->pending = NULL;
	log->pending_size = 0;
}
