#pragma once
/*
 * The call stack of a verb.
 *
 * Any thread, also in a signal handler and while another thread holds the loader's lock, after
 * stack_begin() was called.
 */
#include <stdbool.h>
#include <stdint.h>

enum { STACK_FRAMES = 48 };

struct stack {
	uint32_t modules; /* highest serial number of its files (modules.h) */
	uint32_t nframes;
	bool inside; /* a verb is among the frames, or this is not known */
	/* return addresses, innermost first, without the recorder's own */
	uint64_t frames[STACK_FRAMES];
};

/* Load the unwinders. Takes the loader's lock. */
void stack_load(void);

/* Called at the first verb of an image; loads the unwinders if stack_load() was not called. */
void stack_begin(void);

/*
 * Take this thread's call stack; files that are found for the first time are written to its ring.
 * It needs little of the caller's stack, since it runs on a private stack (private_stack.h).
 */
void stack_take(struct stack *ret_stack);

/*
 * The same on the caller's stack: signals must be blocked, and enough stack must be left. @to:
 * struct stack.
 */
void stack_take_here(void *to);

/*
 * Find the positions of the return addresses above the verb's own (@frame is the verb's frame,
 * frame[1] the verb's return address): at most @max, in @ret_at. Returns their number.
 */
unsigned int stack_find_callers(const void *const *frame, const void *const **ret_at,
				unsigned int max);
