#pragma once
/*
 * Which threads of a process wait together: those that share a queue pair or a CQ.
 *
 * Not thread-safe.
 */
#include "analyzer/model/last_verb.h"
#include "core/store/read/trace.h"

enum { THREAD_SETS = 64 /* of a process, at most */ };

struct activity_note;
struct thread_sets;

/* NULL if out of memory. */
struct thread_sets *thread_sets_new(void);

/* Accepts NULL. */
void thread_sets_free(struct thread_sets *sets);

/* The application has posted requests, or has polled a CQ. */
void thread_sets_note_post(struct thread_sets *sets, const struct trace_event *event);
void thread_sets_note_poll(struct thread_sets *sets, const struct trace_event *event);

/*
 * The sets of @process, which ends: one thread of each; @note: what the threads do. Returns their
 * number; 0: the threads cannot be distinguished.
 */
size_t thread_sets_find(struct thread_sets *sets, struct model *model, uint32_t process,
			const struct activity_note *note, uint32_t ret[THREAD_SETS]);

/* The set of a thread; of a queue pair or CQ (object) of a process that has ended. 0: none. */
uint32_t thread_sets_of_thread(const struct thread_sets *sets, uint32_t thread);
uint32_t thread_sets_of_object(const struct thread_sets *sets, uint32_t object);

/* The last verb of a set, and when one of its threads last made progress; NULL: none. */
const struct last_verb *thread_sets_last(const struct thread_sets *sets, const struct model *model,
					 uint32_t set, int64_t *ret_progress);
