#pragma once
/*
 * The checks of `record --strict` on the data path: two threads in an object without a lock, or one
 * in an object that another destroys.
 *
 * Any thread, signal handlers too; a lock only if a verb destroys; errno is preserved.
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

/* The queues of a QP have separate users; a CQ and an SRQ have the first. */
enum strict_queue { STRICT_SEND, STRICT_RECV, STRICT_QUEUES };

/* A value of `batch`: a thread that is not recorded began the batch, or another thread ended it. */
#define STRICT_SOMEBODY UINT64_MAX

/* A CQ, QP or SRQ created since recording began; or a parent domain. */
struct strict_object {
	struct known known;
	atomic_bool single;     /* it has a thread domain, or was created for one thread */
	_Atomic uint32_t epoch; /* differs between a child of fork() and its parent */
	/* of an object for one thread: the thread that uses it; 0: none */
	_Atomic uint64_t users[STRICT_QUEUES];
	/*
	 * the thread between ibv_start_poll() and ibv_end_poll(), or ibv_wr_start() and
	 * ibv_wr_complete(); 0: none
	 */
	_Atomic uint64_t batch;
	uint64_t wc_flags; /* of an extended CQ */
	struct ibv_cq_ex was;
};

/* Recording of the process begins. */
void strict_begin(bool on, bool child);

/* An object was created at @object. @single: only one thread at a time may use it. */
struct strict_object *strict_made(const void *object, bool single);

/* NULL: the object is not known. */
struct strict_object *strict_find(const void *object);

/* Does @pd have a thread domain? */
bool strict_has_domain(const struct ibv_pd *pd);

/* The value of this thread in `users` and `batch`; 0: it is not recorded. */
uint64_t strict_own_thread(void);

/* A misuse: @other is a thread as above, or 0. */
struct misuse {
	enum event_misuse_what what;
	const void *object, *of;
	enum verb verb, other_verb;
	enum event_cq_field field;
	enum ibv_wc_status status;
	uint64_t other;
};

void strict_report(const struct misuse *misuse);

/* A data verb on @object, from its begin to its return. */
struct strict_use {
	struct strict_object *single; /* NULL: several threads may use it */
	struct ring_head *head;
	uint64_t me;
	enum strict_queue queue;
};

void strict_enter(struct strict_use *use, const void *object, enum verb verb,
		  enum strict_queue queue);
void strict_leave(const struct strict_use *use);

/* A destroy verb is about to be called. */
void strict_check_destroy(enum verb verb, const void *object);
