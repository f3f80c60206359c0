#pragma once
/*
 * Pointers of the program that the recorder has replaced, so that they can be restored when the
 * recorder is removed from a running program. Any thread; takes a lock, and sometimes allocates
 * memory.
 */
#include <stdbool.h>

/* From now on replaced pointers are noted. A program that is recorded from its start notes none. */
void undo_begin(void);

/* Was the recorder loaded into a running program? */
bool undo_is_on(void);

/* The caller is about to replace *@slot, which still has its original value. */
void undo_note(void **slot);

/* The original value of *@slot; NULL: not known. */
void *undo_find(void **slot);

/*
 * Restore all pointers that are readable and still have the recorder's value; the others were in
 * objects that have been freed.
 */
void undo_all(void);
