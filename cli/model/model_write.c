/*
 * Traffic as a text: writing it
 */
#include "cli/model/model_text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/format.h"
#include "cli/model/model_names.h"
#include "cli/quantity.h"
#include "core/base/span.h"
#include "core/wire/log.h"
#include "replay/load/load_spread.h"

enum { EDGES_OF_LINE = 12 };

static void write_head(const struct load *load, const char *title, struct text *to)
{
	struct load_totals totals = load_totals(load);
	char n[FORMAT_TEXT], bytes[FORMAT_TEXT], time[FORMAT_TEXT], senders[FORMAT_TEXT];

	text_addf(to, "model 1\n# ");
	text_printable(to, title);
	text_addf(to, ": %s requests, %s by %s senders in %s\n", format_count(totals.requests, n),
		  format_bytes((uint64_t)totals.bytes, bytes),
		  format_count(totals.senders, senders), format_time(totals.end, time));
	text_addf(to,
		  "# edit it, then: verbatim replay FILE; verbatim-model(1) explains each line\n");
	if (load->left_out)
		text_addf(
			to,
			"# left out: %s requests that move no bytes, or use another transport than "
			"RC, UC or UD\n",
			format_count(load->left_out, n));
	if (load->outside)
		text_addf(to,
			  "# the last %u ranks were not recorded; their reads and writes are not "
			  "known\n",
			  load->outside);
	text_addf(to, "ranks %u\n", load->nranks);
}

/* Edges that follow each other and are equal: how many. */
static size_t count_equal(const struct load_class *class, size_t i)
{
	const struct load_edge *edge = &class->edges[i];
	size_t n = 1;

	while (i + n < class->nedges && edge[n].from == edge->from && edge[n].to == edge->to)
		n++;
	return n;
}

static void write_edges(const struct load_class *class, struct text *to)
{
	size_t n, line = 0;

	for (size_t i = 0; i < class->nedges; i += n) {
		n = count_equal(class, i);
		if (line && !(line % EDGES_OF_LINE))
			text_addf(to, "\nflow+");
		text_addf(to, " %u>%u", class->edges[i].from, class->edges[i].to);
		if (n > 1)
			text_addf(to, "x%zu", n);
		line++;
	}
}

static void write_pattern(const struct load *load, const struct load_class *class, struct text *to)
{
	size_t edges = model_count_edges(class->pattern, load->nranks);
	size_t times = edges ? class->nedges / edges : 1;

	text_addf(to, " %s", load_pattern_name(class->pattern));
	if (times > 1)
		text_addf(to, " x%zu", times);
	text_addf(to, "    # %s", load_pattern_help(class->pattern));
}

/* Three figures, without a blank: 1.23us */
static void write_time(double ns, struct text *to)
{
	char text[SPAN_TEXT];

	span_text((int64_t)llround(ns), text);
	for (const char *c = text; *c; c++)
		if (*c != ' ')
			text_char(to, *c);
}

static void write_shares(const struct load_summary *summary, struct text *to)
{
	char size[QUANTITY_TEXT];

	for (size_t i = 0; i < summary->nsizes; i++) {
		const struct load_share *share = &summary->sizes[i];

		text_addf(to, "    send %s %s %.4g%%\n", model_opcode_name(share->opcode),
			  quantity_size_text((uint64_t)llround(share->value), size),
			  100 * share->weight);
	}
	for (size_t i = 0; i < summary->ngaps; i++) {
		text_addf(to, "    gap ");
		write_time(summary->gaps[i].value, to);
		text_addf(to, " %.4g%%\n", 100 * summary->gaps[i].weight);
	}
}

static void write_summary(const struct load_class *class, const struct load_summary *summary,
			  struct text *to)
{
	text_addf(to, "    transport %s\n    requests %" PRIu64 "\n",
		  model_transport_name(class->transport), summary->requests);
	if (summary->rate > 0)
		text_addf(to, "    rate %.6g/s\n", summary->rate);
	if (summary->start) {
		text_addf(to, "    start ");
		write_time((double)summary->start, to);
		text_addf(to, "\n");
	}
	text_addf(to, "    depth %u\n", class->depth);
	if (class->signal > 1)
		text_addf(to, "    signal 1/%u\n", class->signal);
	write_shares(summary, to);
}

int model_write(const struct load *load, const char *title, struct text *to)
{
	write_head(load, title, to);
	for (size_t i = 0; i < load->nclasses; i++) {
		const struct load_class *class = &load->classes[i];
		struct load_summary summary;
		int err = load_summarise(load, class, &summary);

		if (err)
			return err;
		text_addf(to, "\nflow");
		if (class->pattern == LOAD_LIST)
			write_edges(class, to);
		else
			write_pattern(load, class, to);
		text_addf(to, "\n");
		write_summary(class, &summary, to);
		load_fini_summary(&summary);
	}
	return to->failed ? log_err(-ENOMEM, "write the model") : 0;
}
