#pragma once
/*
 * May a thread be borrowed where it is stopped: does it hold no lock that the loader, malloc or a
 * verb needs? Not thread-safe.
 */
#include <stdbool.h>

struct unwind_stack;

/* NULL: it may. Else why not, a text of ours. @asleep: it waits in a system call. */
const char *safe_point_check(const struct unwind_stack *stack, bool asleep);

/* Is @module, the name of a file, one whose functions return soon, and may hold a lock? */
bool safe_point_has_locks(const char *module);
