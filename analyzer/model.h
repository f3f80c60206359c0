#pragma once
/*
 * The objects that live while programs run, from the stream of their events.
 *
 * Each process has its own objects, by address. An object is live from the
 * return of its creation, dying from the begin of its destroy to the return of
 * it, and gone afterwards; the last LIVES_DEAD of those are remembered until
 * their address is used again. Calls that the library makes inside another
 * verb, or the recorder itself, are not looked at: what matters is what the
 * application asked for.
 *
 * The model judges nothing: it tells its watcher what happened, and the rules
 * (rule.h) judge. Memory grows with what is alive, not with the trace.
 *
 * One thread.
 */
#include "analyzer/lives.h"
#include "analyzer/watcher.h"

struct model;

/* How a process ended decides what it has left behind. */
enum model_end {
	MODEL_EXITED,
	MODEL_REPLACED, /* by exec, which released what it had */
	MODEL_KILLED,
	MODEL_UNKNOWN, /* nobody saw it, or the trace ends first */
};

/* @trace gives names and nothing else. Returns 0 or -errno. */
int model_new(struct trace *trace, const struct model_watcher *watcher, struct model **ret_model);

/* Accepts NULL. */
void model_free(struct model *model);

/* The next event of the stream. Returns 0 or -errno after log_err(). */
int model_event(struct model *model, const struct trace_event *event);

/* @process has ended: tells of destroys that never returned, of leaks; then forgets it. */
int model_end(struct model *model, uint32_t process, int64_t time, enum model_end how);

/* Has @process anything that is alive, or a destroy that has not returned? */
bool model_has(const struct model *model, uint32_t process);

/* The fork that made @process, or NULL. */
const struct mark *model_fork(const struct model *model, uint32_t process);
