/* The rules of analyzer/rules/fork.c over stored traces. */
#include <errno.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { CHILD = STORY_PID + 50 };

static struct ibv_context child_context;
static struct ibv_mr child_mr = { .context = &a_context, .pd = &a_pd, .length = 64, .lkey = 0x40 };

/* Returns the child's thread. */
static int story_forks(struct story *s)
{
	story_begin(s);
	open_context(s);
	alloc_pd(s);         /* 1:4 */
	story_fork(s, 0, 1); /* 1:6 */
	return story_thread(s, CHILD, STORY_PID, 1);
}

TEST(a_child_uses_its_parents_pd)
{
	const struct finding *f;
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_reg_mr, 5, W(&child_mr), W(&a_pd), W(0), W(64), W(1));
	story_check(&s, NULL);
	f = story_only(&s, RULE_FORK_003);
	assert_string_equal(f->where, "ibv_reg_mr(): pd");
	assert_string_equal(
		f->says,
		"process 2 (pid 150), forked from process 1 at 1:6, called ibv_reg_mr() on pd1, "
		"which process 1 had created; the call succeeded.");
	assert_int_equal(f->process, 2);
	assert_int_equal(f->nsteps, 3);
	assert_int_equal(f->steps[0].moment.id.n, 4);
	assert_string_equal(f->steps[1].what, "forked");
	assert_int_equal(f->steps[1].moment.id.n, 6);
	story_end(&s);
}

TEST(a_child_destroys_and_closes)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_do(&s, child, VERB_close_device, 10, 0, W(&a_context));
	/* the child's changes of its copies do not affect the parent */
	dealloc_pd(&s, 0);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_string_equal(
		story_only(&s, RULE_FORK_003)->says,
		"process 2 (pid 150), forked from process 1 at 1:6, destroyed 1 context, 1 pd "
		"that process 1 had created, from pd1 to context1 at 2:4.");
	assert_int_equal(story_found(&s), 1);
	story_end(&s);
}

TEST(a_childs_own_objects_are_its_own)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_open_device, 1, W(&a_context), W(0x1000)); /* the same address */
	story_do(&s, child, VERB_alloc_pd, 2, W(&a_pd), W(&a_context));
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_do(&s, child, VERB_close_device, 10, 0, W(&a_context));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

TEST(what_the_parent_made_later_is_not_inherited)
{
	struct story s;
	int child;

	child = story_forks(&s);
	create_cq(&s);
	story_do(&s, child, VERB_create_cq, 3, W(&a_cq), W(0x55), W(16), W(0), W(0), W(0));
	story_do(&s, child, VERB_destroy_cq, 7, 0, W(&a_cq));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

TEST(an_inherited_object_is_no_leak_of_the_child)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_open_device, 1, W(&child_context), W(0x1000));
	story_do(&s, child, VERB_close_device, 10, 0, W(&child_context));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

/* On a kernel device it was the parent's own object; its destroy fails, which is ignored. */
TEST(what_a_child_destroyed_is_no_leak_of_its_parents)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	dealloc_pd(&s, EINVAL);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	story_only(&s, RULE_FORK_003);
	story_end(&s);
}

/* By a bare system call: the parent's recorder has not seen it. */
TEST(a_child_uses_what_its_parent_has_destroyed_since)
{
	struct story s;
	int child;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	s.forked_at = s.now;
	dealloc_pd(&s, 0);
	close_context(&s);
	child = story_thread(&s, CHILD, STORY_PID, 1);
	story_do(&s, child, VERB_reg_mr, 5, W(&child_mr), W(&a_pd), W(0), W(64), W(1));
	story_check(&s, NULL);
	story_only(&s, RULE_FORK_003);
	story_end(&s);
}

TEST(a_child_may_reuse_what_was_destroyed_before_it_was_forked)
{
	struct story s;
	int child;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	dealloc_pd(&s, 0);
	close_context(&s);
	child = story_thread(&s, CHILD, STORY_PID, 1);
	story_do(&s, child, VERB_alloc_pd, 2, W(&a_pd), W(&child_context));
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_finds_nothing(&s);
}

/* FORK-001 to 007: registered memory at a fork */

static int forget_surroundings(void **state)
{
	(void)state;
	story_limits = (struct event_process){ 0 };
	story_environ = story_copies = "";
	return 0;
}

FIXTURE(forget_surroundings, NULL);

static struct ibv_mr odd_mr = { .context = &a_context, .pd = &a_pd, .length = 100, .lkey = 0x50 };

/* A process with one region of two pages, on a kernel that does not copy them. */
static void story_registers(struct story *s)
{
	story_copies = "no";
	story_limits.page_size = 4096;
	story_begin(s);
	open_context(s);
	alloc_pd(s);
	child_mr.addr = (void *)0x10000;
	child_mr.length = 8192;
	reg_mr(s, &child_mr); /* 1:6 */
}

static void story_leaves(struct story *s)
{
	dereg_mr(s, &child_mr, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_check(s, NULL);
}

TEST(a_fork_with_registered_memory)
{
	const struct finding *f;
	struct story s;

	story_registers(&s);
	story_fork(&s, 0, 1); /* 1:8 */
	story_forked(&s, 0, 1, CHILD, 0);
	story_leaves(&s);
	f = story_only(&s, RULE_FORK_001);
	assert_string_equal(f->where, "fork()");
	assert_string_equal(f->says, "Process 1 called fork() while 1 region with 8 KiB was "
				     "registered: this kernel does not copy their pages, and fork "
				     "support is off (ibv_fork_init(), RDMAV_FORK_SAFE=1).");
	assert_int_equal(f->event.n, 8);
	assert_int_equal(f->steps[0].moment.id.n, 6);
	story_end(&s);
}

static void fork_is_silent(void)
{
	struct story s;

	story_registers(&s);
	story_fork(&s, 0, 1);
	story_leaves(&s);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

TEST(fork_support_is_enough)
{
	story_environ = "RDMAV_FORK_SAFE=1";
	fork_is_silent();
	story_environ = "IBV_FORK_SAFE=";
	fork_is_silent();
	story_device = "soft";
	story_environ = "VERBATIM_SOFT_FORK=enabled";
	fork_is_silent();
	story_device = "";
}

/* The variable is the software device's. */
TEST(another_device_plays_no_older_kernel)
{
	struct story s;

	story_environ = "VERBATIM_SOFT_FORK=disabled";
	story_copies = "yes";
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	child_mr.addr = (void *)0x10000;
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_fork(&s, 0, 1);
	dereg_mr(&s, &child_mr, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_warns(&s, RULE_FORK_001, "This kernel copies these pages for the child.");
}

/* A fork between a registration and its end, where @verb returned @ret before. */
static uint64_t forks_after(enum verb verb, uint64_t ret, enum rule_id rule)
{
	struct story s;
	uint64_t n;

	story_copies = "no";
	story_limits.page_size = 4096;
	story_begin(&s);
	story_do(&s, 0, verb, 1, ret);
	open_context(&s);
	alloc_pd(&s);
	child_mr.addr = (void *)0x10000;
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_fork(&s, 0, 1);
	story_leaves(&s);
	n = s.findings->rules[rule];
	assert_int_equal(story_found(&s), n);
	story_end(&s);
	return n;
}

TEST(fork_support_by_a_verb)
{
	assert_int_equal(forks_after(VERB_fork_init, 0, RULE_FORK_001), 0);
	assert_int_equal(forks_after(VERB_is_fork_initialized, IBV_FORK_ENABLED, RULE_FORK_001), 0);
	assert_int_equal(forks_after(VERB_is_fork_initialized, IBV_FORK_UNNEEDED, RULE_FORK_001),
			 0);
	assert_int_equal(forks_after(VERB_is_fork_initialized, IBV_FORK_DISABLED, RULE_FORK_001),
			 1);
}

TEST(a_kernel_that_copies_needs_no_fork_support)
{
	struct story s;

	story_registers(&s); /* reports "no", which the environment must not change */
	story_leaves(&s);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
	story_copies = "yes";
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &child_mr);
	story_do(&s, 0, VERB_is_fork_initialized, 1, IBV_FORK_UNNEEDED);
	story_fork(&s, 0, 1);
	story_leaves(&s);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

TEST(a_kernel_that_is_not_known_is_reported)
{
	bool told = false;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &child_mr);
	story_fork(&s, 0, 1);
	story_fork(&s, 0, 2);
	story_leaves(&s);
	assert_int_equal(story_found(&s), 0);
	for (size_t i = 0; i < s.findings->nunchecked; i++)
		if (s.findings->unchecked[i].rule == RULE_FORK_001) {
			assert_false(told);
			told = true;
		}
	assert_true(told);
	story_end(&s);
}

/* Calls that create no child with a copy of the memory. */
TEST(other_children_do_no_harm)
{
	static const enum event_fork_how hows[] = { FORK_VFORK, FORK_POSIX_SPAWN, FORK_SYSTEM,
						    FORK_POPEN };
	struct story s;

	story_registers(&s);
	for (uint32_t i = 0; i < 4; i++)
		story_makes(&s, 0, i + 1, hows[i]);
	story_fork(&s, 0, 5);
	story_forked(&s, 0, 5, 0, EAGAIN);
	story_leaves(&s);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

TEST(memory_that_is_deregistered_is_no_matter)
{
	struct story s;

	story_registers(&s);
	dereg_mr(&s, &child_mr, 0);
	story_fork(&s, 0, 1);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

/* A child of fork() that has executed another program has nothing from its parent. */
TEST(a_child_that_execs_inherits_nothing)
{
	struct story s;
	int child;

	story_copies = "yes";
	story_begin(&s);
	open_context(&s);
	story_fork(&s, 0, 1);
	story_forked(&s, 0, 1, CHILD, 0);
	child = story_thread(&s, CHILD, 0, 0);
	story_do(&s, child, VERB_close_device, 10, 0, W(&a_context));
	close_context(&s);
	story_check(&s, NULL);
	assert_int_equal(story_found(&s), 0);
	story_end(&s);
}

TEST(fork_init_comes_late)
{
	const struct finding *f;
	struct story s;

	story_registers(&s);
	story_do(&s, 0, VERB_fork_init, 7, EINVAL);
	story_leaves(&s);
	f = story_only(&s, RULE_FORK_002);
	assert_string_equal(f->says, "ibv_fork_init() returned EINVAL: the first memory had been "
				     "registered at 1:6, 2000 ns earlier. Fork support is off.");
	story_end(&s);
}

TEST(fork_init_in_time_is_no_mistake)
{
	assert_int_equal(forks_after(VERB_fork_init, 0, RULE_FORK_002), 0);
}

TEST(a_region_shares_its_pages)
{
	const struct finding *f;
	struct story s;

	story_environ = "RDMAV_FORK_SAFE=1";
	story_registers(&s);
	odd_mr.addr = (void *)0x20010;
	reg_mr(&s, &odd_mr);
	story_fork(&s, 0, 1);
	story_fork(&s, 0, 2); /* no second time */
	dereg_mr(&s, &odd_mr, 0);
	story_leaves(&s);
	f = story_only(&s, RULE_FORK_004);
	assert_string_equal(
		f->says, "mr2 (lkey 0x50) has 0x20010 to 0x20074, which are not whole pages of "
			 "4096 bytes: other data in these pages is missing in the child forked at "
			 "1:10.");
	story_end(&s);
}

TEST(pages_are_not_missing_without_fork_support)
{
	struct story s;

	story_copies = "yes";
	story_limits.page_size = 4096;
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	odd_mr.addr = (void *)0x20010;
	reg_mr(&s, &odd_mr);
	story_fork(&s, 0, 1);
	dereg_mr(&s, &odd_mr, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_FORK_004], 0);
	story_end(&s);
}

/*
 * Returns how often FORK-006 was found, and as a hazard: system() with a send outstanding, or
 * polled before.
 */
static uint64_t system_in_flight(const char *copies, bool polled, uint64_t *ret_hazards)
{
	struct event_sge sge = { .addr = 0x10000, .length = 64, .lkey = 0x40 };
	struct story s;
	uint64_t n;

	story_limits.page_size = 4096;
	story_copies = copies;
	story_with_qp(&s);
	child_mr.addr = (void *)0x10000;
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_post(&s, 0, VERB_post_send, &a_qp, 7, IBV_WR_SEND, sge);
	if (polled)
		story_poll(&s, 0, &a_cq, 7, IBV_WC_SUCCESS, a_qp.qp_num);
	story_makes(&s, 0, 1, FORK_SYSTEM);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_FORK_006];
	*ret_hazards = s.findings->hazards[RULE_FORK_006];
	story_end(&s);
	return n;
}

TEST(system_with_a_send_outstanding)
{
	uint64_t hazards;

	assert_int_equal(system_in_flight("no", false, &hazards), 1);
	assert_int_equal(hazards, 0);
	assert_int_equal(system_in_flight("no", true, &hazards), 0);
	assert_int_equal(hazards, 0);
	assert_int_equal(system_in_flight("yes", false, &hazards), 0);
	assert_int_equal(hazards, 1);
	assert_int_equal(system_in_flight("yes", true, &hazards), 0);
	assert_int_equal(hazards, 0);
	assert_int_equal(system_in_flight("", false, &hazards), 0);
	assert_int_equal(hazards, 1);
}

/* A server that forks has receives posted at all times. */
TEST(system_with_a_receive_outstanding)
{
	struct event_sge sge = { .addr = 0x10000, .length = 64, .lkey = 0x40 };
	struct story s;

	story_limits.page_size = 4096;
	story_copies = "yes";
	story_with_qp(&s);
	child_mr.addr = (void *)0x10000;
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_post(&s, 0, VERB_post_recv, &a_qp, 7, 0, sge);
	story_makes(&s, 0, 1, FORK_SYSTEM);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_FORK_006], 0);
	story_end(&s);
}

/* @n registrations, @every ns apart. */
static uint64_t registers_often(unsigned int n, uint64_t every)
{
	uint64_t found;
	struct story s;

	story_environ = "RDMAV_FORK_SAFE=1";
	story_registers(&s);
	for (unsigned int i = 1; i < n; i++) {
		reg_mr(&s, &odd_mr);
		dereg_mr(&s, &odd_mr, 0);
		s.now += every;
	}
	story_leaves(&s);
	found = s.findings->rules[RULE_FORK_007];
	story_end(&s);
	return found;
}

TEST(a_thousand_registrations_within_a_second)
{
	assert_int_equal(registers_often(1000, 0), 1);
	assert_int_equal(registers_often(999, 0), 0);
	assert_int_equal(registers_often(1000, 2000000), 0);
}

/* FORK-008: system(), and then exec() that fails or not, with the channel's descriptor open. */
static uint64_t stays_open(struct story *s, enum event_fork_how how, const void *object, int error)
{
	struct event_descriptor staying = { .object = W(object), .fd = 7 };
	struct event_fork *event = (struct event_fork *)s->words;
	uint64_t n;

	story_begin(s);
	open_context(s);
	story_do(s, 0, VERB_create_comp_channel, 2, W(&a_channel), W(&a_context));
	event->fork_seq = 1;
	event->how = (uint16_t)how;
	event->ndescriptors = 1;
	memcpy(event + 1, &staying, sizeof(staying));
	story_event(s, 0, EVENT_FORK, (sizeof(*event) + sizeof(staying)) / 8);
	if (error)
		story_forked(s, 0, 1, 0, error);
	story_do(s, 0, VERB_destroy_comp_channel, 3, 0, W(&a_channel));
	close_context(s);
	story_check(s, NULL);
	n = s->findings->rules[RULE_FORK_008];
	assert_int_equal(story_found(s), n + s->findings->hazards[RULE_FORK_008]);
	return n;
}

TEST(a_channel_stays_open_in_a_new_program)
{
	struct story s;

	assert_int_equal(stays_open(&s, FORK_SYSTEM, &a_channel, 0), 1);
	assert_string_equal(s.findings->all[0]->says,
			    "Process 1 called system() and left these open in the new program: "
			    "comp_channel1 (descriptor 7).");
	story_end(&s);
}

/* What the child does then is not in the trace. */
TEST(a_channel_stays_open_in_a_child)
{
	static const enum event_fork_how hows[] = { FORK_FORK, FORK_VFORK, FORK_POSIX_SPAWN };
	struct story s;

	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++) {
		assert_int_equal(stays_open(&s, hows[i], &a_channel, 0), 0);
		assert_int_equal(s.findings->hazards[RULE_FORK_008], 1);
		assert_non_null(strstr(s.findings->all[0]->says,
				       "these had lost their FD_CLOEXEC: comp_channel1 "
				       "(descriptor 7)."));
		story_end(&s);
	}
	assert_int_equal(stays_open(&s, FORK_FORK, &a_mr, 0), 0);
	assert_int_equal(s.findings->hazards[RULE_FORK_008], 0);
	story_end(&s);
}

TEST(an_exec_that_failed_leaves_nothing_open)
{
	struct story s;

	assert_int_equal(stays_open(&s, FORK_EXEC, &a_channel, ENOENT), 0);
	story_end(&s);
}

TEST(a_descriptor_of_nothing_that_lives_does_not_count)
{
	struct story s;

	assert_int_equal(stays_open(&s, FORK_SYSTEM, &a_mr, 0), 0);
	story_end(&s);
}

/* A program that has not asked for fork support depends on the kernel. */
TEST(only_this_kernel_copies_registered_pages)
{
	struct story s;

	story_copies = "yes";
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_fork(&s, 0, 1);
	dereg_mr(&s, &child_mr, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_warns(&s, RULE_FORK_001,
		    "called fork() while 1 region with 8 KiB was registered, without "
		    "ibv_fork_init() or RDMAV_FORK_SAFE");
}

/* The memory is registered, then @verb returns @ret, then the process forks. */
static void forks_after_late(struct story *s, enum verb verb, uint64_t ret)
{
	story_copies = "yes";
	story_begin(s);
	open_context(s);
	alloc_pd(s);
	child_mr.length = 8192;
	reg_mr(s, &child_mr); /* 1:6 */
	story_do(s, 0, verb, 1, ret);
	story_fork(s, 0, 1);
	dereg_mr(s, &child_mr, 0);
	dealloc_pd(s, 0);
	close_context(s);
}

TEST(fork_support_after_a_registration_is_too_late)
{
	static const uint64_t results[] = { 0, EINVAL /* of rdma-core 44 */ };
	struct story s;

	for (int i = 0; i < 2; i++) {
		forks_after_late(&s, VERB_fork_init, results[i]);
		story_warns(&s, RULE_FORK_001,
			    "registered, and ibv_fork_init() was first called at 1:8, too late: "
			    "after a registration it protects nothing.");
	}
}

TEST(a_program_that_asked_late_whether_it_needs_fork_support_knows)
{
	struct story s;

	forks_after_late(&s, VERB_is_fork_initialized, IBV_FORK_UNNEEDED);
	story_finds_nothing(&s);
}

TEST(a_second_call_is_not_late)
{
	struct story s;

	story_copies = "yes";
	story_begin(&s);
	story_do(&s, 0, VERB_fork_init, 1, 0);
	open_context(&s);
	alloc_pd(&s);
	child_mr.length = 8192;
	reg_mr(&s, &child_mr);
	story_do(&s, 0, VERB_fork_init, 1, 0);
	story_fork(&s, 0, 1);
	dereg_mr(&s, &child_mr, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_finds_nothing(&s);
}
