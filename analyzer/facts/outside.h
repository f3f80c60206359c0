#pragma once
/*
 * Why a process may have ended badly though no failure of a verb explains it.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct model;

/*
 * How far the queue pairs of @process were that had no peer yet; of one that @exited with an error
 * also the last failure, @expected (NULL: none), or that the trace has no reason. NULL: there is
 * nothing to say, or no memory. The caller frees it.
 */
char *outside_cause(const struct model *model, uint32_t process, bool exited, const char *expected);
