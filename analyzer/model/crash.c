/*
 * The last verbs of the threads, and whether their object was destroyed since
 *
 *	thread 2   post qp1 ... post qp1 ... post qp1 (no event)	SIGSEGV
 *	thread 1			destroy qp1 ...
 */
#include "analyzer/model/crash.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analyzer/model/last_verb.h"
#include "analyzer/model/model_state.h"
#include "core/base/vec.h"

enum { CRASH_AFTER_NS = 100000000 }; /* ns, at most, from the thread's last verb to the destroy */

/* Is the remembered verb still the last one of its thread? */
static bool is_last_verb(const struct model *model, const struct crash_thread *crash)
{
	const struct last_verb *last = last_verb_of_thread(model, crash->last.id.thread);

	return last && last->at.id.n == crash->last.id.n;
}

/* The entry of @thread, created if need be; NULL if out of memory. */
static struct crash_thread *get_crash_entry(struct model *model, uint32_t thread)
{
	for (size_t i = 0; i < model->ncrashes; i++)
		if (model->crashes[i].last.id.thread == thread)
			return &model->crashes[i];
	return vec_push(model->crashes, model->ncrashes);
}

void crash_note_destroyed(struct model *model, const struct life *life, const struct moment *moment)
{
	for (uint32_t thread = 1; thread < model->nlasts; thread++) {
		const struct last_verb *last = &model->lasts[thread];
		struct crash_thread *crash;

		if (last->handle != life->handle || last_verb_kind(last) != life->kind ||
		    last->process != life->process || thread == moment->id.thread ||
		    last->at.time < life->created.time ||
		    moment->time > last->at.time + CRASH_AFTER_NS ||
		    !(crash = get_crash_entry(model, thread)))
			continue;
		crash->kind = life->kind;
		crash->last = last_verb_moment(last);
		crash->created = life->created;
		crash->destroyed = *moment;
		memcpy(crash->name, life->name, sizeof(crash->name));
	}
}

void crash_forget(struct model *model, const struct moment *moment)
{
	for (size_t i = 0; i < model->ncrashes; i++)
		if (model->crashes[i].destroyed.id.thread == moment->id.thread &&
		    model->crashes[i].destroyed.id.n == moment->id.n)
			model->crashes[i].destroyed.id.thread = 0;
}

int crash_signal_of(const struct model *model, uint32_t process)
{
	const struct process *its = model->trace ? trace_process(model->trace, process) : NULL;
	int signal =
		its && its->status >= 0 && WIFSIGNALED(its->status) ? WTERMSIG(its->status) : 0;

	return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT ? signal : 0;
}

const struct crash_thread *crash_find_thread(const struct model *model, uint32_t thread)
{
	for (size_t i = 0; i < model->ncrashes; i++)
		if (model->crashes[i].last.id.thread == thread)
			return model->crashes[i].destroyed.id.thread &&
					       is_last_verb(model, &model->crashes[i])
				       ? &model->crashes[i]
				       : NULL;
	return NULL;
}

/* A thread whose end is not known may have ended. */
bool crash_has_thread_ended(const struct model *model, uint32_t thread)
{
	const struct thread *its = trace_thread(model->trace, thread);
	const struct last_verb *last = last_verb_of_thread(model, thread);

	return !its || its->end == INT64_MIN || (last && its->end > last->returned);
}

void crash_note_killed(struct model *model, uint32_t process, int64_t time)
{
	int signal = crash_signal_of(model, process);

	for (size_t i = 0; i < model->ncrashes && signal; i++) {
		const struct crash_thread *thread = &model->crashes[i];
		const struct model_crash crash = { .thread = thread,
						   .end = time,
						   .signal = signal };

		if (thread->destroyed.id.thread && is_last_verb(model, thread) &&
		    thread->last.process == process && time < thread->destroyed.time + CRASH_SOON &&
		    !crash_has_thread_ended(model, thread->last.id.thread))
			model->watcher.crash(model->watcher.arg, &crash);
	}
}

void crash_fini(struct model *model)
{
	free(model->crashes);
}
