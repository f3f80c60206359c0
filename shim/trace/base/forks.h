#pragma once
/*
 * Forks, and what a child must not find half done.
 *
 * The loader's lock, and libunwind's, stay held in a child if another thread had
 * them at the fork: nobody releases them there. Any thread; errno is kept.
 */
#include <stdbool.h>

/* Between these two no fork happens, as far as we can prevent it. Nests. */
void forks_hold(void);
void forks_allow(void);

/* Is a thread of this process forking? From then on forks_before() has looked at what others do. */
bool forks_go_on(void);

/* Around a fork, in the thread that forks; one thread at a time. */
void forks_before(void);
void forks_after_parent(void);
void forks_after_child(void);

/*
 * This process comes from a fork that could wait no longer for forks_allow(): the
 * loader may be locked for ever.
 */
bool forks_tore(void);
