/*
 * A program of a small trace, or an error: never half a program
 */
#include "cli/emit/build.h"

#include <errno.h>

#include "cli/emit/write.h"
#include "core/wire/log.h"
#include "tests/allocation.h"
#include "tests/analyzer/story.h"

static struct story story;
static char buffer[4096];

/* Some messages that a queue pair sends to itself, so that there are loops. */
static int record_story(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	(void)state;
	story_with_qp(&story);
	a_mr.addr = buffer;
	reg_mr(&story, &a_mr);
	story_do(&story, 0, VERB_modify_qp, 5, 0, W(&a_qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	for (uint64_t i = 0; i < 12; i++) {
		story_post(&story, 0, VERB_post_recv, &a_qp, i, 0,
			   (struct event_sge){ (uintptr_t)buffer, 64, a_mr.lkey });
		story_post(&story, 0, VERB_post_send, &a_qp, i, IBV_WR_SEND,
			   (struct event_sge){ (uintptr_t)buffer, 64, a_mr.lkey });
		story_poll(&story, 0, &a_cq, i, IBV_WC_SUCCESS, a_qp.qp_num);
	}
	dereg_mr(&story, &a_mr, 0);
	destroy_qp(&story, 0);
	story_check(&story, NULL);
	return 0;
}

static int end_story(void **state)
{
	(void)state;
	story_end(&story);
	return 0;
}

GROUP(record_story, end_story);

static int make_program(struct text *text)
{
	struct program *program = calloc(1, sizeof(*program));
	struct maker maker = { 0 };
	int err = program ? program_init(program, story.trace, "story.db") : -ENOMEM;

	err = err ?: build_program(&maker, program) ?: write_program(&maker, text);
	build_fini(&maker);
	if (program)
		program_fini(program);
	free(program);
	return err;
}

TEST(each_allocation_may_fail)
{
	struct text whole = { 0 };

	assert_int_equal(make_program(&whole), 0);
	log_silence(true);
	for (long fails = 0, failed = true; failed; fails++) {
		struct text text = { 0 };
		int err;

		allocation_begin(fails);
		err = make_program(&text);
		failed = allocation_end();
		if (err)
			assert_int_equal(err, -ENOMEM);
		else
			assert_string_equal(text.at, whole.at);
		text_fini(&text);
	}
	log_silence(false);
	text_fini(&whole);
}
