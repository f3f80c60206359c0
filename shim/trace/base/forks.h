#pragma once
/*
 * Forks, and locks that must be free in a child.
 *
 * The loader's lock, and libunwind's, stay locked in a child if another thread held them at the
 * fork, since that thread does not exist in the child. Any thread; errno is preserved.
 */
#include <stdbool.h>

/* Between forks_hold() and forks_release() no fork happens, as far as possible. Nests. */
void forks_hold(void);
void forks_release(void);

/*
 * Is a thread of this process forking? Then forks_before() has already checked the other threads.
 */
bool forks_is_forking(void);

/* Called before and after a fork by the forking thread; one thread at a time. */
void forks_before(void);
void forks_after_parent(void);
void forks_after_child(void);

/*
 * Was this process created by a fork that did not wait long enough for forks_release()? Then the
 * loader may be locked forever.
 */
bool forks_is_torn(void);
