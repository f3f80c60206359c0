#pragma once
/*
 * Joining the session. Any thread.
 */
#include <stdbool.h>

/* Let one thread join, while the others wait. False: this process is not recorded. */
bool join_process(void);

/*
 * The next verb will join the session at @dir, regardless of the environment and of earlier
 * recordings. No thread may have a ring of an earlier session to which it can still write.
 */
void reset_join(const char *dir);
