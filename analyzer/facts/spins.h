#pragma once
/*
 * A process that spins on a lock in the memory of a peer.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct model;

/*
 * What @process spun on until its last post: the word of a compare-and-swap, and which other
 * processes used it. The caller frees the text; NULL: nothing, or no memory.
 */
char *spins_describe(const struct model *model, uint32_t process);
