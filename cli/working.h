#pragma once
/*
 * That a command is at work: a note on stderr now and then.
 *
 * One for the process, in any thread; a child that was forked has none until it begins its own.
 */
#include <stdbool.h>
#include <stdint.h>

/* Note every @every ns that @command is at work, unless something else was told meanwhile. */
void working_start(const char *command, uint64_t every);

/* Is it time to tell something? Then it is told now, and the time begins anew. */
bool working_is_due(void);
