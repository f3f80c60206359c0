#pragma once
/*
 * Why a process may have ended with an error that no failure of a verb explains.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct model;

/*
 * The states of the queue pairs of @process that had no peer yet; if it @exited with an error also
 * the last failure, @expected (NULL: none), or that the trace has no reason. NULL: there is nothing
 * to report, or no memory. The caller frees it.
 */
char *outside_cause(const struct model *model, uint32_t process, bool exited, const char *expected);
