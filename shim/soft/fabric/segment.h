#pragma once
/*
 * Making our segment. fabric.c calls these under its mutex; nobody else does.
 */
#include <stdbool.h>

/* False if a limit of the process (RLIMIT_FSIZE) is in the way. */
bool segment_may_be(void);

/* Make that of fabric_self and map it at fabric_seg. 0 or -errno. */
int segment_make(void);
