/*
 * Traffic as a text: reading it
 *
 * A line is a word and its values; a flow extends to the next flow. Each flow becomes a class, with
 * a few tracks that are assigned to senders in turn.
 */
#include "cli/model/model_text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model/model_names.h"
#include "cli/quantity.h"
#include "core/base/read_file.h"
#include "core/base/size.h"
#include "core/base/vec.h"
#include "core/wire/log.h"
#include "replay/load/load_join.h"
#include "replay/load/load_spread.h"

enum {
	WORDS = 4096,
	SENDERS_MOST = 1 << 22,
	TRACKS = 16, /* of a class */
	DEPTH = 128,
	BYTES_MOST = INT32_MAX,
};

static const uint64_t requests_most = UINT64_C(1) << 38;

struct model_reader {
	struct load *load;
	const char *path;
	unsigned int line, flow_line;
	struct load_class *class; /* the flow that is read; NULL: none */
	struct load_summary summary;
};

/* Returns -EINVAL. */
static int __attribute__((format(printf, 2, 3)))
refuse_line(const struct model_reader *r, const char *format, ...)
{
	char text[256];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return log_why(-EINVAL, "%s:%u: %s", r->path, r->line, text);
}

/* Read a number above 0, with or without @unit at its end. */
static bool read_number(const char *text, const char *unit, double *ret_number)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || (*end && strcmp(end, unit)) || !isfinite(number) || number <= 0)
		return false;
	*ret_number = number;
	return true;
}

static bool read_count(const char *text, uint64_t most, uint64_t *ret_count)
{
	return quantity_number(text, most, ret_count) && *ret_count;
}

static int read_ranks(struct model_reader *r, char **words, size_t n)
{
	uint64_t ranks;

	if (n != 2 || !read_count(words[1], LOAD_RANKS_MOST, &ranks))
		return refuse_line(r, "the number of ranks must be 1 to %u, as in 'ranks 16'",
				   LOAD_RANKS_MOST);
	if (r->load->nclasses)
		return refuse_line(r, "the number of ranks must precede the first flow");
	r->load->nranks = (uint32_t)ranks;
	return 0;
}

/* "0>1", "0>1x4" */
static bool read_edge(const char *word, struct load_edge *edge, uint64_t *times)
{
	int used = 0;

	*times = 1;
	if (sscanf(word, "%u>%u%n", &edge->from, &edge->to, &used) != 2)
		return false;
	word += used;
	return !*word || (*word == 'x' && read_count(word + 1, SENDERS_MOST, times));
}

static int add_edges(struct model_reader *r, char **words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct load_edge edge;
		uint64_t times;

		if (!read_edge(words[i], &edge, &times))
			return refuse_line(r,
					   "'%.40s' is neither a pattern nor two ranks, as in "
					   "'flow ring' or 'flow 0>1 1>0x2'",
					   words[i]);
		if (edge.from >= r->load->nranks || edge.to >= r->load->nranks)
			return refuse_line(r, "'%.40s': ranks must be 0 to %u", words[i],
					   r->load->nranks - 1);
		if (times > SENDERS_MOST - r->class->nedges)
			return refuse_line(r, "more than %u senders", SENDERS_MOST);
		while (times--) {
			struct load_edge *added = vec_push(r->class->edges, r->class->nedges);

			if (!added)
				return log_err(-ENOMEM, "read %s", r->path);
			*added = edge;
		}
	}
	return 0;
}

static int add_pattern(struct model_reader *r, enum load_pattern pattern, const char *times)
{
	uint64_t each = 1, edges = model_count_edges(pattern, r->load->nranks);
	int err;

	if (!load_pattern_takes(pattern, r->load->nranks))
		return refuse_line(r, "%s is not defined for %u ranks", load_pattern_name(pattern),
				   r->load->nranks);
	if (times && (*times != 'x' || !read_count(times + 1, SENDERS_MOST, &each)))
		return refuse_line(r, "'%.40s' is not a number of queue pairs: flow ring x4",
				   times);
	if (each * edges > SENDERS_MOST)
		return refuse_line(r, "more than %u senders", SENDERS_MOST);
	err = load_make_edges(r->class, pattern, r->load->nranks, (uint32_t)each);
	return err ? log_err(err, "read %s", r->path) : 0;
}

/* The first request of each sender is up to one mean gap later than the flow's start. */
static int64_t spread_start(const struct load_summary *summary, size_t i, size_t n)
{
	double mean = summary->rate > 0 ? 1e9 / summary->rate : 0;

	return summary->start + (int64_t)(mean * (double)i / (double)n);
}

static int make_tracks(struct model_reader *r)
{
	size_t n = r->class->nedges < TRACKS ? r->class->nedges : TRACKS;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		struct load_track *track = vec_push(r->class->tracks, r->class->ntracks);

		if (!track)
			return log_err(-ENOMEM, "read %s", r->path);
		err = load_make_track(r->load, &r->summary, i + 1, track);
		track->start = spread_start(&r->summary, i, n);
	}
	return err;
}

/* The flow is complete. */
static int end_flow(struct model_reader *r)
{
	struct load_summary *summary = &r->summary;
	int err;

	if (!r->class)
		return 0;
	r->line = r->flow_line;
	if (!r->class->nedges)
		return refuse_line(
			r, "a flow needs a pattern or ranks, as in 'flow ring' or 'flow 0>1'");
	if (!summary->requests)
		return refuse_line(r, "this flow has no number of requests: add a line such as "
				      "'requests 1000'");
	if (!summary->nsizes)
		return refuse_line(r, "this flow sends nothing: add a line such as 'send "
				      "RDMA_WRITE 4k 100%%'");
	if (summary->requests > 1 && !(summary->rate > 0))
		return refuse_line(r, "this flow has no rate: add a line such as 'rate 1000/s'");
	err = make_tracks(r);
	load_fini_summary(summary);
	r->class = NULL;
	return err;
}

static int begin_flow(struct model_reader *r, char **words, size_t n)
{
	enum load_pattern pattern = n > 1 ? load_pattern_find(words[1]) : LOAD_LIST;
	int err = end_flow(r);

	if (err)
		return err;
	r->flow_line = r->line;
	if (!r->load->nranks)
		return refuse_line(r, "no number of ranks before the first flow: add a line such "
				      "as 'ranks 16'");
	r->class = load_add_class(r->load);
	if (!r->class)
		return log_err(-ENOMEM, "read %s", r->path);
	r->class->depth = DEPTH;
	if (pattern != LOAD_LIST && n <= 3)
		return add_pattern(r, pattern, words[2]);
	return add_edges(r, words + 1, n - 1);
}

static int continue_flow(struct model_reader *r, char **words, size_t n)
{
	return add_edges(r, words + 1, n - 1);
}

static int read_transport(struct model_reader *r, char **words, size_t n)
{
	enum load_transport transport = n == 2 ? model_find_transport(words[1]) : LOAD_TRANSPORTS;

	if (transport == LOAD_TRANSPORTS)
		return refuse_line(r, "the transport must be RC, UC or UD");
	r->class->transport = transport;
	return 0;
}

static int read_requests(struct model_reader *r, char **words, size_t n)
{
	if (n != 2 || !read_count(words[1], requests_most, &r->summary.requests))
		return refuse_line(r,
				   "the number of requests of each sender must be a whole number, "
				   "as in 'requests 1000'");
	return 0;
}

static int read_rate(struct model_reader *r, char **words, size_t n)
{
	if (n != 2 || !read_number(words[1], "/s", &r->summary.rate) || r->summary.rate > 1e9)
		return refuse_line(r, "the rate of each sender must be in requests per second, at "
				      "most 1e9, as in 'rate 1000/s'");
	return 0;
}

static int read_start(struct model_reader *r, char **words, size_t n)
{
	if (n != 2 || !quantity_time(words[1], false, &r->summary.start) || r->summary.start < 0)
		return refuse_line(r, "the start must be a time, as in 'start 1.5ms'");
	return 0;
}

static int read_depth(struct model_reader *r, char **words, size_t n)
{
	uint64_t depth;

	if (n != 2 || !read_count(words[1], LOAD_DEPTH_MOST, &depth))
		return refuse_line(
			r,
			"the depth, the number of requests that a send queue holds, must be 1 to "
			"%u, as in 'depth 128'",
			LOAD_DEPTH_MOST);
	r->class->depth = (uint32_t)depth;
	return 0;
}

static int read_signal(struct model_reader *r, char **words, size_t n)
{
	uint64_t signal;

	if (n != 2 || strncmp(words[1], "1/", 2) ||
	    !read_count(words[1] + 2, LOAD_DEPTH_MOST, &signal))
		return refuse_line(r, "signal takes 1/N, one in N requests, as in 'signal 1/16'");
	r->class->signal = (uint32_t)signal;
	return 0;
}

static bool read_size(const char *text, double *ret_bytes)
{
	uint64_t bytes = size_parse(text);

	*ret_bytes = (double)bytes;
	return bytes <= BYTES_MOST && (bytes || !strcmp(text, "0"));
}

static int read_send(struct model_reader *r, char **words, size_t n)
{
	struct load_share *share, read = { .opcode = n > 1 ? model_find_opcode(words[1]) : -1 };

	if (read.opcode < 0)
		return refuse_line(r, "the operation must be SEND, SEND_WITH_IMM, RDMA_WRITE, "
				      "RDMA_WRITE_WITH_IMM, RDMA_READ, ATOMIC_CMP_AND_SWP or "
				      "ATOMIC_FETCH_AND_ADD, as in 'send SEND 64 80%%'");
	if (n != 4 || !read_size(words[2], &read.value) ||
	    !read_number(words[3], "%", &read.weight))
		return refuse_line(r,
				   "an operation needs a size below 2 GiB and a share, as in 'send "
				   "%s 64 80%%'",
				   words[1]);
	share = vec_push(r->summary.sizes, r->summary.nsizes);
	if (!share)
		return log_err(-ENOMEM, "read %s", r->path);
	*share = read;
	return 0;
}

static int read_gap(struct model_reader *r, char **words, size_t n)
{
	struct load_share *share, read = { .opcode = LOAD_GAP };
	int64_t gap;

	if (n != 3 || !quantity_time(words[1], false, &gap) ||
	    !read_number(words[2], "%", &read.weight))
		return refuse_line(r, "a gap must be a time and its share, as in 'gap 10us 80%%'");
	share = vec_push(r->summary.gaps, r->summary.ngaps);
	if (!share)
		return log_err(-ENOMEM, "read %s", r->path);
	read.value = (double)gap;
	*share = read;
	return 0;
}

static int read_version(struct model_reader *r, char **words, size_t n)
{
	if (n != 2 || strcmp(words[1], "1"))
		return refuse_line(r, "the text of this version begins with: model 1");
	return 0;
}

/* clang-format off */
static const struct {
	const char *word;
	int (*read)(struct model_reader *r, char **words, size_t n);
	bool of_flow;
} lines[] = {
	{ "model", read_version, false },
	{ "ranks", read_ranks, false },
	{ "flow", begin_flow, false },
	{ "flow+", continue_flow, true },
	{ "transport", read_transport, true },
	{ "requests", read_requests, true },
	{ "rate", read_rate, true },
	{ "start", read_start, true },
	{ "depth", read_depth, true },
	{ "signal", read_signal, true },
	{ "send", read_send, true },
	{ "gap", read_gap, true },
};
/* clang-format on */

static int read_line(struct model_reader *r, char **words, size_t n)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		if (strcmp(lines[i].word, words[0]))
			continue;
		if (lines[i].of_flow && !r->class)
			return refuse_line(r,
					   "'%s' is allowed only after a line such as 'flow 0>1'",
					   words[0]);
		return lines[i].read(r, words, n);
	}
	return refuse_line(r,
			   "no line of a model begins with '%.40s': verbatim-model(1) lists the "
			   "words",
			   words[0]);
}

static int split_line(struct model_reader *r, char *line)
{
	char *words[WORDS + 1], *save = NULL;
	size_t n = 0;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r", &save); word && n < WORDS;
	     word = strtok_r(NULL, " \t\r", &save))
		words[n++] = word;
	words[n] = NULL;
	return n ? read_line(r, words, n) : 0;
}

int model_parse(char *text, const char *path, struct load *ret_load)
{
	struct load load = { 0 };
	struct model_reader r = { .load = &load, .path = path };
	int err = 0;

	for (char *line = text, *next; !err && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r.line++;
		err = split_line(&r, line);
	}
	err = err ?: end_flow(&r);
	if (!err && !load.nclasses)
		err = refuse_line(&r, "the text has no flow: add a line such as 'flow 0>1'");
	load_fini_summary(&r.summary);
	if (err)
		load_fini(&load);
	else
		*ret_load = load;
	return err;
}

int model_read(const char *path, struct load *ret_load)
{
	char *text;
	size_t n;
	int err = read_file(path, &text, &n);

	if (err)
		return log_err(err, "read %s", path);
	err = model_parse(text, path, ret_load);
	free(text);
	return err;
}
