#pragma once
/*
 * Rebuilding the arguments of a recorded call in memory.
 *
 * Reverses what codec.h and args_json.h did, by the same descriptors, from the
 * JSON alone: to change the trace by hand is to change the call. One thread.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/wire/desc.h"

enum { BUILD_ARGS = 16 }; /* more than a verb has */

/* The memory behind one call's arguments. */
struct build;

/* Translate a handle or an address of the recording (FIELD_OBJ, FIELD_ADDR) to one of ours. */
typedef uint64_t build_resolve(void *arg, const struct field_info *field, uint64_t recorded);

/*
 * Fill @args from those of a recorded call of @verb. Arguments that the verb
 * writes to get zeroed memory, as large as the call said or as the structure is.
 *
 * Returns 0 and a build to be given to build_free(); or -EINVAL after log_err() if
 * the arguments are not JSON, or -ENOMEM.
 */
int build_args(enum verb verb, const struct args *from, build_resolve *resolve, void *arg,
	       uint64_t args[BUILD_ARGS], struct build **ret_build);

/*
 * Builds of this thread take their memory from @size bytes at @at, each from all of it; NULL: from
 * the heap.
 */
void build_lend(void *at, size_t size);

/* Accepts NULL. */
void build_free(struct build *build);

/*
 * The results of a call, as the JSON that recording would have made of them
 * (column `out` of table `call`); the caller frees it. Returns 0 or -ENOMEM,
 * -ENOSPC.
 */
int args_out_json(enum verb verb, const uint64_t *args, int64_t ret, char **ret_json);
