/*
 * What is said about threads and programs that could not be recorded: unrecorded_test.txt
 */
#include "cli/record/unrecorded.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/record/ring_search.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"
#include "tests/printed.h"
#include "tests/test.h"
#include "tests/transcript.h"

static struct text out;
static struct session_page page;
static const struct session session = { .page = &page, .dir = "/sessions/x" };
static uint32_t unreadable;

int writer_note_ringless(struct writer *writer, uint32_t threads)
{
	assert_null(writer);
	text_addf(&out, "in the trace: %u threads\n", threads);
	return 5;
}

int writer_note_withheld(struct writer *writer, const struct writer_note_withheld *withheld)
{
	assert_null(writer);
	text_addf(&out, "in the trace: %u rings, %u threads, %u bytes, %u waits\n", withheld->rings,
		  withheld->threads, (unsigned int)withheld->budget, withheld->waits);
	return 6;
}

uint32_t ring_search_unreadable(const struct ring_search *search, char path[SESSION_PATH + 16])
{
	assert_null(search);
	strcpy(path, "/sessions/x/ring.7");
	return unreadable;
}

/* Threads without a ring: all, and of these those of each cause; and programs. */
static void show_threads(uint32_t all, uint32_t denied, uint32_t foreign, uint32_t sandboxed,
			 uint32_t programs)
{
	int ret;

	memset(&page, 0, sizeof(page));
	atomic_store(&page.ringless, all);
	atomic_store(&page.denied, denied);
	atomic_store(&page.foreign, foreign);
	atomic_store(&page.sandboxed, sandboxed);
	atomic_store(&page.strangers, programs);
	atomic_store(&page.stranger, 1001);
	atomic_store(&page.withheld_budget, 64 << 20);
	text_addf(&out, "== %u: %u denied, %u foreign, %u sandboxed; %u programs\n", all, denied,
		  foreign, sandboxed, programs);
	printed_begin(true);
	ret = unrecorded_report_threads(&session, NULL);
	printed_end(&out);
	text_addf(&out, "returned %d\n", ret);
}

static void show_rings(uint32_t n)
{
	uint32_t rings = 99;
	int ret;

	unreadable = n;
	text_addf(&out, "== %u unreadable rings\n", n);
	printed_begin(true);
	ret = unrecorded_report_rings(NULL, NULL, &rings);
	printed_end(&out);
	text_addf(&out, "%u rings, returned %d\n", rings, ret);
}

/* Our own user may be any. */
static void hide_user(void)
{
	char user[64];

	snprintf(user, sizeof(user), "belongs to user %u;", (unsigned int)geteuid());
	for (char *at = out.at; (at = strstr(at, user));) {
		static const char shown[] = "belongs to us;";
		size_t n = strlen(user), m = strlen(shown);

		memcpy(at, shown, m);
		memmove(at + m, at + n, strlen(at + n) + 1);
		out.used -= n - m;
	}
}

TEST(notes_are_those_of_the_transcript)
{
	for (uint32_t foreign = 0; foreign < 3; foreign++)
		for (uint32_t programs = 0; programs < 3; programs++)
			show_threads(foreign, 0, foreign, 0, programs);
	for (uint32_t all = 0; all < 8; all++)
		show_threads(all, 2, 1, 3, 0);
	show_threads(10, 11, 0, 0, 0);
	show_threads(10, 0, 11, 0, 0);
	show_threads(10, 0, 0, 11, 0);
	show_threads(SESSION_RINGS + 7, 0, 0, 0, 0);
	for (uint32_t n = 0; n < 3; n++)
		show_rings(n);
	hide_user();
	transcript_expect(__FILE__, &out);
}

TEST(withheld_memory_is_in_the_trace)
{
	memset(&page, 0, sizeof(page));
	atomic_store(&page.withheld, 1);
	atomic_store(&page.denied, 2);
	atomic_store(&page.withheld_budget, 3);
	atomic_store(&page.gave_up, 4);
	assert_int_equal(unrecorded_report_memory(&session, NULL), 6);
	assert_string_equal(out.at, "in the trace: 1 rings, 2 threads, 3 bytes, 4 waits\n");
	text_fini(&out);
}
