#pragma once
/*
 * What ring.c, ring_read.c and ring_area.c need of each other.
 */
#include "core/wire/ring.h"

/*
 * Map both pieces of a growing ring anew, from offset @first of its data on; the
 * file is long enough. Returns 0 or -errno.
 */
int ring_move(struct ring *ring, int fd, uint64_t first, int sharing);

/*
 * Where the reader has reached the end of an area that the writer has left, go to
 * the next area. Returns 0 with the end of what can be read in this area, @tail or
 * the next turn; or -EBADMSG.
 */
int area_find_end(struct ring *ring, uint64_t tail, uint64_t *ret_end);

/* Go to the area where position @at was written. Returns 0 or -EBADMSG. */
int area_find(struct ring *ring, uint64_t at);

/* Does mremap() not duplicate a mapping (under valgrind)? Then a reader keeps the file open. */
bool area_needs_file(const struct ring *ring);
