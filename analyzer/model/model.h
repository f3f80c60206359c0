#pragma once
/*
 * The objects that live while programs run, from the stream of their events.
 *
 * Each process has its own objects, by address. An object is alive from the return of its creation,
 * dying from the begin of its destroy to the return, and dead afterwards; the last LIVES_DEAD dead
 * objects are remembered until their address is reused. Calls that the library makes inside another
 * verb, and the recorder's own, are ignored: only calls of the application count.
 *
 * The model does not judge: it calls its watcher, and the rules (rule.h) judge. Memory grows with
 * the live objects, not with the trace.
 *
 * Not thread-safe.
 */
#include "analyzer/model/key.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/peer.h"
#include "analyzer/model/watcher.h"

struct model;

/* @trace is used for names only. Returns 0 or -errno. */
int model_new(struct trace *trace, const struct model_watcher *watcher, struct model **ret_model);

/* Posts or polls are not in the trace: no queue's content is certain. Before the first event. */
void model_set_bypassed(struct model *model);

/* Accepts NULL. */
void model_free(struct model *model);

/* The next event of the stream. Returns 0 or -errno after log_err(). */
int model_process_event(struct model *model, const struct trace_event *event);

/* @process has ended: report destroys that never returned, and leaks; then forget it. */
int model_end(struct model *model, uint32_t process, int64_t time, enum model_end how);

/* Has @process a live object, or a destroy that has not returned? */
bool model_has_objects(const struct model *model, uint32_t process);

/* The number of live objects that @process created and must destroy itself. */
uint64_t model_count(const struct model *model, uint32_t process);

/* The lists of devices that @process did not free: device_lists_count(). */
size_t model_count_lists(const struct model *model, uint32_t process, int64_t since,
			 struct moment *ret_first, struct moment *ret_last);

/* The fork that created @process, or NULL. */
const struct moment *model_fork(const struct model *model, uint32_t process);

/* The queue pairs of all processes, with their peers. */
struct peers *model_peers(struct model *model);

/* The object at @handle, alive, dying or dead; NULL if there is none. */
struct life *model_life(const struct model *model, uint32_t process, enum object_kind kind,
			uint64_t handle);

/*
 * The object of @process after @life, in any order; NULL: the first; returns NULL after the last.
 */
struct life *model_next_life(const struct model *model, uint32_t process, const struct life *life);

/* The keys of all processes. */
const struct keys *model_keys(const struct model *model);

/* The context that @life belongs to; NULL: not known. */
const struct life *model_context(struct model *model, const struct life *life);
