/*
 * The events of one thread of a finished trace
 *
 * Each statement stays open at the row of its next event. The small tables are in memory. The data
 * plane is in chunks or, if the trace was unpacked, in plain tables (plain.h).
 */
#include "core/base/vec.h"
#include "core/store/read/stream_priv.h"

static const char chunks_sql[] =
	"SELECT first_n, begin, data FROM chunk WHERE thread = ? ORDER BY first_n";

static int due_rare_event(struct stream *s)
{
	const struct trace *trace = s->trace;
	const struct rare_event *rare = s->rare_i < trace->nrares ? &trace->rares[s->rare_i] : NULL;

	s->due[RARE] = stream_never;
	if (rare && rare->id.thread == s->thread)
		s->due[RARE] = (struct due_event){ rare->id.n, rare->time };
	return 0;
}

static int read_rare_event(struct stream *s)
{
	s->rare = &s->trace->rares[s->rare_i++];
	return 0;
}

static int due_chunk(struct stream *s)
{
	s->due[DATA] = stream_never;
	return s->chunks ? stream_step_to_due(s->chunks, 1, &s->due[DATA]) : 0;
}

/* Reads the rows immediately: a block of plain rows has no head that could be read first. */
static int due_plain(struct stream *s)
{
	int more = s->plain ? plain_load(s->plain, &s->block) : 0, err = 0;

	s->due[DATA] = stream_never;
	s->loaded = more > 0;
	if (s->loaded)
		err = stream_note_block(s);
	if (s->loaded && !err)
		stream_find_due_data(s);
	return more < 0 ? more : err;
}

static bool is_rare_before(const void *rare, const void *thread)
{
	return ((const struct rare_event *)rare)->id.thread < *(const uint32_t *)thread;
}

static int open_control(struct stream *s)
{
	const struct trace *trace = s->trace;
	int err = stream_open_calls(s);

	if (err)
		return err;
	s->settled = UINT64_MAX;
	s->carried = trace->threads[s->thread - 1].carried;
	s->rare_i = vec_count_before(trace->rares, trace->nrares, sizeof(*trace->rares),
				     is_rare_before, &s->thread);
	return 0;
}

static int open_chunks(struct stream *s, bool data)
{
	int err = open_control(s);

	if (!err && data)
		err = sql_prepare(s->db, chunks_sql, &s->chunks);
	if (!err && data)
		sql_bind(s->chunks, "u", s->thread);
	return err;
}

static int open_plain(struct stream *s, bool data)
{
	int err = open_control(s);

	return err || !data ? err : plain_open(s->db, s->thread, &s->plain);
}

const struct sources sources_chunks = {
	.of = {
		[CALL] = { .due = stream_due_call, .row = stream_read_due_call },
		[RARE] = { .due = due_rare_event, .row = read_rare_event },
		[DATA] = { .due = due_chunk, .row = stream_load_chunk, .again = true },
	},
	.open = open_chunks,
};

const struct sources sources_plain = {
	.of = {
		[CALL] = { .due = stream_due_call, .row = stream_read_due_call },
		[RARE] = { .due = due_rare_event, .row = read_rare_event },
		[DATA] = { .due = due_plain },
	},
	.open = open_plain,
};
