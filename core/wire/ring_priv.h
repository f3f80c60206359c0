#pragma once
/*
 * What ring.c, ring_read.c and ring_area.c have of each other.
 */
#include "core/wire/ring.h"

/*
 * Both pieces of a growing ring to where piece @first of its file begins; they
 * are there. Returns 0 or -errno.
 */
int ring_move(struct ring *ring, int fd, uint64_t first, int sharing);

/*
 * Does the reader stand where the writer has turned? Then it turns, too. Returns
 * 0 with the end of what is to be read in this area, @tail or the next turn; or
 * -EBADMSG.
 */
int area_find_end(struct ring *ring, uint64_t tail, uint64_t *ret_end);

/* Go to the area where position @at was written. Returns 0 or -EBADMSG. */
int area_find(struct ring *ring, uint64_t at);

/* Can a mapping not be made anew from itself (under valgrind)? Then a reader keeps the file. */
bool area_needs_file(const struct ring *ring);
