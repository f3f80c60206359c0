#pragma once
/*
 * Notes on stderr, from time to time, that a command is working.
 *
 * One for each process, in any thread; a forked child has none until it starts its own.
 */
#include <stdbool.h>
#include <stdint.h>

/* Note every @every ns that @command is working, unless something else was printed meanwhile. */
void working_start(const char *command, uint64_t every);

/* Is it time to print something? If so, the caller prints it now, and the interval starts again. */
bool working_is_due(void);
