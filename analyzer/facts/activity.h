#pragma once
/*
 * What processes and their threads did last: posts, completions, calls that wait for an event, and
 * empty polls.
 *
 * A thread waits in a call (ibv_get_cq_event()), by empty polls, or without any verb. Empty polls
 * are not events: their number after the last completion is known only at the end of the trace.
 *
 * Not thread-safe.
 */
#include "analyzer/model/moment.h"
#include "core/base/text.h"

struct activity;
struct model;

/* NULL if out of memory. */
struct activity *activity_new(struct trace *trace);

/* Accepts NULL. */
void activity_free(struct activity *activity);

/* The application has polled a CQ; has called a control verb; that call has returned. */
void activity_note_poll(struct activity *activity, const struct trace_event *event);
void activity_note_call(struct activity *activity, const struct trace_event *event);
void activity_note_return(struct activity *activity, const struct trace_event *event);

/* The threads of a process at one moment. */
struct activity_note {
	struct cq_activity *all;
	size_t n;
	uint32_t process;
	int64_t time;
	int64_t quiet;      /* last time at which the process posted or polled a completion */
	struct moment last; /* its last verb */
};

/* Remember what the threads of @process do at @time. The caller frees it by activity_drop(). */
void activity_store_sleep(const struct activity *activity, const struct model *model,
			  uint32_t process, int64_t time, struct activity_note *ret_note);
void activity_drop(struct activity_note *note);

/* Forget the waits for an event of those threads for which @is returns true. */
void activity_forget_sleeps(struct activity_note *note, bool (*is)(void *arg, uint32_t thread),
			    void *arg);

/*
 * The call of a thread that waits for an event of @channel, a handle of verbs or librdmacm (0: of
 * any), or of rdma_get_request() for that identifier; NULL: there is none.
 */
const struct moment *activity_find_sleep(const struct activity_note *note, uint64_t channel);

/*
 * "; thread 2 polled cq1 empty 119662 times after its last completion, 2:1; thread 3 was in
 * ibv_get_cq_event() since 3:7": how the threads of the process waited. If none did, and @name is
 * not NULL: that the process, called @name, called no verb. Only at the end of the trace.
 */
void activity_describe(const struct activity *activity, const struct activity_note *note,
		       const char *name, struct text *t);

/*
 * The number of empty polls of CQ @cq (object; 0: of all) after the last completions, by all
 * threads.
 */
uint64_t activity_count_empty(const struct activity *activity, const struct activity_note *note,
			      uint32_t cq);

/*
 * The number of empty polls of one thread after its last completion from @cq (object); 0 also if
 * not known.
 */
uint64_t activity_count_thread_empty(const struct activity *activity, uint32_t thread, uint32_t cq);

/* Did @thread poll no CQ but @cq empty more than once? False also if that is not known. */
bool activity_polls_only(const struct activity *activity, uint32_t thread, uint32_t cq);

/* Does a sample of the recorder show that @thread made empty polls at @time? */
bool activity_polls_at(const struct activity *activity, uint32_t thread, int64_t time);

/*
 * Since when a thread of the process polled until the process ended, as sampled by the recorder ten
 * times a second; INT64_MAX: no thread did, or not known.
 */
int64_t activity_polled_since(const struct activity *activity, const struct activity_note *note);

/*
 * Did threads poll only CQs on which no completion could come any more? A CQ counts if the thread
 * is @thread (0: none) and had found completions in it, or if another thread had polled a
 * completion of this thread's request from it; @ret_shared: also if any other thread had found
 * completions in it. False also if that is not known.
 */
bool activity_expects_nothing(const struct activity *activity, const struct activity_note *note,
			      uint32_t thread, bool *ret_shared);

/* Did no thread poll CQ @cq (object), up to the note? False also if that is not known. */
bool activity_is_ignored(const struct activity *activity, const struct activity_note *note,
			 uint32_t cq);

/*
 * Call @each for each CQ (object) that a thread polled empty after its last completions, up to the
 * note. False: that is not known, as events are missing.
 */
bool activity_visit_empty(const struct activity *activity, const struct activity_note *note,
			  void (*each)(void *arg, uint32_t thread, uint32_t cq, uint64_t empty),
			  void *arg);
