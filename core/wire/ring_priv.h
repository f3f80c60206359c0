#pragma once
/*
 * Shared by ring.c, ring_read.c and ring_area.c.
 */
#include "core/wire/ring.h"

/*
 * Move the mappings of both pieces of a growing ring to offset @first of its data; the file must be
 * long enough. Returns 0 or -errno.
 */
int ring_move(struct ring *ring, int fd, uint64_t first, int sharing);

/*
 * If the reader has reached the end of an area that the writer has left, go to the next area.
 * Returns 0 with the end of the readable data in this area: @tail, or the next element of turns[];
 * or -EBADMSG.
 */
int area_find_end(struct ring *ring, uint64_t tail, uint64_t *ret_end);

/* Go to the area that contains position @at. Returns 0 or -EBADMSG. */
int area_find(struct ring *ring, uint64_t at);

/* Is mremap() unable to duplicate a mapping (under valgrind)? Then a reader keeps the file open. */
bool area_needs_file(const struct ring *ring);
