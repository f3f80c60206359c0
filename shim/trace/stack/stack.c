/*
 * The call stack of a verb
 *
 * libunwind unwinds it, which is fast. If libunwind would do harm (libunwind.c), libgcc unwinds: it
 * takes no lock, allocates no memory and guesses nothing, but takes ten times as long. This library
 * depends on neither of them, since every descendant of a recorded program loads it, and most
 * descendants call no verb. They are loaded when a program that is linked with verbs starts, else
 * at its first verb.
 *
 * The first stack of a thread is unwound by libgcc, which shows whether a signal handler is running
 * that may have interrupted malloc(). If not, libunwind may allocate the memory that it needs in
 * this thread: 256 KiB, all of it written. That takes as long as ten stacks by libgcc, and in a
 * program with thousands of threads most call few control verbs. So in the first threads libunwind
 * is used at once, in later ones only from the eighth stack on.
 */
#include "shim/trace/stack/stack.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unwind.h>

#include "shim/trace/base/private_stack.h"
#include "shim/trace/base/permit.h"
#include "shim/trace/base/quiet.h"
#include "shim/trace/base/self.h"
#include "shim/trace/ring/record.h"
#include "shim/trace/stack/libunwind.h"
#include "shim/trace/stack/modules.h"

enum {
	OWN_FRAMES = 12, /* maximum frames of the recorder, which are above the application's */
	ROOM = STACK_FRAMES + OWN_FRAMES,
	FEW_STACKS = 8,       /* stacks of a thread before libunwind is used, */
	THREADS_AT_ONCE = 16, /* number of threads in which libunwind is used at once */
	DEEPEST_FRAME = 4096, /* maximum frames that are searched for a signal handler */
	STACK_NEAR = 1 << 20, /* bytes: a frame that was left is at most so far below */
};

static struct {
	typeof(_Unwind_Backtrace) *backtrace;
	typeof(_Unwind_GetIPInfo) *ip;
	typeof(_Unwind_GetCFA) *cfa;
} libgcc;

struct unwind {
	void **frames;
	int n, max;
	bool interrupted; /* a signal handler is among the frames */
	bool whole;       /* the outermost frame was reached */
};

static _Unwind_Reason_Code store_frame(struct _Unwind_Context *context, void *arg)
{
	struct unwind *walk = arg;
	int interrupted = 0;
	void *ip = (void *)libgcc.ip(context, &interrupted);

	walk->interrupted |= interrupted;
	walk->whole = !ip; /* the outermost frame has no caller */
	if (ip && walk->n < walk->max)
		walk->frames[walk->n] = ip;
	walk->n += ip != NULL;
	return walk->n < DEEPEST_FRAME ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Should libunwind allocate memory in this thread, which has just unwound another stack? */
static bool is_worth_warming(void)
{
	static __thread unsigned int stacks __attribute__((tls_model("initial-exec")));
	static atomic_uint threads;

	return stacks++ ? stacks >= FEW_STACKS
			: atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) <
				  THREADS_AT_ONCE;
}

static int unwind_by_libgcc(void **frames, int max)
{
	struct unwind walk = { .frames = frames, .max = max };

	if (!libgcc.backtrace)
		return 0;
	libgcc.backtrace(store_frame, &walk);
	if (walk.whole && !walk.interrupted && is_worth_warming())
		libunwind_warm_up();
	return walk.n < max ? walk.n : max;
}

void stack_load(void)
{
	static bool done;
	void *lib;

	if (done)
		return;
	done = true;
	libunwind_open();
	lib = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	libgcc.ip = (typeof(libgcc.ip))dlsym(lib, "_Unwind_GetIPInfo");
	libgcc.cfa = (typeof(libgcc.cfa))dlsym(lib, "_Unwind_GetCFA");
	if (libgcc.ip && libgcc.cfa)
		libgcc.backtrace = (typeof(libgcc.backtrace))dlsym(lib, "_Unwind_Backtrace");
}

void stack_begin(void)
{
	static bool done;
	void *frames[ROOM];
	int n, i = 0;

	if (done)
		return;
	done = true;
	stack_load();
	n = unwind_by_libgcc(frames, ROOM);
	while (i < n && frames[i] != __builtin_return_address(0))
		i++;
	libunwind_test(frames + i, n - i);
}

/*
 * Unwind by libgcc, since another file is now mapped at an address, and libunwind's cached data is
 * wrong.
 */
static int unwind_again(void **frames, struct stack *stack)
{
	int n = unwind_by_libgcc(frames, ROOM);

	libunwind_retire();
	stack->modules = modules_note_all(frames, (unsigned int)n).serial;
	return n;
}

void stack_take(struct stack *stack)
{
	struct quiet quiet;

	stack->nframes = 0;
	stack->modules = 0;
	stack->inside = true;
	if (!permit_has(NEED_STACK | NEED_QUIET))
		return;
	quiet_begin(&quiet);
	private_stack_call(stack_take_here, stack);
	quiet_end(&quiet);
}

void stack_take_here(void *to)
{
	struct stack *stack = to;
	void *found[ROOM];
	struct modules_seen seen;
	int n = libunwind_unwind(found, ROOM), i = 0;

	if (n < 0)
		n = unwind_by_libgcc(found, ROOM);
	seen = modules_note_all(found, (unsigned int)n);
	stack->modules = seen.serial;
	if (seen.replaced)
		n = unwind_again(found, stack);
	while (i < n && self_contains(found[i]))
		i++;
	stack->inside = n == ROOM || i == n;
	for (stack->nframes = 0; i < n && stack->nframes < STACK_FRAMES; i++) {
		stack->inside |= self_contains(found[i]);
		stack->frames[stack->nframes++] = (uint64_t)(uintptr_t)found[i];
	}
}

/* A search for a verb that a signal handler has interrupted, or that has called another verb. */
struct interrupt_search {
	const void *writer, *here;
	bool signal, other, alive, whole; /* other: a function outside the recorder was passed */
	const void *outermost;
};

/*
 * Functions have frame pointers: the frame is below the return address. If that cannot be
 * determined, the result is true.
 */
static bool is_frame(struct _Unwind_Context *context, const void *frame)
{
#ifndef __x86_64__
	return true;
#endif
	return (const void *const *)libgcc.cfa(context) - 2 == (const void *const *)frame;
}

static _Unwind_Reason_Code find_interrupted(struct _Unwind_Context *context, void *arg)
{
	struct interrupt_search *search = arg;
	int before = 0;
	void *ip = (void *)libgcc.ip(context, &before);

	search->signal |= before;
	search->other |= !self_contains(ip);
	search->alive |= self_contains(ip) &&
			 (search->signal || (search->other && is_frame(context, search->writer)));
	search->whole = !ip;
	if (ip)
		search->outermost = (const void *)libgcc.cfa(context);
	return search->alive ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static bool is_on_signal_stack(const void *at)
{
	stack_t stack;

	return !sigaltstack(NULL, &stack) && !(stack.ss_flags & SS_DISABLE) &&
	       (uintptr_t)at - (uintptr_t)stack.ss_sp < stack.ss_size;
}

/*
 * Search the frame of the writer. A coroutine has a separate stack, and its verb may continue
 * later. So the writer has ended for certain only if its frame was on this stack below this frame,
 * or on the signal stack, which no handler uses now.
 */
static void search_writer(void *arg)
{
	struct interrupt_search *search = arg;
	const char *writer = search->writer, *here = search->here;

	libgcc.backtrace(find_interrupted, search);
	if (search->whole && !search->alive &&
	    is_on_signal_stack(here) == is_on_signal_stack(writer))
		search->alive = writer > (const char *)search->outermost ||
				(writer < here && here - writer > STACK_NEAR);
}

static bool is_writer_gone(const void *writer)
{
	struct interrupt_search search = { .writer = writer, .here = __builtin_frame_address(0) };
	struct quiet quiet;

	if (!libgcc.backtrace || !permit_has(NEED_STACK | NEED_QUIET))
		return false;
	quiet_begin(&quiet);
	private_stack_call(search_writer, &search);
	quiet_end(&quiet);
	return search.whole && !search.alive;
}

REGISTER(record_is_left, is_writer_gone)

struct caller_addresses {
	const void *const *frame;
	const void *const **at;
	unsigned int n, max;
	bool passed; /* the verb's own frame was passed */
};

/*
 * A return address is directly below the caller's stack pointer (CFA). Frames of functions that the
 * verb called may be on another stack.
 */
static _Unwind_Reason_Code visit_address(struct _Unwind_Context *context, void *arg)
{
	const void *const *at = (const void *const *)libgcc.cfa(context) - 1;
	struct caller_addresses *above = arg;
	int before;

	if (!above->passed) {
		above->passed = at == above->frame + 1;
		return _URC_NO_REASON;
	}
	if (*at != (void *)libgcc.ip(context, &before)) /* a signal has interrupted the function */
		return _URC_END_OF_STACK;
	above->at[above->n++] = at;
	return above->n < above->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

unsigned int stack_find_callers(const void *const *frame, const void *const **ret_at,
				unsigned int max)
{
	struct caller_addresses above = { .frame = frame, .at = ret_at, .max = max };

	if (libgcc.backtrace)
		libgcc.backtrace(visit_address, &above);
	return above.n;
}
