#pragma once
/*
 * The verbs that the objects of a running program import, when the recorder is loaded into it: the
 * loader has already bound them to the libraries. Takes the loader's lock.
 */

/* Make all loaded objects call the recorder's functions. */
void exports_hook(void);

/*
 * Make them call the original functions again, also instead of functions that import.c has
 * replaced.
 */
void exports_restore(void);
