/*
 * Fetched data: what a story of posts and completions reports
 */
#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "replay/data/fetched.h"
#include "replay/report/outcome.h"
#include "replay/state/state.h"
#include "tests/test.h"

enum {
	ADD = IBV_WR_ATOMIC_FETCH_AND_ADD,
	SWAP = IBV_WR_ATOMIC_CMP_AND_SWP,
	READ = IBV_WR_RDMA_READ
};

/* A request and its completion. */
struct step {
	int opcode;
	uint64_t add, there, here; /* values: recorded, and replayed */
	uint64_t address;
	uint32_t rkey;
	int qp; /* 0 or 1 */
	bool other_byte;
};

enum { STEPS = 10 };

static const struct {
	const char *name;
	struct step steps[STEPS];
	const char *reports;
} stories[] = {
	{ "equal_values_are_nothing",
	  { { ADD, 1, 5, 5, 8, 1, 0, 0 }, { ADD, 1, 6, 6, 8, 1, 0, 0 } },
	  "" },
	{ "another_first_value_is_nothing",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 }, { ADD, 1, 6, 4, 8, 1, 0, 0 } },
	  "" },
	{ "one_wrong_value_is_a_difference",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 1, 0, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 } },
	  "  1:12 ibv_poll_cq: wc[2].payload: recorded 9 fetched, replayed 6 (request of 1:2)\n" },
	{ "a_wrong_value_at_the_end_is_undecided",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 }, { ADD, 1, 9, 4, 8, 1, 0, 0 } },
	  "" },
	{ "two_values_in_a_row_are_a_write",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 1, 0, 0 },
	    { ADD, 1, 10, 5, 8, 1, 0, 0 },
	    { ADD, 1, 11, 6, 8, 1, 0, 0 } },
	  "" },
	{ "after_a_write_the_offset_is_another",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 1, 0, 0 },
	    { ADD, 1, 10, 5, 8, 1, 0, 0 },
	    { ADD, 1, 4, 6, 8, 1, 0, 0 },
	    { ADD, 1, 12, 7, 8, 1, 0, 0 } },
	  "  1:14 ibv_poll_cq: wc[4].payload: recorded 4 fetched, replayed 11 (request of 1:4)\n" },
	{ "a_difference_is_reported_once",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 1, 0, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 },
	    { ADD, 1, 8, 6, 8, 1, 0, 0 } },
	  "  1:12 ibv_poll_cq: wc[2].payload: recorded 9 fetched, replayed 6 (request of 1:2)\n" },
	{ "two_queue_pairs_may_add_in_any_order",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 1, 1, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 } },
	  "" },
	{ "a_swap_may_set_any_value",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { SWAP, 1, 9, 4, 8, 1, 0, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 } },
	  "" },
	{ "another_address_has_its_own_offset",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 16, 1, 0, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 } },
	  "" },
	{ "another_key_has_its_own_offset",
	  { { ADD, 1, 5, 3, 8, 1, 0, 0 },
	    { ADD, 1, 9, 4, 8, 2, 0, 0 },
	    { ADD, 1, 7, 5, 8, 1, 0, 0 } },
	  "" },
	{ "equal_reads_are_nothing",
	  { { READ, 0, 5, 5, 8, 1, 0, 0 }, { READ, 0, 5, 5, 8, 1, 0, 0 } },
	  "" },
	{ "a_read_that_differs_is_noted",
	  { { READ, 0, 5, 5, 8, 1, 0, 0 }, { READ, 0, 5, 6, 8, 1, 0, 1 } },
	  "note: 1 read returned data that differs from the recording, first at 1:12: byte 3 "
	  "of 77 was 0x05 and is 0x06. What the program itself wrote to memory is not in the "
	  "trace\n" },
	{ "reads_that_differ_are_counted",
	  { { READ, 0, 5, 5, 8, 1, 0, 0 },
	    { READ, 0, 5, 6, 8, 1, 0, 1 },
	    { READ, 0, 7, 6, 8, 1, 1, 1 },
	    { READ, 0, 5, 5, 16, 1, 0, 0 },
	    { READ, 0, 5, 6, 16, 1, 0, 1 } },
	  "note: 3 reads returned data that differs from the recording, first at 1:12: byte 3 "
	  "of 77 was 0x05 and is 0x06. What the program itself wrote to memory is not in the "
	  "trace\n" },
	{ "reads_that_all_differ_are_of_other_memory",
	  { { READ, 0, 5, 6, 8, 1, 0, 1 },
	    { READ, 0, 5, 6, 8, 1, 0, 1 },
	    { READ, 0, 5, 5, 16, 1, 0, 0 } },
	  "" },
	{ "adding_nothing_is_a_read",
	  { { ADD, 0, 5, 5, 8, 1, 0, 0 },
	    { ADD, 0, 5, 6, 8, 1, 0, 1 },
	    { ADD, 0, 5, 5, 8, 1, 0, 0 } },
	  "note: 1 read returned data that differs from the recording, first at 1:12: byte 3 "
	  "of 77 was 0x05 and is 0x06. What the program itself wrote to memory is not in the "
	  "trace\n" },
};

static struct replica_qp qps[2];

static void run_step(struct fetched_data *f, struct outcome *outcome, const struct step *step,
		     uint32_t i)
{
	struct wr wr = { .opcode = step->opcode,
			 .remote_addr = step->address,
			 .rkey = step->rkey,
			 .compare_add = step->add };
	struct fetch fetch = { .event = { 1, 11 + i },
			       .about = { 1, 1 + i },
			       .index = 1 + i,
			       .object = 4,
			       .same = !step->other_byte,
			       .at = 3,
			       .total = 77,
			       .there_byte = (uint8_t)step->there,
			       .here_byte = (uint8_t)step->here,
			       .there = step->there,
			       .here = step->here };
	uint32_t place = 99;

	assert_int_equal(fetched_post(f, &wr, &qps[step->qp], &place), 0);
	assert_true(place > 0);
	fetched_check(f, outcome, place, &fetch);
}

/* The lines of the report that name a difference, and the notes; to be freed. */
static char *take_lines(const struct outcome *outcome)
{
	char *all = NULL, *lines = NULL;
	size_t size;
	FILE *to = open_memstream(&all, &size), *out = open_memstream(&lines, &size);

	outcome_text(outcome, to);
	fclose(to);
	for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
		if (!strncmp(line, "  1:", 4) || !strncmp(line, "note: ", 6))
			fprintf(out, "%s\n", line);
	fclose(out);
	free(all);
	return lines;
}

static void fetched_data_is_compared(void **state)
{
	const typeof(stories[0]) *story = *state;
	struct outcome *outcome;
	struct fetched_data *f;
	char *lines;

	assert_int_equal(outcome_new(&outcome), 0);
	assert_int_equal(fetched_new(&f), 0);
	for (uint32_t i = 0; i < STEPS && story->steps[i].rkey; i++)
		run_step(f, outcome, &story->steps[i], i);
	fetched_report(f, outcome);
	lines = take_lines(outcome);
	assert_string_equal(lines, story->reports);
	free(lines);
	fetched_free(f);
	outcome_free(outcome);
}

TEST_ROWS(stories, fetched_data_is_compared);

TEST(free_accepts_null)
{
	fetched_free(NULL);
}

TEST(more_addresses_than_there_is_room_for_at_first)
{
	struct outcome *outcome;
	struct fetched_data *f;
	uint32_t place;

	assert_int_equal(outcome_new(&outcome), 0);
	assert_int_equal(fetched_new(&f), 0);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 200; i++) {
			const struct wr wr = { .opcode = READ, .remote_addr = 8 * i, .rkey = 1 };

			assert_int_equal(fetched_post(f, &wr, &qps[0], &place), 0);
			assert_int_equal(place, i + 1);
		}
	fetched_free(f);
	outcome_free(outcome);
}
