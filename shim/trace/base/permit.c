/*
 * The operations that seccomp filters forbid to the recorder
 *
 *	permit_denied    what at least one thread may not do
 *	denied_all       what a filter for all threads forbids (SECCOMP_FILTER_FLAG_TSYNC)
 *	denied_here      what the filters of this thread forbid; in a thread that had no ring when
 *		 filters were installed also these filters, which it may have inherited
 *
 * Filters can only be added, so bits are never cleared.
 *
 * A section (quiet.h) blocks signals first and restores them last. A filter that another thread
 * installs for all threads must not become active in between: its installation waits until no
 * thread is in a section, and no thread begins a section before it is done. Both waits are limited:
 * a lock of the program, which the installing thread holds, may block a thread in a section.
 */
#include "shim/trace/base/permit.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { YIELDS = 10000 };

_Atomic uint32_t permit_denied;
static _Atomic uint32_t denied_all;
static atomic_uint sections; /* number of threads inside a section */
static atomic_uint closing;  /* number of threads that are installing a filter for all threads */
static _Atomic pid_t self;   /* the pid, read before the first filter is installed */

static __thread uint32_t denied_here __attribute__((tls_model("initial-exec")));
static __thread bool has_begun __attribute__((tls_model("initial-exec")));

bool permit_thread_has(uint32_t needs)
{
	uint32_t denied =
		has_begun ? denied_here | atomic_load(&denied_all) : atomic_load(&permit_denied);

	return !(denied & needs);
}

void *permit_alloc(size_t n, size_t bytes)
{
	return permit_has(NEED_MEMORY) ? calloc(n, bytes) : NULL;
}

void permit_sched_yield(void)
{
	if (permit_has(NEED_YIELD))
		sched_yield();
}

pid_t permit_getpid(void)
{
	return permit_has(NEED_IDS) ? getpid() : atomic_load(&self);
}

void permit_begin_thread(void)
{
	if (!has_begun)
		denied_here = atomic_load(&permit_denied);
	has_begun = true;
}

bool permit_enter(uint32_t needs)
{
	for (int i = 0;; i++) {
		/* pairs with the load in permit_before_filter() */
		atomic_fetch_add(&sections, 1);
		if (!atomic_load(&closing) || i == YIELDS)
			break;
		atomic_fetch_sub(&sections, 1);
		permit_sched_yield();
	}
	if (permit_has(needs))
		return true;
	atomic_fetch_sub(&sections, 1);
	return false;
}

void permit_leave(void)
{
	atomic_fetch_sub(&sections, 1);
}

void permit_before_filter(bool all)
{
	if (permit_has(NEED_IDS))
		atomic_store(&self, getpid());
	if (!all)
		return;
	/* pairs with the load in permit_enter() */
	atomic_fetch_add(&closing, 1);
	for (int i = 0; atomic_load(&sections) && i < YIELDS; i++)
		permit_sched_yield();
}

void permit_filter_installed(bool all, uint32_t denied)
{
	if (!has_begun) /* may have inherited all filters so far */
		denied_here = atomic_load(&permit_denied);
	denied_here |= denied;
	if (all)
		atomic_fetch_or(&denied_all, denied);
	atomic_fetch_or(&permit_denied, denied);
	if (all)
		atomic_fetch_sub(&closing, 1);
}

void permit_after_fork(bool inside)
{
	atomic_store(&closing, 0);
	atomic_store(&sections, inside);
}
