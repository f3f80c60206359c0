/*
 * Events with impossible sizes or values, which a program that overwrote its ring may have left:
 * the writer counts each as damaged, and accepts the largest possible values.
 */
#include <errno.h>
#include <sqlite3.h>

#include "core/store/write/writer.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct writer *writer;
static struct maker m;

static void begin_program(void)
{
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("damaged.db"));
	writer = make_writer(path);
	make_thread(&m, writer, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
}

static void end_program(void)
{
	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
	unlink(path);
}

/* A field of @bytes bytes at @at. */
struct field {
	size_t at, bytes;
	uint64_t value;
};

static void put_field(uint8_t *event, const struct field *field)
{
	memcpy(event + field->at, &field->value, field->bytes); /* of a little-endian machine */
}

/* The writer's result for an event of @words; its memory ends with the event. */
static int tell_event(enum event_type type, size_t words, const struct field *fields, size_t n)
{
	struct event_head head = { .words = (uint16_t)words,
				   .type = type,
				   .flags = type == EVENT_CALL ? EVENT_CUT : 0, /* no arguments */
				   .ticks = make_now++ };
	uint8_t *event = calloc(words ? words : 1, 8);
	int err;

	assert_non_null(event);
	memcpy(event, &head, words * 8 < sizeof(head) ? words * 8 : sizeof(head));
	for (size_t i = 0; i < n; i++)
		if (fields[i].at + fields[i].bytes <= words * 8)
			put_field(event, &fields[i]);
	err = writer_add_event(writer, m.thread, (const struct event_head *)(void *)event);
	free(event);
	return err;
}

#define WORDS(type)       (sizeof(struct type) / 8)
#define FIELD(type, name) offsetof(struct type, name), sizeof(((struct type *)0)->name)
#define MOST(type, name, n)          \
	{                            \
		FIELD(type, name), n \
	}

/* clang-format off */
static const struct bound {
	const char *name;
	enum event_type type;
	size_t words;
	struct field most; /* the highest valid value */
	struct field also; /* other fields that are not 0 */
} bounds[] = {
	{ "paths_of_a_process", EVENT_PROCESS, WORDS(event_process) + 2,
	  MOST(event_process, exe_bytes, 16), { 0 } },
	{ "arguments_of_a_process", EVENT_PROCESS, WORDS(event_process) + 2,
	  MOST(event_process, cmd_bytes, 6), MOST(event_process, exe_bytes, 10) },
	{ "environment_of_a_process", EVENT_PROCESS, WORDS(event_process) + 2,
	  MOST(event_process, environ_bytes, 6), MOST(event_process, exe_bytes, 10) },
	{ "path_of_a_module", EVENT_MODULE, WORDS(event_module) + 2,
	  MOST(event_module, path_bytes, 16), { 0 } },
	{ "build_id_of_a_module", EVENT_MODULE, WORDS(event_module) + 2,
	  MOST(event_module, build_id_bytes, 6), MOST(event_module, path_bytes, 10) },
	{ "way_of_a_fork", EVENT_FORK, WORDS(event_fork),
	  MOST(event_fork, how, FORK_HOWS - 1), { 0 } },
	{ "frames_of_a_fork", EVENT_FORK, WORDS(event_fork) + 3,
	  MOST(event_fork, nframes, 3), { 0 } },
	{ "descriptors_of_a_fork", EVENT_FORK, WORDS(event_fork) + 4,
	  MOST(event_fork, ndescriptors, 2), { 0 } },
	{ "descriptors_behind_frames", EVENT_FORK, WORDS(event_fork) + 4,
	  MOST(event_fork, ndescriptors, 1), MOST(event_fork, nframes, 2) },
	{ "descriptors_that_are_listed", EVENT_FORK, WORDS(event_fork) + 40,
	  MOST(event_fork, ndescriptors, EVENT_FORK_DESCRIPTORS), { 0 } },
	{ "way_of_an_exit", EVENT_EXIT, WORDS(event_exit),
	  MOST(event_exit, how, EXIT_HOWS - 1), { 0 } },
	{ "verb_of_a_call", EVENT_CALL, WORDS(event_call),
	  MOST(event_call, verb, VERB_COUNT - 1), { 0 } },
	{ "frames_of_a_call", EVENT_CALL, WORDS(event_call) + 3,
	  MOST(event_call, nframes, 3), { 0 } },
	{ "arguments_of_a_call", EVENT_CALL, WORDS(event_call) + 3,
	  MOST(event_call, nargs, 2), MOST(event_call, nframes, 1) },
	{ "values_of_a_return", EVENT_RETURN, WORDS(event_return) + 2,
	  MOST(event_return, nouts, 2), { 0 } },
	{ "frames_of_a_site", EVENT_SITE, WORDS(event_site) + 3,
	  MOST(event_site, nframes, 3), MOST(event_site, site, 1) },
	{ "kind_of_a_mark", EVENT_MARK, WORDS(event_mark),
	  MOST(event_mark, kind, MARK_KINDS - 1), { 0 } },
	{ "text_of_a_mark", EVENT_MARK, WORDS(event_mark) + 2,
	  MOST(event_mark, bytes, 16), { 0 } },
	{ "what_could_not_be_seen", EVENT_BLIND, WORDS(event_blind),
	  MOST(event_blind, what, BLIND_KINDS - 1), { 0 } },
	{ "what_took_memory", EVENT_MEMORY, WORDS(event_memory),
	  MOST(event_memory, what, MEMORY_WHATS - 1), { 0 } },
	{ "frames_where_it_was_taken", EVENT_MEMORY, WORDS(event_memory) + 3,
	  MOST(event_memory, nframes, 3), { 0 } },
	{ "why_a_thread_waited", EVENT_WAITED, WORDS(event_waited),
	  MOST(event_waited, why, WAITED_WHYS - 1), MOST(event_waited, times, 1) },
	{ "what_was_misused", EVENT_MISUSE, WORDS(event_misuse),
	  MOST(event_misuse, what, MISUSES - 1), { 0 } },
	{ "field_that_was_misused", EVENT_MISUSE, WORDS(event_misuse),
	  MOST(event_misuse, field, CQ_FIELDS - 1), { 0 } },
	{ "frames_of_a_misuse", EVENT_MISUSE, WORDS(event_misuse) + 3,
	  MOST(event_misuse, nframes, 3), { 0 } },
	{ "bypass_of_the_verbs", EVENT_DIRECT, WORDS(event_direct),
	  MOST(event_direct, how, DIRECT_HOWS - 1), { 0 } },
	{ "name_of_a_function", EVENT_DIRECT, WORDS(event_direct) + 2,
	  MOST(event_direct, bytes, 16), { 0 } },
	{ "length_of_such_a_name", EVENT_DIRECT, WORDS(event_direct) + 16,
	  MOST(event_direct, bytes, 63), { 0 } },
};

static const struct shortest {
	const char *name;
	enum event_type type;
	size_t words;
	struct field also;
} shortests[] = {
	{ "a_process", EVENT_PROCESS, WORDS(event_process), { 0 } },
	{ "a_module", EVENT_MODULE, WORDS(event_module), { 0 } },
	{ "a_fork", EVENT_FORK, WORDS(event_fork), { 0 } },
	{ "a_thread", EVENT_THREAD, WORDS(event_thread), { 0 } },
	{ "a_child", EVENT_SPAWNED, WORDS(event_spawned), { 0 } },
	{ "an_exit", EVENT_EXIT, WORDS(event_exit), { 0 } },
	{ "a_call", EVENT_CALL, WORDS(event_call), { 0 } },
	{ "a_return", EVENT_RETURN, WORDS(event_return), { 0 } },
	{ "a_site", EVENT_SITE, WORDS(event_site), MOST(event_site, site, 1) },
	{ "a_poll", EVENT_POLL, WORDS(event_poll), { 0 } },
	{ "a_request_for_an_event", EVENT_NOTIFY, WORDS(event_notify), { 0 } },
	{ "a_count", EVENT_COUNT, WORDS(event_count), { 0 } },
	{ "a_blind_spot", EVENT_BLIND, WORDS(event_blind), { 0 } },
	{ "a_mark", EVENT_MARK, WORDS(event_mark), { 0 } },
	{ "a_loss_of_memory", EVENT_MEMORY, WORDS(event_memory), { 0 } },
	{ "a_wait", EVENT_WAITED, WORDS(event_waited), MOST(event_waited, times, 1) },
	{ "a_misuse", EVENT_MISUSE, WORDS(event_misuse), { 0 } },
	{ "a_way_round", EVENT_DIRECT, WORDS(event_direct), { 0 } },
};
/* clang-format on */

static void bound_is_exact(void **state)
{
	const struct bound *row = *state;
	struct field fields[2] = { row->also, row->most };

	begin_program();
	assert_int_equal(tell_event(row->type, row->words, fields, 2), 0);
	fields[1].value++;
	assert_int_equal(tell_event(row->type, row->words, fields, 2), -EBADMSG);
	fields[1].value = UINT64_MAX;
	assert_int_equal(tell_event(row->type, row->words, fields, 2), -EBADMSG);
	end_program();
}
TEST_ROWS(bounds, bound_is_exact);

static void length_is_exact(void **state)
{
	const struct shortest *row = *state;

	begin_program();
	assert_int_equal(tell_event(row->type, row->words, &row->also, 1), 0);
	assert_int_equal(tell_event(row->type, row->words - 1, &row->also, 1), -EBADMSG);
	end_program();
}
TEST_ROWS(shortests, length_is_exact);

TEST(event_of_no_type_is_damaged)
{
	begin_program();
	assert_int_equal(tell_event(EVENT_TYPES, 4, NULL, 0), -EBADMSG);
	end_program();
}

TEST(site_and_wait_begin_at_one)
{
	begin_program();
	assert_int_equal(tell_event(EVENT_SITE, WORDS(event_site), NULL, 0), -EBADMSG);
	assert_int_equal(tell_event(EVENT_WAITED, WORDS(event_waited), NULL, 0), -EBADMSG);
	end_program();
}

TEST(wait_of_ages_is_damaged)
{
	struct field fields[2] = { MOST(event_waited, times, 1), MOST(event_waited, ticks, 0) };

	begin_program();
	fields[1].value = 1ull << 62;
	assert_int_equal(tell_event(EVENT_WAITED, WORDS(event_waited), fields, 2), -EBADMSG);
	end_program();
}

static int64_t count_empty(void)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t empty;

	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT sum(empty) FROM poll_count", -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	empty = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	unlink(path);
	return empty;
}

/*
 * The sum of empty polls must not overflow, wherever they are: in a poll, a destroyed CQ, the
 * ring's head.
 */
TEST(empty_polls_of_ages_are_not_counted)
{
	struct field polls[] = { { FIELD(event_poll, cq), 0x10 },
				 { FIELD(event_poll, empty), 1ull << 48 } };
	struct field counts[] = { { FIELD(event_count, tid), 101 },
				  { FIELD(event_count, cq), 0x30 },
				  { FIELD(event_count, empty), (1ull << 48) + 1 } };

	begin_program();
	assert_int_equal(tell_event(EVENT_POLL, WORDS(event_poll), polls, 2), 0);
	polls[0].value = 0x20;
	polls[1].value++;
	assert_int_equal(tell_event(EVENT_POLL, WORDS(event_poll), polls, 2), 0);
	assert_int_equal(tell_event(EVENT_COUNT, WORDS(event_count), counts, 3), 0);
	m.out.head->polls[0].cq = 0x40;
	m.out.head->polls[0].empty = (1ull << 48) + 1;
	make_end(&m);
	assert_int_equal(count_empty(), 1ll << 48);
}
