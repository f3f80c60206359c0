/*
 * The last event of each thread, and whether its object was destroyed since
 *
 *	thread 2   post qp1 ... post qp1 ... post qp1 (no event)	SIGSEGV
 *	thread 1			destroy qp1 ...
 */
#include "analyzer/model/crash.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/model/model_state.h"
#include "core/wire/log.h"

enum { JUST = 100000000 }; /* ns from its last event to the destroy */

static struct crash_thread *find_thread(struct model *model, uint32_t thread)
{
	uint32_t n = model->ncrashes ? model->ncrashes : 8;
	struct crash_thread *more;

	if (thread < model->ncrashes)
		return &model->crashes[thread];
	while (n <= thread)
		n *= 2;
	more = realloc(model->crashes, n * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + model->ncrashes, 0, (n - model->ncrashes) * sizeof(*more));
	for (uint32_t i = model->ncrashes; i < n; i++)
		more[i].kind = OBJECT_COUNT;
	model->crashes = more;
	model->ncrashes = n;
	return &more[thread];
}

static uint64_t handle_of(const struct trace_event *event)
{
	return event->kind == TRACE_POST   ? event->post->handle
	       : event->kind == TRACE_POLL ? event->poll->handle
					   : 0;
}

int crash_note(struct model *model, const struct trace_event *event)
{
	struct crash_thread *thread;

	if (!event->id.thread)
		return 0;
	thread = find_thread(model, event->id.thread);
	if (!thread)
		return log_err(-ENOMEM, "threads of a trace");
	thread->handle = handle_of(event);
	thread->kind = thread->handle ? verb_infos[trace_verb(event)].object : OBJECT_COUNT;
	thread->last = (struct moment){ .id = event->id,
					.verb = trace_verb(event),
					.process = event->process,
					.time = event->time };
	thread->destroyed.id.thread = 0;
	return 0;
}

void crash_destroyed(struct model *model, const struct life *life, const struct moment *moment)
{
	for (uint32_t i = 0; i < model->ncrashes; i++) {
		struct crash_thread *thread = &model->crashes[i];

		if (thread->kind != life->kind || thread->handle != life->handle ||
		    thread->last.process != life->process || i == moment->id.thread ||
		    thread->last.time < life->created.time ||
		    moment->time > thread->last.time + JUST)
			continue;
		thread->created = life->created;
		thread->destroyed = *moment;
		memcpy(thread->name, life->name, sizeof(thread->name));
	}
}

void crash_spared(struct model *model, const struct moment *moment)
{
	for (uint32_t i = 0; i < model->ncrashes; i++)
		if (model->crashes[i].destroyed.id.thread == moment->id.thread &&
		    model->crashes[i].destroyed.id.n == moment->id.n)
			model->crashes[i].destroyed.id.thread = 0;
}

int crash_signal(const struct model *model, uint32_t process)
{
	const struct process *its = model->trace ? trace_process(model->trace, process) : NULL;
	int signal =
		its && its->status >= 0 && WIFSIGNALED(its->status) ? WTERMSIG(its->status) : 0;

	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT ? signal : 0;
}

const struct crash_thread *crash_thread(const struct model *model, uint32_t thread)
{
	return thread < model->ncrashes && model->crashes[thread].last.id.thread
		       ? &model->crashes[thread]
		       : NULL;
}

/* If it is not known when it ended, it may have. */
bool crash_is_over(const struct model *model, uint32_t thread)
{
	const struct thread *its = trace_thread(model->trace, thread);
	const struct crash_thread *last = crash_thread(model, thread);

	return !its || its->end == INT64_MIN || (last && its->end > last->last.time);
}

void crash_killed(struct model *model, uint32_t process, int64_t time)
{
	int signal = crash_signal(model, process);

	for (uint32_t i = 0; i < model->ncrashes && signal; i++) {
		const struct crash_thread *thread = &model->crashes[i];
		const struct model_crash crash = { .thread = thread,
						   .end = time,
						   .signal = signal };

		if (thread->destroyed.id.thread && thread->last.process == process &&
		    time < thread->destroyed.time + CRASH_SOON && !crash_is_over(model, i))
			model->watcher.crash(model->watcher.arg, &crash);
	}
}

void crash_forget(struct model *model, uint32_t process)
{
	if (!process) {
		free(model->crashes);
		model->crashes = NULL;
		model->ncrashes = 0;
	}
	for (uint32_t i = 0; i < model->ncrashes; i++)
		if (model->crashes[i].last.process == process)
			model->crashes[i].kind = OBJECT_COUNT;
}
