#pragma once
/*
 * This process joins its session. Any thread.
 */
#include <stdbool.h>

/* One thread joins, the others wait; false: this process is not recorded. */
bool join_process(void);

/*
 * The next verb joins the session @dir, whatever the environment says, and whatever was recorded
 * before. No thread may have a ring of an earlier session that it can still write to.
 */
void reset_join(const char *dir);
