/* Faults files: each wrong line has its message, and rules say who can make them. */
#include "core/faults/file.h"

#include <errno.h>
#include <string.h>

#include "tests/test.h"

struct heard {
	unsigned int rules, lines[8], wrong;
	char why[8][160];
	struct fault_rule rule; /* the last */
	unsigned int links;
	struct link_model link; /* the last */
	int node;
};

static int hear_rule(void *context, const struct fault_rule *rule)
{
	struct heard *heard = context;

	heard->rules++;
	heard->rule = *rule;
	return 0;
}

static int hear_link(void *context, const struct link_model *model, int node)
{
	struct heard *heard = context;

	heard->links++;
	heard->link = *model;
	heard->node = node;
	return 0;
}

static int hear_wrong(void *context, unsigned int line, const char *why)
{
	struct heard *heard = context;

	heard->lines[heard->wrong] = line;
	snprintf(heard->why[heard->wrong++], sizeof(heard->why[0]), "%s", why);
	return 0;
}

static struct heard read_text(const char *text, enum fault_maker maker)
{
	struct heard heard = { 0 };
	const struct faults_reader reader = { maker, hear_rule, hear_link, hear_wrong, &heard };
	FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	assert_int_equal(faults_read(file, &reader), 0);
	fclose(file);
	return heard;
}

TEST(a_line_describes_the_link)
{
	struct heard heard = read_text("link process=1 loss=1% delay=5us # bad\n"
				       "linked=1\n"
				       "link loss=1 ecn=1%\n",
				       FAULT_BY_DEVICE);

	assert_int_equal(heard.links, 1);
	assert_int_equal(heard.node, 1);
	assert_int_equal(heard.link.loss, 10000);
	assert_int_equal(heard.link.delay, 5000);
	assert_int_equal(heard.wrong, 2);
	assert_int_equal(heard.lines[0], 2);
	assert_int_equal(heard.lines[1], 3);
	assert_string_equal(heard.why[1], "not a part of a link: 'loss=1 ecn=1%'");
	heard = read_text("link loss=1%\n", FAULT_BY_RECORDER);
	assert_int_equal(heard.wrong, 1);
	assert_string_equal(heard.why[0], "only the software device has a link");
}

TEST(each_wrong_line_is_told_once)
{
	struct heard heard = read_text("verb=reg_mr errno=ENOMEM\n"
				       "colour=red\n"
				       "\n"
				       "verb=reg_mr errno=E2MANY # no such\n"
				       "status=RETRY_EXC_ERR n=2\n",
				       FAULT_BY_RECORDER);

	assert_int_equal(heard.rules, 2);
	assert_int_equal(heard.wrong, 2);
	assert_int_equal(heard.lines[0], 2);
	assert_int_equal(heard.lines[1], 4);
	assert_non_null(strstr(heard.why[0], "unknown word"));
	assert_non_null(strstr(heard.why[1], "errno= takes one name"));
	assert_int_equal(heard.rule.line, 5);
}

TEST(line_that_is_too_long_is_one_line)
{
	char text[3000];
	struct heard heard;

	memset(text, 'x', 2000);
	strcpy(text + 2000, "\nstatus=RETRY_EXC_ERR\n");
	heard = read_text(text, FAULT_BY_RECORDER);
	assert_int_equal(heard.wrong, 1);
	assert_int_equal(heard.lines[0], 1);
	assert_string_equal(heard.why[0], "the line is too long");
	assert_int_equal(heard.rule.line, 2);
}

TEST(each_maker_refuses_what_it_cannot_make)
{
	static const struct {
		const char *line;
		bool device, recorder;
	} cases[] = {
		{ "verb=reg_mr errno=ENOMEM", true, true },
		{ "status=RETRY_EXC_ERR", true, true },
		{ "errno=ENOMEM opcode=SEND n=2", false, true },
		{ "errno=ENOMEM opcode=RECV", false, true },
		{ "errno=ENOMEM late=2ms", false, false },
		{ "delay=2ms", true, true },
		{ "kill n=7", true, true },
		{ "event=QP_FATAL", true, true },
		{ "late=2ms", false, true },
		{ "never opcode=RECV", false, true },
		{ "status=LOC_PROT_ERR opcode=RECV", false, true },
		{ "verb=reg_mr errno=ENOMEM mark=warm", false, true },
		{ "verb=reg_mr errno=ENOMEM phase=warm", false, true },
		{ "verb=reg_mr errno=ENOMEM at=make_regions", false, true },
		{ "status=FATAL_ERR at=app.c:7", false, true },
		{ "late=2ms at=app.c:7", false, false },
		{ "verb=reg_mr delay=2ms thread=1", false, true },
		{ "delay=2ms thread=1", false, true },
		{ "late=2ms thread=1", false, false },
		{ "verb=reg_mr delay=2ms thread=-1", false, false },
		{ "disconnect opcode=SEND n=3", false, true },
		{ "disconnect verb=post_send", false, false },
		{ "rate=10Gbit", true, true },
		{ "rate=800MB opcode=SEND", true, true },
		{ "rate=10", false, false },
		{ "rate=0MB", false, false },
		{ "rate=0.001kbit", false, false },
		{ "verb=reg_mr rate=1GB", false, false },
		{ "rate=1GB delay=2ms", false, false },
		{ "cm=ESTABLISHED becomes=REJECTED", false, true },
		{ "cm=ESTABLISHED delay=2ms n=2", false, true },
		{ "cm=ESTABLISHED status=FATAL_ERR", false, false },
		{ "becomes=REJECTED", false, false },
		{ "lose", true, false },
		{ "rnr", true, false },
		{ "overrun", true, false },
		{ "port=down", true, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(read_text(cases[i].line, FAULT_BY_DEVICE).rules, cases[i].device);
		assert_int_equal(read_text(cases[i].line, FAULT_BY_RECORDER).rules,
				 cases[i].recorder);
	}
}

TEST(send_rules_are_not_for_receives)
{
	struct heard any = read_text("status=FATAL_ERR", FAULT_BY_RECORDER);
	struct heard recv = read_text("status=FATAL_ERR opcode=RECV qp=7", FAULT_BY_RECORDER);

	assert_true(fault_is_for_request(&any.rule, 7, 2));
	assert_false(fault_is_for_request(&any.rule, 7, FAULT_OPCODE_RECV));
	assert_true(fault_is_for_request(&recv.rule, 7, FAULT_OPCODE_RECV));
	assert_false(fault_is_for_request(&recv.rule, 8, FAULT_OPCODE_RECV));
}

TEST(places_are_functions_files_or_lines)
{
	static const struct fault_place place = { "make_regions", "/src/net/app.c", 120 };
	static const struct {
		const char *at;
		bool is;
	} cases[] = {
		{ "make_regions", true }, { "regions", false },   { "app.c", true },
		{ "app.c:120", true },    { "app.c:12", false },  { "net/app.c:120", true },
		{ "t/app.c:120", false }, { "pp.c", false },      { "/src/net/app.c", true },
		{ "app.c:", false },      { "app.c:x20", false }, { "other/src/net/app.c", false },
	};
	static const struct fault_place unknown = { NULL, NULL, 0 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(fault_is_at(cases[i].at, &place), cases[i].is);
	assert_false(fault_is_at("app.c", &unknown));
}

TEST(extended_forms_have_the_plain_name)
{
	static const char *const cases[][2] = {
		{ "ibv_create_qp_ex", "create_qp" },
		{ "ibv_reg_mr_iova2", "reg_mr" },
		{ "ibv_query_device_ex", "query_device_ex" },
		{ "rdma_connect", "rdma_connect" },
		{ "ibv_create_cq", "create_cq" },
	};
	char name[40];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fault_name_verb(cases[i][0], name);
		assert_string_equal(name, cases[i][1]);
	}
}

/* The sum of @n times drawn from a rule, in units of @unit ns; the shortest and the longest. */
static double draw_times(const char *line, int n, uint64_t unit, double *least, double *most)
{
	struct heard heard = read_text(line, FAULT_BY_RECORDER);
	double sum = 0;

	assert_int_equal(heard.rules, 1);
	*least = 1e30, *most = 0;
	for (int i = 0; i < n; i++) {
		double time = (double)fault_draw(&heard.rule, 0).ns / (double)unit;

		sum += time;
		*least = time < *least ? time : *least;
		*most = time > *most ? time : *most;
	}
	return sum;
}

TEST(spread_is_uniform_around_the_time)
{
	double least, most,
		sum = draw_times("delay=20us spread=5us seed=3", 20000, 1000, &least, &most);

	assert_true(sum / 20000 > 19.8 && sum / 20000 < 20.2);
	assert_true(least >= 15 && least < 15.1 && most <= 25 && most > 24.9);
}

TEST(tail_is_as_rare_and_as_long_as_asked)
{
	double least, most,
		sum = draw_times("late=10us tail=0.1 seed=3", 20000, 1000, &least, &most);

	/* the mean factor of a time in the tail is 5.6 */
	assert_true(sum / 20000 > 14.6 * 0.95 && sum / 20000 < 14.6 * 1.05);
	assert_true(least >= 9.999 && most > 200 && most <= 1000);
}

TEST(spread_needs_a_time)
{
	assert_int_equal(read_text("kill spread=5us", FAULT_BY_RECORDER).wrong, 1);
	assert_int_equal(read_text("delay=4us spread=5us", FAULT_BY_RECORDER).wrong, 1);
	assert_int_equal(read_text("delay=4us tail=2", FAULT_BY_RECORDER).wrong, 1);
}

TEST(requests_leave_at_the_rate)
{
	struct fault_rule rule = read_text("rate=8Mbit", FAULT_BY_RECORDER).rule;
	struct fault fault;

	/* a megabyte takes a second */
	assert_int_equal(fault_limit_rate(&rule, 1000000, 5000).kind, FAULT_NONE);
	fault = fault_limit_rate(&rule, 500000, 5000);
	assert_int_equal(fault.kind, FAULT_DELAY);
	assert_int_equal(fault.ns, 1000000000);
	assert_int_equal(fault_limit_rate(&rule, 1, 1000005000).ns, 500000000);
	assert_int_equal(fault_limit_rate(&rule, 1, 9000000000).kind,
			 FAULT_NONE); /* no burst later */
	assert_int_equal(fault_limit_rate(&rule, 1, 9000000000).ns, 1000);
}
