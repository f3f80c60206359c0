/*
 * Noting which thread is in which object
 *
 *	struct ring_head      inside: the object of the data verb that the thread is in
 *	struct strict_object  users: the thread that is in an object without locks
 *
 * Destroying an object checks whether any thread is in it. An object without locks (of a thread
 * domain, or a CQ for one thread) has a word for each queue: an entering thread exchanges it with
 * its own value, and gets that of the previous thread. An overlap is reported only if the previous
 * thread has not left: else the value is 0.
 *
 * An object that is older than the recording, or belongs to the parent, is not known, and nothing
 * is reported about it.
 */
#include "shim/trace/objects/strict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/trace/base/permit.h"
#include "shim/trace/ring/rings.h"
#include "shim/trace/stack/stack.h"

atomic_bool strict_on;

static _Atomic uint32_t epoch;

void strict_begin(bool on, bool child)
{
	if (child)
		atomic_fetch_add(&epoch, 1);
	atomic_store_explicit(&strict_on, on, memory_order_relaxed);
}

struct strict_object *strict_find(const void *object)
{
	return known_find(object, KNOWN_STRICT);
}

static void init_strict_object(struct strict_object *o, bool single)
{
	for (int i = 0; i < STRICT_QUEUES; i++)
		atomic_store(&o->users[i], 0);
	atomic_store(&o->batch, 0);
	atomic_store(&o->epoch, atomic_load(&epoch));
	atomic_store(&o->single, single);
}

struct strict_object *strict_note_created(const void *object, bool single)
{
	struct strict_object *o;
	int saved = errno;

	recording_lock();
	o = strict_find(object);
	if (o) {
		init_strict_object(o, single);
	} else {
		o = permit_alloc(1, sizeof(*o));
		if (o) {
			init_strict_object(o, single);
			known_add(&o->known, object, KNOWN_STRICT);
		}
	}
	recording_unlock();
	errno = saved;
	return o;
}

static bool is_single_threaded(const struct strict_object *o)
{
	return o && atomic_load_explicit(&o->single, memory_order_relaxed) &&
	       atomic_load_explicit(&o->epoch, memory_order_relaxed) ==
		       atomic_load_explicit(&epoch, memory_order_relaxed);
}

bool strict_has_domain(const struct ibv_pd *pd)
{
	return pd && is_single_threaded(strict_find(pd));
}

static uint64_t thread_of(const struct ring_head *head)
{
	return (uint64_t)head->index << 32 |
	       atomic_load_explicit(&head->owner, memory_order_relaxed);
}

uint64_t strict_own_thread(void)
{
	return record_ready() ? thread_of(recorder.ring.head) : 0;
}

static void write_misuse(const struct misuse *m)
{
	struct event_misuse *event;
	struct stack stack;

	stack_take(&stack);
	event = record_reserve(sizeof(*event) + STACK_FRAMES * 8);
	if (!event)
		return;
	memset((char *)event + sizeof(event->head), 0, sizeof(*event) - sizeof(event->head));
	record_head(&event->head, EVENT_MISUSE, record_ticks());
	event->object = (uint64_t)(uintptr_t)m->object;
	event->of = (uint64_t)(uintptr_t)m->of;
	event->what = (uint16_t)m->what;
	event->verb = (uint16_t)m->verb;
	event->other_verb = (uint16_t)m->other_verb;
	event->field = (uint16_t)m->field;
	event->status = m->status;
	event->ring = (uint32_t)(m->other >> 32);
	event->tid = (uint32_t)m->other;
	event->nframes = (uint16_t)stack.nframes;
	event->modules = stack.modules;
	memcpy(event + 1, stack.frames, stack.nframes * sizeof(*stack.frames));
	record_commit(&event->head, sizeof(*event) / 8 + event->nframes);
}

void strict_report(const struct misuse *misuse)
{
	int saved = errno;

	/* inside another verb, the library is responsible for the misuse */
	if (!recorder.busy && !recorder.depth && record_ready())
		write_misuse(misuse);
	errno = saved;
}

static void set_inside(struct ring_head *head, const void *object, enum verb verb)
{
	atomic_store_explicit(&head->inside_verb, verb, memory_order_relaxed);
	/* pairs with the load in note_thread() */
	atomic_store_explicit(&head->inside, (uint64_t)(uintptr_t)object, memory_order_release);
}

void strict_enter(struct strict_use *use, const void *object, enum verb verb,
		  enum strict_queue queue)
{
	struct strict_object *o;
	uint64_t before;

	*use = (struct strict_use){ .queue = queue };
	if (!record_ready())
		return;
	use->head = recorder.ring.head;
	use->me = thread_of(use->head);
	set_inside(use->head, object, verb);
	o = strict_find(object);
	if (!is_single_threaded(o))
		return;
	use->single = o;
	before = atomic_exchange_explicit(&o->users[queue], use->me, memory_order_relaxed);
	if (!before && verb != VERB_next_poll && verb != VERB_wr_complete && queue == STRICT_SEND)
		before = atomic_load_explicit(&o->batch, memory_order_relaxed);
	if (__builtin_expect(before && before != use->me && before != STRICT_SOMEBODY, 0))
		strict_report(&(struct misuse){
			.what = MISUSE_OVERLAP, .object = object, .verb = verb, .other = before });
}

/* Leave the object; if another thread has entered in between, its value remains stored. */
void strict_leave(const struct strict_use *use)
{
	uint64_t me = use->me;

	if (!use->head || recorder.ring.head != use->head)
		return;
	atomic_store_explicit(&use->head->inside, 0, memory_order_release);
	if (use->single)
		atomic_compare_exchange_strong_explicit(&use->single->users[use->queue], &me, 0,
							memory_order_relaxed, memory_order_relaxed);
}

struct strict_lookup {
	const void *object;
	uint64_t other;
	enum verb verb;
};

static void note_thread(struct ring_head *head, void *arg)
{
	struct strict_lookup *look = arg;
	enum verb verb;

	if (head == recorder.ring.head || atomic_load(&head->idle) || atomic_load(&head->closed))
		return;
	/* pairs with the stores in set_inside() and strict_leave() */
	if (atomic_load_explicit(&head->inside, memory_order_acquire) !=
	    (uint64_t)(uintptr_t)look->object)
		return;
	verb = (enum verb)atomic_load_explicit(&head->inside_verb, memory_order_relaxed);
	look->other = thread_of(head);
	look->verb = verb;
}

/* Report the destruction of a queue pair whose CQ this thread is polling. */
static void check_open_batch(const struct ibv_qp *qp, const struct ibv_cq *cq)
{
	struct strict_object *o = cq ? strict_find(cq) : NULL;
	uint64_t me = strict_own_thread();

	if (o && me && atomic_load_explicit(&o->batch, memory_order_relaxed) == me)
		strict_report(&(struct misuse){ .what = MISUSE_DESTROY_INSIDE,
						.object = qp,
						.of = cq,
						.verb = VERB_destroy_qp });
}

void strict_check_destroy(enum verb verb, const void *object)
{
	struct strict_lookup look = { .object = object };
	const struct ibv_qp *qp = object;

	if (verb == VERB_dealloc_pd) {
		struct strict_object *o = strict_find(object);

		if (o) /* a later object at this address may have no thread domain */
			atomic_store(&o->single, false);
	}
	if (!object ||
	    (verb != VERB_destroy_qp && verb != VERB_destroy_cq && verb != VERB_destroy_srq))
		return;
	rings_each(note_thread, &look);
	if (look.other)
		strict_report(&(struct misuse){ .what = MISUSE_DESTROY_OVERLAP,
						.object = object,
						.verb = verb,
						.other = look.other,
						.other_verb = look.verb });
	if (verb != VERB_destroy_qp || !strict_find(qp))
		return;
	check_open_batch(qp, qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		check_open_batch(qp, qp->recv_cq);
}
