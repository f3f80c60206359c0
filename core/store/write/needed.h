#pragma once
/*
 * The earlier control verbs that a trace which begins in the middle must have: the ones that
 * created the live objects, and the latest ones that determine their state.
 *
 * Follows the calls of all threads as they return. Memory grows with the live objects, with the
 * calls since the last needed_cut(), and with the earlier calls that a trace which begins at a cut
 * may need. Not thread-safe. A handle is valid within its process.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/ids.h"
#include "core/wire/desc.h"

struct needed;

/* Returns 0 or -ENOMEM. */
int needed_new(struct needed **ret_needed);

/* Accepts NULL. */
void needed_free(struct needed *needed);

/* A control verb that has returned successfully. */
struct needed_call {
	struct event_id id;
	uint64_t end_n; /* number of its return */
	int64_t begin, end;
	uint32_t process, stack;
	enum verb verb;
	int64_t ret;
	uint64_t handle; /* of the object that it used or created; 0: none */
	enum object_kind parent_kind;
	uint64_t parent;        /* the first handle among its arguments; 0: none */
	const char *args, *out; /* JSON; may be NULL */
};

/* Process a call. 0 or -ENOMEM. */
int needed_call(struct needed *needed, const struct needed_call *call);

/* @child has copies of the objects of @parent. 0 or -ENOMEM. */
int needed_note_fork(struct needed *needed, uint32_t child, uint32_t parent);

/* The process has ended, and no other process has its objects. */
void needed_note_exit(struct needed *needed, uint32_t process, int64_t time);

/* A time at which a trace may begin, after all calls that were added. */
struct needed_cut {
	int64_t time, limit;         /* as for needed_forget() */
	const struct event_id *open; /* calls that have not returned, sorted by thread and number */
	size_t nopen;
};

/* Note a cut. Objects and calls that no trace needs are freed at once. Returns 0 or -ENOMEM. */
int needed_cut(struct needed *needed, const struct needed_cut *cut);

/* Is the call @id needed now, or was it needed at a cut since the last needed_forget()? */
bool needed_has(const struct needed *needed, struct event_id id);

/* Is an object of any kind alive at @handle? */
bool needed_is_alive(const struct needed *needed, uint32_t process, uint64_t handle);

/* Does needed_has() hold for any call of @thread? */
bool needed_has_thread(const struct needed *needed, uint32_t thread);

/*
 * An object that is needed, and its ordinal within its kind and process. Or, if made.thread is 0:
 * how many objects of the kind the process had created before the time of needed_forget().
 */
struct needed_object {
	uint32_t process;
	enum object_kind kind;
	struct event_id made; /* thread 0: @ordinal is the number of objects */
	uint32_t ordinal;
	uint64_t row; /* a unique number of this struct */
};

/*
 * Receives the results of needed_forget(). Each function returns 0 or -errno, which ends
 * needed_forget().
 */
struct needed_sink {
	void *arg;
	int (*drop)(void *arg, struct event_id call); /* @call is no longer needed */
	int (*number)(void *arg, const struct needed_object *object);
	int (*unnumber)(void *arg, uint64_t row); /* the object with that row was destroyed */
};

/*
 * The trace now begins at @time. Its requests may refer to objects that were destroyed before
 * @time, but not before @limit. 0 or -errno of @sink.
 */
int needed_forget(struct needed *needed, int64_t time, int64_t limit,
		  const struct needed_sink *sink);

/* Call @mark with each stack of a needed call. */
void needed_stacks(const struct needed *needed, void (*mark)(void *arg, uint32_t stack), void *arg);

/* The numbers of live objects and of needed calls. */
struct needed_size {
	size_t objects, calls;
};
struct needed_size needed_size(const struct needed *needed);
