/*
 * Where a thread may be borrowed
 */
#include "cli/attach/safe_point.h"
#include "cli/attach/unwind.h"
#include "tests/test.h"

enum { FRAMES = 10 };

/* Frames, "function module", innermost first; "!" before one: a signal handler runs above it. */
static const struct row {
	const char *name;
	const char *frames[FRAMES];
	bool asleep;
	const char *why; /* NULL: it may be borrowed */
} rows[] = {
	{ .name = "main_computes",
	  .frames = { "main app", " libc.so.6", "__libc_start_main libc.so.6", "_start app" } },
	{ .name = "stripped_program_computes",
	  .frames = { " app", " libc.so.6", "__libc_start_main libc.so.6", " app" } },
	{ .name = "thread_computes", .frames = { "f app", " libc.so.6", " libc.so.6" } },
	{ .name = "thread_computes_with_symbols",
	  .frames = { "f app", "start_thread libc.so.6", "clone3 libc.so.6" } },
	{ .name = "thread_waits_for_a_condition",
	  .frames = { " libc.so.6", "pthread_cond_wait libc.so.6", "f app", " libc.so.6",
		      " libc.so.6" },
	  .asleep = true },
	{ .name = "thread_sleeps",
	  .frames = { "clock_nanosleep libc.so.6", "nanosleep libc.so.6", "usleep libc.so.6",
		      "f app", " libc.so.6", " libc.so.6" },
	  .asleep = true },
	{ .name = "thread_waits_for_a_signal",
	  .frames = { "__sigtimedwait libc.so.6", "sigwait libc.so.6", "main app", " libc.so.6",
		      "__libc_start_main libc.so.6", "_start app" },
	  .asleep = true },
	{ .name = "thread_waits_for_an_event",
	  .frames = { "read libc.so.6", "ibv_get_cq_event libibverbs.so.1.14", "main app",
		      " libc.so.6", "__libc_start_main libc.so.6", "_start app" },
	  .asleep = true },
	{ .name = "thread_wakes_in_an_event",
	  .frames = { "read libc.so.6", "ibv_get_cq_event libibverbs.so.1.14", "main app",
		      " libc.so.6", "__libc_start_main libc.so.6", "_start app" },
	  .why = "it is in a verb" },
	{ .name = "thread_polls",
	  .frames = { "rxe_poll_cq librxe-rdmav34.so", "main app", " libc.so.6",
		      "__libc_start_main libc.so.6", "_start app" },
	  .why = "it is in a verb" },
	{ .name = "thread_allocates",
	  .frames = { " libc.so.6", "malloc libc.so.6", "main app", " libc.so.6",
		      "__libc_start_main libc.so.6", "_start app" },
	  .why = "it is in the C library, which may hold a lock" },
	{ .name = "thread_sorts_and_waits",
	  .frames = { "usleep libc.so.6", "compare app", "qsort libc.so.6", "main app",
		      " libc.so.6", "__libc_start_main libc.so.6", "_start app" },
	  .asleep = true,
	  .why = "it is in the C library, which may hold a lock" },
	{ .name = "thread_calls_a_constructor",
	  .frames = { "init plug.so", " ld-linux-x86-64.so.2", "dlopen libc.so.6", "main app",
		      " libc.so.6", "__libc_start_main libc.so.6", "_start app" },
	  .why = "it is in the loader" },
	{ .name = "program_begins",
	  .frames = { " ld-linux-x86-64.so.2", "_start ld-linux-x86-64.so.2" },
	  .why = "its stack does not end where threads begin" },
	{ .name = "handler_runs",
	  .frames = { "on_alarm app", " libc.so.6", "!main app", " libc.so.6",
		      "__libc_start_main libc.so.6", "_start app" },
	  .why = "it is in a signal handler" },
	{ .name = "stack_is_not_a_threads",
	  .frames = { "fiber app", "switch app" },
	  .why = "its stack does not end where threads begin" },
	{ .name = "stack_is_not_known",
	  .frames = { NULL },
	  .why = "its stack cannot be unwound to its beginning" },
};

static void make_stack(const struct row *row, struct unwind_stack *stack)
{
	memset(stack, 0, sizeof(*stack));
	stack->complete = true;
	for (; row->frames[stack->n]; stack->n++) {
		struct unwind_frame *frame = &stack->frames[stack->n];
		const char *at = row->frames[stack->n], *space = strchr(at, ' ');

		frame->interrupted = *at == '!';
		at += frame->interrupted;
		snprintf(frame->function, sizeof(frame->function), "%.*s", (int)(space - at), at);
		snprintf(frame->module, sizeof(frame->module), "%s", space + 1);
	}
}

TEST(threads_are_borrowed_where_they_hold_no_lock)
{
	struct unwind_stack stack;
	const char *why;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		make_stack(&rows[i], &stack);
		why = safe_point_check(&stack, rows[i].asleep);
		if ((why ? !rows[i].why || strcmp(why, rows[i].why) : rows[i].why != NULL))
			fail_msg("%s: %s", rows[i].name, why ? why : "safe");
	}
}

TEST(part_of_a_stack_is_not_enough)
{
	struct unwind_stack stack;

	make_stack(&rows[0], &stack);
	stack.complete = false;
	assert_non_null(safe_point_check(&stack, false));
}
