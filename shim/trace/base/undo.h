#pragma once
/*
 * Pointers of the program that the recorder has replaced, so that they can be restored when it is
 * taken out of a running program. Any thread; a lock, and an allocation now and then.
 */
#include <stdbool.h>

/* From now on replaced pointers are noted. A program that is recorded from its start notes none. */
void undo_begin(void);

/* Is the recorder one that was brought into a running program? */
bool undo_is_on(void);

/* *@slot is about to be replaced; it has its own value still. */
void undo_note(void **slot);

/* What *@slot was; NULL: not known. */
void *undo_find(void **slot);

/*
 * Restore all that can be read and still are the recorder's: the objects around others were freed.
 */
void undo_all(void);
