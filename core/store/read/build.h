#pragma once
/*
 * The arguments of a recorded call, in memory again.
 *
 * What codec.h took from memory and json.h wrote is put back by the same
 * descriptors, from the JSON alone: a trace changed by hand is a changed call.
 * One thread.
 */
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/wire/desc.h"

enum { BUILD_ARGS = 16 }; /* more than a verb has */

/* The memory behind one call's arguments. */
struct build;

/* A handle or an address of the recording (FIELD_OBJ, FIELD_ADDR) as it is here. */
typedef uint64_t build_resolve(void *arg, const struct field_info *field, uint64_t recorded);

/*
 * Fill @args from those of a recorded call of @verb. What the verb writes to gets
 * zeroed memory as large as the call said, or as the structure is.
 *
 * Returns 0 and what build_free() takes; or -EINVAL after log_err() where the
 * JSON is none, or -ENOMEM.
 */
int build_args(enum verb verb, const struct args *from, build_resolve *resolve, void *arg,
	       uint64_t args[BUILD_ARGS], struct build **ret_build);

/* Accepts NULL. */
void build_free(struct build *build);

/*
 * What came out of a call, as the JSON that recording would have made of it
 * (column `out` of table `call`): for free(). Returns 0 or -ENOMEM, -ENOSPC.
 */
int args_out_json(enum verb verb, const uint64_t *args, int64_t ret, char **ret_json);
