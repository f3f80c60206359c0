/*
 * Each field of core/wire/data.list from an event to the output of `verbatim dump`: in a chunk, for
 * readers, in SQL and in an unpacked trace.
 */
#include <stdlib.h>

#include <sqlite3.h>

#include "cli/dump/render.h"
#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"
#include "core/store/open.h"
#include "core/store/unpack.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

/* A value for each column that fits into 8 bits and that no other column has. */
#define VALUE(column) (100 + COLUMN_##column)

_Static_assert(100 + COLUMN_COUNT <= 256, "values of 8 bits");

#define SET(family, column, name, member, type, wire) to->member = VALUE(column);

struct sent {
	struct event_post head;
	uint8_t bytes[1024];
};

/* One request with all its parts and one element. Returns the bytes. */
static size_t fill_post(struct sent *sent)
{
	uint8_t *at = sent->bytes;

	sent->head = (struct event_post){ .object = 1, .verb = VERB_post_send, .nwr = 1 };
	{
		struct event_wr *to = (void *)at;

		FIELDS_WR(SET);
		to->nsge = 1;
		to->parts = WR_PARTS_ALL;
		at += sizeof(*to);
	}
#define PART(NAME, part)                              \
	{                                             \
		struct event_##part *to = (void *)at; \
                                                      \
		FIELDS_##NAME(SET);                   \
		at += sizeof(*to);                    \
	}
	EACH_PART(PART);
#undef PART
	{
		struct event_sge *to = (void *)at;

		FIELDS_SGE(SET);
		at += sizeof(*to);
	}
	return (size_t)(at - (uint8_t *)sent);
}

static void fill_wc(struct event_wc *to)
{
	FIELDS_WC(SET);
	to->wc_flags = IBV_WC_WITH_INV; /* the only kind of imm that is not swapped */
}

static void fill_extra(struct event_wc_extra *to)
{
	FIELDS_EXTRA(SET);
	to->parts = WC_PARTS - 1;
}

/* A trace at @path of one post and one poll. */
static void make_trace(const char *path)
{
	struct writer *writer = make_writer(path);
	struct event_wc_extra extra = { 0 };
	struct event_wc wc = { 0 };
	struct maker m;
	struct sent sent = { 0 };
	size_t bytes = fill_post(&sent);
	struct event_post *post;

	make_thread(&m, writer, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	post = make_room(&m, EVENT_POST, 0, bytes);
	memcpy(&post->head + 1, &sent.head.head + 1, bytes - sizeof(post->head));
	make_done(&m, post, bytes);
	fill_wc(&wc);
	fill_extra(&extra);
	make_poll_by(&m, VERB_start_poll, (void *)2, 0, &wc, 1, &extra);
	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
}

/* Special values for columns that are determined by the structure. */
static uint64_t wanted_value(enum column_id column)
{
	switch (column) {
	case COLUMN_nsge:
		return 1;
	case COLUMN_parts:
		return WR_PARTS_ALL;
	case COLUMN_wc_parts:
		return WC_PARTS - 1;
	case COLUMN_wc_flags:
		return IBV_WC_WITH_INV;
	default:
		return 100 + (uint64_t)column;
	}
}

TEST(each_field_is_in_its_column_of_a_chunk)
{
	struct batch batch = { 0 };
	struct packer packer = { 0 };
	struct block block = { 0 };
	struct sent sent = { 0 };
	struct {
		struct event_poll head;
		struct event_wc wc;
		struct event_wc_extra extra;
	} poll = { .head = { .head = { .words = sizeof(poll) / 8,
				       .type = EVENT_POLL,
				       .flags = EVENT_START | EVENT_EXTRA },
			     .nwc = 1 } };

	sent.head.head.words = 0;
	{
		size_t bytes = fill_post(&sent);

		sent.head.head.words = (uint16_t)(bytes / 8);
	}
	fill_wc(&poll.wc);
	fill_extra(&poll.extra);
	assert_int_equal(batch_post(&batch, &sent.head, 1, 1, 0), 0);
	assert_int_equal(batch_poll(&batch, &poll.head, 2, 2, 0, 0), 0);
	assert_int_equal(packer_pack(&packer, &batch), 0);
	assert_int_equal(block_load(&block, packer.bytes, packer.used, FAMILIES_ALL), 0);
	for (enum column_id id = COLUMN_wr_id; id < COLUMN_COUNT; id++) {
		assert_int_equal(block_need(&block, id), 0);
		assert_int_equal(block_count(&block, id), 1);
		assert_int_equal(block_get(&block, id, 0), wanted_value(id));
	}
	block_fini(&block);
	packer_fini(&packer);
	batch_fini(&batch);
}

#define COMPARE(family, column, name, member, type, wire) \
	assert_int_equal((wire)row->name, wanted_value(COLUMN_##column));
#define COMPARE_PART(NAME, part) FIELDS_##NAME(COMPARE)

static void compare_wr(const struct wr *row)
{
	assert_int_equal(row->wr_id, VALUE(wr_id));
	assert_int_equal(row->imm, VALUE(imm));
	assert_int_equal(row->opcode, VALUE(odd_opcode));
	assert_int_equal(row->send_flags, VALUE(odd_flags));
	assert_int_equal(row->num_sge, VALUE(odd_num_sge));
	assert_int_equal(row->nsge, 1);
	EACH_SHOWN_PART(COMPARE_PART);
}

static void compare_sge(const struct sge *row)
{
	FIELDS_SGE(COMPARE);
}

static void compare_wc(const struct wc *row)
{
	FIELDS_WC(COMPARE);
	FIELDS_EXTRA(COMPARE);
}

/* The output of dump for @event, to be freed. */
static char *render_text(struct trace *trace, const struct trace_event *event)
{
	char *text = NULL;
	size_t size;
	struct render render = { .trace = trace, .out = open_memstream(&text, &size) };

	render_event(&render, event);
	fclose(render.out);
	return text;
}

enum form { HEX, NUMBER, OBJECT, FLAGS };

static void assert_shown(const char *line, const char *before, enum form form, unsigned int value,
			 const char *behind)
{
	char text[64];

	snprintf(text, sizeof(text),
		 form == NUMBER  ? ", %s%u%s"
		 : form == FLAGS ? ", %s"
				 : ", %s0x%x%s",
		 before, value, behind);
	if (!strstr(line, text))
		fail_msg("'%s' is not in '%s'", text, line);
}

#define SHOWN(name, part, before, behind, form, names, object) \
	assert_shown(line, before, form, VALUE(name), behind);

static void compare_events(const char *path)
{
	const struct trace_event *event;
	struct cursor *cursor;
	struct trace *trace;
	char *line;
	int seen = 0;

	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0) {
		line = render_text(trace, event);
		if (event->kind == TRACE_POST) {
			compare_wr(event->post->wr);
			compare_sge(event->post->wr->sge);
			DUMP_WR(SHOWN);
			seen++;
		} else if (event->kind == TRACE_POLL) {
			compare_wc(event->poll->wc);
			DUMP_WC(SHOWN);
			seen++;
		}
		free(line);
	}
	assert_int_equal(seen, 2);
	cursor_close(cursor);
	trace_close(trace);
}

static void compare_column(sqlite3 *db, const char *table, const char *name, enum column_id column)
{
	sqlite3_stmt *stmt;
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM %s", name, table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int64(stmt, 0), wanted_value(column));
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
}

#define COLUMN(family, column, name, member, type, wire) \
	compare_column(db, table, #name, COLUMN_##column);
#define COLUMN_PART(NAME, part) SHOWN_##NAME(COLUMN)

static void compare_tables(const char *path)
{
	const char *table = "wr";
	struct trace *trace;
	sqlite3 *db;

	assert_int_equal(trace_open(path, &trace), 0);
	db = trace_db(trace);
	EACH_SHOWN_PART(COLUMN_PART);
	table = "sge";
	SHOWN_SGE(COLUMN);
	table = "wc";
	SHOWN_WC(COLUMN);
	SHOWN_EXTRA(COLUMN);
	table = "(SELECT * FROM wc WHERE posted IS NULL)"; /* through the matcher */
	SHOWN_WC(COLUMN);
	SHOWN_EXTRA(COLUMN);
	trace_close(trace);
}

TEST(each_field_is_read_shown_and_in_sql)
{
	const char *path = make_path("fields");

	make_trace(path);
	compare_events(path);
	compare_tables(path);
	unlink(path);
}

TEST(each_field_is_in_an_unpacked_trace)
{
	const char *path = make_path("fields"), *plain = make_path("plain");

	make_trace(path);
	assert_int_equal(trace_unpack(path, plain), 0);
	compare_events(plain);
	compare_tables(plain);
	unlink(path);
	unlink(plain);
}

/* The line of a request whose field of this name alone is not 0 has all of its part. */
static void expect_part(struct trace *trace, const struct wr *wr, const char *name)
{
	struct post post = { .verb = VERB_post_send, .nwr = 1, .wr = wr };
	const struct trace_event event = { .kind = TRACE_POST, .id = { 1, 2 }, .post = &post };
	const struct wr nothing = { 0 };
	char *line = render_text(trace, &event), *bare;

	post.wr = &nothing;
	bare = render_text(trace, &event);
	if (strlen(line) <= strlen(bare) + 4)
		fail_msg("%s is not shown: %s", name, line);
	free(line);
	free(bare);
}

TEST(one_field_is_enough_to_show_its_part)
{
	const char *path = make_path("fields");
	struct trace *trace;

	make_trace(path);
	assert_int_equal(trace_open(path, &trace), 0);
#define ALONE(family, column, name, member, type, wire) \
	expect_part(trace, &(struct wr){ .name = 1 }, #name);
#define ALONE_PART(NAME, part) FIELDS_##NAME(ALONE)
	EACH_SHOWN_PART(ALONE_PART);
	trace_close(trace);
	unlink(path);
}
