/*
 * Call stacks of verbs in folded form
 *
 * 	main;post_sends;send_list (FILE:145);ibv_post_send 1080
 * 	process 2 (server);main;...
 *
 * The outermost function is first, the verb last, then the sum of the values of its calls. The
 * function that called the verb has its file and line, since several calls in one function are
 * several places; other functions have none, so that each is one box of a flame graph.
 */
#include "cli/export/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/words.h"
#include "analyzer/profile/pass.h"
#include "analyzer/report/report.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

struct folded_line {
	char *stack;
	uint64_t value;
};

struct folded {
	const struct report *report;
	bool several; /* lines begin with the name of their process */
	struct folded_line *lines;
	size_t n;
};

static uint64_t value_of(const struct profile_place *place, enum folded_value value)
{
	switch (value) {
	case FOLDED_REQUESTS:
		return place->requests;
	case FOLDED_TIME:
		return place->ns > 0 ? (uint64_t)place->ns : 0;
	case FOLDED_CALLS:
		return place->calls;
	default:
		return place->bytes;
	}
}

/* Add a name within a stack: a semicolon would end it. */
static void add_name(struct text *text, const char *from)
{
	size_t at = text->used;

	text_printable(text, from);
	for (; at < text->used; at++)
		if (text->at[at] == ';')
			text->at[at] = ',';
}

static void add_frame(struct text *text, const struct symbol *symbol, bool calls)
{
	char line[64], whole[256];

	if (!symbol->function) {
		add_name(text, symbol_text(symbol, whole, sizeof(whole)));
		return;
	}
	add_name(text, symbol->function);
	if (!calls || !symbol->file)
		return;
	snprintf(line, sizeof(line), ":%d)", symbol->line);
	text_addf(text, " (");
	add_name(text, symbol->file);
	text_addf(text, "%s", line);
}

static void add_process(struct text *text, const struct folded *folded, uint32_t process)
{
	char name[256];

	if (!folded->several)
		return;
	add_name(text, words_name_process(folded->report->trace, process, name, sizeof(name)));
	text_char(text, ';');
}

static void add_stack(struct text *text, const struct folded *folded,
		      const struct profile_place *place)
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report_stack(folded->report, place->stack, lines);

	add_process(text, folded, place->process);
	if (!n)
		text_addf(text, "[stack not known];");
	for (unsigned int i = n; i-- > 0;) {
		add_frame(text, &lines[i].symbol, !i);
		text_char(text, ';');
	}
	text_addf(text, "%s", verb_infos[place->verb].name);
}

static int add_place(struct folded *folded, const struct profile_place *place, uint64_t value)
{
	struct text text = { 0 };
	struct folded_line *line = vec_push(folded->lines, folded->n);

	if (!line)
		return -ENOMEM;
	add_stack(&text, folded, place);
	*line = (struct folded_line){ text.at, value };
	return text.failed ? -ENOMEM : 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct folded_line *x = a, *y = b;

	return strcmp(x->stack, y->stack);
}

/* Stacks that differ only in lines of outer functions are one line. */
static void add_lines(struct text *out, struct folded *folded)
{
	if (folded->n)
		qsort(folded->lines, folded->n, sizeof(*folded->lines), compare_lines);
	for (size_t i = 0; i < folded->n;) {
		const char *stack = folded->lines[i].stack;
		uint64_t value = 0;

		for (; i < folded->n && !strcmp(folded->lines[i].stack, stack); i++)
			value += folded->lines[i].value;
		text_addf(out, "%s %" PRIu64 "\n", stack, value);
	}
}

static int fold_value(struct folded *folded, const struct profile *profile, enum folded_value value,
		      struct text *out)
{
	int err = 0;

	folded->lines = NULL;
	folded->n = 0;
	for (size_t i = 0; !err && i < profile->nplaces; i++)
		if (value_of(&profile->places[i], value))
			err = add_place(folded, &profile->places[i],
					value_of(&profile->places[i], value));
	if (!err && folded->n)
		add_lines(out, folded);
	if (!err && out->failed)
		err = -ENOMEM;
	for (size_t i = 0; i < folded->n; i++)
		free(folded->lines[i].stack);
	free(folded->lines);
	return err ? log_err(err, "fold the stacks") : 0;
}

int folded_profile(struct trace *trace, struct symbols *symbols, const struct profile *profile,
		   const enum folded_value *values, size_t n, struct text *outs)
{
	const struct report report = { .trace = trace, .symbols = symbols };
	struct folded folded = { .report = &report, .several = trace_process(trace, 2) };
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = fold_value(&folded, profile, values[i], &outs[i]);
	return err;
}

int folded_trace(struct trace *trace, const struct profile_select *select,
		 const enum folded_value *values, size_t n, struct text *outs)
{
	struct profile_select each = *select;
	struct profile *profile = NULL;
	struct symbols *symbols;
	int err = symbols_open(&symbols);

	if (err)
		return err;
	each.by_process = true;
	err = profile_trace(trace, &each, &profile);
	if (!err)
		err = folded_profile(trace, symbols, profile, values, n, outs);
	profile_free(profile);
	symbols_close(symbols);
	return err;
}
