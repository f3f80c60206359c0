/*
 * Rings that were given a number, and do not exist yet; the session is the test's
 */
#include "cli/record/ring_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/wire/log.h"
#include "tests/printed.h"
#include "tests/test.h"

enum { RINGS = 200, MANY = 64 }; /* more missing ones than that are looked for in a list */

/* States of a ring. */
enum state { ABSENT, UNREADABLE, UNFINISHED, UNTAKEN, READY };

static enum state states[RINGS];
static struct ring_head heads[RINGS];
static uint32_t given; /* numbers so far */
static int nopened, nlisted, nopen, list_error, take_error;
static uint64_t now_ns;
static bool is_leftover;
static struct session_page page;
static const struct session session = { .page = &page, .dir = "/sessions/x" };
static struct ring_search search;
static struct text taken;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	(void)clock;
	*ret_time = (struct timespec){ .tv_sec = (time_t)(now_ns / 1000000000),
				       .tv_nsec = (long)(now_ns % 1000000000) };
	return 0;
}

static int open_any(int at, uint32_t index, struct ring *ret_ring, bool leftover)
{
	assert_int_equal(at, 17);
	assert_int_equal(leftover, is_leftover);
	nopened++;
	if (states[index] == ABSENT)
		return -ENOENT;
	if (states[index] == UNREADABLE)
		return -EPROTO;
	heads[index] = (struct ring_head){ .index = index };
	if (states[index] == READY)
		atomic_store(&heads[index].ticks, 1);
	if (states[index] == UNTAKEN)
		atomic_store(&heads[index].tail, 8);
	*ret_ring = (struct ring){ .head = &heads[index] };
	nopen++;
	return 0;
}

int session_open_ring(int at, uint32_t index, struct ring *ret_ring)
{
	return open_any(at, index, ret_ring, false);
}

int session_open_leftover(int at, uint32_t index, struct ring *ret_ring)
{
	return open_any(at, index, ret_ring, true);
}

void ring_close(struct ring *ring)
{
	assert_non_null(ring->head);
	nopen--;
}

uint32_t session_count_rings(const struct session *of)
{
	assert_ptr_equal(of, &session);
	return given;
}

int session_list_rings(int at, uint32_t **ret_numbers)
{
	int n = 0;

	assert_int_equal(at, 17);
	nlisted++;
	if (list_error)
		return list_error;
	*ret_numbers = calloc(RINGS, sizeof(**ret_numbers));
	assert_non_null(*ret_numbers);
	for (uint32_t i = 0; i < RINGS; i++)
		if (states[i] != ABSENT)
			(*ret_numbers)[n++] = i;
	return n;
}

void session_ring_path(const struct session *of, uint32_t index, char *path)
{
	sprintf(path, "%s/%u", of->dir, index);
}

static int take_ring(void *arg, const struct ring *ring, uint32_t index)
{
	assert_ptr_equal(arg, &taken);
	assert_int_equal(ring->head->index, index);
	if (take_error)
		return take_error;
	text_addf(&taken, " %u", index);
	return 0;
}

static int begin_search(void **state)
{
	(void)state;
	memset(states, 0, sizeof(states));
	memset(&page, 0, sizeof(page));
	given = 0;
	nopened = nlisted = nopen = list_error = take_error = 0;
	now_ns = 5000000000;
	is_leftover = false;
	ring_search_init(&search, &session, 17, take_ring, &taken);
	return 0;
}

static int end_search(void **state)
{
	(void)state;
	ring_search_fini(&search);
	text_fini(&taken);
	return 0;
}

FIXTURE(begin_search, end_search);

/* The rings that were taken since the last call, and how many are missing. */
static void expect_taken(const char *numbers, unsigned int missing)
{
	assert_string_equal(taken.at ?: "", numbers);
	assert_int_equal(search.nmissing, missing);
	text_cut(&taken, 0);
}

TEST(rings_are_taken_when_they_are_ready)
{
	given = 5;
	states[0] = states[3] = READY;
	states[1] = UNFINISHED;
	states[2] = UNTAKEN;
	assert_true(ring_search_waiting(&search));
	assert_int_equal(ring_search_new_rings(&search), 0);
	assert_false(ring_search_waiting(&search));
	expect_taken(" 0 3", 3);
	assert_int_equal(nopen, 2);
	states[1] = states[4] = READY;
	assert_int_equal(ring_search_missing(&search), 0);
	expect_taken(" 1 4", 1);
	assert_int_equal(search.opened, 4);
}

TEST(a_recent_one_is_looked_for_though_no_number_is_new)
{
	given = 1;
	assert_int_equal(ring_search_new_rings(&search), 0);
	nopened = 0;
	now_ns += 699999999;
	assert_int_equal(ring_search_new_rings(&search), 0);
	assert_int_equal(nopened, 1);
	now_ns += 1;
	assert_int_equal(ring_search_new_rings(&search), 0);
	assert_int_equal(ring_search_recent(&search), 0);
	assert_int_equal(nopened, 1);
	given = 2;
	states[0] = states[1] = READY;
	assert_int_equal(ring_search_new_rings(&search), 0);
	expect_taken(" 0 1", 0);
}

TEST(many_are_looked_for_in_a_list)
{
	given = MANY;
	assert_int_equal(ring_search_new_rings(&search), 0);
	assert_int_equal(nopened, MANY);
	assert_int_equal(nlisted, 0);
	given = MANY + 1;
	states[7] = states[40] = states[MANY] = READY;
	states[8] = UNREADABLE;
	states[MANY + 1] = READY; /* it has not been given out */
	nopened = 0;
	assert_int_equal(ring_search_new_rings(&search), 0);
	assert_int_equal(nlisted, 1);
	assert_int_equal(nopened, 4);
	expect_taken(" 7 40 64", MANY - 2);
}

TEST(a_ring_that_cannot_be_taken_ends_the_search)
{
	given = 3;
	states[0] = states[1] = READY;
	take_error = -ENOMEM;
	assert_int_equal(ring_search_new_rings(&search), -ENOMEM);
	assert_int_equal(nopened, 1);
	assert_int_equal(nopen, 0);
}

TEST(a_directory_that_cannot_be_read_is_an_error)
{
	struct text said = { 0 };

	given = MANY + 1;
	list_error = -EACCES;
	printed_begin(true);
	assert_int_equal(ring_search_new_rings(&search), -EACCES);
	assert_int_equal(ring_search_leftover(&search), -EACCES);
	printed_end(&said);
	assert_string_equal(said.at,
			    "verbatim: look for rings in /sessions/x: Permission denied\n"
			    "verbatim: look for rings in /sessions/x: Permission denied\n");
	text_fini(&said);
}

/* Rings of dead processes are taken, too, if they have events. */
TEST(leftovers_are_those_of_the_directory)
{
	is_leftover = true;
	states[2] = UNTAKEN;
	states[5] = UNFINISHED;
	states[6] = READY;
	states[9] = UNREADABLE;
	assert_int_equal(ring_search_leftover(&search), 0);
	expect_taken(" 2 6", 2);
	assert_false(ring_search_waiting(&search));
}

TEST(files_that_are_no_rings_are_counted)
{
	char path[SESSION_PATH + 16] = "";

	given = 6;
	states[0] = READY;
	states[2] = states[4] = states[5] = UNREADABLE;
	states[3] = UNFINISHED;
	assert_int_equal(ring_search_new_rings(&search), 0);
	atomic_store(&page.made, 1);
	assert_int_equal(ring_search_unreadable(&search, path), 0);
	atomic_store(&page.made, 3);
	assert_int_equal(ring_search_unreadable(&search, path), 2);
	assert_string_equal(path, "/sessions/x/2");
	atomic_store(&page.made, 9);
	assert_int_equal(ring_search_unreadable(&search, path), 3);
	search.leftover = is_leftover = true;
	atomic_store(&page.made, 0);
	assert_int_equal(ring_search_unreadable(&search, path), 3);
}
