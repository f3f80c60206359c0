#pragma once
/*
 * Packets of a Perfetto trace: tracks, and events on them. Not thread-safe.
 *
 * Times of packets never decrease: tracks_begin_event() ensures that.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/map.h"
#include "core/base/text.h"

struct tracks {
	FILE *file;
	struct text packet, message, part;
	struct map known; /* tracks whose descriptors were written */
	int64_t time;     /* of the last event */
	bool failed;      /* out of memory */
};

enum track_event { TRACK_BEGIN = 1, TRACK_END, TRACK_INSTANT, TRACK_COUNTER };

/* Names that events refer to by number: NAME_VERB + a verb, NAME_OPCODE + an opcode. */
enum { NAME_RECEIVE = 1, NAME_REQUEST, NAME_OPCODE, NAME_VERB = NAME_OPCODE + 32 };

enum track_note { NOTE_EVENT = 1, NOTE_ID, NOTE_BYTES, NOTE_STATUS, NOTE_RESULT, NOTE_END };

/* A track; @parent 0: it has none. */
struct track {
	uint64_t id, parent;
	const char *name;
	int pid, tid; /* pid: of a process or thread; tid: of a thread; else 0 */
	bool counter, bytes;
};

/* The beginning, with all names; @realtime: ns since 1970 at time 0. */
void tracks_begin(struct tracks *tracks, uint64_t realtime);

/* Write the descriptor of @track, unless that was done. */
void tracks_describe(struct tracks *tracks, const struct track *track);
bool tracks_has(const struct tracks *tracks, uint64_t id);

/* Begin an event, add notes and flows, end it. */
void tracks_begin_event(struct tracks *tracks, enum track_event type, uint64_t track,
			uint32_t name);
void tracks_add_note(struct tracks *tracks, enum track_note note, int64_t number);
void tracks_add_text_note(struct tracks *tracks, enum track_note note, const char *text);
void tracks_add_flow(struct tracks *tracks, uint64_t flow);
void tracks_end_event(struct tracks *tracks, int64_t time);

/* The value of a counter. */
void tracks_count(struct tracks *tracks, uint64_t track, int64_t time, uint64_t value);

void tracks_fini(struct tracks *tracks);
