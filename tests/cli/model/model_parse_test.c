/*
 * cli/model/model_parse.c: the text of traffic, read; model_parse_test.txt has what is said about
 * each mistake
 */
#include "cli/model/model_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/operation.h"
#include "core/wire/log.h"
#include "tests/printed.h"
#include "tests/test.h"
#include "tests/transcript.h"

#define HEAD "model 1\nranks 8\n"
#define FLOW "requests 10\nrate 100/s\nsend SEND 64 1\n"

static int parse_text(const char *text, struct load *load)
{
	char *copy = strdup(text);
	int err;

	log_silence(true);
	err = model_parse(copy, "load.txt", load);
	log_silence(false);
	free(copy);
	return err;
}

TEST(a_flow_has_all_that_its_lines_say)
{
	struct load load;
	const struct load_class *class;
	const struct load_track *track;
	size_t large = 0;

	assert_int_equal(parse_text(HEAD
				    "# a comment\nflow ring x2 # another\n"
				    "  transport UC\n  requests 1000\n  rate 1e6/s\n  start 3ms\n"
				    "  depth 32\n  signal 1/4\n  send SEND 64 75%\n"
				    "  send RDMA_WRITE 4k 25%\n  gap 10us 1\n  gap 0ns 9\n",
				    &load),
			 0);
	class = load.classes;
	track = class->tracks;
	assert_int_equal(load.nranks, 8);
	assert_int_equal(load.nclasses, 1);
	assert_int_equal(class->transport, LOAD_UC);
	assert_int_equal(class->pattern, LOAD_RING);
	assert_int_equal(class->nedges, 16);
	assert_int_equal(class->depth, 32);
	assert_int_equal(class->signal, 4);
	assert_int_equal(track->count, 1000);
	assert_int_equal(track->start, 3000000);
	assert_true(fabs(load_track_duration(track) / 999e3 - 1) < 1e-3);
	for (size_t i = 0; i < track->n; i++)
		large += load.kinds[track->requests[i].kind].bytes == 4096;
	assert_int_equal(large, 250);
	load_fini(&load);
}

TEST(edges_may_be_listed)
{
	struct load load;
	const struct load_class *class;

	assert_int_equal(parse_text(HEAD "flow 0>1 1>0x3\nflow+ 7>2\n" FLOW, &load), 0);
	class = load.classes;
	assert_int_equal(class->pattern, LOAD_LIST);
	assert_int_equal(class->nedges, 5);
	assert_int_equal(class->edges[1].from, 1);
	assert_int_equal(class->edges[3].to, 0);
	assert_int_equal(class->edges[4].from, 7);
	assert_int_equal(class->edges[4].to, 2);
	load_fini(&load);
}

TEST(one_request_needs_no_rate)
{
	struct load load;

	assert_int_equal(parse_text(HEAD "flow 0>1\nrequests 1\nsend RDMA_READ 1M 1\n", &load), 0);
	assert_int_equal(load_totals(&load).requests, 1);
	load_fini(&load);
}

static const struct wrong {
	const char *name, *text;
} wrongs[] = {
	{ "no_flow", HEAD },
	{ "too_many_ranks", "model 1\nranks 4097\nflow 0>1\n" FLOW },
	{ "no_ranks", "model 1\nflow 0>1\n" FLOW },
	{ "ranks_after_a_flow", HEAD "flow 0>1\n" FLOW "ranks 9\n" },
	{ "another_version", "model 2\nranks 8\nflow 0>1\n" FLOW },
	{ "rank_beyond", HEAD "flow 0>8\n" FLOW },
	{ "negative_rank", HEAD "flow 0>-1\n" FLOW },
	{ "unknown_pattern", HEAD "flow star\n" FLOW },
	{ "pattern_of_other_ranks", "model 1\nranks 7\nflow pairs\n" FLOW },
	{ "no_edges", HEAD "flow\n" FLOW },
	{ "no_requests", HEAD "flow 0>1\nrate 1/s\nsend SEND 64 1\n" },
	{ "no_rate", HEAD "flow 0>1\nrequests 2\nsend SEND 64 1\n" },
	{ "nothing_sent", HEAD "flow 0>1\nrequests 2\nrate 1/s\n" },
	{ "unknown_operation", HEAD "flow 0>1\nsend BIND_MW 64 1\n" FLOW },
	{ "no_share", HEAD "flow 0>1\nsend SEND 64\n" FLOW },
	{ "no_size", HEAD "flow 0>1\nsend SEND large 1\n" FLOW },
	{ "size_too_large", HEAD "flow 0>1\nsend SEND 2G 1\n" FLOW },
	{ "negative_share", HEAD "flow 0>1\nsend SEND 64 -1\n" FLOW },
	{ "rate_of_zero", HEAD "flow 0>1\nrate 0/s\n" FLOW },
	{ "rate_not_finite", HEAD "flow 0>1\nrate inf/s\n" FLOW },
	{ "gap_without_unit", HEAD "flow 0>1\ngap 10 1\n" FLOW },
	{ "signal_of_zero", HEAD "flow 0>1\nsignal 1/0\n" FLOW },
	{ "depth_of_zero", HEAD "flow 0>1\ndepth 0\n" FLOW },
	{ "too_many_queue_pairs", HEAD "flow 0>1x99999999\n" FLOW },
	{ "too_many_of_a_pattern", HEAD "flow all-to-all x4000000\n" FLOW },
	{ "unknown_word", HEAD "flow 0>1\nspeed 3\n" FLOW },
	{ "line_outside_a_flow", HEAD "depth 3\n" },
	{ "empty", "" },
};

static void is_refused(void **state)
{
	const struct wrong *wrong = *state;
	struct load load;

	assert_int_equal(parse_text(wrong->text, &load), -EINVAL);
}
TEST_ROWS(wrongs, is_refused);

static struct text said;

static void put_class(const struct load *load, const struct load_class *class)
{
	text_addf(&said, "transport %d, pattern %d, depth %u, signal %u, %zu edges:",
		  (int)class->transport, (int)class->pattern, class->depth, class->signal,
		  (size_t) class->nedges);
	for (size_t i = 0; i < class->nedges && i < 6; i++)
		text_addf(&said, " %u>%u", class->edges[i].from, class->edges[i].to);
	text_addf(&said, "\n");
	for (size_t i = 0; i < class->ntracks; i++) {
		const struct load_track *track = &class->tracks[i];

		text_addf(&said, "track of %llu from %lld, %zu listed, the first of %llu bytes\n",
			  (unsigned long long)track->count, (long long)track->start,
			  (size_t)track->n,
			  (unsigned long long)load->kinds[track->requests[0].kind].bytes);
	}
}

/* What is said about the text, or what is read from it. */
static void put_text(const char *text)
{
	char *copy = strdup(text);
	struct load load;
	int err;

	text_addf(&said, "== %s\n", text);
	printed_begin(true);
	err = model_parse(copy, "load.txt", &load);
	printed_end(&said);
	free(copy);
	assert_true(!err || err == -EINVAL);
	if (err)
		return;
	text_addf(&said, "ranks %u\n", load.nranks);
	for (size_t i = 0; i < load.nclasses; i++)
		put_class(&load, &load.classes[i]);
	load_fini(&load);
}

/* The last value that is allowed, and the first one that is not. */
static const char *const bounds[] = {
	"ranks 1\n",
	"model\n",
	"model 1 2\n",
	"model 1\nranks 0\n",
	"model 1\nranks\n",
	"model 1\nranks 2 2\n",
	"model 1\nranks 4096\nflow 4095>0\n" FLOW,
	HEAD "flow ring x\n" FLOW,
	HEAD "flow ring 2\n" FLOW,
	HEAD "flow ring x2 x\n" FLOW,
	HEAD "flow 0>1x\n" FLOW,
	HEAD "flow 0>1x0\n" FLOW,
	HEAD "flow 0>1y2\n" FLOW,
	HEAD "flow 7>0x2\nflow+ 0>8\n" FLOW,
	HEAD "flow 0>1x4194304\nflow+ 0>1\n" FLOW,
	HEAD "flow 0>1\ntransport\n" FLOW,
	HEAD "flow 0>1\ntransport XRC\n" FLOW,
	HEAD "flow 0>1\ntransport UD\n" FLOW,
	HEAD "flow 0>1\nrequests 0\nrate 1/s\nsend SEND 1 1\n",
	HEAD "flow 0>1\nrequests 1.5\n" FLOW,
	HEAD "flow 0>1\nrequests 274877906945\n",
	HEAD "flow 0>1\nrate 1e9\nrequests 2\nsend SEND 0 1\n",
	HEAD "flow 0>1\nrate 1000000001/s\n",
	HEAD "flow 0>1\nrate 5/m\n",
	HEAD "flow 0>1\nrate -1/s\n",
	HEAD "flow 0>1\nrate 1/s 2\n",
	HEAD "flow 0>1\nstart -1ms\n",
	HEAD "flow 0>1\nstart\n",
	HEAD "flow 0>1 1>2\nstart 0s\n" FLOW,
	HEAD "flow 0>1 1>2 2>3x2\nstart 2s\nrequests 3\nrate 10/s\nsend SEND 64 1\n",
	HEAD "flow 0>1x17\nrequests 1\nsend SEND 7 1\n",
	HEAD "flow 0>1\ndepth 1\nsignal 1/1\n" FLOW,
	HEAD "flow 0>1\ndepth 99999999\n",
	HEAD "flow 0>1\nsignal 2/3\n",
	HEAD "flow 0>1\nsignal 1/2 3\n",
	HEAD "flow 0>1\nsend\n",
	HEAD "flow 0>1\nsend SEND 2147483647 1\nrequests 1\n",
	HEAD "flow 0>1\nsend SEND 2147483648 1\n",
	HEAD "flow 0>1\nsend SEND 0 1%\nrequests 1\n",
	HEAD "flow 0>1\nsend SEND 64 0\n",
	HEAD "flow 0>1\nsend RDMA_READ 64 1/s\n",
	HEAD "flow 0>1\nsend SEND 64 1 2\n",
	HEAD "flow 0>1\ngap 1us\n",
	HEAD "flow 0>1\ngap 1us 0\n",
	HEAD "flow 0>1\ngap -1us 1\n" FLOW,
	HEAD "flow 0>1\n" FLOW "flow 1>2\n" FLOW "depth 7\n",
	HEAD "flow 0>1\n" FLOW "flow 1>2\n",
	HEAD "\tflow  0>1 # x\r\n" FLOW "#\n",
	"# nothing\n\n",
};

TEST(each_line_is_explained)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++)
		put_text(wrongs[i].text);
	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
		put_text(bounds[i]);
	transcript_expect(__FILE__, &said);
}
