/* The rules of analyzer/rules/life.c over stored traces. */
#include <errno.h>

#include "core/wire/attach.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

static void query_qp(struct story *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	memset(&init, 0, sizeof(init));
	story_do(s, 0, VERB_query_qp, 20, EINVAL, W(&a_qp), W(&attr), W(1), W(&init));
}

TEST(a_clean_life_has_no_findings)
{
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	reg_mr(&s, &a_mr);
	query_qp(&s);
	destroy_qp(&s, 0);
	dereg_mr(&s, &a_mr, 0);
	destroy_cq(&s, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	assert_int_equal(s.findings->nunchecked, 0);
	story_end(&s);
}

static void put_mark(struct story *s, enum event_mark_kind kind, const char *text)
{
	struct event_mark *event = (struct event_mark *)s->words;
	size_t bytes = strlen(text);

	event->kind = (uint16_t)kind;
	event->bytes = (uint16_t)bytes;
	memcpy(event + 1, text, bytes);
	story_event(s, 0, EVENT_MARK, (sizeof(*event) + bytes + 7) / 8);
}

/* An object that `verbatim attach` found may be one of a library that never destroys it. */
TEST(what_was_made_before_the_recording_is_no_leak)
{
	static const char *const texts[] = { ATTACH_MARK, "phase" };

	for (int i = 0; i < 2; i++) {
		struct story s;

		story_with_cq(&s);
		put_mark(&s, MARK_BEGIN, texts[i]);
		reg_mr(&s, &a_mr);
		put_mark(&s, MARK_END, texts[i]);
		destroy_cq(&s, 0);
		dealloc_pd(&s, 0);
		close_context(&s);
		story_exit(&s, STORY_PID, 0);
		story_check(&s, NULL);
		assert_int_equal(s.findings->rules[RULE_LIFE_004], i);
		story_end(&s);
	}
}

/* A poll that fails, with its stack, as the recorder writes it. */
static void poll_in_vain(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_stack *stack = (struct event_stack *)(event + 1);
	uint64_t *frames = (uint64_t *)(stack + 1);

	event->head.flags = EVENT_STACK;
	event->cq = W(&a_cq);
	event->ret = -1;
	stack->nframes = 1;
	frames[0] = 0x1234;
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*stack)) / 8 + 1);
}

TEST(a_poll_of_a_destroyed_cq_has_its_stack)
{
	const struct finding *f;
	const struct fact *fact;
	struct story s;

	story_with_cq(&s);
	destroy_cq(&s, 0);
	poll_in_vain(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_001);
	assert_string_equal(f->object, "cq1");
	assert_int_equal(f->nsteps, 3);
	assert_int_equal(f->steps[2].moment.verb, VERB_poll_cq);
	assert_int_not_equal(f->steps[2].moment.stack, 0);
	fact = &s.findings->facts->list.all[0];
	assert_int_equal(fact->kind, FACT_FAILED);
	assert_int_equal(fact->error, -1);
	assert_int_equal(fact->stack, f->steps[2].moment.stack);
	story_end(&s);
}

TEST(use_after_destroy_has_three_stacks)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	create_qp(&s); /* 1:8 */
	destroy_qp(&s, 0);
	query_qp(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_001);
	assert_string_equal(f->where, "ibv_query_qp(): qp");
	assert_string_equal(f->object, "qp1");
	assert_int_equal(f->event.n, 12);
	assert_int_equal(f->nsteps, 3);
	assert_int_equal(f->steps[0].moment.id.n, 8);
	assert_int_equal(f->steps[0].moment.verb, VERB_create_qp);
	assert_int_equal(f->steps[1].moment.id.n, 10);
	assert_int_equal(f->steps[2].moment.id.n, 12);
	for (int i = 0; i < 3; i++)
		assert_int_not_equal(f->steps[i].moment.stack, 0);
	assert_non_null(strstr(f->says, "qp1 (number 0x21) was destroyed by ibv_destroy_qp() at "
					"1:10"));
	story_end(&s);
}

TEST(a_dead_cq_of_a_creation_is_used)
{
	struct story s;

	story_with_cq(&s);
	destroy_cq(&s, 0);
	create_qp(&s);
	story_check(&s, NULL);
	assert_string_equal(s.findings->all[0]->where, "ibv_create_qp(): qp_init_attr.send_cq");
	assert_int_equal(s.findings->rules[RULE_LIFE_001], 2); /* send_cq and recv_cq */
	story_end(&s);
}

TEST(a_post_on_a_dead_qp_is_used)
{
	struct event_sge sge = { 0x1000, 64, 0x10 };
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	destroy_qp(&s, 0);
	story_post(&s, 0, VERB_post_send, &a_qp, 7, IBV_WR_SEND, sge);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_001);
	assert_string_equal(f->where, "ibv_post_send(): qp");
	assert_int_equal(f->steps[2].moment.stack, 0);
	story_end(&s);
}

TEST(an_address_comes_back)
{
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	destroy_qp(&s, 0);
	create_qp(&s);
	query_qp(&s);
	destroy_qp(&s, 0);
	story_finds_nothing(&s);
}

/* Another thread gets the same address before the destroy has returned. */
TEST(an_address_comes_back_before_the_destroy_returns)
{
	struct story_call destroy;
	struct story s;
	int other;

	story_with_cq(&s);
	other = story_thread(&s, STORY_PID, 0, 0);
	create_qp(&s);
	destroy = story_call(&s, other, VERB_destroy_qp, 6, W(&a_qp));
	create_qp(&s);
	story_return(&s, &destroy, 0);
	query_qp(&s);
	destroy_qp(&s, 0);
	story_finds_nothing(&s);
}

TEST(a_failed_destroy_leaves_it_alive)
{
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	destroy_qp(&s, EBUSY);
	query_qp(&s);
	destroy_qp(&s, 0);
	story_finds_nothing(&s);
}

TEST(a_failed_creation_makes_nothing)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct story s;

	story_with_cq(&s);
	story_do(&s, 0, VERB_create_qp, 4, 0, W(&a_pd), W(&attr));
	destroy_cq(&s, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

TEST(a_child_of_a_closed_context_is_used)
{
	struct story s;

	story_with_cq(&s);
	close_context(&s); /* 1:8 */
	destroy_cq(&s, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_LIFE_004], 2); /* pd and cq */
	assert_int_equal(s.findings->rules[RULE_LIFE_001], 1);
	assert_int_equal(s.findings->rules[RULE_LIFE_002], 0);
	assert_int_equal(s.findings->n, 3);
	assert_non_null(strstr(s.findings->all[2]->says, "left behind by ibv_close_device() at "
							 "1:8"));
	story_end(&s);
}

TEST(double_destroy_is_not_a_use)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	destroy_cq(&s, 0);
	destroy_cq(&s, 0);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_002);
	assert_string_equal(f->where, "ibv_destroy_cq(): cq");
	assert_int_equal(f->nsteps, 3);
	story_end(&s);
}

/* As in a trace that begins in the middle. */
TEST(an_object_older_than_the_trace_is_destroyed_twice)
{
	const struct finding *f;
	struct story s;

	story_begin(&s);
	dealloc_pd(&s, 0);
	dealloc_pd(&s, 0);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_002);
	assert_string_equal(f->object, "pd1");
	assert_int_equal(f->nsteps, 2);
	assert_string_equal(f->steps[0].what, "destroyed");
	story_end(&s);
}

TEST(an_object_older_than_the_trace_is_not_judged)
{
	struct story s;

	story_begin(&s);
	dealloc_pd(&s, EBUSY);
	reg_mr(&s, &a_mr);
	dereg_mr(&s, &a_mr, 0);
	dealloc_pd(&s, EBUSY);
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

TEST(busy_pd_names_what_is_in_the_way)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	reg_mr(&s, &a_mr);
	dealloc_pd(&s, EBUSY);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_003);
	assert_non_null(strstr(f->says, "since mr1, created by thread 1 at"));
	assert_int_equal(f->steps[1].moment.verb, VERB_reg_mr);
	assert_string_equal(f->steps[2].what, "destroy failed");
	story_end(&s);
}

TEST(a_cq_is_destroyed_under_its_qp)
{
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	destroy_cq(&s, 0);
	story_tells(&s, RULE_LIFE_003, "while qp1, created by thread 1 at");
}

TEST(a_channel_is_destroyed_under_its_cq)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	story_do(&s, 0, VERB_create_comp_channel, 11, W(&a_channel), W(&a_context));
	a_cq.channel = &a_channel;
	create_cq(&s);
	a_cq.channel = NULL;
	story_do(&s, 0, VERB_destroy_comp_channel, 12, EBUSY, W(&a_channel));
	story_tells(&s, RULE_LIFE_003, "cq1");
}

TEST(a_thread_domain_is_deallocated_under_its_pd)
{
	struct ibv_td td = { .context = &a_context };
	struct ibv_pd domain = { .context = &a_context };
	struct ibv_td_init_attr of_td = { 0 };
	struct ibv_parent_domain_init_attr attr = { .pd = &a_pd, .td = &td };
	struct story s;

	story_with_cq(&s);
	story_do(&s, 0, VERB_alloc_td, 60, W(&td), W(&a_context), W(&of_td));
	story_do(&s, 0, VERB_alloc_parent_domain, 61, W(&domain), W(&a_context), W(&attr));
	story_do(&s, 0, VERB_dealloc_td, 62, EBUSY, W(&td));
	story_tells(&s, RULE_LIFE_003, "since pd2, created by thread 1");
}

TEST(a_qp_in_a_multicast_group_is_destroyed)
{
	union ibv_gid gid = { .raw = { 0xff, 0x0e } };
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	for (int i = 0; i < 2; i++) /* attaching twice counts once */
		story_do(&s, 0, VERB_attach_mcast, 13, 0, W(&a_qp), W(&gid), W(0xc000));
	destroy_qp(&s, EBUSY);
	story_do(&s, 0, VERB_detach_mcast, 14, 0, W(&a_qp), W(&gid), W(0xc000));
	destroy_qp(&s, 0);
	story_tells(&s, RULE_LIFE_003, "1 multicast group.");
}

TEST(a_bound_mr_is_deregistered)
{
	struct ibv_mw mw = { .context = &a_context, .pd = &a_pd, .rkey = 0x31 };
	struct ibv_mw_bind bind = { .bind_info = { .mr = &a_mr, .length = 16 } };
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	reg_mr(&s, &a_mr);
	story_do(&s, 0, VERB_alloc_mw, 15, W(&mw), W(&a_pd), W(IBV_MW_TYPE_1));
	story_do(&s, 0, VERB_bind_mw, 16, 0, W(&a_qp), W(&mw), W(&bind));
	dereg_mr(&s, &a_mr, EBUSY);
	bind.bind_info.length = 0;
	story_do(&s, 0, VERB_bind_mw, 16, 0, W(&a_qp), W(&mw), W(&bind));
	dereg_mr(&s, &a_mr, 0);
	story_tells(&s, RULE_LIFE_003, "since mw1,");
}

TEST(a_window_whose_bind_failed_binds_nothing)
{
	struct ibv_mw mw = { .context = &a_context, .pd = &a_pd, .rkey = 0x31 };
	struct ibv_mw_bind bind = { .wr_id = 5,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = &a_mr, .length = 16 } };
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	reg_mr(&s, &a_mr);
	story_do(&s, 0, VERB_alloc_mw, 15, W(&mw), W(&a_pd), W(IBV_MW_TYPE_1));
	story_do(&s, 0, VERB_bind_mw, 16, 0, W(&a_qp), W(&mw), W(&bind));
	story_poll(&s, 0, &a_cq, 5, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	dereg_mr(&s, &a_mr, 0);
	story_finds_nothing(&s);
}

TEST(leaks_are_one_finding_a_place)
{
	struct ibv_mr mrs[50];
	const struct finding *f;
	struct story s;

	story_begin(&s);
	alloc_pd(&s);
	for (int i = 0; i < 50; i++) {
		mrs[i] = a_mr;
		reg_mr(&s, &mrs[i]);
	}
	for (int i = 0; i < 50; i += 2)
		dereg_mr(&s, &mrs[i], 0);
	dealloc_pd(&s, 0);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, 2); /* LIFE-003 is the second one */
	f = s.findings->all[1];
	assert_int_equal(f->rule, RULE_LIFE_004);
	assert_int_equal(f->site->count, 25);
	assert_non_null(strstr(f->says, "25 objects, 100 KiB together, created by ibv_reg_mr()"));
	assert_non_null(strstr(f->says, "process 1 exited: mr2, mr4, ..., mr50"));
	story_end(&s);
}

/* A program that leaks the context leaks its objects: that is one mistake. */
TEST(a_leaked_context_is_reported_with_what_is_in_it)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s); /* a context, a PD and a CQ */
	create_qp(&s);
	reg_mr(&s, &a_mr);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_004);
	assert_string_equal(f->object, "context1");
	assert_string_equal(f->where, "ibv_open_device()");
	assert_int_equal(s.findings->rules[RULE_LIFE_004], 1);
	assert_non_null(strstr(f->says, "context1, created by ibv_open_device(), still existed "
					"when process 1 exited, and with it 1 pd, 1 mr, 1 cq, 1 "
					"qp."));
	story_end(&s);
}

/* The PD is left because of the MR, and not the reverse. */
TEST(a_busy_pd_is_reported_with_what_kept_it)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	reg_mr(&s, &a_mr);
	destroy_cq(&s, 0);
	dealloc_pd(&s, EBUSY);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, 2); /* LIFE-003 is the second one */
	f = s.findings->all[1];
	assert_int_equal(f->rule, RULE_LIFE_004);
	assert_string_equal(f->object, "mr1");
	assert_non_null(strstr(f->says, "mr1 of 4 KiB, created by ibv_reg_mr(), still existed"));
	assert_non_null(strstr(f->says, ", and with it 1 pd."));
	assert_int_equal(f->of_site, 1); /* although the PD, which is older, came first */
	story_end(&s);
}

TEST(leaks_of_a_closed_context_are_reported_from_the_oldest)
{
	struct ibv_pd pds[3];
	const struct finding *f;
	struct story s;

	story_begin(&s);
	open_context(&s);
	for (int i = 0; i < 3; i++)
		story_do(&s, 0, VERB_alloc_pd, 2, W(&pds[i]), W(&a_context));
	close_context(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_004);
	assert_string_equal(f->object, "pd1");
	assert_non_null(strstr(f->says, ": pd1 to pd3."));
	story_end(&s);
}

/* The others, in between, were destroyed. */
TEST(leaks_with_gaps_between_them_are_listed)
{
	static const struct {
		int n;
		const char *says;
	} rows[] = { { 2, ": pd1 and pd3." },
		     { 3, ": pd1, pd3, pd5." },
		     { 4, ": pd1, pd3, ..., pd7." } };

	for (size_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct ibv_pd pds[8];
		struct story s;

		story_begin(&s);
		open_context(&s);
		for (int i = 0; i < 2 * rows[row].n; i++)
			story_do(&s, 0, VERB_alloc_pd, 2, W(&pds[i]), W(&a_context));
		for (int i = 1; i < 2 * rows[row].n; i += 2)
			story_do(&s, 0, VERB_dealloc_pd, 3, 0, W(&pds[i]));
		close_context(&s);
		story_tells(&s, RULE_LIFE_004, rows[row].says);
	}
}

TEST(the_killed_do_not_leak)
{
	struct story s;

	story_with_cq(&s);
	story_exit(&s, STORY_PID, 9);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	assert_int_equal(s.findings->nunchecked, 1);
	assert_int_equal(s.findings->unchecked[0].rule, RULE_LIFE_004);
	story_end(&s);
}

TEST(the_replaced_do_not_leak)
{
	struct event_process *process;
	struct story s;
	int thread;

	story_with_cq(&s);
	thread = story_thread(&s, STORY_PID, 0, 0);
	process = (struct event_process *)s.words;
	process->pid = STORY_PID;
	story_event(&s, thread, EVENT_PROCESS, sizeof(*process) / 8);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	assert_int_equal(s.findings->nunchecked, 0);
	story_end(&s);
}

TEST(a_pid_that_is_used_again_hides_no_leak)
{
	struct event_process *process;
	struct story s;
	int thread;

	story_with_cq(&s);
	story_event(&s, 0, EVENT_EXIT, sizeof(struct event_exit) / 8);
	thread = story_thread(&s, STORY_PID, 0, 0);
	process = (struct event_process *)s.words;
	process->pid = STORY_PID;
	story_event(&s, thread, EVENT_PROCESS, sizeof(*process) / 8);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_not_equal(s.findings->rules[RULE_LIFE_004], 0);
	story_end(&s);
}

TEST(ten_of_a_site_are_kept_and_all_counted)
{
	struct story s;

	story_with_cq(&s);
	create_qp(&s);
	destroy_qp(&s, 0);
	for (int i = 0; i < 1000; i++)
		query_qp(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, FINDINGS_SHOWN);
	assert_int_equal(s.findings->rules[RULE_LIFE_001], 1000);
	assert_int_equal(s.findings->all[0]->site->count, 1000);
	story_end(&s);
}

/* As in an imported trace, which has none: or millions would be kept. */
TEST(without_stacks_a_verb_is_a_place)
{
	struct ibv_pd *pds = calloc(1000, sizeof(*pds));
	struct story s;

	assert_non_null(pds);
	story_with_cq(&s);
	for (int i = 0; i < 1000; i++) {
		pds[i] = a_pd;
		story_do(&s, 0, VERB_alloc_pd, 0, W(&pds[i]), W(&a_context));
		story_do(&s, 0, VERB_dealloc_pd, 0, 0, W(&pds[i]));
		story_do(&s, 0, VERB_dealloc_pd, 0, 0, W(&pds[i]));
	}
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, FINDINGS_SHOWN);
	assert_int_equal(s.findings->rules[RULE_LIFE_002], 1000);
	story_end(&s);
	free(pds);
}

/* A process that fails need not clean up. */
TEST(a_leak_of_a_process_that_failed_has_its_status)
{
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	story_exit(&s, STORY_PID, 2 << 8);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_004);
	assert_non_null(strstr(f->says, "still existed when process 1 exited with status 2, and "));
	story_end(&s);
}

/* A CQ that could not be destroyed because of its queue pairs is found after the last of them. */
TEST(queue_pairs_that_are_left_are_named_in_their_order)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .recv_cq = &a_cq };
	struct ibv_qp qps[3] = { 0 };
	const struct finding *found = NULL;
	struct story s;

	story_with_cq(&s);
	for (int i = 0; i < 3; i++) {
		qps[i] =
			(struct ibv_qp){ .context = &a_context, .qp_num = 0x30u + (unsigned int)i };
		story_do(&s, 0, VERB_create_qp, 4, W(&qps[i]), W(&a_pd), W(&attr));
	}
	destroy_cq(&s, EBUSY);
	dealloc_pd(&s, EBUSY);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_LIFE_004)
			found = s.findings->all[i];
	assert_non_null(found);
	if (!strstr(found->says, ": qp1 to qp3, and with them 1 pd, 1 cq."))
		fail_msg("%s", found->says);
	story_end(&s);
}
