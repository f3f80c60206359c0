/*
 * libverbatim-lttng.so: the recorder's events as tracepoints of LTTng-UST
 *
 *	libverbatim.so --- tap (core/wire/tap.h) --> tracepoint of the event's verb
 *
 * There is one function for each tracepoint, found by the verb's number. Disabled tracepoints cost
 * nothing.
 *
 * LTTng's threads do not survive fork. We call LTTng's fork handlers, unless liblttng-ust-fork.so
 * does.
 *
 * Not here: the fields of a tracepoint (points.h), arguments as text (text.c).
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_HIDDEN_DEFINITION
#define LTTNG_UST_TRACEPOINT_PROVIDER_HIDDEN_DEFINITION
#include "shim/lttng/points.h"

#include <dlfcn.h>
#include <lttng/ust-fork.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/tap.h"

typedef void point_fn(struct point *point);

/* A control verb has two tracepoints, a data verb one. */
#define CONTROL(verb)                                                      \
	static void begin_##verb(struct point *point)                      \
	{                                                                  \
		if (!lttng_ust_tracepoint_enabled(verbatim, verb##_begin)) \
			return;                                            \
		text_of_call(point);                                       \
		lttng_ust_do_tracepoint(verbatim, verb##_begin, point);    \
	}                                                                  \
	static void end_##verb(struct point *point)                        \
	{                                                                  \
		if (!lttng_ust_tracepoint_enabled(verbatim, verb##_end))   \
			return;                                            \
		text_of_return(point);                                     \
		lttng_ust_do_tracepoint(verbatim, verb##_end, point);      \
	}
#define DATA(verb)                                           \
	static void data_##verb(struct point *point)         \
	{                                                    \
		lttng_ust_tracepoint(verbatim, verb, point); \
	}
POINTS_CONTROL(CONTROL)
POINTS_DATA(DATA)

#define BEGIN_ROW(verb) [VERB_##verb] = begin_##verb,
#define END_ROW(verb)   [VERB_##verb] = end_##verb,
#define DATA_ROW(verb)  [VERB_##verb] = data_##verb,
static point_fn *const begins[VERB_COUNT] = { POINTS_CONTROL(BEGIN_ROW) };
static point_fn *const ends[VERB_COUNT] = { POINTS_CONTROL(END_ROW) };
static point_fn *const datas[VERB_COUNT] = { POINTS_DATA(DATA_ROW) };

static void begin_point(struct point *point, const struct ring_head *head,
			const struct clock *clock)
{
	point->ring = head;
	point->clock = clock;
	point->since = clock_absolute(clock, head->ticks);
	point->text[0] = '\0';
}

/* Describe the ring's thread by a copy of its head, with times as CLOCK_MONOTONIC. */
static void fill_thread(struct point *point, struct ring_head *copy, const struct ring_head *head,
			const struct clock *clock)
{
	memcpy(copy, head, sizeof(*copy));
	begin_point(point, copy, clock);
	copy->ticks = point->since;
	if (copy->closed)
		copy->closed = clock_absolute(clock, copy->closed);
	if (copy->dropped) {
		copy->drop_first = clock_absolute(clock, copy->drop_first);
		copy->drop_last = clock_absolute(clock, copy->drop_last);
	}
	point->time = clock_absolute(clock, clock_ticks(clock->kind));
	snprintf(point->text, sizeof(point->text), "%.*s", (int)sizeof(head->comm), head->comm);
}

static void on_begin(const struct ring_head *head, const struct clock *clock)
{
	struct ring_head copy;
	struct point point;

	if (!lttng_ust_tracepoint_enabled(verbatim, thread_begin))
		return;
	fill_thread(&point, &copy, head, clock);
	lttng_ust_do_tracepoint(verbatim, thread_begin, &point);
}

static void on_end(const struct ring_head *head, const struct clock *clock)
{
	struct ring_head copy;
	struct point point;

	if (!lttng_ust_tracepoint_enabled(verbatim, thread_end))
		return;
	fill_thread(&point, &copy, head, clock);
	lttng_ust_do_tracepoint(verbatim, thread_end, &point);
}

static const char *read_sges(struct point_part *part, const char *at)
{
	const struct event_sge *sge = (const void *)at;

	part->bytes = 0;
	for (unsigned int i = 0; i < part->wr->nsge && i < POINT_SGES; i++) {
		part->addr[i] = sge[i].addr;
		part->length[i] = sge[i].length;
		part->lkey[i] = sge[i].lkey;
		part->bytes += sge[i].length;
	}
	return (const char *)(sge + part->wr->nsge);
}

/*
 * Read the parts of a request, and skip them. The remote address is the first part, if it has one.
 */
static const char *read_parts(struct point_part *part, const char *at)
{
	part->remote_addr = part->rkey = 0;
	if (part->wr->parts & WR_RDMA) {
		part->remote_addr = ((const struct event_rdma *)at)->remote_addr;
		part->rkey = ((const struct event_rdma *)at)->rkey;
	}
	return at + wr_parts_bytes(part->wr->parts);
}

static void each_wr(const struct point *point)
{
	const struct event_post *post = (const void *)point->event;
	const char *at = (const char *)(post + 1);
	struct point_part part = { .of = point, .object = post->object };

	for (; part.index < post->nwr; part.index++) {
		part.wr = (const void *)at;
		at = read_parts(&part, at + sizeof(*part.wr));
		at = read_sges(&part, at);
		lttng_ust_do_tracepoint(verbatim, wr, &part);
	}
}

static void each_wc(const struct point *point)
{
	static const struct event_wc_extra none;
	const struct event_poll *poll = (const void *)point->event;
	struct point_part part = { .of = point, .object = poll->cq, .extra = &none };

	for (; part.index < poll->nwc; part.index++) {
		if (poll->head.flags & EVENT_EXTRA)
			part.extra = event_poll_extras(poll) + part.index;
		part.wc = (const struct event_wc *)(poll + 1) + part.index;
		lttng_ust_do_tracepoint(verbatim, wc, &part);
	}
}

static void call_point(point_fn *const table[], unsigned int verb, struct point *point)
{
	if (verb < VERB_COUNT && table[verb])
		table[verb](point);
	else
		lttng_ust_tracepoint(verbatim, other, point);
}

static void put_text(struct point *point, const void *text, size_t bytes)
{
	snprintf(point->text, sizeof(point->text), "%.*s", (int)bytes, (const char *)text);
}

/* Emit the tracepoint of a rare event, or of an event that is not a verb. */
static void emit_rare_event(struct point *point)
{
	const void *event = point->event;

	switch (point->event->type) {
	case EVENT_PROCESS:
		put_text(point, (const struct event_process *)event + 1,
			 ((const struct event_process *)event)->exe_bytes);
		lttng_ust_tracepoint(verbatim, process, point);
		break;
	case EVENT_MODULE:
		put_text(point, (const struct event_module *)event + 1,
			 ((const struct event_module *)event)->path_bytes);
		lttng_ust_tracepoint(verbatim, module, point);
		break;
	case EVENT_MARK:
		put_text(point, (const struct event_mark *)event + 1,
			 ((const struct event_mark *)event)->bytes);
		lttng_ust_tracepoint(verbatim, mark, point);
		break;
	case EVENT_DIRECT:
		put_text(point, (const struct event_direct *)event + 1,
			 ((const struct event_direct *)event)->bytes);
		lttng_ust_tracepoint(verbatim, direct, point);
		break;
	case EVENT_FORK:
		lttng_ust_tracepoint(verbatim, fork, point);
		break;
	case EVENT_SPAWNED:
		lttng_ust_tracepoint(verbatim, spawned, point);
		break;
	case EVENT_EXIT:
		lttng_ust_tracepoint(verbatim, exit, point);
		break;
	case EVENT_COUNT:
		lttng_ust_tracepoint(verbatim, poll_count, point);
		break;
	case EVENT_SITE:
		lttng_ust_tracepoint(verbatim, site, point);
		break;
	case EVENT_BLIND:
		lttng_ust_tracepoint(verbatim, blind, point);
		break;
	default:
		lttng_ust_tracepoint(verbatim, other, point);
	}
}

static void on_event(const struct ring_head *head, const struct clock *clock,
		     const struct event_head *event)
{
	struct point point;

	begin_point(&point, head, clock);
	point.event = event;
	point.time = clock_absolute(clock, event->ticks);
	switch (event->type) {
	case EVENT_CALL:
		call_point(begins, ((const struct event_call *)event)->verb, &point);
		break;
	case EVENT_RETURN:
		call_point(ends, ((const struct event_return *)event)->verb, &point);
		break;
	case EVENT_POST:
		call_point(datas, ((const struct event_post *)event)->verb, &point);
		if (lttng_ust_tracepoint_enabled(verbatim, wr))
			each_wr(&point);
		break;
	case EVENT_POLL:
		data_poll_cq(&point);
		if (lttng_ust_tracepoint_enabled(verbatim, wc))
			each_wc(&point);
		break;
	case EVENT_NOTIFY:
		data_req_notify_cq(&point);
		break;
	default:
		emit_rare_event(&point);
	}
}

static sigset_t fork_mask;

static void before_fork(void)
{
	lttng_ust_before_fork(&fork_mask);
}

static void after_fork_parent(void)
{
	lttng_ust_after_fork_parent(&fork_mask);
}

static void after_fork_child(void)
{
	lttng_ust_after_fork_child(&fork_mask);
}

/* Does liblttng-ust-fork.so call the fork handlers? It interposes fork(). */
static bool are_forks_handled(void)
{
	Dl_info who;

	return dladdr(dlsym(RTLD_DEFAULT, "fork"), &who) && who.dli_fname &&
	       strstr(who.dli_fname, "lttng-ust-fork");
}

static struct tap tap = { .begin = on_begin, .event = on_event, .end = on_end };
static bool tapping;

__attribute__((constructor)) static void start_tap(void)
{
	tap_set_fn *set = (tap_set_fn *)dlsym(RTLD_DEFAULT, TAP_SET);

	tap.fingerprint = verbs_fingerprint;
	tapping = set && set(&tap);
	if (tapping && !are_forks_handled())
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* Runs before LTTng's own destructor, since ending the tap needs LTTng. */
__attribute__((destructor)) static void stop_tap(void)
{
	tap_end_fn *end = (tap_end_fn *)dlsym(RTLD_DEFAULT, TAP_END);

	if (tapping && end)
		end();
}
