#pragma once
/*
 * The rows of a profile for threads, processes, queues and completion queues, created when they are
 * first used. NULL if out of memory, or if the trace has nothing with that number. Not thread-safe.
 */
#include "analyzer/profile/profiler.h"

/* Rows for all processes and threads that the trace has so far. */
void rows_grow(struct profiler *p);

struct profile_queue *rows_queue(struct profiler *p, uint32_t object, uint32_t process);
struct profile_cq *rows_get_cq(struct profiler *p, uint32_t object, uint32_t process);
struct profile_process *rows_process(struct profiler *p, uint32_t id);
struct profile_thread *rows_get_thread(struct profiler *p, uint32_t id, uint32_t process);
struct worker *rows_get_worker(struct profiler *p, uint32_t thread);
