/*
 * Destroyed objects that a program uses by mistake
 *
 *	object 1 ... object 256		a ring; a new one replaces the oldest, which is freed
 *	   |             |
 *	   +--- the dead context: the operations of a live one, and an epoch that no process has
 *
 * The operations are copied from the object's context when it is destroyed, since a recorder may
 * have replaced them. A closed context is itself an element of the ring.
 */
#include "shim/soft/verbs/dead.h"

#include <stdlib.h>

#include "shim/soft/fabric/memcheck.h"
#include "shim/soft/transport/objects.h"

enum { NO_EPOCH = UINT32_MAX };

static struct soft_context dead = { .epoch = NO_EPOCH };
static void *objects[DEAD_OBJECTS];
static uint32_t next;

/*
 * A function of AddressSanitizer; NULL if the program is built without it. Not looked up by
 * dlsym(), which takes a lock.
 */
extern void __asan_init(void) __attribute__((weak));

static bool has_memory_checker(void)
{
	return memcheck_valgrind() || __asan_init;
}

/*
 * Copy the operations word by word: other threads may be copying them, too; they are equal in all
 * contexts.
 */
static void copy_operations(const struct verbs_context *from)
{
	const uint64_t *words = (const void *)from;
	uint64_t *to = (void *)&dead.verbs;

	_Static_assert(sizeof(*from) % sizeof(*to) == 0, "a part of a word is left");
	for (size_t i = 0; i < sizeof(*from) / sizeof(*to); i++)
		__atomic_store_n(&to[i], words[i], __ATOMIC_RELAXED);
}

/* Add a destroyed object; the oldest one is freed. */
static void add_dead(void *object)
{
	uint32_t at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % DEAD_OBJECTS;

	free(__atomic_exchange_n(&objects[at], object, __ATOMIC_ACQ_REL));
}

void dead_retain(void *object, struct ibv_context **context)
{
	if (has_memory_checker()) {
		free(object);
		return;
	}
	copy_operations(&to_context(*context)->verbs);
	*context = &dead.verbs.context;
	add_dead(object);
}

void dead_retain_context(struct soft_context *context)
{
	if (has_memory_checker()) {
		free(context);
		return;
	}
	context->epoch = NO_EPOCH;
	add_dead(context);
}

void dead_retain_qp(struct soft_qp *qp)
{
	/* slots for requests that builders write and that are never accepted */
	static uint64_t slots[2][512];

	qp->sq.wrs = (uint8_t *)slots;
	qp->sq.stride = sizeof(slots[0]);
	qp->sq.mask = 0;
	qp->sq.depth = 0;
	qp->init.cap.max_send_sge = 0;
	qp->init.cap.max_inline_data = 0;
	dead_retain(qp, &qp->ex.qp_base.context);
}
