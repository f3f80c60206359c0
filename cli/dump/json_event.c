/*
 * An event as one JSON object in a line
 *
 * It has all data of the text line, under the names of struct trace_event and of
 * core/wire/data.list: numbers as numbers, times in ns, and the names that the text shows for them.
 * docs/man/verbatim-dump.1 lists the members.
 */
#include "cli/dump/json_event.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/dump/event_object.h"
#include "cli/dump/fields.h"
#include "cli/dump/names.h"
#include "cli/dump/stacks.h"
#include "core/store/read/joint.h"

/* "errno": 22, "error": "EINVAL" */
static void put_error(struct json *json, int error)
{
	if (error <= 0)
		return;
	json_put_int(json, "errno", error);
	if (strerrorname_np(error))
		json_put_text(json, "error", strerrorname_np(error));
}

static void put_id(struct json *json, const char *name, struct event_id id)
{
	char text[32];

	json_put_text(json, name, event_id_text(id, text));
}

static void put_object_name(struct json_values *jv, const char *name, uint32_t id)
{
	json_values_put_object(jv, name, id ? trace_object(jv->values.trace, id) : NULL);
}

/* Control verbs */

static void put_return(struct json_values *jv, const struct call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const struct json_node *text = args_find(call->out, ARG(ret));

	if (verb->effect == EFFECT_CREATE && call->object && call->ret)
		put_object_name(jv, "ret", call->object);
	else if (text && text->kind == JSON_TEXT)
		json_put_text(&jv->json, "ret", text->text);
	else if (verb->fail == FAIL_NULL && !call->ret)
		json_put_text(&jv->json, "ret", NULL);
	else if (verb->fail == FAIL_NULL)
		json_put_uint(&jv->json, "ret", (uint64_t)call->ret);
	else if (verb->returns && verb->ret.kind == FIELD_ENUM)
		json_values_put_enum(jv, "ret", verb->ret.names, call->ret);
	else if (verb->returns)
		json_put_int(&jv->json, "ret", call->ret);
}

/* The arguments before the call, or after it, in the order of the verb. */
static void put_args(struct json_values *jv, const char *name, const struct call *call,
		     const struct args *args)
{
	const struct struct_info *info = &verb_infos[call->verb].args;

	json_open(&jv->json, name, '{');
	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct json_node *value = args_field(args, &info->fields[i]);

		if (value)
			json_values_put_field(jv, info->fields[i].name, &info->fields[i], value);
	}
	json_close(&jv->json, '}');
}

static void put_call(struct json_values *jv, const struct call *call)
{
	struct json *json = &jv->json;

	json_put_text(json, "verb", verb_infos[call->verb].name);
	put_object_name(jv, "object", call->object);
	jv->values.outside = values_outside(call);
	put_args(jv, "args", call, call->args);
	put_args(jv, "out", call, call->out);
	jv->values.outside = 0;
	json_put_bool(json, "returned", call->end >= 0);
	json_put_bool(json, "failed", call->failed);
	if (call->end >= 0) {
		put_return(jv, call);
		json_put_int(json, "duration_ns", call->end - call->begin);
	}
	if (call->failed)
		put_error(json, call_error(call));
	if (call->ours)
		json_put_bool(json, "recorder", true);
}

/* Requests and completions */

static void put_payload(const struct json_event *je, struct json_values *jv, struct event_id id,
			uint32_t i)
{
	struct json *json = &jv->json;
	struct payload p;
	char hash[24];

	if (!je->render->payloads || trace_payload(jv->values.trace, id, i, &p) <= 0)
		return;
	json_open(json, "payload", '{');
	json_put_text(json, "kind", p.kind);
	json_put_uint(json, "length", p.total);
	if (p.hashed) {
		snprintf(hash, sizeof(hash), "%016llx", (unsigned long long)p.hash);
		json_put_text(json, "hash", hash);
	}
	if (p.why)
		json_put_text(json, "less", p.why);
	if (je->bytes && p.nbytes) {
		json_put_name(json, "bytes");
		text_char(json->out, '"');
		for (uint64_t k = 0; k < p.nbytes && k < je->bytes; k++)
			text_addf(json->out, "%02x", ((const unsigned char *)p.bytes)[k]);
		text_char(json->out, '"');
	}
	json_close(json, '}');
}

static void put_sges(struct json_values *jv, const struct wr *wr)
{
	struct json *json = &jv->json;
	struct values *v = &jv->values;

	json_put_int(json, "num_sge", wr->num_sge);
	json_open(json, "sge", '[');
	for (uint32_t i = 0; i < wr->nsge; i++) {
		json_open(json, NULL, '{');
		json_put_uint(json, "addr", wr->sge[i].addr);
		json_put_uint(json, "length", wr->sge[i].length);
		json_put_uint(json, "lkey", wr->sge[i].lkey);
		names_print_lkey(v->names, v->out, v->queue, wr->sge[i].lkey, v->time);
		json_values_put_printed(jv, "region");
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_field(const struct field_value *field, void *arg)
{
	struct json_values *jv = arg;
	struct values *v = &jv->values;

	if (field->form == FIELDS_OBJECT)
		json_values_put_handle(jv, field->name, field->object, field->value);
	else if (field->form == FIELDS_FLAGS)
		json_values_put_flags(jv, field->name, field->names, field->value);
	else
		json_put_uint(&jv->json, field->name, field->value);
	if (!field->rkey)
		return;
	names_print_rkey(v->names, v->out, v->queue, (uint32_t)field->value, v->time);
	json_values_put_printed(jv, "remote_region");
}

static void put_wr(struct json_values *jv, const struct wr *wr)
{
	struct json *json = &jv->json;

	json_put_uint(json, "wr_id", wr->wr_id);
	if (wr->opcode >= 0) {
		json_values_put_enum(jv, "opcode", enum_find("ibv_wr_opcode"), wr->opcode);
		json_values_put_flags(jv, "send_flags", "ibv_send_flags", wr->send_flags);
	}
	put_sges(jv, wr);
	fields_each_wr(wr, put_field, jv);
	if (wr->imm)
		json_put_uint(json, render_has_key(wr->opcode) ? "invalidate_rkey" : "imm_data",
			      wr->imm);
}

static void put_post(const struct json_event *je, struct json_values *jv,
		     const struct trace_event *event)
{
	const struct post *post = event->post;
	struct json *json = &jv->json;

	json_put_text(json, "verb", verb_infos[post->verb].name);
	json_values_put_handle(jv, "object", verb_infos[post->verb].object, post->handle);
	json_open(json, "requests", '[');
	for (uint32_t i = 0; i < post->nwr; i++) {
		json_open(json, NULL, '{');
		put_wr(jv, &post->wr[i]);
		put_payload(je, jv, event->id, i);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_int(json, "ret", post->ret);
	put_error(json, post->ret);
	if (post->bad)
		json_put_uint(json, "bad_wr", post->bad - 1);
}

static void put_success(const struct json_event *je, struct json_values *jv, const struct wc *wc)
{
	struct json *json = &jv->json;

	json_values_put_enum(jv, "opcode", enum_find("ibv_wc_opcode"), wc->opcode);
	json_put_uint(json, "byte_len", wc->byte_len);
	if (wc->wc_flags)
		json_values_put_flags(jv, "wc_flags", "ibv_wc_flags", wc->wc_flags);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		json_put_uint(json, "imm_data", wc->imm);
	else if (wc->wc_flags & IBV_WC_WITH_INV)
		json_put_uint(json, "invalidated_rkey", wc->imm);
	if (render_has_sender(je->render, wc))
		json_put_uint(json, "src_qp", wc->src_qp);
}

/* In a failed completion only these are defined: ibv_poll_cq(3). */
static void put_wc(const struct json_event *je, struct json_values *jv, const struct wc *wc)
{
	struct json *json = &jv->json;

	json_put_uint(json, "wr_id", wc->wr_id);
	json_values_put_enum(jv, "status", enum_find("ibv_wc_status"), wc->status);
	if (wc->status)
		json_put_uint(json, "vendor_err", wc->vendor_err);
	else
		put_success(je, jv, wc);
	json_put_uint(json, "qp_num", wc->qp_num);
	put_object_name(jv, "qp", wc->qp);
	fields_each_wc(wc, put_field, jv);
	if (!wc->request.thread)
		return;
	put_id(json, "request", wc->request);
	json_put_uint(json, "request_index", wc->request_index);
	json_put_int(json, "after_ns", jv->values.time - wc->posted_at);
}

static void put_poll(const struct json_event *je, struct json_values *jv,
		     const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	struct json *json = &jv->json;
	bool iterator = poll->verb != VERB_poll_cq;

	json_put_text(json, "verb", verb_infos[poll->verb].name);
	json_values_put_handle(jv, "object", OBJECT_cq, poll->handle);
	/* the iterator returned 0 if it has a completion, or the error */
	json_put_int(json, "ret", !iterator ? poll->ret : poll->ret < 0 ? -poll->ret : 0);
	if (iterator && poll->ret < 0)
		put_error(json, -poll->ret);
	json_open(json, "completions", '[');
	for (uint32_t i = 0; i < poll->nwc; i++) {
		json_open(json, NULL, '{');
		put_wc(je, jv, &poll->wc[i]);
		put_payload(je, jv, event->id, i);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_put_uint(json, "empty", poll->empty);
	if (poll->filled)
		json_put_bool(json, "filled", true);
}

static void put_notify(struct json_values *jv, const struct notify *notify)
{
	json_put_text(&jv->json, "verb", "ibv_req_notify_cq");
	json_values_put_handle(jv, "object", OBJECT_cq, notify->handle);
	json_put_int(&jv->json, "solicited_only", notify->solicited_only);
	json_put_int(&jv->json, "ret", notify->ret);
	put_error(&jv->json, notify->ret);
}

/* An event that is not a verb call. */

static void put_process(struct json_values *jv, bool began)
{
	const struct process *p = trace_process(jv->values.trace, jv->values.process);
	struct json *json = &jv->json;

	if (!p)
		return;
	json_put_int(json, "pid", p->pid);
	if (began) {
		json_put_text(json, "exe", p->exe);
		json_put_text(json, "cmdline", p->cmdline);
		return;
	}
	json_put_text(json, "ending", p->ending);
	if (p->status != -1 && WIFEXITED(p->status))
		json_put_int(json, "exit_status", WEXITSTATUS(p->status));
	else if (p->status != -1)
		json_put_int(json, "signal", WTERMSIG(p->status));
}

static void put_fork(struct json_values *jv, const struct fork_event *fork)
{
	json_put_text(&jv->json, "how", fork->how ? fork->how : "fork");
	json_put_bool(&jv->json, "replaced", fork->kind == TRACE_REPLACED);
	if (fork->child)
		json_put_uint(&jv->json, "child",
			      trace_part_process(jv->values.trace, fork->child));
	if (fork->pid)
		json_put_int(&jv->json, "child_pid", fork->pid);
	put_error(&jv->json, fork->error);
}

static void put_mark(struct json_values *jv, const struct mark_event *mark)
{
	static const char *const kinds[] = {
		[TRACE_MARK_POINT] = "point",
		[TRACE_MARK_BEGIN] = "begin",
		[TRACE_MARK_END] = "end",
		[TRACE_MARK_FAULT] = "fault",
	};

	json_put_text(&jv->json, "mark", kinds[mark->kind]);
	json_put_text(&jv->json, "text", mark->text);
}

static void put_memory(struct json_values *jv, const struct memory_event *memory)
{
	json_put_text(&jv->json, "what", memory->what ? memory->what : "memory");
	json_put_uint(&jv->json, "addr", memory->addr);
	json_put_uint(&jv->json, "length", memory->length);
}

static void put_misuse(struct json_values *jv, const struct writer_note_misuse *seen)
{
	bool known = seen->verb < VERB_COUNT;
	struct json *json = &jv->json;

	json_put_text(json, "what",
		      seen->what < MISUSES ? trace_misuse_name(seen->what) : "misuse");
	if (seen->field)
		json_put_text(json, "field", seen->field);
	else
		json_put_text(json, "verb", known ? verb_infos[seen->verb].name : NULL);
	json_values_put_handle(jv, "object", known ? verb_infos[seen->verb].object : OBJECT_cq,
			       seen->handle);
	if (seen->of)
		json_values_put_handle(jv, "batch_of", OBJECT_cq, seen->of);
	if (seen->field)
		json_values_put_enum(jv, "status", enum_find("ibv_wc_status"), seen->status);
	if (seen->other)
		json_put_uint(json, "other_thread", seen->other);
}

/* The object of an event: which process created it, and which destroyed it. */
static void put_life(struct json_values *jv, uint32_t id)
{
	const struct object *object = id ? trace_object(jv->values.trace, id) : NULL;
	struct json *json = &jv->json;

	if (!object)
		return;
	json_open(json, "life", '{');
	json_put_text(json, "object", object->name);
	json_put_uint(json, "id", object->id);
	json_put_uint(json, "handle", object->handle);
	put_id(json, "created", object->created);
	if (object->destroyed.thread)
		put_id(json, "destroyed", object->destroyed);
	json_close(json, '}');
}

static void put_event(const struct json_event *je, struct json_values *jv,
		      const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		put_call(jv, event->call);
		break;
	case TRACE_POST:
		put_post(je, jv, event);
		break;
	case TRACE_POLL:
		put_poll(je, jv, event);
		break;
	case TRACE_NOTIFY:
		put_notify(jv, event->notify);
		break;
	case TRACE_FORK:
		put_fork(jv, event->fork);
		break;
	case TRACE_MARK:
		put_mark(jv, event->mark);
		break;
	case TRACE_MEMORY:
		put_memory(jv, event->memory);
		break;
	case TRACE_MISUSE:
		put_misuse(jv, event->misuse);
		break;
	case TRACE_PROCESS:
	case TRACE_EXIT:
		put_process(jv, event->kind == TRACE_PROCESS);
		break;
	}
}

static void put_place(struct json_values *jv, const struct trace_event *event)
{
	static const char *const kinds[] = {
		[TRACE_CALL] = "call",     [TRACE_RETURN] = "return", [TRACE_POST] = "post",
		[TRACE_POLL] = "poll",     [TRACE_NOTIFY] = "notify", [TRACE_FORK] = "fork",
		[TRACE_MARK] = "mark",     [TRACE_MEMORY] = "memory", [TRACE_MISUSE] = "misuse",
		[TRACE_PROCESS] = "begin", [TRACE_EXIT] = "end",
	};
	struct trace *trace = jv->values.trace;
	const struct thread *thread = trace_thread(trace, event->id.thread);
	struct json *json = &jv->json;

	json_put_int(json, "time_ns", event->time);
	put_id(json, "event", event->id);
	if (trace_nparts(trace) > 1)
		json_put_text(json, "trace",
			      trace_part_name(trace, trace_part_of(trace, event->process)));
	json_put_uint(json, "process", trace_part_process(trace, event->process));
	json_put_text(json, "comm", thread ? thread->comm : NULL);
	if (thread)
		json_put_int(json, "tid", thread->tid);
	json_put_text(json, "kind", kinds[event->kind]);
	if (event->inner)
		json_put_bool(json, "inner", true);
}

int json_event_put(struct json_event *je, const struct trace_event *event,
		   const struct stack *stack, bool marked)
{
	struct json_values *jv = &je->values;
	struct json *json = &jv->json;

	json->comma = false;
	jv->values.process = event->process;
	jv->values.time = event->time;
	jv->values.queue = event_find_queue(event);
	json_open(json, NULL, '{');
	put_place(jv, event);
	if (marked)
		json_put_bool(json, "around", true);
	put_event(je, jv, event);
	if (je->render->full)
		put_life(jv, event_find_object(event));
	if (stack) {
		json_open(json, "stack", '[');
		for (size_t i = 0; i < stack->n; i++)
			json_put_text(json, NULL, stack->functions[i]);
		json_close(json, ']');
	}
	json_close(json, '}');
	text_char(json->out, '\n');
	return json->out->failed ? -ENOMEM : 0;
}
