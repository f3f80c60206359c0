#pragma once
/*
 * The arguments of a control verb as C, from the list of verbs: names of enumerators and flags,
 * structures with the fields that the recorded program gave, variables for handles and numbers.
 *
 * Not thread-safe.
 */
#include "cli/emit/maker.h"

/* Add argument @field of @call to maker->program->phrase. 0 or -errno. */
int arguments_add(struct maker *maker, const struct call *call, const struct field_info *field);

/* The object of @kind with @handle in the current process; 0: none. */
uint32_t arguments_object(const struct maker *maker, enum object_kind kind, uint64_t handle);

/*
 * Record a read or use of each object that the arguments of @call refer to; the object that the
 * call creates needs them until it is destroyed. 0 or -errno.
 */
int arguments_order(struct maker *maker, const struct call *call);
