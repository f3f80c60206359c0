#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/attach/core_rings.h"
#include "cli/attach/memory.h"
#include "cli/attach/target.h"
#include "core/wire/ring.h"
#include "gen/verbs_gen.h"
#include "tests/test.h"

/* A ring with three events, and a core of its process: its mappings, as they are here. */
static char dir[] = "/tmp/core_rings_test-XXXXXX";
static char path[64];
static struct ring ring;
static struct target target;
static struct target_map maps[2];
static struct core_rings rings;
static size_t bytes_there;

static size_t read_here(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	const uint64_t from = (uintptr_t)ring.head;

	(void)memory;
	if (at < from || at - from >= bytes_there)
		return 0;
	if (n > bytes_there - (at - from))
		n = bytes_there - (at - from);
	memcpy(to, (void *)(uintptr_t)at, n);
	return n;
}

static const struct memory memory = { .read = read_here };

static void put_event(uint8_t type, enum verb verb)
{
	union {
		struct event_call call;
		struct event_return back;
	} event = { 0 };
	size_t bytes = type == EVENT_CALL ? sizeof(event.call) : sizeof(event.back);

	event.call.head.type = type;
	if (type == EVENT_CALL)
		event.call.verb = verb;
	else
		event.back.verb = verb;
	assert_true(ring_has_room(&ring, bytes));
	memcpy(ring_next(&ring), &event, bytes);
	ring_commit(&ring, ring_next(&ring), bytes / 8);
}

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/core_rings_test-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/ring.0", dir);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), 0);
	put_event(EVENT_CALL, VERB_reg_mr);
	put_event(EVENT_RETURN, VERB_reg_mr);
	put_event(EVENT_CALL, VERB_destroy_cq);
	bytes_there = RING_PAGE + RING_MIN;
	maps[0] = (struct target_map){ .start = (uintptr_t)ring.head,
				       .end = (uintptr_t)ring.head + bytes_there,
				       .path = path };
	maps[1] = (struct target_map){ .start = 4096, .end = 8192, .path = (char[]){ "/lib/a" } };
	target = (struct target){ .maps = maps, .nmaps = 2 };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	core_rings_fini(&rings);
	ring_close(&ring);
	unlink(path);
	return rmdir(dir);
}
FIXTURE(set_up, tear_down);

TEST(last_verb_of_a_ring)
{
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.mapped, 1);
	assert_int_equal(rings.n, 1);
	assert_int_equal(rings.rings[0].events, 3);
	assert_int_equal(rings.rings[0].verb, VERB_destroy_cq);
	assert_false(rings.rings[0].returned);
}

TEST(verb_that_has_returned)
{
	put_event(EVENT_RETURN, VERB_destroy_cq);
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.rings[0].events, 4);
	assert_true(rings.rings[0].returned);
}

TEST(ring_that_is_not_in_the_core)
{
	bytes_there = 0;
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.mapped, 1);
	assert_int_equal(rings.n, 0);
}

TEST(ring_that_is_garbage)
{
	memset(ring.head, 0x77, 64);
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.n, 0);
}

TEST(verb_that_does_not_exist)
{
	put_event(EVENT_CALL, (enum verb)60000);
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.rings[0].verb, VERB_destroy_cq);
}

TEST(other_files_are_no_rings)
{
	strcpy(strrchr(path, '/'), "/other");
	assert_int_equal(core_rings_read(&target, &memory, &rings), 0);
	assert_int_equal(rings.mapped, 0);
	strcpy(strrchr(path, '/'), "/ring.0");
}
