#pragma once
/*
 * The checks of `record --strict` on the data path: two threads in an object without a lock, or a
 * thread in an object that another one destroys.
 *
 * Any thread, also in signal handlers; only destroying takes a lock; errno is preserved.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "core/wire/event.h"
#include "shim/trace/objects/known.h"
#include "shim/trace/ring/record.h"

extern atomic_bool strict_on;

static inline bool strict_is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&strict_on, memory_order_relaxed), 0);
}

/* Queues of an object, each with its own user: a QP has both, a CQ and an SRQ only the first. */
enum strict_queue { STRICT_SEND, STRICT_RECV, STRICT_QUEUES };

/*
 * A value of `batch`: a thread that is not recorded began the batch, or another thread has ended
 * it.
 */
#define STRICT_SOMEBODY UINT64_MAX

/* A CQ, QP or SRQ that was created after the recording began; or a parent domain. */
struct strict_object {
	struct known known;
	atomic_bool single;     /* it has a thread domain, or was created for one thread */
	_Atomic uint32_t epoch; /* differs between parent and child of a fork() */
	/* by queue: the thread that uses it, if the object is for one thread; 0: none */
	_Atomic uint64_t users[STRICT_QUEUES];
	/* the thread that has a batch open, by ibv_start_poll() or ibv_wr_start(); 0: none */
	_Atomic uint64_t batch;
	uint64_t wc_flags; /* flags of an extended CQ */
	struct ibv_cq_ex was;
};

/* Recording of the process begins. */
void strict_begin(bool on, bool child);

/* An object was created at @object. @single: only one thread at a time may use it. */
struct strict_object *strict_note_created(const void *object, bool single);

/* The data about @object; NULL: not known. */
struct strict_object *strict_find(const void *object);

/* Does @pd have a thread domain? */
bool strict_has_domain(const struct ibv_pd *pd);

/* The value for this thread in `users` and `batch`; 0: the thread is not recorded. */
uint64_t strict_own_thread(void);

/* A misuse. @other: a thread, in the form of strict_own_thread(), or 0. */
struct misuse {
	enum event_misuse_what what;
	const void *object, *of;
	enum verb verb, other_verb;
	enum event_cq_field field;
	enum ibv_wc_status status;
	uint64_t other;
};

void strict_report(const struct misuse *misuse);

/* A thread in a data verb on an object, from the begin to the return of the verb. */
struct strict_use {
	struct strict_object *single; /* NULL: several threads may use it */
	struct ring_head *head;
	uint64_t me;
	enum strict_queue queue;
};

void strict_enter(struct strict_use *use, const void *object, enum verb verb,
		  enum strict_queue queue);
void strict_leave(const struct strict_use *use);

/* A verb that destroys @object will be called. */
void strict_check_destroy(enum verb verb, const void *object);
