#pragma once
/*
 * Threads that are inside a call on an object when another thread begins to destroy it.
 *
 * Such a call may return, never return, or end with its thread. The model reports it when that is
 * known: at its return, or when its process has ended. The trace has the time at which a thread
 * ended inside a call (it was cancelled): a thread that ended before the destroy was not inside.
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
	int64_t ended;    /* its thread, within it; INT64_MAX: its process did first */
};

/* The application calls a control verb; it returns. 0 or -ENOMEM. */
int inside_begins(struct model *model, const struct trace_event *event);
void inside_returns(struct model *model, const struct trace_event *event);

/* @moment begins to destroy @life; that has failed. 0 or -ENOMEM. */
int inside_destroyed(struct model *model, const struct life *life, const struct moment *moment);
void inside_spared(struct model *model, const struct moment *moment);

/* @process has ended; 0: all have, and nothing is reported. */
void inside_end(struct model *model, uint32_t process);
