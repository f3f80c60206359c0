/*
 * The bytes between the cuts of a trace that forgets its past
 */
#include <unistd.h>

#include "core/store/write/cut_priv.h"
#include "core/store/write/writer_priv.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { CUTS = 3, POSTS = 200 };

static struct writer *writer;
static struct make_world world;
static struct maker maker;
static char path[256];

static int begin_cutting(void **state)
{
	struct writer_info info = {
		.clock = &make_clock, .command = "app", .device = "soft", .cuts = true
	};

	(void)state;
	snprintf(path, sizeof(path), "%s", make_path("cut.db"));
	unlink(path);
	if (writer_create(path, &info, &writer))
		return -1;
	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
	return 0;
}

static int end_cutting(void **state)
{
	(void)state;
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	return unlink(path);
}

FIXTURE(begin_cutting, end_cutting);

/* Posts whose completions come at once, so that none is outstanding at a cut. */
static void make_posts(int n)
{
	for (int i = 0; i < n; i++) {
		struct event_wc sent = make_wc((uint64_t)i, IBV_WC_SUCCESS, IBV_WC_SEND, 17);

		make_post(&maker, VERB_post_send, &world.qp, (uint64_t)i, IBV_WR_SEND,
			  IBV_SEND_SIGNALED);
		make_poll(&maker, &world.cq, 1, &sent, 1);
	}
}

static void cut_here(void)
{
	assert_int_equal(writer_cut(writer, clock_ns(&make_clock, make_now)), 0);
	make_now++;
}

TEST(a_cut_has_the_bytes_since_the_one_before)
{
	uint64_t kept[CUTS], before = 0;

	for (int i = 0; i < CUTS; i++) {
		make_posts(POSTS * (i + 1));
		cut_here();
		kept[i] = writer->kept;
		assert_true(kept[i] > before);
		before = kept[i];
	}
	assert_int_equal(writer->ncuts, CUTS);
	assert_int_equal(writer->cuts[0].bytes, kept[0]);
	for (int i = 1; i < CUTS; i++)
		assert_int_equal(writer->cuts[i].bytes, kept[i] - kept[i - 1]);
	assert_int_equal(writer->kept_to_cut, kept[CUTS - 1]);
	assert_int_equal(writer_forget(writer, 0), 0);
	assert_int_equal(writer->ncuts, 0);
	assert_int_equal(writer->kept, 0);
	assert_int_equal(writer->kept_to_cut, 0);
}

TEST(nothing_is_forgotten_while_there_is_room)
{
	make_posts(POSTS);
	cut_here();
	assert_int_equal(writer_forget(writer, writer_size(writer)), 0);
	assert_int_equal(writer->ncuts, 1);
	assert_int_equal(writer_forget(writer, writer_size(writer) - 1), 0);
	assert_int_equal(writer->ncuts, 0);
}
