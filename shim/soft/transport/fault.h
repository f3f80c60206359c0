#pragma once
/*
 * Faults on demand, defined by the file VERBATIM_SOFT_FAULTS.
 *
 * Any thread. docs/FAULTS.md has the format of the file.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/faults/link_model.h"
#include "core/faults/rule.h"

/* Are there any rules? Check this before calling the functions below. */
extern bool fault_any;

static inline bool fault_is_any(void)
{
	return __atomic_load_n(&fault_any, __ATOMIC_RELAXED);
}

/*
 * Read the file, if there is one, unless it was read before. @node: number of this process on the
 * fabric. 0; or -EINVAL, reported on stderr.
 */
int fault_load(uint32_t node);
void fault_unload(void);

/* The model of this process's link in the file; NULL: none. */
const struct link_model *fault_link(void);

/* Count this call of @verb; returns the fault that applies to it. */
struct fault fault_verb(const char *verb);

/*
 * Count the send request at position @pos of its queue; returns the fault that applies to it.
 * @again: it is a retry, to which only random rules apply.
 */
struct fault fault_request(uint32_t qpn, uint32_t pos, int opcode, uint32_t bytes, bool again);

/* Add a rule for one operation at run time; it precedes the rules of the file. 0 or -ENOMEM. */
int fault_give(const struct fault_rule *rule);

/* Drop the unused added rules: for calls of @thread; if that is 0, for requests of @qpn. */
void fault_take_back(uint64_t thread, uint32_t qpn);

/* Count a fault that was applied. fault_count_struck(): the number of faults that were applied. */
void fault_note_struck(void);
unsigned int fault_count_struck(void);
