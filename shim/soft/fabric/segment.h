#pragma once
/*
 * Segments: making our own, mapping any, and putting memory behind their parts.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* This process's own, NULL until it has joined the fabric. */
extern struct shm_seg *segment_own;

/* False if a limit of the process (RLIMIT_FSIZE) is in the way. */
bool segment_may_be(void);

/* Make the one of node_self and map it at segment_own. Under registry_mutex. 0 or -errno. */
int segment_make(void);

/* Map the segment in @fd. 0 or -errno. */
int segment_map(int fd, struct shm_seg **ret_seg);
void segment_unmap(struct shm_seg *seg);

/*
 * @off of @seg, or NULL if [@off, @off + @len) does not lie in the heap. Any thread, and before
 * anything there is read or written.
 */
void *segment_at(struct shm_seg *seg, uint64_t off, uint64_t len);

/*
 * Allocate memory for [@at, @at + @size) of our segment, or of @seg, so that writing there does not
 * raise SIGBUS. 0 or -ENOMEM. Any thread.
 */
int segment_reserve(void *at, uint64_t size);
int segment_reserve_in(struct shm_seg *seg, void *at, uint64_t size);

/* Has the file system room for so many bytes now? For what is reserved later. Any thread. */
bool segment_has_room(uint64_t size);
