/* The rules of analyzer/rules/env.c over stored traces. */
#include <errno.h>

#include "analyzer/report/report.h"
#include "analyzer/report/symbols.h"
#include "core/store/merge/merge.h"
#include "core/store/read/joint.h"
#include "core/store/read/merged.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { MIB = 1 << 20 };

static struct ibv_mr big = { .context = &a_context, .pd = &a_pd, .length = 6 * MIB, .lkey = 0x30 };

static int set_limits(void **state)
{
	(void)state;
	story_limits = (struct event_process){ .page_size = 4096,
					       .memlock = 8 * MIB,
					       .ipc_lock = IPC_LOCK_MISSING };
	return 0;
}

FIXTURE(set_limits, NULL);

/* A registration of @length bytes fails, after one of 6 MiB. */
static void story_refuses(struct story *s, uint64_t length, int error, int access)
{
	struct story_call call;

	story_begin(s);
	open_context(s);
	alloc_pd(s);
	big.addr = (void *)0x10000;
	reg_mr(s, &big); /* 1:6 */
	call = story_call(s, 0, VERB_reg_mr, 5, W(&a_pd), W(0x100000800), W(length), W(access));
	story_fails(s, &call, 0, error);
	dereg_mr(s, &big, 0);
	dealloc_pd(s, 0);
	close_context(s);
	story_check(s, NULL);
}

TEST(a_registration_passes_the_limit)
{
	const struct finding *f;
	struct story s;

	story_refuses(&s, 2 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
	f = story_only(&s, RULE_ENV_001);
	assert_string_equal(f->where, "ibv_reg_mr(): length");
	/* 2 MiB from the middle of a page are one page more */
	assert_string_equal(f->says,
			    "ibv_reg_mr() of 2.0 MiB failed with ENOMEM: process 1 had 6 MiB "
			    "pinned by 1 region, RLIMIT_MEMLOCK is 8 MiB, and it had no "
			    "CAP_IPC_LOCK.");
	assert_int_equal(f->event.n, 8);
	assert_int_equal(f->steps[0].moment.id.n, 6);
	story_end(&s);
}

static void story_is_silent(uint64_t length, int error, int access)
{
	struct story s;

	story_refuses(&s, length, error, access);
	assert_int_equal(s.findings->rules[RULE_ENV_001], 0);
	story_end(&s);
}

TEST(another_reason_is_not_the_limit)
{
	story_is_silent(2 * MIB, EFAULT, IBV_ACCESS_LOCAL_WRITE);
	story_is_silent(MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE); /* the limit would have allowed it */
	story_is_silent(8 * MIB, ENOMEM, IBV_ACCESS_ON_DEMAND); /* pins nothing */
}

TEST(a_process_that_may_lock_memory_has_no_limit)
{
	story_limits.ipc_lock = IPC_LOCK_HELD;
	story_is_silent(8 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
	story_limits.ipc_lock = IPC_LOCK_UNKNOWN;
	story_is_silent(8 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
	story_limits.ipc_lock = IPC_LOCK_MISSING;
	story_limits.memlock = EVENT_UNLIMITED;
	story_is_silent(8 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
	story_limits.page_size = 0; /* nothing is known */
	story_limits.memlock = 0;
	story_is_silent(8 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
}

/* The kernel's soft iWARP does not check the capability. */
TEST(siw_exempts_nobody)
{
	struct ibv_device_attr siw = { .vendor_id = 0x626d74 };
	struct story_call call;
	const struct finding *f;
	struct story s;

	story_limits.ipc_lock = IPC_LOCK_HELD;
	story_begin(&s);
	open_context(&s);
	story_do(&s, 0, VERB_query_device, 1, 0, W(&a_context), W(&siw));
	alloc_pd(&s);
	call = story_call(&s, 0, VERB_reg_mr, 5, W(&a_pd), W(0x100000), W(9 * MIB), W(1));
	story_fails(&s, &call, 0, ENOMEM);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	f = story_only(&s, RULE_ENV_001);
	assert_string_equal(
		f->says, "ibv_reg_mr() of 9 MiB failed with ENOMEM: process 1 had 0 bytes pinned "
			 "by 0 regions, RLIMIT_MEMLOCK is 8 MiB, which siw applies to all users, "
			 "including root.");
	story_end(&s);
}

/* The software device counts for all users if it is configured so. */
static uint64_t count_refused_on(const char *device, const char *environ)
{
	struct story s;
	uint64_t n;

	story_limits.ipc_lock = IPC_LOCK_HELD;
	story_device = device;
	story_environ = environ;
	story_refuses(&s, 2 * MIB, ENOMEM, IBV_ACCESS_LOCAL_WRITE);
	story_device = story_environ = "";
	n = s.findings->rules[RULE_ENV_001];
	if (n)
		assert_non_null(strstr(story_only(&s, RULE_ENV_001)->says,
				       "RLIMIT_MEMLOCK is 8 MiB, which VERBATIM_SOFT_MEMLOCK "
				       "applies to all users, including root."));
	story_end(&s);
	return n;
}

TEST(the_software_device_is_set_to_count)
{
	assert_int_equal(count_refused_on("soft", "VERBATIM_SOFT_MEMLOCK=1"), 1);
	assert_int_equal(count_refused_on("soft", ""), 0);
	assert_int_equal(count_refused_on("", "VERBATIM_SOFT_MEMLOCK=1"),
			 0); /* other processes do not read this variable */
}

/* A deregistered region is no longer pinned. */
TEST(pinned_memory_is_given_back)
{
	struct story_call call;
	struct story s;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	big.addr = (void *)0x10000;
	reg_mr(&s, &big);
	dereg_mr(&s, &big, 0);
	call = story_call(&s, 0, VERB_reg_mr, 5, W(&a_pd), W(0x100000), W(7 * MIB), W(1));
	story_fails(&s, &call, 0, ENOMEM);
	dealloc_pd(&s, 0);
	close_context(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_ENV_001], 0);
	story_end(&s);
}

static void story_calls(struct story *s, const char *function)
{
	struct event_direct *event = (struct event_direct *)s->words;

	event->how = DIRECT_CALLED;
	event->bytes = (uint16_t)strlen(function);
	memcpy(event + 1, function, event->bytes);
	story_event(s, 0, EVENT_DIRECT, (sizeof(*event) + event->bytes + 7) / 8);
}

TEST(queues_that_bypass_the_verbs)
{
	const struct finding *f;
	struct story s;

	story_begin(&s);
	story_calls(&s, "mlx5dv_init_obj"); /* 1:2 */
	story_calls(&s, "mlx5dv_init_obj");
	story_calls(&s, "mlx5dv_query_device");
	story_check(&s, NULL);
	f = story_only(&s, RULE_ENV_002);
	assert_int_equal(f->event.n, 2);
	assert_string_equal(f->says,
			    "Process 1 called mlx5dv_init_obj() 2 times: data sent and received "
			    "this way is not in the trace.");
	story_end(&s);
}

/* The second line of the first screen, so that the verdict is not read as one on all posts. */
TEST(first_screen_says_that_posts_bypassed_the_verbs)
{
	static char screen[8192];
	struct report report = { .path = "t.db" };
	struct story s;

	story_begin(&s);
	story_calls(&s, "mlx5dv_devx_obj_create");
	story_calls(&s, "mlx5dv_init_obj");
	story_calls(&s, "mlx5dv_query_device");
	story_check(&s, NULL);
	report.trace = s.trace;
	report.findings = s.findings;
	report.out = fmemopen(screen, sizeof(screen), "w");
	assert_int_equal(symbols_open(&report.symbols), 0);
	assert_int_equal(report_screen(&report), 0);
	symbols_close(report.symbols);
	fclose(report.out);
	assert_non_null(strstr(screen, "\nNOT RECORDED: posts and polls that bypassed the verbs "
				       "(mlx5dv_devx_obj_create() and others, 2\n"));
	assert_non_null(strstr(screen, "to record: UCX_TLS=rc_v,ud_v"));
	assert_non_null(strstr(screen, "NVSHMEM_REMOTE_TRANSPORT=ibrc"));
	story_end(&s);
}

/* Rules that need all completions are not checked, and others in part: nothing false is found. */
TEST(programs_that_ran_before_are_checked_in_part)
{
	unsigned int whole = 0;
	struct story s;

	story_begin(&s);
	((struct event_blind *)s.words)->what = BLIND_BEFORE;
	story_event(&s, 0, EVENT_BLIND, sizeof(struct event_blind) / 8);
	story_check(&s, NULL);
	assert_true(s.findings->blind);
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		bool partly = false;

		for (size_t i = 0; i < s.findings->nunchecked; i++)
			partly |= s.findings->unchecked[i].rule == (enum rule_id)rule;
		whole += !partly;
		assert_int_equal(s.findings->skip[rule] && strchr(rules[rule].evidence, 'q'),
				 strchr(rules[rule].evidence, 'q') != NULL);
	}
	assert_int_equal(whole, 0);
	story_end(&s);
}

TEST(functions_that_ask_go_round_nothing)
{
	struct story s;

	story_begin(&s);
	story_calls(&s, "mlx5dv_query_device");
	story_calls(&s, "mlx5dv_devx_general_query_cmd");
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_ENV_002], 0);
	story_end(&s);
}

static void add_counter(struct story *s, const char *device, uint32_t port, const char *name,
			uint64_t first, uint64_t last)
{
	assert_int_equal(
		writer_store_counter(s->writer, &(struct stored_counter){ .device = device,
									  .port = port,
									  .folder = "hw_counters",
									  .name = name,
									  .first = first,
									  .last = last }),
		0);
}

static void story_begins_plain(struct story *s)
{
	story_begin(s);
	open_context(s);
	close_context(s);
}

static void add_sample(struct story *s, int64_t time, uint64_t value)
{
	assert_int_equal(
		writer_store_counter_sample(
			s->writer, &(struct stored_counter_sample){ .device = "rxe0",
								    .port = 1,
								    .folder = "hw_counters",
								    .name = "completer_retry_err",
								    .time = time,
								    .value = value }),
		0);
}

TEST_WITH(when_a_counter_rose_is_told, NULL, NULL)
{
	struct story s;

	story_begins_plain(&s);
	add_counter(&s, "rxe0", 1, "completer_retry_err", 5, 72);
	add_sample(&s, 2000000000, 6);
	add_sample(&s, 4500000000, 72);
	story_check(&s, NULL);
	assert_non_null(strstr(story_only(&s, RULE_ENV_003)->says,
			       "completer_retry_err rose by 67 from 2.0 s to 4.5 s (no response"));
	story_end(&s);
}

TEST_WITH(counters_of_failures_that_rose_are_told_by_port, NULL, NULL)
{
	const struct finding *f;
	struct story s;

	story_begins_plain(&s);
	add_counter(&s, "rxe0", 1, "completer_retry_err", 5, 72);
	add_counter(&s, "rxe0", 1, "link_downed", 0, 1);
	add_counter(&s, "rxe0", 1, "sent_pkts", 0, 1000);
	story_check(&s, NULL);
	f = story_only(&s, RULE_ENV_003);
	assert_string_equal(f->where, "port 1 of rxe0");
	assert_string_equal(f->says,
			    "Port 1 of rxe0: completer_retry_err rose by 67 (no response came in "
			    "time, or the peer missed packets; requests were sent again); "
			    "link_downed rose by 1 (the link went down). The counters cover the "
			    "whole device, including other programs that use it.");
	assert_int_equal(finding_severity(f), 'I');
	assert_false(check_is_bad(s.findings));
	story_end(&s);
}

TEST_WITH(each_port_is_a_finding, NULL, NULL)
{
	struct story s;

	story_begins_plain(&s);
	add_counter(&s, "mlx5_0", 1, "symbol_error", 0, 1);
	add_counter(&s, "mlx5_0", 2, "symbol_error", 0, 1);
	add_counter(&s, "mlx5_1", 0, "symbol_error", 0, 1);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_ENV_003], 3);
	assert_string_equal(s.findings->all[2]->where, "mlx5_1"); /* the whole device */
	story_end(&s);
}

/* The findings of both traces name them. */
static void check_hosts(struct trace *trace, const char *const names[2])
{
	struct findings *findings;
	char wanted[400];
	size_t n = 0;

	assert_int_equal(check_trace(trace, NULL, &findings), 0);
	for (size_t i = 0; i < findings->n; i++) {
		if (findings->all[i]->rule != RULE_ENV_003)
			continue;
		assert_true(n < 2);
		snprintf(wanted, sizeof(wanted), "port 1 of mlx5_%zu (%s)", n, names[n]);
		assert_string_equal(findings->all[i]->where, wanted);
		n++;
	}
	assert_int_equal(n, 2);
	findings_free(findings);
}

TEST_WITH(a_port_of_several_traces_has_the_name_of_its_trace, NULL, NULL)
{
	const char *names[2] = { "first.db", "second.db" };
	struct trace *joint, *merged;
	struct story s[2];
	char path[300];

	for (int i = 0; i < 2; i++) {
		story_begins_plain(&s[i]);
		add_counter(&s[i], i ? "mlx5_1" : "mlx5_0", 1, "symbol_error", 0, 1);
		assert_int_equal(
			writer_end_thread(s[i].writer, s[i].threads[0].id, &s[i].threads[0].head),
			0);
		assert_int_equal(writer_finish(s[i].writer), 0);
		assert_int_equal(trace_open(s[i].path, &s[i].trace), 0);
	}
	snprintf(path, sizeof(path), "%s-merged", s[0].path);
	assert_int_equal(trace_join((struct trace *[]){ s[0].trace, s[1].trace }, names, 2, &joint),
			 0);
	check_hosts(joint,
		    (const char *[]){ trace_part_name(joint, 0), trace_part_name(joint, 1) });
	assert_int_equal(merge_write(joint, path), 0);
	assert_int_equal(trace_open(path, &merged), 0);
	check_hosts(merged,
		    (const char *[]){ trace_merged_name(merged, 0), trace_merged_name(merged, 1) });
	trace_close(merged);
	trace_close(joint);
	unlink(path);
	for (int i = 0; i < 2; i++)
		unlink(s[i].path);
}

TEST_WITH(many_counters_are_counted, NULL, NULL)
{
	static const char *const names[] = { "local_ack_timeout_err", "packet_seq_err",
					     "implied_nak_seq_err", "roce_adp_retrans",
					     "link_downed" };
	const struct finding *f;
	struct story s;

	story_begins_plain(&s);
	for (size_t i = 0; i < 5; i++)
		add_counter(&s, "mlx5_0", 1, names[i], 0, 1);
	story_check(&s, NULL);
	f = story_only(&s, RULE_ENV_003);
	assert_non_null(strstr(f->says, "; and 2 other counters."));
	assert_null(strstr(f->says, "link_downed"));
	story_end(&s);
}

TEST_WITH(counters_without_a_failure_say_nothing, NULL, NULL)
{
	struct story s;

	story_begins_plain(&s);
	add_counter(&s, "mlx5_0", 1, "port_rcv_data", 0, 1 << 20);
	add_counter(&s, "mlx5_0", 1, "rnr_nak_retry_err", 0, 9); /* as rnr_retry 7 has it */
	add_counter(&s, "mlx5_0", 1, "symbol_error", 7, 7);
	add_counter(&s, "mlx5_0", 1, "link_downed", 7, 0); /* it was reset */
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, 0);
	story_end(&s);
}
