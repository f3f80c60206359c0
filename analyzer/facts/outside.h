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
 * The states of the queue pairs of @process that had no peer yet; if the process @exited with an
 * error, also a connection that it gave up, and its last failure @expected or, if that is NULL, the
 * remark that the trace shows no reason. The caller frees the text; NULL: nothing to report, or no
 * memory.
 */
char *outside_describe_cause(const struct model *model, uint32_t process, bool exited,
			     const char *expected);
