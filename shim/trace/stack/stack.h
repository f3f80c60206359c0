#pragma once
/*
 * The call stack of a verb.
 *
 * Any thread, also in a signal handler and while another thread holds the
 * loader's lock, once stack_begin() was called.
 */
#include <stdint.h>

enum { STACK_FRAMES = 48 };

struct stack {
	uint32_t modules; /* the highest serial of its files (modules.h) */
	uint32_t nframes;
	/* return addresses, innermost first, without the recorder's own */
	uint64_t frames[STACK_FRAMES];
};

/* Load what unwinds. Takes the loader's lock. */
void stack_load(void);

/* At the first verb of an image; loads, if that was not done. */
void stack_begin(void);

/* Take this thread's stack; a file that was not known is written into its ring. On little
 * stack: what unwinds has one of its own (aside.h). */
void stack_take(struct stack *ret_stack);

/* The same for who has signals blocked and much stack left: @to is the struct stack. */
void stack_take_here(void *to);

/*
 * Where the return addresses lie that stand above the verb whose frame is
 * @frame (frame[1] is its own): at most @max, in @ret_at. Returns how many.
 */
unsigned int stack_above(const void *const *frame, const void *const **ret_at, unsigned int max);
