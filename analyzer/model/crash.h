#pragma once
/*
 * Which threads were using an object that another one destroyed just before the process crashed.
 *
 * A data verb that crashes leaves no event. What the trace has is the last verb of its thread, a
 * post to or a poll of that object, shortly before the destroy, and how the process ended.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;

enum { CRASH_SOON = 1000000000 }; /* ns from the destroy to the end, which may write a core dump */

/* A thread whose last verb posted to or polled an object that was then destroyed. */
struct crash_thread {
	enum object_kind kind;
	struct moment last, created, destroyed; /* destroyed.id 0:0: the object was not destroyed */
	char name[LIFE_NAME];
};

struct model_crash {
	const struct crash_thread *thread;
	int64_t end;
	int signal;
};

/* The destroy of @life has begun at @moment. crash_forget(): it has failed. */
void crash_note_destroyed(struct model *model, const struct life *life,
			  const struct moment *moment);
void crash_forget(struct model *model, const struct moment *moment);

/* The signal of a fault that has killed @process; 0: none has, or it is not known. */
int crash_signal_of(const struct model *model, uint32_t process);

/* The entry of @thread; NULL: it was not using a destroyed object. */
const struct crash_thread *crash_find_thread(const struct model *model, uint32_t thread);

/* Did the thread end before its process? */
bool crash_has_thread_ended(const struct model *model, uint32_t thread);

/* @process has been killed at @time. */
void crash_note_killed(struct model *model, uint32_t process, int64_t time);
void crash_fini(struct model *model);
