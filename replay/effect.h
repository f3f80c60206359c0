#pragma once
/*
 * What a replayed call changed in the state of the replay: new objects and keys, destroyed objects,
 * connected queue pairs.
 *
 * Not thread-safe.
 */
#include <stdint.h>

struct call;
struct replay;
struct trace_event;

/* The call at @event was replayed with @args, and returned @ret. 0 or -errno after log_err(). */
int effect_note(struct replay *r, const struct trace_event *event, const uint64_t *args,
		int64_t ret);

/* Note that the object that @call created is missing in the replay, for reason @why. */
void effect_note_skipped(struct replay *r, const struct call *call, const char *why);

/* The object at address @handle in the replay; 0 if there is none. */
uint32_t effect_find_object(const struct replay *r, uint64_t handle);
