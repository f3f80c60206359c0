#pragma once
/*
 * Rebuilding the arguments of a recorded call in memory.
 *
 * The reverse of codec.h and args_json.h, with the same descriptors. It uses only the JSON, so
 * editing the trace changes the call. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/wire/desc.h"

enum { BUILD_ARGS = 16 }; /* more than any verb has arguments */

/* The memory to which one call's arguments point. */
struct args_build;

/* Translate a recorded handle or address (FIELD_OBJ, FIELD_ADDR) to one of this process. */
typedef uint64_t build_resolve(void *arg, const struct field_info *field, uint64_t recorded);

/*
 * Set @args to the arguments of a recorded call of @verb. For an argument that the verb writes, it
 * points to zeroed memory of the size that the call passes, or of the structure.
 *
 * Returns 0 and a build for build_free(); or -EINVAL after log_err() if the arguments are not JSON,
 * or -ENOMEM.
 */
int build_args(enum verb verb, const struct args *from, build_resolve *resolve, void *arg,
	       uint64_t args[BUILD_ARGS], struct args_build **ret_build);

/*
 * From now on the builds of this thread, one at a time, use the @size bytes at @at instead of the
 * heap; NULL: the heap.
 */
void build_lend(void *at, size_t size);

/* Accepts NULL. */
void build_free(struct args_build *build);

/*
 * The results of a call in the JSON form of column `out` of table `call`; the caller frees
 * *@ret_json. Returns 0, -ENOMEM or -ENOSPC.
 */
int args_out_json(enum verb verb, const uint64_t *args, int64_t ret, char **ret_json);
