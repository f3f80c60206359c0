#pragma once
/*
 * The object files with which the program was started. Any thread, without a lock.
 */
#include <stdbool.h>

/* Remember these files. Call it before anything can be unloaded. */
void started_remember(void);

/* Does the dynamic section @dynamic belong to one of these files? */
bool started_has_object(const void *dynamic);

/* Was the program itself linked with a library of verbs? */
bool started_has_verbs(void);

/* An address in each of the started files; *@ret_n: their number. */
void *const *started_objects(unsigned int *ret_n);
