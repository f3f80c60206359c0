/*
 * Places that are told apart by their callers
 *
 * 	send_post+0x79 < reply+0x12 < arrived+0x30 < main+0x91	--> send_post < reply+0x12
 * 	send_post+0x79 < probe+0x12 < arrived+0x30 < main+0x91	--> send_post < probe+0x12
 * 	close_all+0x8 < main+0xa0				--> close_all+0x8
 *
 * The rows of a list are sorted by their stacks. So the row before and the row after have the
 * longest common parts with it, and one frame more tells them apart. Only the last frame that is
 * shown has its line; if two rows still read alike, all of their frames have lines.
 *
 * Frames of the Python interpreter are the same for all programs, and those of the Python code are
 * not recorded: a stack ends there, and the text says so.
 */
#include "analyzer/report/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/text.h"
#include "core/base/vec.h"

enum { LINE = 512 };

static const char between[] = " < ";

struct frame_text {
	char *name; /* "send_post" */
	char *line; /* "send_post (FILE:12)", "send_post+0x79 (app)" */
};

struct place {
	uint32_t list, stack;
	struct frame_text *frames;
	size_t n;
	size_t shown; /* frames that distinguish it from other places */
	bool python;  /* it was called by Python code */
	char *text;
};

struct places {
	struct report report;
	struct place *all;
	size_t n;
	struct map by_stack; /* 1 + index in `all` */
	bool told;           /* all have a text */
};

struct places *places_new(struct trace *trace, struct symbols *symbols)
{
	struct places *places = calloc(1, sizeof(*places));

	if (places)
		places->report = (struct report){ .trace = trace, .symbols = symbols };
	return places;
}

static void free_frames(struct place *place)
{
	for (size_t i = 0; i < place->n; i++) {
		free(place->frames[i].name);
		free(place->frames[i].line);
	}
	free(place->frames);
	place->frames = NULL;
	place->n = 0;
}

void places_free(struct places *places)
{
	if (!places)
		return;
	for (size_t i = 0; i < places->n; i++) {
		free_frames(&places->all[i]);
		free(places->all[i].text);
	}
	free(places->all);
	map_fini(&places->by_stack);
	free(places);
}

static unsigned int read_stack(const struct report *report, uint32_t stack,
			       struct symbol symbols[REPORT_FRAMES])
{
	struct report_line lines[REPORT_FRAMES];
	unsigned int n = report->symbols && stack ? report_stack(report, stack, lines) : 0;

	for (unsigned int i = 0; i < n; i++)
		symbols[i] = lines[i].symbol;
	return n;
}

/* The index of the function that called the verb. */
static unsigned int find_caller(const struct symbol *symbols, unsigned int n)
{
	unsigned int i = 0;

	while (i + 1 < n && symbol_is_of_verbs(&symbols[i]))
		i++;
	return i;
}

static void write_line(const struct symbol *symbol, char *text, size_t size)
{
	if (symbol->function && symbol->file)
		snprintf(text, size, "%s (%s:%d)", symbol->function, symbol->file, symbol->line);
	else
		symbol_text(symbol, text, size);
}

bool place_symbol(const struct report *report, uint32_t stack, struct symbol *ret_symbol)
{
	struct symbol symbols[REPORT_FRAMES];
	unsigned int n = read_stack(report, stack, symbols);

	if (n)
		*ret_symbol = symbols[find_caller(symbols, n)];
	return n;
}

const char *place_line(const struct report *report, uint32_t stack, char *text, size_t size)
{
	struct symbol symbol;

	text[0] = '\0';
	if (place_symbol(report, stack, &symbol))
		write_line(&symbol, text, size);
	return text;
}

static bool add_frame(struct place *place, const struct symbol *symbol)
{
	struct frame_text *frame = vec_push(place->frames, place->n);
	char line[LINE];

	if (!frame)
		return false;
	write_line(symbol, line, sizeof(line));
	frame->line = strdup(line);
	frame->name = strdup(symbol->function ? symbol->function : line);
	return frame->line && frame->name;
}

/* Copy the frames of a place. If out of memory, the place is not known. */
static void add_frames(struct place *place, const struct symbol *symbols, unsigned int n)
{
	for (unsigned int i = find_caller(symbols, n); i < n && !place->python; i++) {
		place->python = symbol_is_python(&symbols[i]);
		if (!place->python && !add_frame(place, &symbols[i])) {
			free_frames(place);
			return;
		}
	}
}

static uint64_t key_of(uint32_t list, uint32_t stack)
{
	return (uint64_t)list << 32 | stack;
}

static bool has_place(const struct places *places, uint32_t list, uint32_t stack)
{
	uint64_t index;

	return map_get(&places->by_stack, key_of(list, stack), &index);
}

void places_put(struct places *places, uint32_t list, uint32_t stack, const struct symbol *symbols,
		unsigned int n)
{
	struct place *place;

	if (!n || has_place(places, list, stack))
		return;
	place = vec_push(places->all, places->n);
	if (!place)
		return;
	if (map_put(&places->by_stack, key_of(list, stack), places->n) < 0) {
		places->n--;
		return;
	}
	place->list = list;
	place->stack = stack;
	add_frames(place, symbols, n);
	places->told = false;
}

void places_add(struct places *places, uint32_t list, uint32_t stack)
{
	struct symbol symbols[REPORT_FRAMES];

	if (places && stack && !has_place(places, list, stack))
		places_put(places, list, stack, symbols,
			   read_stack(&places->report, stack, symbols));
}

/* How many frames of both are the same, from the first on. */
static size_t count_common(const struct place *a, const struct place *b)
{
	size_t n = 0;

	while (n < a->n && n < b->n && !strcmp(a->frames[n].line, b->frames[n].line))
		n++;
	return n;
}

static bool is_same(const struct place *a, const struct place *b)
{
	return a->n == b->n && count_common(a, b) == a->n;
}

static int compare_stacks(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;
	size_t common;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	common = count_common(x, y);
	if (common < x->n && common < y->n)
		return strcmp(x->frames[common].line, y->frames[common].line);
	return x->n < y->n ? -1 : x->n > y->n;
}

static int compare_texts(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	return strcmp(x->text ? x->text : "", y->text ? y->text : "");
}

/* Show one frame more than @place has in common with @other. */
static void distinguish_places(struct place *place, const struct place *other)
{
	size_t wanted = count_common(place, other) + 1;

	if (place->list != other->list)
		return;
	wanted = wanted < place->n ? wanted : place->n;
	place->shown = wanted > place->shown ? wanted : place->shown;
}

static void count_shown(struct place **sorted, size_t n)
{
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && is_same(sorted[i], sorted[next]);)
			next++;
		for (size_t k = i; k < next; k++) {
			sorted[k]->shown = sorted[k]->n > 0;
			if (i)
				distinguish_places(sorted[k], sorted[i - 1]);
			if (next < n)
				distinguish_places(sorted[k], sorted[next]);
		}
	}
}

static void write_place(struct place *place, bool lines)
{
	struct text text = { 0 };

	for (size_t i = 0; i < place->shown; i++)
		text_addf(&text, "%s%s", i ? between : "",
			  lines || i + 1 == place->shown ? place->frames[i].line
							 : place->frames[i].name);
	if (place->python)
		text_addf(&text, "%sPython (its frames are not recorded)",
			  text.used ? between : "");
	free(place->text);
	place->text = text.failed ? NULL : text.at;
	if (text.failed)
		text_fini(&text);
}

/* Add lines to different places whose texts are equal. */
static void add_lines(struct place **sorted, size_t n)
{
	qsort(sorted, n, sizeof(struct place *), compare_texts);
	for (size_t i = 0, next; i < n; i = next) {
		bool differ = false;

		for (next = i + 1; next < n && !compare_texts(&sorted[i], &sorted[next]); next++)
			differ |= !is_same(sorted[i], sorted[next]);
		for (size_t k = i; k < next && differ; k++)
			write_place(sorted[k], true);
	}
}

static void write_places(struct places *places)
{
	struct place **sorted = calloc(places->n + 1, sizeof(struct place *));

	for (size_t i = 0; i < places->n && sorted; i++)
		sorted[i] = &places->all[i];
	if (sorted) {
		qsort(sorted, places->n, sizeof(struct place *), compare_stacks);
		count_shown(sorted, places->n);
		for (size_t i = 0; i < places->n; i++)
			write_place(sorted[i], false);
		add_lines(sorted, places->n);
	}
	free(sorted);
	places->told = true;
}

const char *places_text(struct places *places, uint32_t list, uint32_t stack)
{
	uint64_t index;

	if (!places || !map_get(&places->by_stack, key_of(list, stack), &index))
		return NULL;
	if (!places->told)
		write_places(places);
	return places->all[index - 1].text;
}

/* The last frames of @place that fit into @width bytes; at least the last one. */
static const char *find_last(const char *place, size_t width)
{
	const char *last = place, *at = place;

	while ((at = strstr(at, between))) {
		at += strlen(between);
		last = at;
		if (strlen(at) <= width)
			break;
	}
	return last;
}

const char *place_fit(const char *place, size_t width, char *text, size_t size)
{
	static const char left_out[] = " < ... < ";
	const char *end = strstr(place, between);
	size_t first = end ? (size_t)(end - place) : 0;
	const char *last;

	width = width < size ? width : size - 1;
	if (strlen(place) <= width || !end) {
		snprintf(text, width + 1, "%s", place);
		return text;
	}
	last = find_last(place,
			 width > first + strlen(left_out) ? width - first - strlen(left_out) : 0);
	if (first + strlen(left_out) + strlen(last) <= width)
		snprintf(text, size, "%.*s%s%s", (int)first, place, left_out, last);
	else
		snprintf(text, width + 1, "... < %s", last);
	return text;
}
