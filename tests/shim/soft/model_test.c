/*
 * Random sequences of verbs, over two processes and four queue pairs: the
 * device does what the model (tests/shim/soft/model) says that verbs promise
 *
 *	MODEL_SEED=n	only the sequence of this seed
 *	MODEL_BASE=n	other sequences than the default ones
 *	MODEL_COUNT=n	so many of them
 */
#include <inttypes.h>
#include <string.h>

#include "tests/shim/soft/model/run.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

#if defined(__SANITIZE_THREAD__)
enum { SEQUENCES = 150, BASE = 1 };
#elif defined(__SANITIZE_ADDRESS__)
enum { SEQUENCES = 500, BASE = 1 };
#else
enum { SEQUENCES = 900, BASE = 1 };
#endif

static uint64_t number_from_env(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 0) : otherwise;
}

static void lie_about_length(const struct step *step, struct result *r)
{
	int i;

	if (step->op != OP_POLL)
		return;
	for (i = 0; i < r->num; i++)
		if (r->wc[i].status == IBV_WC_SUCCESS && r->wc[i].opcode == IBV_WC_RECV)
			r->wc[i].byte_len++;
}

static void swap_completions(const struct step *step, struct result *r)
{
	struct completion first = r->wc[0];

	if (step->op != OP_POLL || r->num < 2 || r->wc[0].qp != r->wc[1].qp)
		return;
	r->wc[0] = r->wc[1];
	r->wc[1] = first;
}

/* Run until the model finds the wrong answer; returns its report. */
static void expect_found_out(void (*spoil)(const struct step *step, struct result *r))
{
	struct runner r = { .spoil = spoil };
	char *text = NULL;
	size_t size = 0;
	FILE *report = open_memstream(&text, &size);
	bool agree = true;
	uint64_t seed;

	assert_int_equal(runner_open(&r), 0);
	for (seed = 1; agree && seed < 100; seed++)
		agree = runner_sequence(&r, seed, report);
	assert_int_equal(runner_close(&r), 0);
	fclose(report);
	assert_false(agree);
	assert_non_null(strstr(text, "steps remain"));
	assert_non_null(strstr(text, "MODEL_SEED="));
	free(text);
}

GROUP(fabric_setup, fabric_teardown);

TEST(wrong_answers_are_found_out)
{
	expect_found_out(lie_about_length);
	expect_found_out(swap_completions);
}

TEST(sequences_do_what_the_model_says)
{
	uint64_t base = number_from_env("MODEL_BASE", BASE);
	uint64_t count = number_from_env("MODEL_COUNT", SEQUENCES);
	uint64_t seed, end = base + count;
	struct runner r = { 0 };
	bool agree = true;

	if (getenv("MODEL_SEED")) {
		base = number_from_env("MODEL_SEED", 0);
		end = base + 1;
	}
	if (getenv("MODEL_LOG"))
		r.log = stdout;
	assert_int_equal(runner_open(&r), 0);
	printf("seeds %" PRIu64 " to %" PRIu64 "\n", base, end - 1);
	for (seed = base; agree && seed < end; seed++)
		agree = runner_sequence(&r, seed, stdout);
	fflush(stdout);
	assert_int_equal(runner_close(&r), 0);
	assert_true(agree);
}
