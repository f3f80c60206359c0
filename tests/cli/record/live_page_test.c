/*
 * The file in which a recorder publishes the state of its program
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/live_page.h"
#include "tests/test.h"

static struct session session;
static int fd;

static int make_page(void **state)
{
	(void)state;
	assert_int_equal(session_create(&session, "/tmp", 1 << 16, ON_FULL_WAIT), 0);
	assert_int_equal(live_page_open(&session), -ENOENT); /* nobody has looked */
	fd = live_page_create(&session);
	return fd < 0;
}

static int remove_page(void **state)
{
	(void)state;
	close(fd);
	session_remove(&session);
	assert_int_equal(access(session.dir, F_OK), -1); /* with the page */
	return 0;
}

FIXTURE(make_page, remove_page);

TEST(nothing_is_there_until_it_is_published)
{
	struct live_state vitals;
	uint32_t turn = 0;

	assert_int_equal(live_page_read(fd, &vitals, &turn), 0);
}

TEST(what_is_published_is_read_once)
{
	struct live_state vitals = { .phase = LIVE_RUNNING, .nqueues = 1, .events = 7 }, got;
	uint32_t turn = 0;

	assert_int_equal(live_page_write(fd, &vitals), 0);
	assert_int_equal(live_page_read(fd, &got, &turn), 1);
	assert_memory_equal(&got, &vitals, sizeof(vitals));
	assert_int_equal(live_page_read(fd, &got, &turn), 0);
	assert_int_equal(live_page_write(fd, &vitals), 0);
	assert_int_equal(live_page_read(fd, &got, &turn), 1);
}

TEST(several_may_look)
{
	int other = live_page_create(&session), recorder = live_page_open(&session);

	assert_true(other >= 0 && recorder >= 0);
	assert_false(live_page_has_viewer(recorder));
	assert_int_equal(live_page_note_viewer(other), 0);
	assert_true(live_page_has_viewer(recorder));
	close(other);
	close(recorder);
}

/* by a process that has not written its head yet */
TEST(half_made_page_is_completed)
{
	int at = session_open_dir(&session), half;

	assert_int_equal(unlinkat(at, "session.vitals", 0), 0);
	half = openat(at, "session.vitals", O_RDWR | O_CREAT, 0600);
	assert_int_equal(ftruncate(half, 1 << 16), 0);
	assert_int_equal(live_page_open(&session), -EPROTO);
	close(fd);
	fd = live_page_create(&session);
	assert_true(fd >= 0);
	close(half);
	close(at);
}

TEST(nothing_in_it_is_believed)
{
	struct live_state vitals = { .nqueues = UINT32_MAX, .nlatencies = UINT32_MAX };
	uint32_t turn = 0;

	memset(vitals.queues, 'x', sizeof(vitals.queues));
	assert_int_equal(live_page_write(fd, &vitals), 0);
	assert_int_equal(live_page_read(fd, &vitals, &turn), 1);
	assert_int_equal(vitals.nqueues, LIVE_QUEUES);
	assert_int_equal(vitals.nlatencies, LIVE_OPCODES);
	assert_int_equal(strlen(vitals.queues[0].name), LIVE_NAME - 1);
}

TEST(one_that_was_cut_off_is_an_error)
{
	struct live_state vitals = { 0 };
	uint32_t turn = 0;

	assert_int_equal(ftruncate(fd, 4), 0);
	assert_int_equal(live_page_read(fd, &vitals, &turn), -EPROTO);
	assert_int_equal(live_page_write(fd, &vitals), -EPROTO);
	assert_false(live_page_has_viewer(fd));
	assert_int_equal(live_page_open(&session), -EPROTO);
}

TEST(a_link_is_not_followed)
{
	char path[SESSION_PATH + 32];

	snprintf(path, sizeof(path), "%s/session.vitals", session.dir);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/tmp/elsewhere", path), 0);
	assert_int_equal(live_page_create(&session), -ELOOP);
	assert_int_equal(live_page_open(&session), -ELOOP);
}

/* All fields have the same number, whenever they are read. */
static void *publish_numbers(void *arg)
{
	static struct live_state vitals;

	(void)arg;
	for (uint64_t i = 1; i <= 2000; i++) {
		vitals.events = i;
		vitals.queues[LIVE_QUEUES - 1].all.errors = i;
		assert_int_equal(live_page_write(fd, &vitals), 0);
	}
	return NULL;
}

TEST(a_state_is_read_as_a_whole)
{
	static struct live_state vitals;
	uint32_t turn = 0;
	pthread_t writer;

	assert_int_equal(pthread_create(&writer, NULL, publish_numbers, NULL), 0);
	while (vitals.events < 2000)
		if (live_page_read(fd, &vitals, &turn) == 1)
			assert_int_equal(vitals.events, vitals.queues[LIVE_QUEUES - 1].all.errors);
	pthread_join(writer, NULL);
}
