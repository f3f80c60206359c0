#pragma once
/*
 * This process joins its session. Any thread.
 */
#include <stdbool.h>

/* One thread joins, the others wait; false: this process is not recorded. */
bool join_process(void);
