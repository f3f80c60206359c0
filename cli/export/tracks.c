/*
 * Packets of a Perfetto trace
 *
 * One sequence: its first packet clears the incremental state, and has the clocks and all names
 * that events refer to by number. The numbers of fields are those of Perfetto's protos, below
 * protos/perfetto/trace.
 */
#include "cli/export/tracks.h"

#include "cli/export/proto.h"
#include "core/wire/desc.h"

enum {
	TRACE_PACKET = 1,

	PACKET_CLOCKS = 6,
	PACKET_TIME = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_TRACK = 60,
	FLAG_CLEARED = 1,
	FLAG_NEEDED = 2,

	CLOCKS_CLOCK = 1,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,
	CLOCK_REALTIME = 1, /* builtin clocks */
	CLOCK_BOOTTIME = 6,

	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_NOTE = 3,
	STRING_ID = 1,
	STRING_TEXT = 2,

	TRACK_ID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTS = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 3,
	UNIT_COUNT = 2,
	UNIT_BYTES = 3,

	EVENT_CATEGORY = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_VALUE = 30,
	EVENT_FLOW = 47,
	NOTE_NAME = 1,
	NOTE_NUMBER = 4, /* int_value */
	NOTE_TEXT = 6,

	SEQUENCE = 1,
	CATEGORY = 1,
};

static const char *const notes[NOTE_END] = {
	[NOTE_EVENT] = "event",   [NOTE_ID] = "wr_id",   [NOTE_BYTES] = "bytes",
	[NOTE_STATUS] = "status", [NOTE_RESULT] = "ret",
};

static const char *const opcodes[NAME_VERB - NAME_OPCODE] = {
	"RDMA_WRITE",
	"RDMA_WRITE_WITH_IMM",
	"SEND",
	"SEND_WITH_IMM",
	"RDMA_READ",
	"ATOMIC_CMP_AND_SWP",
	"ATOMIC_FETCH_AND_ADD",
	"LOCAL_INV",
	"BIND_MW",
	"SEND_WITH_INV",
	"TSO",
	"DRIVER1",
	[14] = "FLUSH",
	[15] = "ATOMIC_WRITE",
};

/* Write the packet, and empty it. */
static void put_packet(struct tracks *tracks)
{
	text_cut(&tracks->part, 0);
	proto_put_message(&tracks->part, TRACE_PACKET, &tracks->packet);
	tracks->failed = tracks->failed || tracks->part.failed;
	if (!tracks->failed)
		fwrite(tracks->part.at, 1, tracks->part.used, tracks->file);
	text_cut(&tracks->packet, 0);
}

static void begin_packet(struct tracks *tracks, unsigned int flags)
{
	text_cut(&tracks->packet, 0);
	proto_put_number(&tracks->packet, PACKET_SEQUENCE, SEQUENCE);
	proto_put_number(&tracks->packet, PACKET_FLAGS, flags);
}

static void add_part(struct tracks *tracks, struct text *to, unsigned int field)
{
	proto_put_message(to, field, &tracks->part);
	text_cut(&tracks->part, 0);
}

static void intern_text(struct tracks *tracks, unsigned int field, uint64_t id, const char *string)
{
	text_cut(&tracks->part, 0);
	proto_put_number(&tracks->part, STRING_ID, id);
	proto_put_string(&tracks->part, STRING_TEXT, string);
	add_part(tracks, &tracks->message, field);
}

static void intern_all(struct tracks *tracks)
{
	intern_text(tracks, INTERNED_CATEGORY, CATEGORY, "verbs");
	intern_text(tracks, INTERNED_NAME, NAME_RECEIVE, "receive");
	intern_text(tracks, INTERNED_NAME, NAME_REQUEST, "request");
	for (unsigned int i = 0; i < NAME_VERB - NAME_OPCODE; i++)
		if (opcodes[i])
			intern_text(tracks, INTERNED_NAME, NAME_OPCODE + i, opcodes[i]);
	for (unsigned int verb = 0; verb < VERB_COUNT; verb++)
		intern_text(tracks, INTERNED_NAME, NAME_VERB + verb, verb_infos[verb].name);
	for (unsigned int note = 1; note < NOTE_END; note++)
		intern_text(tracks, INTERNED_NOTE, note, notes[note]);
}

static void add_clock(struct tracks *tracks, unsigned int id, uint64_t time)
{
	text_cut(&tracks->part, 0);
	proto_put_number(&tracks->part, CLOCK_ID, id);
	proto_put_number(&tracks->part, CLOCK_TIME, time);
	add_part(tracks, &tracks->message, CLOCKS_CLOCK);
}

void tracks_begin(struct tracks *tracks, uint64_t realtime)
{
	begin_packet(tracks, FLAG_CLEARED);
	text_cut(&tracks->message, 0);
	intern_all(tracks);
	proto_put_message(&tracks->packet, PACKET_INTERNED, &tracks->message);
	put_packet(tracks);
	begin_packet(tracks, FLAG_NEEDED);
	text_cut(&tracks->message, 0);
	add_clock(tracks, CLOCK_BOOTTIME, 0);
	add_clock(tracks, CLOCK_REALTIME, realtime);
	proto_put_message(&tracks->packet, PACKET_CLOCKS, &tracks->message);
	put_packet(tracks);
}

bool tracks_has(const struct tracks *tracks, uint64_t id)
{
	uint64_t known;

	return map_get(&tracks->known, id, &known);
}

static void add_owner(struct tracks *tracks, const struct track *track)
{
	bool thread = track->tid;

	if (!track->pid)
		return;
	text_cut(&tracks->part, 0);
	proto_put_number(&tracks->part, thread ? THREAD_PID : PROCESS_PID, (uint64_t)track->pid);
	if (thread)
		proto_put_number(&tracks->part, THREAD_TID, (uint64_t)track->tid);
	proto_put_string(&tracks->part, thread ? THREAD_NAME : PROCESS_NAME, track->name);
	add_part(tracks, &tracks->message, thread ? TRACK_THREAD : TRACK_PROCESS);
}

void tracks_describe(struct tracks *tracks, const struct track *track)
{
	if (tracks_has(tracks, track->id))
		return;
	tracks->failed = map_put(&tracks->known, track->id, 1) || tracks->failed;
	begin_packet(tracks, FLAG_NEEDED);
	text_cut(&tracks->message, 0);
	proto_put_number(&tracks->message, TRACK_ID, track->id);
	proto_put_string(&tracks->message, TRACK_NAME, track->name);
	if (track->parent)
		proto_put_number(&tracks->message, TRACK_PARENT, track->parent);
	add_owner(tracks, track);
	if (track->counter) {
		text_cut(&tracks->part, 0);
		proto_put_number(&tracks->part, COUNTER_UNIT,
				 track->bytes ? UNIT_BYTES : UNIT_COUNT);
		add_part(tracks, &tracks->message, TRACK_COUNTS);
	}
	proto_put_message(&tracks->packet, PACKET_TRACK, &tracks->message);
	put_packet(tracks);
}

void tracks_begin_event(struct tracks *tracks, enum track_event type, uint64_t track, uint32_t name)
{
	text_cut(&tracks->message, 0);
	proto_put_number(&tracks->message, EVENT_TYPE, type);
	proto_put_number(&tracks->message, EVENT_TRACK, track);
	if (name) {
		proto_put_number(&tracks->message, EVENT_CATEGORY, CATEGORY);
		proto_put_number(&tracks->message, EVENT_NAME, name);
	}
}

void tracks_add_note(struct tracks *tracks, enum track_note note, int64_t number)
{
	text_cut(&tracks->part, 0);
	proto_put_number(&tracks->part, NOTE_NAME, note);
	proto_put_number(&tracks->part, NOTE_NUMBER, (uint64_t)number);
	add_part(tracks, &tracks->message, EVENT_NOTE);
}

void tracks_add_text_note(struct tracks *tracks, enum track_note note, const char *text)
{
	text_cut(&tracks->part, 0);
	proto_put_number(&tracks->part, NOTE_NAME, note);
	proto_put_string(&tracks->part, NOTE_TEXT, text);
	add_part(tracks, &tracks->message, EVENT_NOTE);
}

void tracks_add_flow(struct tracks *tracks, uint64_t flow)
{
	proto_put_fixed(&tracks->message, EVENT_FLOW, flow);
}

void tracks_end_event(struct tracks *tracks, int64_t time)
{
	if (time > tracks->time)
		tracks->time = time;
	begin_packet(tracks, FLAG_NEEDED);
	proto_put_number(&tracks->packet, PACKET_TIME, (uint64_t)tracks->time);
	proto_put_message(&tracks->packet, PACKET_EVENT, &tracks->message);
	put_packet(tracks);
}

void tracks_count(struct tracks *tracks, uint64_t track, int64_t time, uint64_t value)
{
	tracks_begin_event(tracks, TRACK_COUNTER, track, 0);
	proto_put_number(&tracks->message, EVENT_VALUE, value);
	tracks_end_event(tracks, time);
}

void tracks_fini(struct tracks *tracks)
{
	text_fini(&tracks->packet);
	text_fini(&tracks->message);
	text_fini(&tracks->part);
	map_fini(&tracks->known);
}
