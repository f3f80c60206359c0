#pragma once
/*
 * Segments: creating this process's, mapping others, and allocating memory for their parts.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* This process's own segment; NULL until it has joined the fabric. */
extern struct shm_seg *segment_own;

/* False if a limit of the process (RLIMIT_FSIZE) prevents a segment. */
bool segment_is_allowed(void);

/*
 * Create the segment of this process and map it at segment_own. With registry_mutex held. 0 or
 * -errno.
 */
int segment_make(void);

/* Map the segment in @fd. 0 or -errno. */
int segment_map(int fd, struct shm_seg **ret_seg);
void segment_unmap(struct shm_seg *seg);

/*
 * @off of @seg, or NULL if [@off, @off + @len) is not in the heap. Any thread; call it before any
 * access.
 */
void *segment_at(struct shm_seg *seg, uint64_t off, uint64_t len);

/*
 * Allocate memory for [@at, @at + @size) of this segment, or of @seg, so that writing to it does
 * not raise SIGBUS. 0 or -ENOMEM. Any thread.
 */
int segment_reserve(void *at, uint64_t size);
int segment_reserve_in(struct shm_seg *seg, void *at, uint64_t size);

/*
 * Does the file system have space for that many bytes now? For memory that is allocated later. Any
 * thread.
 */
bool segment_has_room(uint64_t size);
