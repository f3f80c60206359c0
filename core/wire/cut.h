#pragma once
/*
 * Files of a session that were truncated while they are mapped.
 *
 * Touching what lay behind the new end raises SIGBUS. We map zeros there instead:
 * they are no events, and no other process sees them.
 */
#include <stdbool.h>

/*
 * In a handler of SIGBUS: is @at in a mapped ring or page of the session at
 * @dir (NULL: of any)? Then everything from there to the mapping's end reads as
 * zeros from now on. Safe in a signal handler; needs /proc.
 */
bool cut_mend(const char *dir, const void *at);

/* Install that as this process's handler. Any other SIGBUS ends the process, as without it. */
void cut_catch(void);
