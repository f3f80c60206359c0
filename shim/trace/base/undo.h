#pragma once
/*
 * Pointers of the program that the recorder has replaced, so that they can be restored when it is
 * taken out of a running program. Any thread; a lock, and an allocation now and then.
 */
#include <stdbool.h>

/* From now on replaced pointers are noted. A program that is recorded from its start notes none. */
void undo_begin(void);

/* Was the recorder brought into a running program? */
bool undo_is_on(void);

/* *@slot is about to be replaced; it still has its original value. */
void undo_note(void **slot);

/* The original value of *@slot; NULL: not known. */
void *undo_find(void **slot);

/*
 * Restore all pointers that can be read and are still the recorder's; others were in objects that
 * have been freed.
 */
void undo_all(void);
