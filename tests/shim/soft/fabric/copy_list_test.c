/*
 * Scatter lists, cut and copied in all ways, against a model: their bytes one after the other
 *
 * Lists are random, but the same in each run.
 */
#include "shim/soft/fabric/copy_list.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "shim/soft/fabric/copy.h"
#include "shim/soft/fabric/segment.h"
#include "tests/test.h"

enum { ROUNDS = 3000, ENTRIES = 6, LONGEST = 9, GAP = 4, AREA = ENTRIES * (LONGEST + GAP) + GAP };

/* The memory of a list, with gaps in between; and each byte of the list. */
struct memory {
	uint8_t area[AREA];
	uint8_t *bytes[ENTRIES * LONGEST + LONGEST]; /* NULL: it has no memory */
	size_t n;
	struct copy_list list;
};

static unsigned int random_below(unsigned int n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(state >> 33) % n;
}

static void make_list(struct memory *m, bool nulls)
{
	uint8_t *at = m->area + GAP;

	m->list = (struct copy_list){ .count = random_below(ENTRIES + 1) };
	m->n = 0;
	for (int i = 0; i < AREA; i++)
		m->area[i] = (uint8_t)random_below(256);
	for (unsigned int i = 0; i < m->list.count; i++) {
		size_t length = 1 + random_below(LONGEST);
		bool null = nulls && !random_below(4);

		m->list.iov[i] = (struct iovec){ at, length };
		m->list.nulls |= (uint64_t)null << i;
		for (size_t k = 0; k < length; k++)
			m->bytes[m->n++] = null ? NULL : at + k;
		at += length + random_below(GAP + 1);
	}
}

/* Has @list these @n bytes, which begin with the @from-th, and no empty entries? */
static void expect_list(const struct copy_list *list, const struct memory *m, size_t from, size_t n)
{
	size_t at = from;

	for (unsigned int i = 0; i < list->count; i++) {
		assert_true(list->iov[i].iov_len > 0);
		for (size_t k = 0; k < list->iov[i].iov_len; k++, at++) {
			assert_true(at < m->n);
			assert_int_equal(copy_list_is_null(list, i), !m->bytes[at]);
			if (m->bytes[at])
				assert_ptr_equal((uint8_t *)list->iov[i].iov_base + k,
						 m->bytes[at]);
		}
	}
	assert_int_equal(at, from + n);
	assert_int_equal(list->nulls >> list->count, 0);
}

static void expect_area(const struct memory *m, const uint8_t *wanted)
{
	assert_memory_equal(m->area, wanted, AREA);
}

TEST(skipping_removes_the_first_bytes)
{
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		make_list(&m, true);
		n = random_below((unsigned int)m.n + 3);
		copy_list_skip(&m.list, n);
		n = n < m.n ? n : m.n;
		expect_list(&m.list, &m, n, m.n - n);
	}
}

TEST(advancing_names_the_entry_to_begin_with)
{
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned int first = 0;
		size_t n, left = 0;

		make_list(&m, true);
		n = random_below((unsigned int)m.n + 3);
		copy_list_advance(&m.list, &first, n);
		for (unsigned int k = first; k < m.list.count; k++)
			left += m.list.iov[k].iov_len;
		assert_int_equal(left, n < m.n ? m.n - n : 0);
		if (left)
			assert_ptr_equal(m.list.iov[first].iov_base,
					 m.bytes[n] ?: m.list.iov[first].iov_base);
	}
}

TEST(cutting_moves_the_first_bytes)
{
	struct copy_list piece;
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		size_t max, n;

		make_list(&m, false);
		piece.nulls = piece.paged = 5;
		max = random_below((unsigned int)m.n + 3);
		n = copy_list_cut(&m.list, max, &piece);
		assert_int_equal(n, max < m.n ? max : m.n);
		expect_list(&piece, &m, 0, n);
		assert_int_equal(piece.paged, 0);
		expect_list(&m.list, &m, n, m.n - n);
	}
}

TEST(an_entry_is_put_in_front)
{
	static uint8_t header[LONGEST];
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		size_t length = 1 + random_below(LONGEST);

		make_list(&m, true);
		memmove(m.bytes + length, m.bytes, m.n * sizeof(*m.bytes));
		for (size_t k = 0; k < length; k++)
			m.bytes[k] = header + k;
		m.n += length;
		copy_list_prepend(&m.list, header, length);
		expect_list(&m.list, &m, 0, m.n);
	}
}

TEST(gathered_bytes_are_those_of_the_list)
{
	uint8_t to[ENTRIES * LONGEST + 1];
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		make_list(&m, true);
		if (!m.n)
			continue;
		memset(to, 0xee, sizeof(to));
		copy_list_gather(to, &m.list);
		for (size_t k = 0; k < m.n; k++)
			assert_int_equal(to[k], m.bytes[k] ? *m.bytes[k] : 0);
		assert_int_equal(to[m.n], 0xee);
	}
}

/* @m as it is when the first @n bytes are those at @from. */
static void scatter_model(const struct memory *m, const uint8_t *from, size_t n, uint8_t *wanted)
{
	memcpy(wanted, m->area, AREA);
	for (size_t k = 0; k < n && k < m->n; k++)
		if (m->bytes[k])
			wanted[m->bytes[k] - m->area] = from[k];
}

static void scatter_in_all_ways(void (*scatter)(const struct copy_list *to, const uint8_t *from,
						uint64_t len))
{
	uint8_t from[ENTRIES * LONGEST + 3], wanted[AREA];
	struct memory m;

	for (int i = 0; i < ROUNDS; i++) {
		size_t n;

		for (size_t k = 0; k < sizeof(from); k++)
			from[k] = (uint8_t)random_below(256);
		make_list(&m, true);
		n = random_below((unsigned int)m.n + 3);
		scatter_model(&m, from, n, wanted);
		errno = EXDEV;
		scatter(&m.list, from, n);
		assert_int_equal(errno, EXDEV);
		expect_area(&m, wanted);
	}
}

TEST(scattered_bytes_arrive_in_the_list)
{
	scatter_in_all_ways(copy_list_scatter);
}

TEST(bytes_of_a_message_arrive_in_the_list)
{
	scatter_in_all_ways(copy_to_own_memory);
}

/* The bytes of @from, where it has memory. */
static size_t gather_model(const struct memory *from, uint8_t *bytes)
{
	for (size_t k = 0; k < from->n; k++)
		bytes[k] = from->bytes[k] ? *from->bytes[k] : 0;
	return from->n;
}

/* @peer: this process, as itself or as if it were another. */
static void put_to(struct peer *peer, bool nulls)
{
	uint8_t bytes[ENTRIES * LONGEST], wanted[AREA];
	struct memory here, there;

	for (int i = 0; i < ROUNDS; i++) {
		make_list(&here, nulls);
		make_list(&there, nulls);
		scatter_model(&there, bytes, gather_model(&here, bytes), wanted);
		assert_int_equal(copy_put(peer, &here.list, &there.list), 0);
		expect_area(&there, wanted);
	}
}

/* Remote memory has keys, and null regions have none: it is memory. */
static void get_from(struct peer *peer, bool nulls)
{
	uint8_t bytes[ENTRIES * LONGEST], wanted[AREA];
	struct memory here, there;

	for (int i = 0; i < ROUNDS; i++) {
		make_list(&here, nulls);
		make_list(&there, false);
		scatter_model(&here, bytes, gather_model(&there, bytes), wanted);
		assert_int_equal(copy_get(peer, &here.list, &there.list), 0);
		expect_area(&here, wanted);
	}
}

TEST(bytes_are_put_to_this_process)
{
	struct peer own = { .seg = segment_own, .pid = getpid() };

	put_to(&own, false);
	put_to(&own, true);
	get_from(&own, false);
	get_from(&own, true);
}

TEST(bytes_are_put_to_another_process)
{
	static uint8_t segment[64];
	struct peer other = { .seg = (struct shm_seg *)segment, .pid = getpid() };

	put_to(&other, false);
	put_to(&other, true);
	get_from(&other, false);
	get_from(&other, true);
	assert_int_equal(other.forbidden, 0);
}

TEST(memory_that_is_missing_is_an_error)
{
	static uint8_t segment[64], byte;
	struct peer other = { .seg = (struct shm_seg *)segment, .pid = getpid() };
	struct copy_list here = { .count = 1, .iov = { { &byte, 1 } } };
	struct copy_list there = { .count = 1, .iov = { { (void *)8, 1 } } };

	assert_int_equal(copy_put(&other, &here, &there), -EFAULT);
	assert_int_equal(copy_get(&other, &here, &there), -EFAULT);
	other.pid = 0x7ffffff0;
	assert_int_equal(copy_put(&other, &here, &there), -ESRCH);
}
