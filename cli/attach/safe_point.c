/*
 * Decides by the functions on a stack whether a thread holds locks
 *
 *	the stack ends where threads begin    else part of it is not known
 *	no signal handler                     it may have interrupted anything
 *	no frame in the loader                dlopen(), a constructor, dl_iterate_phdr()
 *	no frame in an allocator
 *	no frame in the C library             but where threads begin, and functions that wait
 *	no frame in a library of verbs        but functions that wait for events
 *
 * Locks of the program itself do not matter: nothing that the recorder calls needs them.
 */
#include "cli/attach/safe_point.h"

#include <string.h>

#include "cli/attach/unwind.h"

/* Does @name begin with a name of @list? */
static bool has_listed_prefix(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strncmp(name, *list, strlen(*list)))
			return true;
	return false;
}

static bool is_listed_name(const char *name, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(name, *list))
			return true;
	return false;
}

static const char *const loaders[] = { "ld-linux", "ld.so", "ld-2", NULL };
static const char *const allocators[] = { "libjemalloc", "libtcmalloc", "libmimalloc", "libhoard",
					  NULL };
static const char *const libcs[] = { "libc.so", "libc-2", "libpthread", NULL };
static const char *const verbs[] = { "libibverbs", "librdmacm", "libverbatim", "libmlx",
				     "libefa",     "libbnxt",   "libcxgb",     "libhns",
				     "libirdma",   "libmana",   "libqedr",     "librxe",
				     "libsiw",     "libvmw",    "liberdma",    "libhfi",
				     "libipath",   "libmthca",  "libocrdma",   NULL };

/*
 * Functions of the C library that wait without holding a lock of the library. Each may have further
 * names, with underscores at the beginning.
 */
/* clang-format off */
static const char *const waits[] = {
	"read", "poll", "ppoll", "select", "pselect", "nanosleep", "clock_nanosleep", "usleep",
	"sleep", "pause", "epoll_wait", "epoll_pwait", "recv", "recvfrom", "recvmsg", "accept",
	"accept4", "sched_yield", "pthread_cond_wait", "pthread_cond_timedwait", "pthread_join",
	"sem_wait", "sem_timedwait", "pthread_barrier_wait", "pthread_mutex_lock", "waitpid",
	"wait4", "sigwait", "sigwaitinfo", "sigtimedwait", "wait", "libc_read", "getpid",
	"clock_gettime", "gettimeofday", "pthread_spin_lock", "pthread_cond_timedwait64", NULL
};
/* clang-format on */

/* Verbs that wait for an event in a system call, without a lock. */
static const char *const event_verbs[] = { "ibv_get_cq_event", "ibv_get_async_event",
					   "rdma_get_cm_event", NULL };

/* Is frame @i, in the C library, a function that is not exported, or @name? */
static bool is_inner(const struct unwind_stack *stack, size_t i, const char *name)
{
	const struct unwind_frame *frame = &stack->frames[i];

	return has_listed_prefix(frame->module, libcs) &&
	       (!*frame->function || !strcmp(frame->function, name));
}

/*
 * The number of frames that are the program's: the frames after these are where threads begin.
 *
 *	main   __libc_start_call_main   __libc_start_main   _start
 *	f      start_thread   clone3
 */
static size_t count_program_frames(const struct unwind_stack *stack)
{
	size_t n = stack->n;

	/* a stripped program has no name for _start */
	if (n > 1 && !strncmp(stack->frames[n - 2].function, "__libc_start_main", 17)) {
		n -= 2;
		n -= n && is_inner(stack, n - 1, "__libc_start_call_main");
		return n;
	}
	n -= is_inner(stack, n - 1, "clone3") || is_inner(stack, n - 1, "clone");
	n -= n && n < stack->n && is_inner(stack, n - 1, "start_thread");
	return n;
}

static bool waits_for_event(const struct unwind_stack *stack, bool asleep)
{
	for (size_t i = 0; asleep && i < stack->n; i++)
		if (is_listed_name(stack->frames[i].function, event_verbs))
			return true;
	return false;
}

/* Is frame @i a function that waits, or a nameless function inside one? */
static bool is_in_wait(const struct unwind_stack *stack, size_t i)
{
	while (i + 1 < stack->n && !*stack->frames[i].function &&
	       has_listed_prefix(stack->frames[i].module, libcs))
		i++;
	return has_listed_prefix(stack->frames[i].module, libcs) &&
	       is_listed_name(stack->frames[i].function + strspn(stack->frames[i].function, "_"),
			      waits);
}

static const char *find_frame_problem(const struct unwind_stack *stack, size_t i, bool event)
{
	const struct unwind_frame *frame = &stack->frames[i];

	if (has_listed_prefix(frame->module, loaders))
		return "it is in the loader";
	if (has_listed_prefix(frame->module, allocators))
		return "it allocates memory";
	if (has_listed_prefix(frame->module, libcs) && !is_in_wait(stack, i))
		return "it is in the C library, which may hold a lock";
	if (has_listed_prefix(frame->module, verbs) && !event)
		return "it is in a verb";
	return NULL;
}

const char *safe_point_check(const struct unwind_stack *stack, bool asleep)
{
	const bool event = waits_for_event(stack, asleep);
	const char *why = NULL;
	size_t own;

	if (!stack->n || !stack->complete)
		return "its stack cannot be unwound to its beginning";
	own = count_program_frames(stack);
	if (own == stack->n)
		return "its stack does not end where threads begin";
	for (size_t i = 0; i < own; i++)
		if (stack->frames[i].interrupted)
			return "it is in a signal handler";
	for (size_t i = 0; i < own && !why; i++)
		why = find_frame_problem(stack, i, event);
	return why;
}

bool safe_point_has_locks(const char *module)
{
	return has_listed_prefix(module, verbs) || has_listed_prefix(module, libcs) ||
	       has_listed_prefix(module, loaders) || has_listed_prefix(module, allocators);
}
