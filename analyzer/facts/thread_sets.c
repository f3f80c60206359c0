/*
 * Which threads of a process wait together
 *
 *	thread 2	posts to qp1, polls cq1		a set: qp1, cq1
 *	thread 3	posts to qp2			a set: qp2, cq2
 *	thread 4	polls cq2
 *
 * One thread may set up a queue for another: a queue that was handed over once belongs to the
 * second thread. If it changes hands again, it is shared. A thread that only posts receives, and
 * polls nothing, does not count.
 *
 * A set is a tree of threads (union-find), identified by its root.
 */
#include "analyzer/facts/thread_sets.h"

#include <stdlib.h>

#include "analyzer/facts/activity.h"
#include "analyzer/model/model.h"
#include "analyzer/model/qp.h"
#include "core/base/vec.h"

/* The thread that uses a queue or a CQ, and the thread that used it before; 0: none. */
struct user {
	uint32_t thread, before;
	bool changed;
};

struct thread_sets {
	struct user *users; /* by object: [2 * object]: receives or CQ; + 1: sends */
	size_t nusers;
	uint32_t *parents; /* by thread; 0: the thread is a root */
	size_t nparents;
	bool *polls; /* by thread */
	size_t npolls;
	uint32_t *threads; /* by object: a thread that uses it; 0: not known */
	size_t nthreads;
};

struct thread_sets *thread_sets_new(void)
{
	return calloc(1, sizeof(struct thread_sets));
}

void thread_sets_free(struct thread_sets *sets)
{
	if (!sets)
		return;
	free(sets->users);
	free(sets->parents);
	free(sets->polls);
	free(sets->threads);
	free(sets);
}

uint32_t thread_sets_of_thread(const struct thread_sets *sets, uint32_t thread)
{
	while (thread < sets->nparents && sets->parents[thread])
		thread = sets->parents[thread];
	return thread;
}

uint32_t thread_sets_of_object(const struct thread_sets *sets, uint32_t object)
{
	return object < sets->nthreads ? thread_sets_of_thread(sets, sets->threads[object]) : 0;
}

/* Unite the sets of @a and @b; either may be 0. Returns one of the threads. */
static uint32_t unite_threads(struct thread_sets *sets, uint32_t a, uint32_t b)
{
	uint32_t root = thread_sets_of_thread(sets, a), other = thread_sets_of_thread(sets, b);
	uint32_t *parent;

	if (!root || !other || root == other)
		return root ?: other;
	parent = vec_at(sets->parents, sets->nparents, other);
	if (parent)
		*parent = root;
	return root;
}

static __attribute__((noinline)) void change_user(struct thread_sets *sets, struct user *user,
						  uint32_t thread)
{
	if (user->changed) {
		unite_threads(sets, thread, user->thread);
		unite_threads(sets, thread, user->before);
	}
	user->changed = user->thread;
	user->before = user->thread;
	user->thread = thread;
}

static inline void note_user(struct thread_sets *sets, uint32_t object, bool send, uint32_t thread)
{
	size_t index = (size_t)object * 2 + send;
	struct user *user = object ? vec_at(sets->users, sets->nusers, index) : NULL;

	if (user && user->thread != thread)
		change_user(sets, user, thread);
}

void thread_sets_note_post(struct thread_sets *sets, const struct trace_event *event)
{
	note_user(sets, event->post->object, post_is_send(event->post), event->id.thread);
}

void thread_sets_note_poll(struct thread_sets *sets, const struct trace_event *event)
{
	bool *polls = vec_at(sets->polls, sets->npolls, event->id.thread);

	if (polls)
		*polls = true;
	note_user(sets, event->poll->object, false, event->id.thread);
}

/* When a process ends */

static uint32_t find_user(const struct thread_sets *sets, uint32_t object, bool send)
{
	size_t index = (size_t)object * 2 + send;

	return index < sets->nusers ? sets->users[index].thread : 0;
}

static uint32_t poster_of_receives(const struct thread_sets *sets, uint32_t qp)
{
	uint32_t thread = find_user(sets, qp, false);

	return thread < sets->npolls && sets->polls[thread] ? thread : 0;
}

/* A thread that sleeps until an event of @cq comes. */
static uint32_t find_sleeper(const struct life *cq, const struct activity_note *note)
{
	const struct life_link *link = cq->parents;
	const struct moment *sleep;

	while (link && link->parent->kind != OBJECT_comp_channel)
		link = link->next_parent;
	sleep = link ? activity_find_sleep(note, link->parent->handle) : NULL;
	return sleep ? sleep->id.thread : 0;
}

static uint32_t *threads_of(struct thread_sets *sets, uint32_t object)
{
	return vec_at(sets->threads, sets->nthreads, object);
}

/* Unite the threads that use @qp and its CQs. False: its threads are not known. */
static bool join_users(struct thread_sets *sets, const struct model *model, const struct life *qp,
		       const struct activity_note *note)
{
	uint32_t thread = unite_threads(sets, find_user(sets, qp->id, true),
					poster_of_receives(sets, qp->id));
	const struct life *cqs[2];
	uint32_t *of;

	for (int send = 0; send < 2; send++) {
		cqs[send] = model_life(model, qp->process, OBJECT_cq,
				       send ? qp->qp->send_cq : qp->qp->recv_cq);
		if (!cqs[send] || cqs[send]->state != LIFE_LIVE)
			return false;
		thread = unite_threads(sets, thread, find_user(sets, cqs[send]->id, false));
		thread = unite_threads(sets, thread, thread_sets_of_object(sets, cqs[send]->id));
		thread = unite_threads(sets, thread, find_sleeper(cqs[send], note));
	}
	for (int i = 0; i < 3; i++) {
		of = threads_of(sets, i == 2 ? qp->id : cqs[i]->id);
		if (!of)
			return false;
		*of = thread;
	}
	return thread;
}

/* Was the queue pair used? If not, it may belong to any thread. */
static bool is_in_use(const struct life *qp)
{
	int state = qp_state(qp);

	return state != ABI_QPS_RESET && state != ABI_QPS_INIT && state != ABI_QPS_ERR;
}

static bool is_own_qp(const struct life *life)
{
	return life->kind == OBJECT_qp && life->state == LIFE_LIVE && !life->inherited && life->qp;
}

size_t thread_sets_find(struct thread_sets *sets, struct model *model, uint32_t process,
			const struct activity_note *note, uint32_t ret[THREAD_SETS])
{
	const struct life *life = NULL;
	size_t n = 0;

	/* an unused queue pair may share its CQ with a used one */
	while ((life = model_next_life(model, process, life)))
		if (is_own_qp(life) && is_in_use(life))
			join_users(sets, model, life, note);
	while ((life = model_next_life(model, process, life)))
		if (is_own_qp(life) && is_in_use(life) &&
		    (life->qp->srq || !join_users(sets, model, life, note)))
			return 0;
	while ((life = model_next_life(model, process, life))) {
		uint32_t set = is_own_qp(life) && is_in_use(life)
				       ? thread_sets_of_object(sets, life->id)
				       : 0;
		size_t i = 0;

		while (i < n && ret[i] != set)
			i++;
		if (!set || i < n)
			continue;
		if (n == THREAD_SETS)
			return 0;
		ret[n++] = set;
	}
	return n;
}

const struct last_verb *thread_sets_last(const struct thread_sets *sets, const struct model *model,
					 uint32_t set, int64_t *ret_progress)
{
	const struct last_verb *first = last_verb_of_thread(model, set), *found = NULL, *last;

	*ret_progress = 0;
	for (uint32_t thread = 1; thread < sets->npolls || thread < sets->nparents || thread <= set;
	     thread++) {
		last = last_verb_of_thread(model, thread);
		if (!first || !last || last->process != first->process ||
		    thread_sets_of_thread(sets, thread) != set)
			continue;
		if (!found || last->at.time > found->at.time)
			found = last;
		if (last->progress > *ret_progress)
			*ret_progress = last->progress;
	}
	return found;
}
