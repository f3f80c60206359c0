/* The rules of analyzer/rules/memory.c over stored traces. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { PAGE = 4096 };

static struct ibv_mr region = { .context = &a_context,
				.pd = &a_pd,
				.addr = (void *)0x10000,
				.length = 4 * PAGE,
				.lkey = 0x60 };

static int forget_surroundings(void **state)
{
	(void)state;
	story_limits = (struct event_process){ .page_size = PAGE };
	story_environ = story_copies = "";
	return 0;
}

FIXTURE(forget_surroundings, NULL);

/* A send from the region's second page is outstanding. */
static void story_sends(struct story *s)
{
	struct event_sge sge = { .addr = 0x11000, .length = PAGE, .lkey = 0x60 };

	story_with_qp(s);
	reg_mr(s, &region);
	story_post(s, 0, VERB_post_send, &a_qp, 7, IBV_WR_SEND, sge);
}

TEST(memory_of_a_request_is_unmapped)
{
	const struct finding *f = NULL;
	struct story s;

	story_sends(&s);
	story_gives(&s, 0, MEMORY_MUNMAP, (void *)0x11800, 8 * PAGE);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_006], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_006)
			f = s.findings->all[i];
	assert_string_equal(f->where, "munmap()");
	assert_string_equal(f->says,
			    "munmap() released 0x11800 to 0x14000 of mr1 (lkey 0x60) while 1 work "
			    "request needed it, with wr_id 0x7 on qp1 posted at 1:12.");
	assert_int_equal(f->nsteps, 3);
	story_end(&s);
}

/* How often MKEY-006 is found when this is given back while the send is outstanding. */
static uint64_t count_in_use(enum event_memory_what what, uintptr_t addr, uint64_t length)
{
	struct story s;
	uint64_t n;

	story_sends(&s);
	story_gives(&s, 0, what, (void *)addr, length);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_MKEY_006];
	story_end(&s);
	return n;
}

TEST(only_what_the_request_names_counts)
{
	assert_int_equal(count_in_use(MEMORY_FREE, 0x10000, 4 * PAGE), 1);
	assert_int_equal(count_in_use(MEMORY_MADVISE, 0x11000, 1), 1);
	assert_int_equal(count_in_use(MEMORY_MADVISE, 0x10000, PAGE), 0);
	assert_int_equal(count_in_use(MEMORY_MREMAP, 0x12000, 2 * PAGE), 0);
	assert_int_equal(count_in_use(MEMORY_MMAP, 0x20000, PAGE), 0);
}

TEST(after_its_completion_memory_may_go)
{
	struct story s;

	story_sends(&s);
	story_poll(&s, 0, &a_cq, 7, IBV_WC_SUCCESS, a_qp.qp_num);
	story_gives(&s, 0, MEMORY_MUNMAP, region.addr, region.length);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_006], 0);
	assert_int_equal(s.findings->rules[RULE_FORK_005], 0);
	story_end(&s);
}

TEST(memory_of_a_region_that_is_gone_may_go)
{
	struct story s;

	story_environ = "RDMAV_FORK_SAFE=1";
	story_copies = "no";
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &region);
	dereg_mr(&s, &region, 0);
	story_gives(&s, 0, MEMORY_FREE, region.addr, region.length);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_finds_nothing(&s);
}

/* How often FORK-005 is found when @what comes before the region's end. */
static uint64_t count_given_early(const char *copies, const char *variable,
				  enum event_memory_what what)
{
	struct story s;
	uint64_t n;

	story_copies = copies;
	story_environ = variable;
	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &region);
	story_gives(&s, 0, what, region.addr, region.length);
	dereg_mr(&s, &region, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_FORK_005];
	assert_int_equal(story_found(&s), n);
	story_end(&s);
	return n;
}

TEST(memory_is_freed_under_fork_support)
{
	assert_int_equal(count_given_early("no", "RDMAV_FORK_SAFE=1", MEMORY_FREE), 1);
	assert_int_equal(count_given_early("no", "RDMAV_FORK_SAFE=1", MEMORY_MUNMAP), 1);
	assert_int_equal(count_given_early("no", "RDMAV_FORK_SAFE=1", MEMORY_MADVISE), 0);
	assert_int_equal(count_given_early("no", "", MEMORY_FREE), 0);
	assert_int_equal(count_given_early("yes", "RDMAV_FORK_SAFE=1", MEMORY_FREE), 0);
}

/* How often FORK-009 is found when huge pages are registered. */
static uint64_t huge_pages(const char *copies, const char *variable)
{
	struct story s;
	uint64_t n;

	story_copies = copies;
	story_environ = variable;
	story_begin(&s);
	story_do(&s, 0, VERB_fork_init, 1, 0);
	open_context(&s);
	alloc_pd(&s);
	reg_mr(&s, &region);
	story_gives(&s, 0, MEMORY_HUGE, region.addr, region.length);
	dereg_mr(&s, &region, 0);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_FORK_009];
	assert_int_equal(story_found(&s), n);
	story_end(&s);
	return n;
}

TEST(huge_pages_under_fork_support)
{
	assert_int_equal(huge_pages("no", ""), 1);
	assert_int_equal(huge_pages("no", "RDMAV_HUGEPAGES_SAFE=1"), 0);
	assert_int_equal(huge_pages("yes", ""), 0);
}

TEST(without_memory_events_the_rules_say_so)
{
	struct writer_info info = { .command = "story", .device = "" };
	struct findings *findings;
	char path[256];
	const char *dir = getenv("TMPDIR");
	struct writer *writer;
	struct trace *trace;
	struct clock clock = { .kind = CLOCK_KIND_MONOTONIC, .mult = 1 };
	unsigned int told = 0;

	info.clock = &clock;
	snprintf(path, sizeof(path), "%s/verbatim-memory-%d.db", dir ? dir : "/tmp", (int)getpid());
	assert_int_equal(writer_create(path, &info, &writer), 0);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(check_trace(trace, NULL, &findings), 0);
	for (size_t i = 0; i < findings->nunchecked; i++)
		told += findings->unchecked[i].rule == RULE_MKEY_006 ||
			findings->unchecked[i].rule == RULE_FORK_005;
	assert_true(told >= 2);
	findings_free(findings);
	trace_close(trace);
	unlink(path);
}

/* The second process has unmapped the region that the first one reads, and names after that. */
static uint64_t name_released(enum event_memory_what what, uint64_t length, int access, bool again)
{
	struct story s;
	uint64_t n;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR | IBV_ACCESS_REMOTE_READ);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, access);
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	story_gives(&s, 1, what, (void *)(uintptr_t)AT, length);
	if (again)
		post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_MKEY_006];
	assert_int_equal(s.findings->rules[RULE_MKEY_006], 0);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_006)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "released the memory of mr1 (lkey 0x20), which a "
					       "request of a peer used at 1:"));
	story_end(&s);
	return n;
}

TEST(a_peer_names_what_was_unmapped)
{
	const int remote = IBV_ACCESS_REMOTE_READ;

	assert_int_equal(name_released(MEMORY_MUNMAP, LENGTH, remote, true), 1);
	assert_int_equal(name_released(MEMORY_MMAP, LENGTH, remote, true), 1);
	assert_int_equal(name_released(MEMORY_MUNMAP, LENGTH, remote, false), 0);
	assert_int_equal(name_released(MEMORY_MUNMAP, LENGTH - 1, remote, true), 0);
	/* it is still there, or may be: moved, or used again by the allocator */
	assert_int_equal(name_released(MEMORY_MREMAP, LENGTH, remote, true), 0);
	assert_int_equal(name_released(MEMORY_FREE, LENGTH, remote, true), 0);
	/* the device follows the mappings */
	assert_int_equal(name_released(MEMORY_MUNMAP, LENGTH, remote | IBV_ACCESS_ON_DEMAND, true),
			 0);
}

/* The program, a library, and the recorder. */
enum { PROGRAM = 0x400, LIBRARY = 0x500, RECORDER = 0x600 };

/*
 * How often FORK-005 is found as a hazard when memory is freed by @freed, without fork support, and
 * then its region, made by @made, is deregistered.
 */
static uint64_t count_freed_too_early(uint64_t made, uint64_t freed, bool posts)
{
	struct event_sge sge = { .addr = 0x11000, .length = PAGE, .lkey = 0x60 };
	struct story s;
	uint64_t n;

	story_copies = "yes";
	story_with_qp(&s);
	story_module(&s, 0, PROGRAM, PROGRAM + 0x100, "/usr/bin/app");
	story_module(&s, 0, LIBRARY, LIBRARY + 0x100, "/usr/lib/libapp.so");
	story_module(&s, 0, RECORDER, RECORDER + 0x100, "/usr/lib/libverbatim.so");
	story_do(&s, 0, VERB_reg_mr, made, W(&region), W(region.pd), W(region.addr),
		 W(region.length), W(0));
	story_gives_at(&s, 0, freed, MEMORY_FREE, region.addr, region.length);
	if (posts)
		story_post(&s, 0, VERB_post_recv, &a_qp, 7, 0, sge);
	dereg_mr(&s, &region, 0);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_FORK_005];
	story_end(&s);
	return n;
}

TEST(memory_is_freed_by_the_code_that_registered_it)
{
	assert_int_equal(count_freed_too_early(PROGRAM + 1, PROGRAM + 2, false), 1);
	assert_int_equal(count_freed_too_early(PROGRAM + 1, PROGRAM + 2, true), 0);
	assert_int_equal(count_freed_too_early(LIBRARY + 1, PROGRAM + 2, false), 0);
	assert_int_equal(count_freed_too_early(0, PROGRAM + 2, false), 0);
	assert_int_equal(count_freed_too_early(PROGRAM + 1, 0, false), 0);
	assert_int_equal(count_freed_too_early(RECORDER + 1, RECORDER + 2, false), 0);
}

/* How often MKEY-006 is found as a hazard when a region that a peer has read is unmapped. */
static uint64_t count_unmapped_too_early(uint64_t made, uint64_t released, bool queue_pair)
{
	struct story s;
	uint64_t n;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR | IBV_ACCESS_REMOTE_READ);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	story_module(&s, 1, PROGRAM, PROGRAM + 0x100, "/usr/bin/app");
	story_module(&s, 1, LIBRARY, LIBRARY + 0x100, "/usr/lib/libapp.so");
	story_do(&s, 1, VERB_reg_mr, made, W(&ends[1].mr), W(&ends[1].pd), W(AT), W(LENGTH),
		 W(IBV_ACCESS_REMOTE_READ));
	post_rdma(&s, IBV_WR_RDMA_READ, AT, 8, 0x21);
	poll_as(&s, IBV_WC_SUCCESS);
	story_gives_at(&s, 1, released, MEMORY_MUNMAP, (void *)(uintptr_t)AT, LENGTH);
	if (!queue_pair)
		story_do(&s, 1, VERB_destroy_qp, 0, 0, W(&ends[1].qp));
	story_do(&s, 1, VERB_dereg_mr, 0, 0, W(&ends[1].mr));
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_MKEY_006];
	story_end(&s);
	return n;
}

TEST(memory_is_unmapped_before_its_region_ends)
{
	assert_int_equal(count_unmapped_too_early(PROGRAM + 1, PROGRAM + 2, false), 1);
	assert_int_equal(count_unmapped_too_early(PROGRAM + 1, LIBRARY + 2, false), 0);
	assert_int_equal(count_unmapped_too_early(PROGRAM + 1, PROGRAM + 2, true), 0);
}

/* A registration cache that does not know of the munmap(). */
static uint64_t use_released(enum event_memory_what what, uint64_t length, int access)
{
	const struct finding *f = NULL;
	struct story s;
	uint64_t n;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE | access);
	register_as(&s, 1, &ends[1].mr, FAR);
	story_gives(&s, 0, what, (void *)(uintptr_t)AT, length);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_MKEY_006];
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_006)
			f = s.findings->all[i];
	if (f)
		assert_non_null(strstr(f->says, "wr[0].sg_list[0] has 0x7000 of mr1 (lkey 0x10), "
						"whose memory munmap() released at 1:"));
	story_end(&s);
	return n;
}

TEST(a_request_uses_what_was_unmapped_before)
{
	assert_int_equal(use_released(MEMORY_MUNMAP, LENGTH, 0), 1);
	assert_int_equal(use_released(MEMORY_MUNMAP, LENGTH / 2, 0), 0);
	assert_int_equal(use_released(MEMORY_MUNMAP, LENGTH, IBV_ACCESS_ON_DEMAND), 0);
	assert_int_equal(use_released(MEMORY_FREE, LENGTH, 0), 0); /* it is still mapped */
}
