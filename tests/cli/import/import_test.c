/*
 * Importing CTF that LTTng might have written
 *
 * The smallest possible one: metadata as text, one stream without packets, a tracepoint of a
 * thread's begin and one of any event (CTF 1.8).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/import/ctf.h"
#include "core/base/text.h"
#include "core/store/open.h"
#include "core/wire/desc.h"
#include "core/wire/event.h"
#include "core/wire/ring.h"
#include "tests/test.h"
#include "tests/transcript.h"

enum { BEGIN, MARK, OTHERS, END }; /* numbers of the tracepoints */
enum { PID = 100, TID = 101, SINCE = 5000 };

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	"trace { major = 1; minor = 8; byte_order = le; };\n"
	"clock { name = monotonic; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := stamp_t;\n"
	"stream { event.header := struct { uint32_t id; stamp_t timestamp; }; };\n"
#define POINT(id, name)                                                                         \
	"event { id = " #id "; name = \"" name "\"; fields := struct { uint32_t pid; uint32_t"  \
	" tid; uint32_t seq; uint64_t since; uint64_t time; uint64_t start; uint64_t realtime;" \
	" uint64_t fingerprint; uint32_t _raw_length; uint64_t raw[_raw_length]; }; };\n"
	POINT(0, "verbatim:thread_begin") POINT(1, "verbatim:mark") POINT(2, "others:mark")
		POINT(3, "verbatim:thread_end");

static char dir[64], trace_path[80];
static FILE *stream;

static void write_metadata(const char *text)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/ctf/metadata", dir);
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_folder(void **state)
{
	char path[96];

	(void)state;
	strcpy(dir, "/tmp/verbatim-import-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(trace_path, sizeof(trace_path), "%s/t.db", dir);
	snprintf(path, sizeof(path), "%s/ctf", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	write_metadata(metadata);
	snprintf(path, sizeof(path), "%s/ctf/stream", dir);
	stream = fopen(path, "we");
	assert_non_null(stream);
	return 0;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "ctf/index/stream.idx",
					     "ctf/index",
					     "ctf/metadata",
					     "ctf/stream",
					     "ctf",
					     "t.db",
					     "said" };
	char path[96];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
	return rmdir(dir);
}

static void put_u32(uint32_t value)
{
	fwrite(&value, sizeof(value), 1, stream);
}
static void put_u64(uint64_t value)
{
	fwrite(&value, sizeof(value), 1, stream);
}

/* A tracepoint at @time with @words of @raw. */
static void put_event(uint32_t id, uint64_t time, uint32_t seq, uint64_t fingerprint,
		      const void *raw, uint32_t words)
{
	put_u32(id);
	put_u64(time);
	put_u32(PID);
	put_u32(TID);
	put_u32(seq);
	put_u64(SINCE);
	put_u64(time);
	put_u64(fingerprint ? SINCE : 0);
	put_u64(0);
	put_u64(fingerprint);
	put_u32(words);
	if (words)
		fwrite(raw, 8, words, stream);
}

static void put_begin(uint64_t fingerprint)
{
	struct ring_head head = { .pid = PID, .tid = TID, .comm = "app" };

	put_event(BEGIN, SINCE, 0, fingerprint, &head, sizeof(head) / 8);
}

/* The thread has sent @events in all. A sound tracepoint has as many @words as a ring's head. */
static void put_end(uint64_t time, uint64_t events, uint32_t words)
{
	struct ring_head head = { .pid = PID + 1, .tid = TID + 1, .tapped = events };

	put_event(END, time, 0, verbs_fingerprint, &head, words);
}

/* A mark of the program with the text "m0" to "m9". */
static void put_mark(uint32_t id, uint64_t time, uint32_t seq)
{
	struct {
		struct event_mark mark;
		char text[8];
	} event = { .mark = {
			    .head = { .words = sizeof(event) / 8, .type = EVENT_MARK, .seq = seq },
			    .kind = MARK_POINT,
			    .bytes = 2 } };

	event.text[0] = 'm';
	event.text[1] = (char)('0' + seq % 10);
	put_event(id, time, seq, 0, &event, sizeof(event) / 8);
}

static char said[1024];      /* by the last import */
static struct text messages; /* of all imports, except of those that babeltrace2 did not survive */

static void add_messages(int status)
{
	if (strstr(said, "babeltrace2"))
		return;
	text_addf(&messages, "status %d\n", status);
	for (const char *at = said, *next; *at; at = next) {
		next = strstr(at, dir) ?: at + strlen(at);
		text_addf(&messages, "%.*s%s", (int)(next - at), at, *next ? "FOLDER" : "");
		next += *next ? strlen(dir) : 0;
	}
}

/* Returns the command's exit status; the trace is then at trace_path. */
static int import_ctf(void)
{
	char ctf[80], path[96], command[] = "import", output[] = "-o";
	char *argv[] = { command, output, trace_path, ctf, NULL };
	int before = dup(STDERR_FILENO), fd, status;
	ssize_t n;

	fclose(stream);
	snprintf(ctf, sizeof(ctf), "%s/ctf", dir);
	snprintf(path, sizeof(path), "%s/said", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	dup2(fd, STDERR_FILENO);
	status = cli_import(4, argv);
	dup2(before, STDERR_FILENO);
	close(before);
	n = pread(fd, said, sizeof(said) - 1, 0);
	close(fd);
	said[n > 0 ? n : 0] = '\0';
	add_messages(status);
	return status;
}

/* The marks' texts in their order, one string. */
static void read_marks(char text[128], struct trace_loss *ret_loss)
{
	const struct trace_event *event;
	struct cursor *cursor;
	struct trace *trace;

	*text = '\0';
	assert_int_equal(trace_open(trace_path, &trace), 0);
	*ret_loss = trace_loss(trace);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0)
		if (event->kind == TRACE_MARK)
			strcat(text, event->mark->text);
	cursor_close(cursor);
	trace_close(trace);
}

FIXTURE(make_folder, remove_folder);

TEST(events_come_by_their_numbers)
{
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_mark(MARK, 6002, 3); /* another processor's buffer was ahead */
	put_mark(MARK, 6002, 2);
	put_mark(OTHERS, 6003, 9);
	put_mark(MARK, 6004, 3); /* twice */
	put_mark(MARK, 6005, 4);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m2m3m4");
	assert_int_equal(loss.events, 0);
}

/* Each event is held until all earlier ones have come, in whatever order. */
TEST(events_that_are_far_ahead_are_sorted)
{
	static const uint32_t order[] = { 1, 7, 5, 6, 3, 8, 4, 2, 9 };
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		put_mark(MARK, 6000 + i, order[i]);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m2m3m4m5m6m7m8m9");
	assert_int_equal(loss.events, 0);
}

/* The numbers around a gap, of which some are held when it is found. */
TEST(events_behind_a_gap_keep_their_order)
{
	static const uint32_t order[] = { 1, 9, 5, 8, 6, 2 };
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		put_mark(MARK, 6000 + i, order[i]);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m2m5m6m8m9");
	assert_int_equal(loss.events, 3);
}

TEST(gap_is_a_loss)
{
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_mark(MARK, 6003, 4);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m4");
	assert_int_equal(loss.events, 2);
	assert_int_equal(loss.late, 0);
}

TEST(events_lost_at_the_end_are_counted)
{
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_end(6001, 4, sizeof(struct ring_head) / 8);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1");
	assert_int_equal(loss.events, 3);
}

TEST(thread_end_of_another_length_is_not_used)
{
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_end(6001, 4, sizeof(struct ring_head) / 8 - 1);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_int_equal(loss.events, 0);
}

TEST(session_after_the_program_is_late)
{
	struct trace_loss loss;
	char text[128];

	put_mark(MARK, 9000, 701);
	put_mark(MARK, 9001, 702);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m2");
	assert_int_equal(loss.events, 700);
	assert_int_equal(loss.late, 700);
}

TEST(another_version_is_refused)
{
	put_begin(verbs_fingerprint + 1);
	put_mark(MARK, 6000, 1);
	assert_int_equal(import_ctf(), CLI_TRACE);
	assert_int_equal(access(trace_path, F_OK), -1);
}

TEST(nothing_of_ours_is_refused)
{
	put_mark(OTHERS, 6000, 1);
	assert_int_equal(import_ctf(), CLI_TRACE);
	assert_int_equal(access(trace_path, F_OK), -1);
}

TEST(event_that_contradicts_itself_is_damage)
{
	const uint64_t wrong[2] = { 99 }; /* it claims to be 99 words long */
	struct trace_loss loss;
	char text[128];

	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_event(MARK, 6001, 2, 0, wrong, 2);
	put_mark(MARK, 6002, 3);
	assert_int_equal(import_ctf(), CLI_TRACE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m3");
	assert_true(loss.damaged);
}

/* babeltrace2 2.0 ends because of it: status 3, one sentence, and no file. */
static void expect_damage(void)
{
	assert_int_equal(import_ctf(), CLI_TRACE);
	assert_int_equal(access(trace_path, F_OK), -1);
	assert_non_null(strstr(said, "babeltrace2 was killed by signal "));
	assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

/* Replace @old by @new in the metadata. */
static void change_metadata(const char *old, const char *new)
{
	char text[sizeof(metadata) + 64], *at;

	strcpy(text, metadata);
	at = strstr(text, old);
	assert_non_null(at);
	memmove(at + strlen(new), at + strlen(old), strlen(at + strlen(old)) + 1);
	memcpy(at, new, strlen(new));
	write_metadata(text);
}

/* The third event has a wrong length: by then a trace has been started. */
static void put_length(uint32_t words)
{
	put_begin(verbs_fingerprint);
	put_mark(MARK, 6000, 1);
	put_event(MARK, 6001, 2, 0, NULL, 0);
	fseek(stream, -4, SEEK_CUR);
	put_u32(words);
	put_u64(0);
}

TEST(clock_that_stands_still_is_damage)
{
	change_metadata("freq = 1000000000;", "");
	put_begin(verbs_fingerprint);
	expect_damage();
}

TEST(field_that_is_there_twice_is_damage)
{
	change_metadata("uint64_t time;", "uint64_t _raw_length;");
	put_begin(verbs_fingerprint);
	expect_damage();
}

TEST(length_beyond_all_is_damage)
{
	put_length(UINT32_MAX);
	expect_damage();
}

TEST(length_beyond_the_memory_is_damage)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("the import's memory has no limit with a sanitizer's own\n");
	skip();
#endif
	put_length(INT32_MAX - 64);
	expect_damage();
}

TEST(events_of_no_bits_come_to_an_end)
{
	write_metadata("/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };"
		       " stream { }; event { name = \"x\"; fields := struct { }; };");
	put_u32(0);
	assert_int_equal(import_ctf(), CLI_TRACE);
	assert_int_equal(access(trace_path, F_OK), -1);
}

TEST(fifo_is_not_waited_for)
{
	char path[96];

	put_begin(verbs_fingerprint);
	snprintf(path, sizeof(path), "%s/ctf/index", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/ctf/index/stream.idx", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(60);
	assert_int_equal(import_ctf(), CLI_TRACE);
	alarm(0);
}

TEST(a_late_thread_may_have_gaps_too)
{
	struct trace_loss loss;
	char text[128];

	put_mark(MARK, 9000, 701);
	put_mark(MARK, 9001, 704);
	put_mark(MARK, 9002, 708);
	put_mark(MARK, 9003, 706);
	assert_int_equal(import_ctf(), CLI_FINE);
	read_marks(text, &loss);
	assert_string_equal(text, "m1m4m6m8");
	assert_int_equal(loss.events, 704);
	assert_int_equal(loss.late, 700);
}

TEST_LAST(each_import_says_what_it_lacks)
{
	transcript_expect(__FILE__, &messages);
}
