#pragma once
/*
 * Files of a session that were truncated while they are mapped.
 *
 * Access beyond the new end raises SIGBUS. Zeros are mapped there instead: they are not valid
 * events, and no other process sees them.
 */
#include <stdbool.h>

/*
 * In a handler of SIGBUS: is @at in a mapped ring or page of the session at @dir (NULL: of any)? If
 * so, zeros are mapped from @at to the mapping's end. Safe in a signal handler; needs /proc.
 */
bool cut_repair(const char *dir, const void *at);

/*
 * Install a handler of SIGBUS that calls cut_repair(). Any other SIGBUS ends the process, as
 * without the handler.
 */
void cut_catch(void);
