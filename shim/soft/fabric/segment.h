#pragma once
/*
 * Segments: creating the segment of this process, mapping others, and allocating memory in them.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* This process's own segment; NULL until it has joined the fabric. */
extern struct shm_seg *segment_own;

/* False if a limit of the process (RLIMIT_FSIZE) prevents a segment. */
bool segment_is_allowed(void);

/*
 * Create the segment of this process, and map it at segment_own. Callers hold registry_mutex. 0 or
 * -errno.
 */
int segment_make(void);

/* Map the segment whose file is open as @fd. 0 or -errno. */
int segment_map(int fd, struct shm_seg **ret_seg);
void segment_unmap(struct shm_seg *seg);

/*
 * The address of offset @off in @seg, or NULL if [@off, @off + @len) is not within the heap. Any
 * thread; call it before any access.
 */
void *segment_at(struct shm_seg *seg, uint64_t off, uint64_t len);

/*
 * Allocate memory for [@at, @at + @size) of this segment, or of @seg, so that writing to it does
 * not raise SIGBUS. 0 or -ENOMEM. Any thread.
 */
int segment_reserve(void *at, uint64_t size);
int segment_reserve_in(struct shm_seg *seg, void *at, uint64_t size);

/*
 * Does the file system now have space for @size bytes? For memory that will be allocated later. Any
 * thread.
 */
bool segment_has_room(uint64_t size);
