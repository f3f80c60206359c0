#pragma once
/*
 * The call stack of a control verb.
 *
 * Any thread; safe in a signal handler once it has been called before.
 */
#include <stddef.h>
#include <stdint.h>

enum { STACK_FRAMES = 48 };

/* Return addresses, innermost first, without the recorder's own; returns how many, <= @max. */
unsigned int stack_take(uint64_t *frames, unsigned int max);
