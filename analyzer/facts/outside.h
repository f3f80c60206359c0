#pragma once
/*
 * Why a process may have ended badly though no verb of it failed.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct model;

/*
 * How far the queue pairs of @process were that had no peer yet; of one that @exited with an error
 * at least that the trace has no reason. NULL: there is nothing to say, or no memory. The caller
 * frees it.
 */
char *outside_cause(const struct model *model, uint32_t process, bool exited);
