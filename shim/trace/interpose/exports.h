#pragma once
/*
 * The verbs that the program's objects import, when the recorder comes into a running program: the
 * loader has bound them to the libraries already. Takes the loader's lock.
 */

/* Have all loaded objects call the recorder's functions. */
void exports_hook(void);

/* Make them call the original functions again, also those that import.c has replaced. */
void exports_restore(void);
