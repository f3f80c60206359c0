/*
 * Which event met a fault
 *
 * The mark of a fault is recorded before its verb returns: after the begin of the call or post in
 * its thread, with inner calls in between. Polls and notification requests are recorded when they
 * have returned: their marks come before them.
 */
#include "replay/state/recorded_fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/desc.h"
#include "core/wire/log.h"
#include "replay/report/outcome.h"
#include "replay/state/state.h"

/* Kinds of events: the last one of each kind is noted for each thread. */
enum last_kind { LAST_CALL, LAST_CM_EVENT, LAST_POST, LASTS };

struct fault_study {
	struct recorded_faults *made;
	struct map last;  /* thread and enum last_kind, to event_key() */
	struct map marks; /* thread, to the text of its mark for the next poll or notification */
};

static uint64_t last_key(uint32_t thread, enum last_kind kind)
{
	return (uint64_t)thread * LASTS + kind;
}

static int note_last(struct fault_study *s, const struct trace_event *event, enum last_kind kind)
{
	return map_put(&s->last, last_key(event->id.thread, kind), event_key(event->id));
}

static bool has_prefix(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* "ibv_reg_mr() fails with ENOMEM" */
static bool is_of_verb(const char *text, enum verb verb)
{
	return has_prefix(text, verb_infos[verb].name) &&
	       has_prefix(text + strlen(verb_infos[verb].name), "() fails with ");
}

/* "the event ESTABLISHED is REJECTED" */
static bool is_of_cm(const char *text)
{
	return has_prefix(text, "the event ") && strstr(text, " is ");
}

static enum last_kind kind_of(const char *text)
{
	if (is_of_cm(text))
		return LAST_CM_EVENT;
	if (is_of_verb(text, VERB_post_send) || is_of_verb(text, VERB_post_recv) ||
	    is_of_verb(text, VERB_post_srq_recv) || is_of_verb(text, VERB_wr_complete) ||
	    !strstr(text, "() fails with "))
		return LAST_POST;
	return LAST_CALL;
}

static int learn_mark(struct fault_study *s, const struct trace_event *event)
{
	const char *text = event->mark->text;
	uint64_t key;

	if (event->mark->kind != TRACE_MARK_FAULT)
		return 0;
	if (is_of_verb(text, VERB_poll_cq) || is_of_verb(text, VERB_req_notify_cq))
		return map_put(&s->marks, event->id.thread, (uintptr_t)text);
	if (!map_get(&s->last, last_key(event->id.thread, kind_of(text)), &key))
		return 0;
	return map_put(&s->made->texts, key, (uintptr_t)text);
}

/* Assign the mark of the thread to a poll, or to a request for a notification. */
static int assign_mark(struct fault_study *s, const struct trace_event *event)
{
	enum verb verb = event->kind == TRACE_POLL ? event->poll->verb : VERB_req_notify_cq;
	uint64_t text;

	if (event->inner || !map_get(&s->marks, event->id.thread, &text) || !text ||
	    !is_of_verb((const char *)(uintptr_t)text, verb))
		return 0;
	return map_put(&s->marks, event->id.thread, 0)
		       ?: map_put(&s->made->texts, event_key(event->id), text);
}

static int learn_event(struct fault_study *s, const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return note_last(s, event,
				 event->call->verb == VERB_rdma_get_cm_event ? LAST_CM_EVENT
									     : LAST_CALL);
	case TRACE_POST:
		return note_last(s, event, LAST_POST);
	case TRACE_NOTIFY:
	case TRACE_POLL:
		return assign_mark(s, event);
	case TRACE_MARK:
		return learn_mark(s, event);
	default:
		return 0;
	}
}

static int study_trace(struct fault_study *s, struct trace *trace)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(trace, NULL, &cursor);

	if (err < 0)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0)
		if (learn_event(s, event)) {
			err = log_err(-ENOMEM, "prepare the replay");
			break;
		}
	cursor_close(cursor);
	return err;
}

int recorded_faults_learn(struct replay *r)
{
	struct fault_study s = { 0 };
	int err;

	if (!trace_count_faults(r->trace))
		return 0;
	r->recorded_faults = calloc(1, sizeof(*r->recorded_faults));
	if (!r->recorded_faults)
		return log_err(-ENOMEM, "prepare the replay");
	s.made = r->recorded_faults;
	err = study_trace(&s, r->trace);
	map_fini(&s.last);
	map_fini(&s.marks);
	return err;
}

void recorded_faults_free(struct replay *r)
{
	if (r->recorded_faults)
		map_fini(&r->recorded_faults->texts);
	free(r->recorded_faults);
	r->recorded_faults = NULL;
}

const char *recorded_fault_at(const struct replay *r, struct event_id id)
{
	uint64_t text;

	if (!r->recorded_faults || !map_get(&r->recorded_faults->texts, event_key(id), &text))
		return NULL;
	return (const char *)(uintptr_t)text;
}

static int find_errno(const char *name)
{
	size_t length = strcspn(name, " ");

	for (int error = 1; error < 134; error++) {
		const char *of = strerrorname_np(error);

		if (of && strlen(of) == length && !strncmp(of, name, length))
			return error;
	}
	return 0;
}

int recorded_fault_error(const struct replay *r, struct event_id id)
{
	const char *text = recorded_fault_at(r, id), *with;

	if (!text)
		return 0;
	with = strstr(text, "() fails with ") ?: strstr(text, " is refused with ");
	return with ? find_errno(strstr(with, " with ") + strlen(" with ")) : 0;
}

/* The word behind "the event ", with its prefix. */
static bool find_event(const char *text, const char *prefix, char name[64])
{
	const char *word = text + strlen("the event ");

	snprintf(name, 64, "%s%.*s", prefix, (int)strcspn(word, " "), word);
	return true;
}

bool recorded_fault_cm_event(const struct replay *r, struct event_id id, char name[64])
{
	const char *text = recorded_fault_at(r, id);

	return text && is_of_cm(text) && !strstr(text, " is delayed ") &&
	       find_event(text, "RDMA_CM_EVENT_", name);
}

bool recorded_fault_async(const struct replay *r, struct event_id id, char name[64])
{
	const char *text = recorded_fault_at(r, id);

	return text && has_prefix(text, "the event ") && !is_of_cm(text) &&
	       find_event(text, "IBV_EVENT_", name);
}

bool recorded_fault_ended(const struct replay *r, struct event_id id)
{
	const char *text = recorded_fault_at(r, id);

	return text && has_prefix(text, "the connection of ");
}

uint64_t recorded_fault_delay(const struct replay *r, struct event_id id)
{
	const char *text = recorded_fault_at(r, id);
	const char *by =
		text && has_prefix(text, "a request of ") ? strstr(text, " delayed by ") : NULL;
	unsigned long long us;

	return by && sscanf(by, " delayed by %llu us", &us) == 1 ? us * 1000 : 0;
}

void recorded_faults_count(struct replay *r)
{
	__atomic_add_fetch(&r->recorded_faults->again, 1, __ATOMIC_RELAXED);
}

/* Note a repeated fault: consequences that were not recorded are divergences. */
static void note_reinjected(struct replay *r, struct event_id event, enum verb verb,
			    uint32_t object, const char *field, const char *text)
{
	recorded_faults_count(r);
	outcome_note_injected(r->outcome, &(struct divergence){ .event = event,
								.verb = verb,
								.field = field,
								.recorded = text,
								.replayed = "",
								.object = object,
								.breaks = true });
}

int recorded_fault_repeat(struct replay *r, struct event_id event, enum verb verb, uint32_t object)
{
	int error = recorded_fault_error(r, event);
	char text[64];

	if (!error)
		return 0;
	snprintf(text, sizeof(text), "%s (%d)", strerrorname_np(error), error);
	note_reinjected(r, event, verb, object, "ret", text);
	return error;
}

void recorded_fault_count_event(struct replay *r, const struct trace_event *event, uint32_t object,
				const char *text)
{
	note_reinjected(r, event->id, event->call->verb, object, "event.event", text);
}
