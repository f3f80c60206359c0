#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>
#include <infiniband/verbs.h>

#include "shim/soft/transport/fault.h"
#include "shim/soft/fabric/text.h"
#include "tests/test.h"

static int parse_line(const char *text, struct fault_rule *rule)
{
	char line[256];
	const char *why = NULL;
	int got;

	snprintf(line, sizeof(line), "%s", text);
	got = fault_parse(line, rule, &why);
	if (got < 0)
		assert_non_null(why);
	return got;
}

TEST(line_of_a_request)
{
	struct fault_rule rule;

	assert_int_equal(
		parse_line("opcode=SEND qp=0x11 n=100 status=RETRY_EXC_ERR vendor_err=0x81 # why",
			   &rule),
		1);
	assert_int_equal(rule.opcode, IBV_WR_SEND);
	assert_int_equal(rule.qpn, 17);
	assert_int_equal(rule.from, 100);
	assert_int_equal(rule.to, 100);
	assert_int_equal(rule.fault.kind, FAULT_STATUS);
	assert_int_equal(rule.fault.value, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(rule.fault.vendor_err, 0x81);
}

TEST(line_of_a_verb)
{
	struct fault_rule rule;

	assert_int_equal(parse_line("verb=ibv_reg_mr every=3 errno=ENOMEM", &rule), 1);
	assert_string_equal(rule.verb, "reg_mr");
	assert_int_equal(rule.every, 3);
	assert_int_equal(rule.from, 3);
	assert_int_equal(rule.fault.kind, FAULT_ERRNO);
	assert_int_equal(rule.fault.value, ENOMEM);
}

TEST(times_have_units)
{
	struct fault_rule rule;

	assert_int_equal(parse_line("delay=2.5ms", &rule), 1);
	assert_int_equal(rule.fault.ns, 2500000);
	assert_int_equal(parse_line("n=5.. port=down for=1s", &rule), 1);
	assert_int_equal(rule.fault.ns, 1000000000);
	assert_int_equal(rule.fault.value, IBV_PORT_DOWN);
	assert_int_equal(rule.to, UINT64_MAX);
}

TEST(empty_lines_and_comments_are_none)
{
	struct fault_rule rule;

	assert_int_equal(parse_line("", &rule), 0);
	assert_int_equal(parse_line("  \t\n", &rule), 0);
	assert_int_equal(parse_line("# n=1 lose", &rule), 0);
}

TEST(bad_lines_are_refused)
{
	static const char *const lines[] = {
		"lose=1",
		"n=0 lose",
		"n=5..4 lose",
		"n=x lose",
		"p=1.5 lose",
		"p= lose",
		"opcode=SENT lose",
		"status=SUCCESS",
		"status=",
		"errno=ENOSUCH verb=reg_mr",
		"verb=reg_mr lose",
		"verb=reg_mr status=FATAL_ERR",
		"verb=reg_mr event=QP_FATAL",
		"lose rnr",
		"delay=5 n=1",
		"delay=-5ms",
		"n=1",
		"seed=5",
		"verb=reg_mr qp=5 errno=EINVAL",
		"qp=0 lose",
		"every=0 lose",
		"port=sideways",
		"nonsense",
		"verb= errno=EINVAL",
		"process=x lose",
	};
	struct fault_rule rule;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (parse_line(lines[i], &rule) != -EINVAL)
			fail_msg("accepted: %s", lines[i]);
}

static char path[] = "/tmp/verbatim-fault.XXXXXX";

static void load_text(const char *text, int expected)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	setenv("VERBATIM_SOFT_FAULTS", path, 1);
	fault_unload();
	assert_int_equal(fault_load(0), expected);
	unsetenv("VERBATIM_SOFT_FAULTS");
}

static int make_file(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path);
}

GROUP(make_file, remove_file);

static int unload_faults(void **state)
{
	(void)state;
	fault_unload();
	return 0;
}

static int strike_once(void)
{
	return fault_request(20, 0, IBV_WR_SEND, 0, false).kind;
}

FIXTURE(NULL, unload_faults);

TEST(strikes_the_nth)
{
	int i;

	load_text("opcode=SEND n=3..4 lose\n", 0);
	assert_true(fault_any);
	for (i = 1; i <= 6; i++) {
		assert_int_equal(strike_once(), i == 3 || i == 4 ? FAULT_LOSE : FAULT_NONE);
		assert_int_equal(fault_request(20, 0, IBV_WR_RDMA_READ, 0, false).kind, FAULT_NONE);
	}
}

TEST(a_retry_is_not_counted)
{
	load_text("n=2 lose\n", 0);
	assert_int_equal(strike_once(), FAULT_NONE);
	assert_int_equal(strike_once(), FAULT_LOSE);
	assert_int_equal(fault_request(20, 0, IBV_WR_SEND, 0, true).kind, FAULT_NONE);
}

TEST(chance_strikes_a_retry_again)
{
	load_text("p=1 lose\n", 0);
	assert_int_equal(strike_once(), FAULT_LOSE);
	assert_int_equal(fault_request(20, 0, IBV_WR_SEND, 0, true).kind, FAULT_LOSE);
}

static unsigned int read_pattern(void)
{
	unsigned int i, bits = 0;

	for (i = 0; i < 32; i++)
		bits = bits << 1 | (strike_once() == FAULT_DELAY);
	return bits;
}

TEST(same_seed_same_faults)
{
	unsigned int first, other;

	load_text("p=0.5 seed=7 delay=1ms\n", 0);
	first = read_pattern();
	load_text("p=0.5 seed=7 delay=1ms\n", 0);
	assert_int_equal(read_pattern(), first);
	load_text("p=0.5 seed=8 delay=1ms\n", 0);
	other = read_pattern();
	assert_int_not_equal(other, first);
	assert_int_not_equal(first, 0);
}

TEST(chance_is_as_given)
{
	unsigned int i, struck = 0;

	load_text("p=0.1 seed=1 lose\n", 0);
	for (i = 0; i < 10000; i++)
		struck += strike_once() == FAULT_LOSE;
	assert_in_range(struck, 850, 1150);
}

TEST(first_rule_that_strikes_has_it)
{
	load_text("n=2 rnr\nn=1..2 lose\n", 0);
	assert_int_equal(strike_once(), FAULT_LOSE);
	assert_int_equal(strike_once(), FAULT_RNR);
	assert_int_equal(strike_once(), FAULT_NONE);
}

TEST(rules_of_other_processes_are_not_ours)
{
	load_text("process=1 lose\n", 0);
	assert_false(fault_any);
}

TEST(verbs_are_counted_apart)
{
	load_text("verb=reg_mr n=2 errno=ENOMEM\n", 0);
	assert_int_equal(fault_verb("reg_mr").kind, FAULT_NONE);
	assert_int_equal(fault_verb("dereg_mr").kind, FAULT_NONE);
	assert_int_equal(fault_verb("reg_mr").value, ENOMEM);
}

static int strike_at(uint32_t qpn)
{
	return fault_request(qpn, 5, IBV_WR_SEND, 0, false).kind;
}

/* A fault that a program requests is for one request. */
TEST(faults_of_one_queue_pair_are_taken_back)
{
	struct fault_rule rule = { .pos = 5, .fault = { .kind = FAULT_STATUS } };

	for (rule.qpn = 20; rule.qpn < 23; rule.qpn++)
		assert_int_equal(fault_give(&rule), 0);
	fault_take_back(0, 20);
	assert_int_equal(strike_at(20), FAULT_NONE);
	assert_int_equal(strike_at(21), FAULT_STATUS);
	assert_int_equal(strike_at(21), FAULT_NONE);
	assert_true(fault_any);
	fault_take_back(0, 22);
	assert_false(fault_any);
}

TEST(faults_of_one_thread_are_taken_back)
{
	struct fault_rule rule = { .verb = "reg_mr",
				   .thread = pthread_self(),
				   .fault = { .kind = FAULT_ERRNO, .value = ENOMEM } };

	assert_int_equal(fault_give(&rule), 0);
	assert_int_equal(fault_give(&rule), 0);
	assert_int_equal(fault_verb("reg_mr").value, ENOMEM);
	fault_take_back(rule.thread + 1, 0);
	fault_take_back(0, 20);
	assert_true(fault_any);
	fault_take_back(rule.thread, 0);
	assert_false(fault_any);
	assert_int_equal(fault_verb("reg_mr").kind, FAULT_NONE);
}

TEST(bad_file_has_no_faults)
{
	load_text("n=1 lose\nwhat\n", -EINVAL);
	assert_false(fault_any);
}

TEST(missing_file_is_refused)
{
	setenv("VERBATIM_SOFT_FAULTS", "/nonexistent/faults", 1);
	assert_int_equal(fault_load(0), -EINVAL);
	unsetenv("VERBATIM_SOFT_FAULTS");
}

static void expect_refused(const char *what)
{
	setenv("VERBATIM_SOFT_FAULTS", what, 1);
	alarm(60); /* opening a FIFO waits for its writer forever */
	assert_int_equal(fault_load(0), -EINVAL);
	alarm(0);
	unsetenv("VERBATIM_SOFT_FAULTS");
	assert_false(fault_any);
}

TEST(what_is_no_text_is_refused)
{
	char other[64];

	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(mkfifo(other, 0600), 0);
	expect_refused(other);
	unlink(other);
	expect_refused("/dev/zero");
	expect_refused("/tmp");
	close(open(other, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(truncate(other, TEXT_MAX + 1), 0);
	expect_refused(other);
	unlink(other);
}
