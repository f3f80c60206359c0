#pragma once
/*
 * Threads that are inside a call on an object when another thread begins to destroy it.
 *
 * Such a call may return, never return, or end with its thread. The model reports the call when its
 * result is known: at its return, or when its process has ended. The trace has the time at which a
 * thread ended inside a call (it was cancelled): a thread that ended before the destroy was not
 * inside.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

struct model;
struct trace_event;

/* A call that was under way when the destroy of its object began. */
struct model_inside {
	struct life object; /* a copy: name, number and creation count */
	struct moment call, destroy;
	int64_t returned; /* -1: it never did */
	int64_t ended;    /* when its thread ended inside the call; INT64_MAX: with the process */
};

/* The application calls a control verb; the verb returns. 0 or -ENOMEM. */
int destroy_race_begin_call(struct model *model, const struct trace_event *event);
void destroy_race_end_call(struct model *model, const struct trace_event *event);

/* The destroy of @life begins at @moment; destroy_race_forget(): it has failed. 0 or -ENOMEM. */
int destroy_race_note_destroy(struct model *model, const struct life *life,
			      const struct moment *moment);
void destroy_race_forget(struct model *model, const struct moment *moment);

/* @process has ended; 0: forget all processes, without reports. */
void destroy_race_end_process(struct model *model, uint32_t process);
