#pragma once
/*
 * Finds the objects of verbs.h in the memory of a process.
 *
 * They are found by their layout, without the library's help: a freed object may be among them, and
 * an object of an unusual provider may be missing. Not thread-safe.
 */
#include "cli/attach/handle.h"

struct facts;

/* Search the memory of @facts. 0 or -ENOMEM. */
int handles_find(struct facts *facts, struct handles *ret_handles);
void handles_fini(struct handles *handles);

const struct handle_qp *handles_qp(const struct handles *handles, uint32_t qpn);
