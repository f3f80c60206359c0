#pragma once
/*
 * The events of a ring as text, with all of their fields. Not thread-safe.
 *
 * Addresses, which differ in each run, are named by their order of appearance: @1, @2. Times are
 * not shown, nor where a call stack leads; that they are there is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core/base/text.h"
#include "core/wire/codec.h"
#include "core/wire/event.h"
#include "tests/test.h"

enum { RING_TEXT_ADDRESSES = 4096 };

struct ring_text {
	struct text *out;
	uint64_t addresses[RING_TEXT_ADDRESSES];
	unsigned int naddresses;
	uint64_t last; /* address */
	bool timed;    /* numbers of empty polls are not shown, */
	bool brief;    /* arguments of calls are not shown either */
	/*
	 * What depends on the speed of threads or on places in the code is not shown: numbers of
	 * events and call stacks, and which of several polls returned a completion.
	 */
	bool loose;
	bool unnamed; /* addresses of identifiers and events of librdmacm, which allocates anew */
};

/* Addresses of programs lie there; other numbers are smaller, or negative. */
static inline bool ring_text_is_address(uint64_t value)
{
	return value >> 40 && value >> 40 < 0x80;
}

static inline void ring_text_number(struct ring_text *r, const char *name, uint64_t value)
{
	unsigned int i = 0;

	if (r->last && value == (uint64_t)(int64_t)(int32_t)r->last) {
		text_addf(r->out, " %s ?", name); /* of a union, the half of an address */
		return;
	}
	if (!ring_text_is_address(value)) {
		text_addf(r->out, " %s %" PRId64, name, (int64_t)value);
		return;
	}
	r->last = value;
	if (r->unnamed) {
		text_addf(r->out, " %s @", name);
		return;
	}
	while (i < r->naddresses && r->addresses[i] != value)
		i++;
	assert_true(i < RING_TEXT_ADDRESSES);
	if (i == r->naddresses)
		r->addresses[r->naddresses++] = value;
	text_addf(r->out, " %s @%u", name, i + 1);
}

/* What is at @address from now on is something else. */
static inline void ring_text_forget(struct ring_text *r, uint64_t address)
{
	for (unsigned int i = 0; i < r->naddresses; i++)
		if (r->addresses[i] == address)
			r->addresses[i] = 0;
}

static inline void ring_text_bytes(struct ring_text *r, const char *name, const void *bytes,
				   size_t n)
{
	const uint8_t *at = bytes;
	/* of a socket, with a port that may be chosen by the kernel, and this machine's address */
	bool is_address = n >= 16 && !at[1] && (at[0] == AF_INET || at[0] == AF_INET6);
	size_t own = r->loose && is_address ? at[0] == AF_INET ? 8 : 4 : 0;

	text_addf(r->out, " %s '", name);
	for (size_t i = 0; i < n; i++)
		if (i >= 2 && i < own)
			text_addf(r->out, i == 2 ? "PORT" : "");
		else if (at[i] >= ' ' && at[i] < 127)
			text_char(r->out, (char)at[i]);
		else
			text_addf(r->out, "\\%02x", at[i]);
	text_addf(r->out, "'");
}

static inline void ring_text_see_number(void *arg, const struct field_info *field, int64_t value)
{
	size_t n = strlen(field->name);
	bool is_fd = n >= 2 && !strcmp(field->name + n - 2, "fd");

	/* descriptors depend on those that were open before */
	ring_text_number(arg, field->name, is_fd && value > 2 ? 3 : (uint64_t)value);
}

static inline void ring_text_see_text(void *arg, const struct field_info *field, const char *text,
				      size_t bytes)
{
	ring_text_bytes(arg, field->name, text, bytes);
}

static inline void ring_text_see_null(void *arg, const struct field_info *field)
{
	struct ring_text *r = arg;

	text_addf(r->out, " %s NULL", field->name);
}

static inline void ring_text_begin(void *arg, const struct field_info *field, size_t count)
{
	struct ring_text *r = arg;

	text_addf(r->out, " %s[%zu]{", field->name, count);
}

static inline void ring_text_end(void *arg, const struct field_info *field)
{
	struct ring_text *r = arg;

	(void)field;
	text_addf(r->out, " }");
}

static inline struct codec_visitor ring_text_visitor(struct ring_text *r)
{
	return (struct codec_visitor){ .number = ring_text_see_number,
				       .text = ring_text_see_text,
				       .null = ring_text_see_null,
				       .begin = ring_text_begin,
				       .end = ring_text_end,
				       .arg = r };
}

static inline void ring_text_call(struct ring_text *r, const struct event_call *call)
{
	const struct codec_visitor visitor = ring_text_visitor(r);
	const uint64_t *args = (const uint64_t *)(call + 1) + call->nframes;

	r->unnamed = r->loose && verb_infos[call->verb].via == VIA_CM;
	text_addf(r->out, " %s depth %u%s", verb_infos[call->verb].name, call->depth,
		  call->nframes && !r->loose ? " stack" : "");
	if (!r->brief)
		codec_visit(args, call->nargs, &verb_infos[call->verb].args, &visitor);
}

static inline void ring_text_return(struct ring_text *r, const struct event_return *back)
{
	const struct codec_visitor visitor = ring_text_visitor(r);
	const struct verb_info *info = &verb_infos[back->verb];
	const uint64_t *outs = (const uint64_t *)(back + 1);
	bool is_port; /* that may be chosen by the kernel */
	ssize_t used;

	r->unnamed = r->loose && info->via == VIA_CM;
	if (r->loose) /* a verb that succeeds leaves some error */
		text_addf(r->out, " %s error %d", info->name,
			  verb_failed(back->verb, back->ret) ? back->error : 0);
	else
		text_addf(r->out, " %s of %u error %d", info->name, back->call_seq, back->error);
	if (r->loose && info->effect == EFFECT_CREATE)
		ring_text_forget(r, (uint64_t)back->ret);
	is_port = r->loose && strstr(info->name, "rdma_get_") && strstr(info->name, "_port");
	ring_text_number(r, "ret", is_port ? back->ret != 0 : (uint64_t)back->ret);
	if (r->brief)
		return;
	used = back->nouts ? codec_visit(outs, back->nouts, &info->args, &visitor) : 0;
	if (used < 0 || (size_t)used == back->nouts)
		return;
	text_addf(r->out, " new");
	if (info->ret.kind == FIELD_OBJS)
		codec_visit_objects(outs + used, back->nouts - (size_t)used, &info->ret, &visitor);
	else if (info->effect == EFFECT_CREATE)
		codec_visit(outs + used, back->nouts - (size_t)used, &object_infos[info->object],
			    &visitor);
	else
		text_addf(r->out, " %zu words", back->nouts - (size_t)used);
}

/* One request. Returns the place of the next. */
static inline const char *ring_text_wr(struct ring_text *r, const char *at)
{
	const struct event_wr *wr = (const void *)at;
	const struct event_sge *sge;

#define MEMBER(family, column, name, member, type, wire) \
	ring_text_number(r, #name, (uint64_t)(type)(part)->member);
#define PART(NAME, name)                                      \
	if (wr->parts & WR_##NAME) {                          \
		const struct event_##name *part = (void *)at; \
                                                              \
		FIELDS_##NAME(MEMBER) at += sizeof(*part);    \
	}
	text_addf(r->out, "\n\t\t");
	{
		const struct event_wr *part = wr;

		FIELDS_WR(MEMBER)
	}
	at += sizeof(*wr);
	EACH_PART(PART)
#undef PART
#undef MEMBER
	sge = (const void *)at;
	for (unsigned int i = 0; i < wr->nsge; i++, sge++) {
		ring_text_number(r, "(addr", sge->addr);
		text_addf(r->out, " %u %u)", sge->length, sge->lkey);
	}
	return (const char *)sge;
}

static inline void ring_text_post(struct ring_text *r, const struct event_post *post)
{
	const char *at = (const char *)(post + 1);

	ring_text_number(r, verb_infos[post->verb].name, post->object);
	text_addf(r->out, " ret %d bad %u", post->ret, post->bad);
	if (!r->loose)
		text_addf(r->out, " site %u", post->site);
	for (unsigned int i = 0; i < post->nwr; i++)
		at = ring_text_wr(r, at);
}

static inline void ring_text_poll(struct ring_text *r, const struct event_poll *poll, size_t bytes)
{
	const struct event_wc *wcs = (const void *)(poll + 1);
	const struct event_wc_extra *extras = event_poll_extras(poll);
	const struct event_stack *stack = event_poll_stack(poll, bytes);

#define MEMBER(family, column, name, member, type, wire) \
	if (part->member)                                \
		ring_text_number(r, #name, (uint64_t)(type)part->member);
	ring_text_number(r, "cq", poll->cq);
	if (!r->loose)
		text_addf(r->out, " ret %d empty %" PRIu64 "%s", poll->ret,
			  r->timed ? 0 : poll->empty, stack && stack->nframes ? " stack" : "");
	for (unsigned int i = 0; i < poll->nwc; i++) {
		const struct event_wc *part = &wcs[i];

		text_addf(r->out, "\n\t\t");
		FIELDS_WC(MEMBER)
		if (poll->head.flags & EVENT_EXTRA)
			text_addf(r->out, " parts %u cvlan %u flow_tag %u", extras[i].parts,
				  extras[i].cvlan, extras[i].flow_tag);
	}
#undef MEMBER
}

static inline void ring_text_payload(struct ring_text *r, const struct event_payload *payload)
{
	ring_text_number(r, "object", payload->object);
	text_addf(r->out,
		  " total %" PRIu64 " offset %" PRIu64 " hash %" PRIx64
		  " of %u index %u kind %u why %u before %u flags %u",
		  payload->total, payload->offset, payload->hash, payload->of, payload->index,
		  payload->kind, payload->why, payload->before, payload->flags);
	ring_text_bytes(r, "bytes", payload + 1, payload->bytes);
}

static inline void ring_text_rest(struct ring_text *r, const struct event_head *head)
{
	const struct event_notify *notify = (const void *)head;
	const struct event_count *count = (const void *)head;
	const struct event_blind *blind = (const void *)head;
	const struct event_mark *mark = (const void *)head;
	const struct event_site *site = (const void *)head;
	const struct event_misuse *misuse = (const void *)head;
	const struct event_memory *memory = (const void *)head;
	const struct event_fork *forked = (const void *)head;
	const struct event_spawned *spawned = (const void *)head;
	const struct event_exit *ended = (const void *)head;
	const struct event_direct *direct = (const void *)head;

	if (head->type == EVENT_FORK) {
		text_addf(r->out, " %u how %u%s descriptors %u", forked->fork_seq, forked->how,
			  forked->nframes ? " stack" : "", forked->ndescriptors);
	} else if (head->type == EVENT_SPAWNED) {
		text_addf(r->out, " %u %s error %d", spawned->fork_seq, spawned->pid ? "pid" : "-",
			  spawned->error);
	} else if (head->type == EVENT_EXIT) {
		text_addf(r->out, " how %u status %d", ended->how, ended->status);
	} else if (head->type == EVENT_DIRECT) {
		text_addf(r->out, " how %u", direct->how);
		ring_text_bytes(r, "name", direct + 1, direct->bytes);
	} else if (head->type == EVENT_NOTIFY) {
		ring_text_number(r, "cq", notify->cq);
		text_addf(r->out, " solicited %d ret %d", notify->solicited_only, notify->ret);
	} else if (head->type == EVENT_COUNT) {
		ring_text_number(r, "cq", count->cq);
		text_addf(r->out, " empty %" PRIu64, r->timed ? 0 : count->empty);
	} else if (head->type == EVENT_BLIND) {
		text_addf(r->out, " what %u", blind->what);
		ring_text_number(r, "object", blind->object);
	} else if (head->type == EVENT_MARK) {
		text_addf(r->out, " kind %u", mark->kind);
		ring_text_bytes(r, "text", mark + 1, mark->bytes);
	} else if (head->type == EVENT_SITE) {
		text_addf(r->out, " %u%s", site->site, site->nframes ? " stack" : "");
	} else if (head->type == EVENT_MISUSE) {
		text_addf(r->out, " what %u verb %u", misuse->what, misuse->verb);
	} else if (head->type == EVENT_MEMORY) {
		ring_text_number(r, "addr", memory->addr);
		text_addf(r->out, " length %" PRIu64 " what %u%s", memory->length, memory->what,
			  memory->nframes ? " stack" : "");
	}
}

/* Does it tell where a thread was, or how fast? */
static inline bool ring_text_varies(const struct event_head *head)
{
	const struct event_poll *poll = (const void *)head;

	return head->type == EVENT_COUNT || head->type == EVENT_SITE ||
	       head->type == EVENT_THREAD || head->type == EVENT_MEMORY ||
	       (head->type == EVENT_POLL && !poll->nwc);
}

/* Events of processes, whose texts belong to the machine, and the mapped files are left out. */
static inline void ring_text_add(struct ring_text *r, const struct event_head *head, size_t bytes)
{
	static const char *const names[EVENT_TYPES] = {
		[EVENT_FORK] = "fork",       [EVENT_CALL] = "call",     [EVENT_RETURN] = "return",
		[EVENT_POST] = "post",       [EVENT_POLL] = "poll",     [EVENT_NOTIFY] = "notify",
		[EVENT_COUNT] = "count",     [EVENT_BLIND] = "blind",   [EVENT_MARK] = "mark",
		[EVENT_SPAWNED] = "spawned", [EVENT_EXIT] = "exit",     [EVENT_THREAD] = "thread",
		[EVENT_PAYLOAD] = "payload", [EVENT_SITE] = "site",     [EVENT_DIRECT] = "direct",
		[EVENT_MEMORY] = "memory",   [EVENT_MISUSE] = "misuse",
	};

	if (head->type >= EVENT_TYPES || !names[head->type])
		return;
	if (r->brief && (head->flags & EVENT_OURS || head->type == EVENT_CALL) &&
	    head->type != EVENT_MARK)
		return;
	if (r->loose && (head->flags & EVENT_OURS || ring_text_varies(head)))
		return;
	r->unnamed = false;
	text_addf(r->out, "\t%u %s flags %u", r->loose ? 0 : head->seq, names[head->type],
		  head->flags & ~(r->loose && head->type == EVENT_POLL ? EVENT_STACK : 0));
	if (head->type == EVENT_CALL)
		ring_text_call(r, (const void *)head);
	else if (head->type == EVENT_RETURN)
		ring_text_return(r, (const void *)head);
	else if (head->type == EVENT_POST)
		ring_text_post(r, (const void *)head);
	else if (head->type == EVENT_POLL)
		ring_text_poll(r, (const void *)head, bytes);
	else if (head->type == EVENT_PAYLOAD)
		ring_text_payload(r, (const void *)head);
	else
		ring_text_rest(r, head);
	text_addf(r->out, "\n");
}
