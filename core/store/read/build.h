#pragma once
/*
 * Rebuilding the arguments of a recorded call in memory.
 *
 * Reverses codec.h and args_json.h, with the same descriptors, from the JSON alone: editing the
 * trace changes the call. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/wire/desc.h"

enum { BUILD_ARGS = 16 }; /* more than any verb has */

/* The memory behind one call's arguments. */
struct build;

/* Translate a recorded handle or address (FIELD_OBJ, FIELD_ADDR) to one of this process. */
typedef uint64_t build_resolve(void *arg, const struct field_info *field, uint64_t recorded);

/*
 * Set @args to those of a recorded call of @verb. Arguments that the verb writes to get zeroed
 * memory of the size in the call, or of the structure.
 *
 * Returns 0 and a build for build_free(); or -EINVAL after log_err() if the arguments are not JSON,
 * or -ENOMEM.
 */
int build_args(enum verb verb, const struct args *from, build_resolve *resolve, void *arg,
	       uint64_t args[BUILD_ARGS], struct build **ret_build);

/*
 * From now on builds of this thread use the @size bytes at @at, one build at a time; NULL: the
 * heap.
 */
void build_lend(void *at, size_t size);

/* Accepts NULL. */
void build_free(struct build *build);

/*
 * The results of a call, as JSON in the form of column `out` of table `call`; the caller frees it.
 * Returns 0 or -ENOMEM, -ENOSPC.
 */
int args_out_json(enum verb verb, const uint64_t *args, int64_t ret, char **ret_json);
