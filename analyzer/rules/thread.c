/*
 * THREAD: two threads at once
 *
 * The trace has the time when a data verb was called, and not when it returned. A call that begins
 * between the begin and the end of a destroy overlaps it for certain; a data verb that began before
 * it is not found. For a control verb, the return is known, too.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "analyzer/model/moment.h"
#include "analyzer/model/queue.h"
#include "analyzer/model/words.h"
#include "analyzer/rules/add_finding.h"

enum {
	FRAMES = 32,
	ALIGNED = 16, /* bytes: functions of libc are aligned to this */
	TURNS = 4,    /* of threads at a receive queue or CQ; the first counts */
};

static void describe_race(struct finding *finding, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	char name[64], began[32], end[32], id[32], other[32];

	object_name_text(object, name, sizeof(name));
	words_format_span(object->met.time - destroy->moment.time, began);
	if (destroy->returned)
		snprintf(end, sizeof(end), "took %s",
			 words_format_span(destroy->end - destroy->moment.time, other));
	else
		snprintf(end, sizeof(end), "never returned");
	finding_text(
		&finding->says,
		"Thread %u called %s() on %s at %s, %s after thread %u had begun %s(), which %s.",
		thread_number(object->met.id.thread), verb_infos[object->met.verb].name, name,
		event_id_text(object->met.id, id), began, thread_number(destroy->moment.id.thread),
		verb_infos[destroy->moment.verb].name, end);
}

/* THREAD-002. A destroy that failed has left the object as it was. */
void thread_002(struct check *check, const struct model_destroy *destroy)
{
	const struct life *object = destroy->object;
	struct finding *finding;

	if (!object->met.id.thread || (destroy->returned && destroy->failed))
		return;
	finding = check_add_destroy(check, RULE_THREAD_002, destroy);
	if (!finding)
		return;
	describe_race(finding, destroy);
	finding_step(finding, "created", &object->created);
	finding_step(finding, "destroyed", &destroy->moment);
	finding_step(finding, "used", &object->met);
}

/* "and returned 2 ms later", "and never returned" */
static const char *end_text(const struct model_inside *inside, char text[96])
{
	char when[32];

	if (inside->returned >= 0)
		snprintf(text, 96, "and returned %s later",
			 words_format_span(inside->returned - inside->destroy.time, when));
	else if (inside->ended < INT64_MAX)
		snprintf(text, 96, "and its thread ended inside the call, %s later",
			 words_format_span(inside->ended - inside->destroy.time, when));
	else
		snprintf(text, 96, "and never returned");
	return text;
}

/* THREAD-002: the call had begun before the destroy. */
void thread_002_inside(struct check *check, const struct model_inside *inside)
{
	const struct life *object = &inside->object;
	const struct moment *call = &inside->call, *destroy = &inside->destroy;
	struct finding *finding = check_add_finding(check, RULE_THREAD_002, destroy, object,
						    object_names[object->kind]);
	char name[64], id[32], since[32], end[96];

	if (!finding)
		return;
	finding_text(&finding->says,
		     "Thread %u called %s() on %s while thread %u was inside %s(), %s, for %s: "
		     "the call was under way %s.",
		     thread_number(destroy->id.thread), verb_infos[destroy->verb].name,
		     object_name_text(object, name, sizeof(name)), thread_number(call->id.thread),
		     verb_infos[call->verb].name, event_id_text(call->id, id),
		     words_format_span(destroy->time - call->time, since), end_text(inside, end));
	finding_step(finding, "created", &object->created);
	finding_step(finding, "called", call);
	finding_step(finding, "destroyed", destroy);
}

/* THREAD-002: the process crashed soon after the destroy, in a call that left no event. */
void thread_002_crash(struct check *check, const struct model_crash *crash)
{
	const struct crash_thread *thread = crash->thread;
	const struct moment *last = &thread->last, *destroy = &thread->destroyed;
	char process[PROCESS_TEXT], end[32], before[32], id[32];
	struct finding *finding =
		check_add_hazard(check, RULE_THREAD_002, destroy, NULL, object_names[thread->kind]);

	if (!finding)
		return;
	finding_text(&finding->object, "%s", thread->name);
	finding_text(&finding->says,
		     "%s was killed by SIG%s %s after thread %u had called %s() on %s. The last "
		     "verb of thread %u, %s before that, is %s() on it (%s), and it had not ended.",
		     process_id_text(destroy->process, process), sigabbrev_np(crash->signal),
		     words_format_span(crash->end - destroy->time, end),
		     thread_number(destroy->id.thread), verb_infos[destroy->verb].name,
		     thread->name, thread_number(last->id.thread),
		     words_format_span(destroy->time - last->time, before),
		     verb_infos[last->verb].name, event_id_text(last->id, id));
	if (finding->says && finding->says[0] == 'p')
		finding->says[0] = 'P';
	finding_text(&finding->breaks,
		     "thread %u was still using %s: a call that crashes is not in the trace, but "
		     "its stack is in the core dump",
		     thread_number(last->id.thread), thread->name);
	finding_step(finding, "created", &thread->created);
	finding_step(finding, "used", last);
	finding_step(finding, "destroyed", destroy);
}

static const struct life *find_parent(const struct life *life, enum object_kind kind)
{
	const struct life_link *link = life->parents;

	while (link && link->parent->kind != kind)
		link = link->next_parent;
	return link ? link->parent : NULL;
}

/* The thread domain of @life, which its parent domain has; NULL: none. */
static const struct life *find_domain(const struct life *life)
{
	const struct life *pd = find_parent(life, OBJECT_pd);

	return pd ? find_parent(pd, OBJECT_td) : NULL;
}

/*
 * A queue pair may be handed over to another thread, by the one that made it or by the one that
 * used it until then.
 */
static bool takes_turns(const struct life *life)
{
	return (life->sq && life->sq->stats.turns >= 2) ||
	       (life->rq && life->rq->owner == life && life->rq->stats.turns >= TURNS) ||
	       (life->cq && life->cq->stats.switches >= TURNS);
}

/* THREAD-001: without --strict it is not known whether a lock keeps the threads apart. */
void thread_001_domain(struct check *check, const struct life *life)
{
	const struct life *domain;
	struct finding *finding;
	char name[64];

	if (!takes_turns(life) || check_is_strict(check))
		return;
	domain = find_domain(life);
	finding = domain ? check_add_life_hazard(check, RULE_THREAD_001, life,
						 life->cq ? "ibv_poll_cq()" : "ibv_post_send()")
			 : NULL;
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s belongs to thread domain %s, and several threads %s it in turn.",
		     object_name_text(life, name, sizeof(name)), domain->name,
		     life->cq ? "polled" : "posted to");
	finding_text(&finding->breaks,
		     "two of them do so at the same time, without a lock of the program: a thread "
		     "domain promises that this never happens, and the device takes no lock");
	finding_text(&finding->settles, "record --strict");
	finding_step(finding, "domain created", &domain->created);
	if (!life->cq)
		finding_set_last_post(finding,
				      life->sq && life->sq->stats.turns >= 2 ? life->sq : life->rq,
				      life->process);
}

static bool is_of_module(const struct frame *frame, const char *const *names)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;
	const char *base = slash ? slash + 1 : frame->module;

	for (; base && *names; names++)
		if (strstr(base, *names))
			return true;
	return false;
}

/*
 * Was the post called from a signal handler that had interrupted a verb?
 *
 *	ibv_post_send < program < handler < libc's trampoline < provider < ibv_poll_cq < program
 *
 * The kernel returns to the begin of the trampoline; all other return addresses follow a call, and
 * are hardly ever at the begin of a function. Libraries of verbs do not call the program.
 */
static bool is_in_handler(struct trace *trace, uint32_t stack)
{
	static const char *const libc[] = { "libc.so", "libc-2.", "libpthread", NULL };
	static const char *const verbs[] = { "libibverbs", "-rdmav",      "libmlx", "libefa",
					     "libmana",    "libverbatim", NULL };
	struct frame frames[FRAMES];
	unsigned int n = trace_stack(trace, stack, frames, FRAMES), i = 0;

	while (i < n && is_of_module(&frames[i], verbs)) /* of the post itself */
		i++;
	while (i < n && !is_of_module(&frames[i], verbs) &&
	       !(is_of_module(&frames[i], libc) && frames[i].offset % ALIGNED == 0))
		i++;
	if (!i || i >= n || is_of_module(&frames[i], verbs))
		return false;
	while (i < n && !is_of_module(&frames[i], verbs))
		i++;
	return i < n;
}

/* THREAD-001, for each place that posts. */
void thread_001_signal(struct check *check, const struct model_post *post)
{
	uint32_t stack = post->event->post->stack;
	uint32_t *seen = &check->findings->stacks[stack % FINDINGS_STACKS];
	const struct life *object = post->object;
	struct finding *finding;
	struct moment moment;
	char name[64];

	if (!stack || *seen == stack)
		return;
	*seen = stack;
	if (!object || !is_in_handler(check->trace, stack))
		return;
	moment = moment_of(post->event);
	finding = check_add_hazard(check, RULE_THREAD_001, &moment, object, "wr");
	if (!finding)
		return;
	finding_text(&finding->says,
		     "%s() on %s was called by a signal handler, which had interrupted a verb of "
		     "the same thread.",
		     verb_infos[post->event->post->verb].name,
		     object_name_text(object, name, sizeof(name)));
	finding_text(&finding->breaks,
		     "the interrupted verb holds a lock that the post takes: the thread waits for "
		     "itself, forever");
	finding_step(finding, "created", &object->created);
	finding_step(finding, "posted", &moment);
}
