#pragma once
/*
 * May a thread be borrowed where it is stopped: does it hold no lock that the loader, malloc or a
 * verb needs? Not thread-safe.
 */
#include <stdbool.h>

struct unwind_stack;

/*
 * NULL: the thread may call functions now. Else the reason why not, a constant text. @asleep: the
 * thread waits in a system call.
 */
const char *safe_point_check(const struct unwind_stack *stack, bool asleep);

/* Is @module the name of a file whose functions return soon, and may hold a lock? */
bool safe_point_has_locks(const char *module);
