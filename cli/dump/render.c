/*
 * An event as one line, in the manner of strace
 *
 * A control verb is printed where it begins, with its result. If an argument goes
 * both ways, "=>" is between its values before and after the call.
 */
#include "cli/dump/render.h"

#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/dump/event_object.h"
#include "cli/dump/bytes.h"
#include "cli/dump/choice.h"
#include "cli/format.h"
#include "core/base/digits.h"
#include "core/base/style.h"
#include "cli/dump/fields.h"
#include "cli/dump/names.h"
#include "cli/dump/values.h"
#include "core/store/db/args_visit.h"
#include "core/store/read/trace.h"
#include "core/store/read/joint.h"
#include "core/wire/event.h"
#include "core/base/printable.h"

enum { WC_FLUSHED = 5 }; /* enum ibv_wc_status */

static const struct enum_info *wr_opcodes, *send_flags, *wc_statuses, *wc_opcodes, *wc_flags;

static void find_names(void)
{
	if (wr_opcodes)
		return;
	wr_opcodes = enum_find("ibv_wr_opcode");
	send_flags = enum_find("ibv_send_flags");
	wc_statuses = enum_find("ibv_wc_status");
	wc_opcodes = enum_find("ibv_wc_opcode");
	wc_flags = enum_find("ibv_wc_flags");
}

static void put_error(FILE *out, int error)
{
	const char *name = error > 0 ? strerrorname_np(error) : NULL;

	if (!name)
		return;
	style_put(out, STYLE_ERROR);
	fprintf(out, " %s (%s)", name, strerror(error));
	style_put(out, STYLE_PLAIN);
}

static void put_verb(FILE *out, const char *name)
{
	style_put(out, STYLE_HEAD);
	fputs(name, out);
	style_put(out, STYLE_PLAIN);
	fputc('(', out);
}

static void put_return(const struct values *v, const struct call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const struct object *made = NULL;
	const struct json_node *text = args_find(call->out, ARG(ret));
	char time[FORMAT_TEXT];

	if (call->end < 0) {
		fputs(" = ?  ", v->out);
		style_put(v->out, STYLE_ERROR);
		fputs("never returned", v->out);
		style_put(v->out, STYLE_PLAIN);
		return;
	}
	if (verb->effect == EFFECT_CREATE && call->object)
		made = trace_object(v->trace, call->object);
	if (made && call->ret) {
		fputs(" = ", v->out);
		values_print_object(v, made);
	} else if (text && text->kind == JSON_TEXT) {
		fputs(" = ", v->out);
		print_untrusted_bytes(v->out, text->raw, text->raw_length);
	} else if (verb->fail == FAIL_NULL)
		fprintf(v->out, call->ret ? " = 0x%" PRIx64 : " = NULL", (uint64_t)call->ret);
	else if (verb->returns && verb->ret.kind == FIELD_ENUM) {
		fputs(" = ", v->out);
		values_print_enum(v->out, verb->ret.names, call->ret);
	} else if (verb->returns)
		fprintf(v->out, " = %" PRId64, call->ret);
	if (call->failed)
		put_error(v->out, call_error(call));
	fprintf(v->out, " <%s>", format_time(call->end - call->begin, time));
}

/* The part of a changed object that matters to a reader. */
static void put_keys(const struct values *v, const struct json_node *object)
{
	static const enum arg keys[] = { ARG(ret.lkey), ARG(ret.rkey) };
	const char *sep = "{";

	for (int i = 0; i < 2; i++) {
		const struct json_node *value = args_member(object, keys[i]);

		if (value)
			fprintf(v->out, "%s%s=0x%lx", sep, arg_name(keys[i]),
				value->kind == JSON_INT ? (unsigned long)value->number : 0);
		sep = value ? ", " : sep;
	}
	fputc('}', v->out);
}

static void put_call(const struct values *v, const struct call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];

	put_verb(v->out, verb->name);
	for (unsigned int i = 0; i < verb->args.nfields; i++) {
		const struct field_info *field = &verb->args.fields[i];
		const struct json_node *in = args_field(call->args, field);
		const struct json_node *out = args_field(call->out, field);

		fputs(i ? ", " : "", v->out);
		if (in)
			values_print_field(v, field, in);
		if (in && out)
			fputs(" => ", v->out);
		if (out && field->after)
			put_keys(v, out);
		else if (out)
			values_print_field(v, field, out);
		if (!in && !out)
			fputc('?', v->out);
	}
	fputc(')', v->out);
	put_return(v, call);
	if (call->ours)
		fputs(" [the recorder's own]", v->out);
}

static void put_sge(const struct values *v, const struct wr *wr)
{
	fputs(", sge=[", v->out);
	for (uint32_t i = 0; i < wr->nsge; i++) {
		fputs(i ? ", {addr=" : "{addr=", v->out);
		print_hex(v->out, wr->sge[i].addr);
		fputs(", length=", v->out);
		print_unsigned(v->out, wr->sge[i].length);
		fputs(", lkey=", v->out);
		print_hex(v->out, wr->sge[i].lkey);
		names_print_lkey(v->names, v->out, v->queue, wr->sge[i].lkey, v->time);
		fputc('}', v->out);
	}
	fputc(']', v->out);
	if (wr->num_sge != (int)wr->nsge)
		fprintf(v->out, ", num_sge=%d", wr->num_sge);
}

/* The bytes that were captured. */
static void put_payload(const struct render *r, const struct values *v, struct event_id id,
			uint32_t i)
{
	struct payload payload;

	if (!r->payloads || trace_payload(v->trace, id, i, &payload) <= 0)
		return;
	fputs(", payload={", v->out);
	bytes_print_short(v->out, &payload);
	fputc('}', v->out);
}

bool render_has_key(int opcode)
{
	return opcode == IBV_WR_SEND_WITH_INV || opcode == IBV_WR_LOCAL_INV;
}

static void put_wr(const struct values *v, const struct wr *wr)
{
	fputs("{wr_id=", v->out);
	print_hex(v->out, wr->wr_id);
	if (wr->opcode >= 0) {
		fputs(", opcode=", v->out);
		values_print_enum(v->out, wr_opcodes, wr->opcode);
		fputs(", send_flags=", v->out);
		values_print_flags(v->out, send_flags, wr->send_flags);
	}
	put_sge(v, wr);
	fields_put_wr(v, wr);
	if (wr->imm)
		fprintf(v->out, ", %s=0x%x",
			render_has_key(wr->opcode) ? "invalidate_rkey" : "imm_data", wr->imm);
}

/* How many requests, from @i on, are not selected. */
static uint32_t count_other_wrs(const struct render *r, const struct post *post, uint32_t i)
{
	uint32_t n = 0;

	while (r->choice && i + n < post->nwr && !choice_has_wr(r->choice, &post->wr[i + n]))
		n++;
	return n;
}

static uint32_t count_other_wcs(const struct render *r, const struct poll *poll, uint32_t i)
{
	uint32_t n = 0;

	while (r->choice && i + n < poll->nwc && !choice_has_wc(r->choice, &poll->wc[i + n]))
		n++;
	return n;
}

/* Print that @n other requests or completions were skipped. */
static bool put_skipped_count(const struct render *r, FILE *out, uint32_t n, uint32_t *i)
{
	if (!n || r->full)
		return false;
	fprintf(out, "%u other%s", n, n == 1 ? "" : "s");
	*i += n - 1;
	return true;
}

static void put_post(const struct render *r, const struct values *v,
		     const struct trace_event *event)
{
	const struct post *post = event->post;
	const char *sep = r->full ? ",\n    " : ", ";

	put_verb(v->out, verb_infos[post->verb].name);
	values_print_handle(v, verb_infos[post->verb].object, post->handle);
	fputs(r->full ? ", [\n    " : ", [", v->out);
	for (uint32_t i = 0; i < post->nwr; i++) {
		fputs(i ? sep : "", v->out);
		if (put_skipped_count(r, v->out, count_other_wrs(r, post, i), &i))
			continue;
		put_wr(v, &post->wr[i]);
		put_payload(r, v, event->id, i);
		fputc('}', v->out);
	}
	fputs("]) = ", v->out);
	print_number(v->out, post->ret);
	if (post->ret)
		put_error(v->out, post->ret);
	if (post->bad)
		fprintf(v->out, ", bad_wr is [%u]", post->bad - 1);
}

static void put_request(const struct values *v, const struct wc *wc)
{
	char id[32], latency[FORMAT_TEXT];

	if (!wc->request.thread)
		return;
	fputs(", of ", v->out);
	fputs(event_id_text(wc->request, id), v->out);
	fputc('[', v->out);
	print_unsigned(v->out, wc->request_index);
	fputs("], ", v->out);
	fputs(format_time(v->time - wc->posted_at, latency), v->out);
	fputs(" after it", v->out);
}

/* Other completions have no src_qp: ibv_poll_cq(3). */
bool render_has_sender(const struct render *r, const struct wc *wc)
{
	uint64_t known;

	if (!(wc->opcode & IBV_WC_RECV))
		return false;
	return wc->wc_flags & IBV_WC_GRH || (r->datagrams && map_get(r->datagrams, wc->qp, &known));
}

static void put_success(const struct render *r, const struct values *v, const struct wc *wc)
{
	fputs(", opcode=", v->out);
	values_print_enum(v->out, wc_opcodes, wc->opcode);
	fputs(", byte_len=", v->out);
	print_unsigned(v->out, wc->byte_len);
	if (wc->wc_flags) {
		fputs(", wc_flags=", v->out);
		values_print_flags(v->out, wc_flags, wc->wc_flags);
	}
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		fprintf(v->out, ", imm_data=0x%x", wc->imm);
	else if (wc->wc_flags & IBV_WC_WITH_INV)
		fprintf(v->out, ", invalidated_rkey=0x%x", wc->imm);
	if (render_has_sender(r, wc))
		fprintf(v->out, ", src_qp=0x%x", wc->src_qp);
}

static void put_status(FILE *out, int status)
{
	if (status)
		style_put(out, status == WC_FLUSHED ? STYLE_WARNING : STYLE_ERROR);
	values_print_enum(out, wc_statuses, status);
	if (status)
		style_put(out, STYLE_PLAIN);
}

/* In a failed completion only these are defined: ibv_poll_cq(3). */
static void put_wc(const struct render *r, const struct values *v, const struct wc *wc)
{
	const struct object *qp = wc->qp ? trace_object(v->trace, wc->qp) : NULL;

	fputs("{wr_id=", v->out);
	print_hex(v->out, wc->wr_id);
	fputs(", status=", v->out);
	put_status(v->out, wc->status);
	if (wc->status)
		fprintf(v->out, ", vendor_err=0x%x", wc->vendor_err);
	else
		put_success(r, v, wc);
	fputs(", qp_num=", v->out);
	print_hex(v->out, wc->qp_num);
	if (qp) {
		fputs(" (", v->out);
		values_print_object(v, qp);
		fputc(')', v->out);
	}
	fields_put_wc(v, wc);
	put_request(v, wc);
}

/* How many completions after @i are flushed like it, of the same queue pair. */
static uint32_t count_flushed(const struct poll *poll, uint32_t i)
{
	const struct wc *wc = &poll->wc[i];
	uint32_t n = 0;

	while (wc->status == WC_FLUSHED && i + n + 1 < poll->nwc &&
	       wc[n + 1].status == WC_FLUSHED && wc[n + 1].qp == wc->qp &&
	       wc[n + 1].qp_num == wc->qp_num)
		n++;
	return n;
}

static void put_poll(const struct render *r, const struct values *v,
		     const struct trace_event *event)
{
	const struct poll *poll = event->poll;
	const char *sep = r->full ? ",\n    " : ", ";
	bool iterator = poll->verb != VERB_poll_cq;

	put_verb(v->out, verb_infos[poll->verb].name);
	values_print_handle(v, OBJECT_cq, poll->handle);
	/* the iterator returned 0 if it has a completion, or the error */
	fputs(") = ", v->out);
	print_number(v->out, !iterator ? poll->ret : poll->ret < 0 ? -poll->ret : 0);
	if (iterator && poll->ret < 0)
		put_error(v->out, -poll->ret);
	if (poll->filled && poll->ret > 1)
		fprintf(v->out, " of %d", poll->ret);
	if (poll->nwc)
		fputs(r->full ? " [\n    " : " [", v->out);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		uint32_t flushed = r->brief ? count_flushed(poll, i) : 0;

		fputs(i ? sep : "", v->out);
		if (put_skipped_count(r, v->out, count_other_wcs(r, poll, i), &i))
			continue;
		put_wc(r, v, &poll->wc[i]);
		put_payload(r, v, event->id, i);
		fputc('}', v->out);
		if (flushed)
			fprintf(v->out, ", %u more flushed", flushed);
		i += flushed;
	}
	if (poll->nwc)
		fputc(']', v->out);
	if (poll->empty) {
		fputs(" after ", v->out);
		print_unsigned(v->out, poll->empty);
		fputs(" empty", v->out);
	}
}

static void put_notify(const struct values *v, const struct notify *notify)
{
	put_verb(v->out, "ibv_req_notify_cq");
	values_print_handle(v, OBJECT_cq, notify->handle);
	fprintf(v->out, ", %d) = %d", notify->solicited_only, notify->ret);
	if (notify->ret)
		put_error(v->out, notify->ret);
}

static void put_process_end(FILE *out, const struct process *p)
{
	const char *how = p->ending ? p->ending : "";
	char text[PROCESS_TEXT];

	fprintf(out, "+++ %s (pid %d) has ended", process_id_text(p->id, text), p->pid);
	if (!strcmp(how, "exec"))
		fputs(" by exec", out);
	else if (p->status != -1 && WIFEXITED(p->status)) {
		fputs(" by ", out);
		print_untrusted(out, *how ? how : "exit");
		fprintf(out, "(%d)", WEXITSTATUS(p->status));
	} else if (p->status != -1) {
		fprintf(out, ", killed by signal %d", WTERMSIG(p->status));
	} else if (*how) {
		fputs(", ", out);
		print_untrusted(out, how);
	}
	fputs(" +++", out);
}

static void put_process(const struct values *v, bool began)
{
	const struct process *p = trace_process(v->trace, v->process);
	char text[PROCESS_TEXT];

	if (!p)
		return;
	if (!began) {
		put_process_end(v->out, p);
		return;
	}
	fprintf(v->out, "+++ %s: pid %d, ", process_id_text(p->id, text), p->pid);
	print_untrusted(v->out, p->cmdline && *p->cmdline ? p->cmdline : p->exe ? p->exe : "?");
	fputs(" +++", v->out);
}

static void put_fork(const struct values *v, const struct fork_event *fork)
{
	const struct process *child = fork->child ? trace_process(v->trace, fork->child) : NULL;
	const char *how = fork->how ? fork->how : "fork";
	const char *who = fork->kind == TRACE_REPLACED ? "new program" : "child";
	char text[PROCESS_TEXT];

	print_untrusted(v->out, how);
	fputs("()", v->out);
	if (fork->error) {
		fputs(" failed", v->out);
		put_error(v->out, fork->error);
	} else if (fork->kind == TRACE_REPLACED && child) {
		fprintf(v->out, ", from here on %s", process_id_text(child->id, text));
	} else if (child) {
		fprintf(v->out, " = %d, %s", child->pid, process_id_text(child->id, text));
	} else if (!strcmp(how, "system") || !strcmp(how, "popen")) {
		/* a shell calls no verb, though its children may */
		fputs("  runs a shell", v->out);
	} else if (!strcmp(how, "vfork")) {
		/* table coverage says whether it called verbs */
		fputs("  the child, which shares the memory of this process, is not recorded",
		      v->out);
	} else if (fork->pid) {
		fprintf(v->out, " = %d  the %s called no verb", fork->pid, who);
	} else {
		fprintf(v->out, " = ?  the %s called no verb", who);
	}
}

static void put_mark(const struct values *v, const struct mark_event *mark)
{
	static const char *const kinds[] = { [TRACE_MARK_POINT] = "---",
					     [TRACE_MARK_BEGIN] = "--> begin",
					     [TRACE_MARK_END] = "<-- end",
					     [TRACE_MARK_FAULT] = "!!! injected fault:" };

	fprintf(v->out, "%s ", kinds[mark->kind]);
	print_untrusted(v->out, mark->text);
}

static void put_memory(const struct values *v, const struct memory_event *memory)
{
	fprintf(v->out, "%s 0x%" PRIx64 " to 0x%" PRIx64 ", registered memory",
		memory->what ? memory->what : "memory", memory->addr,
		memory->addr + memory->length);
}

static void put_misuse(const struct values *v, const struct writer_note_misuse *seen)
{
	const struct enum_info *statuses = enum_find("ibv_wc_status");
	bool known = seen->verb < VERB_COUNT;

	fputs(seen->what < MISUSES ? trace_misuse_name(seen->what) : "misuse", v->out);
	if (seen->field)
		fprintf(v->out, ": ibv_wc_read_%s(", seen->field);
	else
		fprintf(v->out, ": %s(", known ? verb_infos[seen->verb].name : "?");
	values_print_handle(v, known ? verb_infos[seen->verb].object : OBJECT_cq, seen->handle);
	fputc(')', v->out);
	if (seen->of)
		fputs(", in a batch of ", v->out), values_print_handle(v, OBJECT_cq, seen->of);
	if (seen->field)
		fputs(", status ", v->out), values_print_enum(v->out, statuses, seen->status);
	if (seen->other)
		fprintf(v->out, ", thread %u is in it",
			trace_part_event(v->trace, (struct event_id){ .thread = seen->other })
				.thread);
}

void render_event(const struct render *r, const struct trace_event *event)
{
	struct values v = { .out = r->out,
			    .trace = r->trace,
			    .process = event->process,
			    .time = event->time,
			    .names = r->names,
			    .beside = r->beside,
			    .queue = event_find_queue(event) };

	find_names();
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		v.outside = values_outside(event->call);
		put_call(&v, event->call);
		break;
	case TRACE_POST:
		put_post(r, &v, event);
		break;
	case TRACE_POLL:
		put_poll(r, &v, event);
		break;
	case TRACE_NOTIFY:
		put_notify(&v, event->notify);
		break;
	case TRACE_FORK:
		put_fork(&v, event->fork);
		break;
	case TRACE_MARK:
		put_mark(&v, event->mark);
		break;
	case TRACE_MEMORY:
		put_memory(&v, event->memory);
		break;
	case TRACE_MISUSE:
		put_misuse(&v, event->misuse);
		break;
	case TRACE_PROCESS:
	case TRACE_EXIT:
		put_process(&v, event->kind == TRACE_PROCESS);
		break;
	}
	if (event->inner)
		fputs(" [inner]", r->out);
}
