#pragma once
/*
 * Files of a session that somebody has cut while they are mapped.
 *
 * What lay behind the new end raises SIGBUS when it is touched. In its place
 * come zeros, which are no events, and which nobody else sees.
 */
#include <stdbool.h>

/*
 * In a handler of SIGBUS: is @at in a mapped ring or page of the session at
 * @dir (NULL: of any)? Then all from there to the mapping's end is zeros from
 * now on. Safe in a signal handler; /proc is needed.
 */
bool cut_mend(const char *dir, const void *at);

/* Do so in this process, which is ours alone: any other SIGBUS ends it, as ever. */
void cut_catch(void);
