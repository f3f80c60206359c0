#pragma once
/*
 * The events that a cursor returns as text, with all of their fields. Not thread-safe.
 */
#include <inttypes.h>

#include "core/store/read/trace.h"
#include "tests/test.h"
#include "tests/transcript.h"

static inline void events_add_call(struct text *out, const struct call *call)
{
	text_addf(out,
		  " %s begin %" PRId64 " end %" PRId64 " ret %" PRId64 " error %d depth %u%s%s"
		  " stack %u object %u handle %" PRIu64 " args %s out %s",
		  verb_infos[call->verb].name, call->begin, call->end, call->ret, call->error,
		  call->depth, call->ours ? " ours" : "", call->failed ? " failed" : "",
		  call->stack, call->object, call->handle, call->args ? args_json(call->args) : "-",
		  call->out ? args_json(call->out) : "-");
}

static inline void events_add_wr(struct text *out, const struct wr *wr)
{
#define MEMBER(family, column, name, member, type, wire) \
	if (wr->name)                                    \
		text_addf(out, " %s %" PRIu64, #name, (uint64_t)wr->name);
#define PART_MEMBERS(NAME, part) FIELDS_##NAME(MEMBER)

	text_addf(out, "\n\t\twr_id %" PRIu64 " opcode %d send_flags %u num_sge %d imm %u",
		  wr->wr_id, wr->opcode, wr->send_flags, wr->num_sge, wr->imm);
	EACH_SHOWN_PART(PART_MEMBERS)
	for (uint32_t i = 0; i < wr->nsge; i++)
		text_addf(out, " (%" PRIu64 " %u %u)", wr->sge[i].addr, wr->sge[i].length,
			  wr->sge[i].lkey);
#undef PART_MEMBERS
#undef MEMBER
}

static inline void events_add_post(struct text *out, const struct post *post)
{
	text_addf(out, " %s object %u handle %" PRIu64 " ret %d bad %u stack %u",
		  verb_infos[post->verb].name, post->object, post->handle, post->ret, post->bad,
		  post->stack);
	for (uint32_t i = 0; i < post->nwr; i++)
		events_add_wr(out, &post->wr[i]);
}

static inline void events_add_wc(struct text *out, const struct wc *wc)
{
	char request[32], other[32];

#define MEMBER(family, column, name, member, type, wire) \
	if (wc->name)                                    \
		text_addf(out, " %s %" PRIu64, #name, (uint64_t)wc->name);
	text_addf(out, "\n\t\t");
	FIELDS_WC(MEMBER)
	FIELDS_EXTRA(MEMBER)
#undef MEMBER
	text_addf(out, " of qp %u request %s[%u] posted %" PRId64 " candidates %u", wc->qp,
		  event_id_text(wc->request, request), wc->request_index, wc->posted_at,
		  wc->candidates);
	if (wc->other.thread)
		text_addf(out, " other %s[%u] posted %" PRId64, event_id_text(wc->other, other),
			  wc->other_index, wc->other_posted_at);
}

static inline void events_add_poll(struct text *out, const struct poll *poll)
{
	text_addf(out, " %s object %u handle %" PRIu64 " ret %d empty %" PRIu64 " stack %u",
		  verb_infos[poll->verb].name, poll->object, poll->handle, poll->ret, poll->empty,
		  poll->stack);
	for (uint32_t i = 0; i < poll->nwc; i++)
		events_add_wc(out, &poll->wc[i]);
}

static inline void events_add_rest(struct text *out, const struct trace_event *event)
{
	if (event->kind == TRACE_NOTIFY)
		text_addf(out, " notify object %u handle %" PRIu64 " solicited %d ret %d",
			  event->notify->object, event->notify->handle,
			  event->notify->solicited_only, event->notify->ret);
	if (event->kind == TRACE_FORK)
		text_addf(out, " %s child %u stack %u kind %d pid %d error %d staying %s",
			  event->fork->how, event->fork->child, event->fork->stack,
			  event->fork->kind, event->fork->pid, event->fork->error,
			  event->fork->staying ?: "-");
	if (event->kind == TRACE_MARK)
		text_addf(out, " mark %d '%s'", event->mark->kind, event->mark->text);
	if (event->kind == TRACE_MEMORY)
		text_addf(out, " %s %" PRIu64 " %" PRIu64 " stack %u", event->memory->what,
			  event->memory->addr, event->memory->length, event->memory->stack);
	if (event->kind == TRACE_MISUSE)
		text_addf(out,
			  " %s verb %d field %s status %d handle %" PRIu64 " of %" PRIu64
			  " other %u verb %d stack %u",
			  trace_misuse_name(event->misuse->what), event->misuse->verb < VERB_COUNT,
			  event->misuse->field ?: "-", event->misuse->status, event->misuse->handle,
			  event->misuse->of, event->misuse->other,
			  event->misuse->other_verb < VERB_COUNT, event->misuse->stack);
}

static inline void events_add(struct text *out, const struct trace_event *event)
{
	char id[32];

	text_addf(out, "\t%s kind %d process %u time %" PRId64 "%s%s", event_id_text(event->id, id),
		  event->kind, event->process, event->time, event->inner ? " inner" : "",
		  event->carried ? " carried" : "");
	if (event->kind == TRACE_CALL || event->kind == TRACE_RETURN)
		events_add_call(out, event->call);
	else if (event->kind == TRACE_POST)
		events_add_post(out, event->post);
	else if (event->kind == TRACE_POLL)
		events_add_poll(out, event->poll);
	else
		events_add_rest(out, event);
	text_addf(out, "\n");
}

static inline void events_add_payload(struct text *out, struct trace *trace, struct event_id id,
				      uint32_t i)
{
	struct payload payload;

	if (trace_payload(trace, id, i, &payload) != 1)
		return;
	text_addf(out,
		  "\t\t[%u] %s why %s total %" PRIu64 " before %u hashed %d hash %" PRIx64 ": ", i,
		  payload.kind, payload.why ?: "-", payload.total, payload.before, payload.hashed,
		  payload.hash);
	for (uint64_t byte = 0; byte < payload.nbytes; byte++)
		text_addf(out, "%02x", ((const uint8_t *)payload.bytes)[byte]);
	text_addf(out, "\n");
}

static inline void events_add_payloads(struct text *out, struct trace *trace,
				       const struct trace_event *event)
{
	uint32_t n = event->kind == TRACE_POST   ? event->post->nwr
		     : event->kind == TRACE_POLL ? event->poll->nwc
						 : 0;
	struct event_id id = event->id;

	for (uint32_t i = 0; i < n && trace_has_payloads(trace); i++)
		events_add_payload(out, trace, id, i);
}

/* All events of @filter, below @name. */
static inline void events_add_all(struct text *out, struct trace *trace,
				  const struct trace_filter *filter, const char *name)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int more;

	text_addf(out, "%s:\n", name);
	assert_int_equal(cursor_open(trace, filter, &cursor), 0);
	while ((more = cursor_next(cursor, &event)) > 0) {
		events_add(out, event);
		events_add_payloads(out, trace, event);
	}
	assert_int_equal(more, 0);
	cursor_close(cursor);
}
