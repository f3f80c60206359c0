/*
 * A thread's statements as text
 *
 * A number that differs from turn to turn becomes an expression of the loops' variables, else an
 * element of a table. Events are named by an expression of that kind, or counted, where all that
 * a loop does are events one after the other.
 */
#include "cli/emit/listing.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/turns.h"
#include "core/base/vec.h"

enum { TABLE_WIDTH = 92, SKIPS_MOST = 2000 };

/* What is known while a loop is printed. */
struct frame {
	struct nest nest;
	bool counts;        /* its events are counted by n, */
	size_t last;        /* up to this statement */
	uint64_t advance;   /* by so much in this one, */
	unsigned int skips; /* and past what this table has; 0: none */
	char turn[24];      /* the variable that counts the turns of the statement; "": none yet */
};

static void add_indent(struct listing *l, const struct frame *frame)
{
	for (size_t i = 0; i <= frame->nest.depth; i++)
		text_char(&l->text, '\t');
}

static void add_table(struct listing *l, const int64_t *values, size_t n)
{
	size_t width = 8;

	text_addf(&l->before, "\tstatic const int64_t table%u[] = {\n\t\t", ++l->ntables);
	for (size_t i = 0; i < n; i++) {
		char number[32];
		int length = snprintf(number, sizeof(number), "%" PRId64 ",", values[i]);

		if (values[i] == INT64_MIN)
			length = snprintf(number, sizeof(number), "INT64_MIN,");
		if (width + (size_t)length + 1 > TABLE_WIDTH) {
			text_addf(&l->before, "\n\t\t");
			width = 16;
		} else if (i) {
			text_addf(&l->before, " ");
			width++;
		}
		text_addf(&l->before, "%s", number);
		width += (size_t)length;
	}
	text_addf(&l->before, "\n\t};\n");
}

/* The turn that an element is taken by: the loop's variable, or one that counts. */
static void name_turn(struct listing *l, struct frame *frame)
{
	if (*frame->turn)
		return;
	if (frame->nest.depth == 1) {
		strcpy(frame->turn, "i");
		return;
	}
	snprintf(frame->turn, sizeof(frame->turn), "turn%u", l->ntables + 1);
	text_addf(&l->before, "\tlong %s = 0;\n", frame->turn);
}

/* @letter as in statement.h. */
static int add_number(struct listing *l, struct frame *frame, struct text *text, char letter,
		      const int64_t *values, size_t n)
{
	struct turns turns;
	int err = turns_fit(&frame->nest, values, n, &turns);
	bool steps = false;

	if (err)
		return err;
	if (turns.how == TURNS_TABLE) {
		name_turn(l, frame);
		add_table(l, values, turns.period);
		text_addf(text, "%stable%u[%s",
			  letter == 'o'   ? " + "
			  : letter == 'x' ? "(uint64_t)"
					  : "",
			  l->ntables, frame->turn);
		text_addf(text, turns.period < n ? " %% %zu]" : "]", turns.period);
		return 0;
	}
	for (size_t d = 0; d < frame->nest.depth; d++)
		steps |= turns.step[d] != 0;
	if (letter == 'o' && turns.base)
		text_addf(text, turns.base < 0 ? " - %" PRIu64 : " + %" PRIu64,
			  (uint64_t)(turns.base < 0 ? -turns.base : turns.base));
	else if (letter == 'x' && turns.base)
		text_addf(text, "0x%" PRIx64, (uint64_t)turns.base);
	else if (letter != 'o' && (turns.base || !steps))
		text_addf(text, "%" PRId64, turns.base);
	turns_add_steps(&turns, &frame->nest, text, letter != 'o' && !turns.base);
	return 0;
}

/* Value @v of the statement in each of its turns; @v -1: the event's n. To be freed. */
static int64_t *collect_values(const struct listing *l, const struct node *node, int v)
{
	int64_t *values = calloc(node->nturns + 1, sizeof(*values));

	for (size_t i = 0; values && i < node->nturns; i++) {
		const struct statement *s = &l->script->at[node->turns[i]];

		values[i] = v < 0 ? (int64_t)s->n : l->script->values[s->first + (size_t)v];
	}
	return values;
}

static int add_value(struct listing *l, struct frame *frame, struct text *text, char letter,
		     const struct node *node, int v)
{
	int64_t *values = collect_values(l, node, v);
	int err = values ? add_number(l, frame, text, letter, values, node->nturns) : -ENOMEM;

	free(values);
	return err;
}

static void add_counted(const struct frame *frame, bool event, struct text *text)
{
	if (event && frame->skips)
		text_addf(text, "next(&n, %" PRIu64 ", table%u)", frame->advance, frame->skips);
	else
		text_addf(text, event && frame->advance == 1 ? "n++" : "n");
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = llabs(*(const int64_t *)a), y = llabs(*(const int64_t *)b);

	return x < y ? -1 : x > y;
}

static int add_event(struct listing *l, struct frame *frame, struct text *text,
		     const struct node *node)
{
	const struct statement *s = &l->script->at[node->turns[0]];
	int err = 0;

	if (!frame->nest.depth) {
		text_addf(text, "\"%s:%" PRIu64 "\"", l->thread, s->n);
		return 0;
	}
	l->has_loops = true;
	text_addf(text, "at(\"%s\", ", l->thread);
	if (frame->counts)
		add_counted(frame, s->event, text);
	else
		err = add_value(l, frame, text, 'd', node, -1);
	text_addf(text, ")");
	return err;
}

/* The event of the loop behind statement @i, whose last one is @last; 0: there is none. */
static uint64_t find_next(const struct listing *l, size_t i, size_t last)
{
	while (++i <= last)
		if (l->script->at[i].event)
			return l->script->at[i].counted;
	return 0;
}

/*
 * By how much the event's number grows at least from each turn of the statement to the next event
 * of the loop. False where two are one event, in some turns.
 */
static bool find_advance(const struct listing *l, const struct node *node, size_t last,
			 uint64_t *ret_advance)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < node->nturns; i++) {
		uint64_t next = find_next(l, node->turns[i], last);
		uint64_t advance = next - l->script->at[node->turns[i]].counted;

		if (!next)
			continue;
		least = advance < least ? advance : least;
		most = advance > most ? advance : most;
	}
	*ret_advance = least == UINT64_MAX ? 1 : least;
	return least || !most;
}

static int add_statement(struct listing *l, const struct frame *of, const struct node *node)
{
	const struct statement *s = &l->script->at[node->turns[0]];
	const char *at = l->texts->at[s->text - 1];
	struct frame frame = *of;
	int v = 0, err = 0;

	*frame.turn = '\0';
	if (frame.counts && s->event && !find_advance(l, node, frame.last, &frame.advance))
		return -EINVAL;
	add_indent(l, &frame);
	for (; !err && *at; at++) {
		if (*at == *SLOT) {
			at++;
			err = *at == 'n' ? add_event(l, &frame, &l->text, node)
					 : add_value(l, &frame, &l->text, *at, node, v++);
		} else if (*at == *OBJECT_KEPT) {
			uint32_t object = (uint32_t)strtoul(at + 1, (char **)&at, 10);

			l->kept(l->of, object, &l->text); /* at is on its ; */
		} else {
			text_char(&l->text, *at);
			if (*at == '\n')
				add_indent(l, &frame);
		}
	}
	text_char(&l->text, '\n');
	if (!err && *frame.turn && strcmp(frame.turn, "i")) {
		add_indent(l, &frame);
		text_addf(&l->text, "%s++;\n", frame.turn);
	}
	if (!err && frame.counts && s->event && (frame.advance == 1 || frame.skips) &&
	    !strstr(l->texts->at[s->text - 1], SLOT "n")) {
		add_indent(l, &frame);
		add_counted(&frame, true, &l->text);
		text_addf(&l->text, ";\n");
	} else if (!err && frame.counts && s->event && frame.advance > 1 && !frame.skips) {
		add_indent(l, &frame);
		text_addf(&l->text, "n += %" PRIu64 ";\n", frame.advance);
	}
	return err;
}

/* The first and the last statement that a loop does. */
static void find_ends(const struct node *node, size_t *first, size_t *last)
{
	for (size_t i = 0; i < node->nturns; i++) {
		*first = node->turns[i] < *first ? node->turns[i] : *first;
		*last = node->turns[i] > *last ? node->turns[i] : *last;
	}
	for (size_t i = 0; i < node->nparts; i++)
		find_ends(node->parts[i], first, last);
}

static int add_skip(int64_t **skips, size_t *nskips, int64_t n)
{
	int64_t *place = *nskips > SKIPS_MOST ? NULL : vec_push(*skips, *nskips);

	if (!place)
		return *nskips > SKIPS_MOST ? -E2BIG : -ENOMEM;
	*place = n;
	return 0;
}

/* What a turn of the statement has that n does not tell by growing by @advance. */
static int skip_turn(const struct listing *l, size_t turn, size_t last, uint64_t advance,
		     int64_t **skips, size_t *nskips)
{
	const struct statement *s = &l->script->at[turn];
	uint64_t next = find_next(l, turn, last);
	int err = s->n == s->counted + 1 ? add_skip(skips, nskips, -(int64_t)s->counted) : 0;

	for (uint64_t n = s->counted + advance; !err && n < next; n++)
		err = add_skip(skips, nskips, (int64_t)n);
	return err;
}

/* Numbers that are no events of the loop, and, negative, the first of two that changed places. */
static int find_skips(const struct listing *l, const struct node *node, size_t last,
		      int64_t **skips, size_t *nskips)
{
	uint64_t advance;
	int err = 0;

	for (size_t i = 0; !err && i < node->nparts; i++)
		err = find_skips(l, node->parts[i], last, skips, nskips);
	if (!node->nturns || !l->script->at[node->turns[0]].event ||
	    !find_advance(l, node, last, &advance))
		return err;
	for (size_t i = 0; !err && i < node->nturns; i++)
		err = skip_turn(l, node->turns[i], last, advance, skips, nskips);
	return err;
}

/* A table of them, ended by 0. */
static int add_skips(struct listing *l, struct frame *frame, const struct node *node)
{
	int64_t *skips = NULL;
	size_t n = 0;
	int err = find_skips(l, node, frame->last, &skips, &n);

	if (err == -E2BIG) {
		frame->counts = false;
		err = 0;
	} else if (!err && n) {
		qsort(skips, n, sizeof(*skips), compare_numbers);
		if (!vec_push(skips, n))
			err = -ENOMEM;
		else
			add_table(l, skips, n);
		frame->skips = l->ntables;
		l->has_skips = true;
	}
	free(skips);
	return err;
}

static bool can_count(const struct listing *l, const struct node *node, size_t last)
{
	const struct statement *s = node->nturns ? &l->script->at[node->turns[0]] : NULL;
	uint64_t advance;

	for (size_t i = 0; i < node->nparts; i++)
		if (!can_count(l, node->parts[i], last))
			return false;
	return !s || !s->event || find_advance(l, node, last, &advance);
}

/* Can each statement's event be told from the loops' variables alone? */
static int needs_count(const struct listing *l, const struct nest *nest, const struct node *node,
		       bool *ret_needs)
{
	struct nest inner = *nest;
	int64_t *values;
	struct turns turns;
	int err = 0;

	if (node->parts) {
		if (inner.depth < TURNS_DEEP)
			inner.loops[inner.depth++] = node;
		for (size_t i = 0; !err && i < node->nparts; i++)
			err = needs_count(l, &inner, node->parts[i], ret_needs);
		return err;
	}
	if (!strstr(l->texts->at[l->script->at[node->turns[0]].text - 1], SLOT "n"))
		return 0;
	values = collect_values(l, node, -1);
	err = values ? turns_fit(nest, values, node->nturns, &turns) : -ENOMEM;
	free(values);
	if (!err && turns.how != TURNS_LINEAR)
		*ret_needs = true;
	return err;
}

static int add_node(struct listing *l, struct frame *frame, const struct node *node);

static bool runs_once(const struct node *node)
{
	for (size_t i = 0; i < node->nrounds; i++)
		if (node->rounds[i] != 1)
			return false;
	return true;
}

static int add_rounds(struct listing *l, struct frame *frame, const struct node *node)
{
	int64_t *rounds = calloc(node->nrounds + 1, sizeof(*rounds));
	const char *variable = turns_variable(frame->nest.depth);
	int err = rounds ? 0 : -ENOMEM;

	*frame->turn = '\0';
	for (size_t i = 0; !err && i < node->nrounds; i++)
		rounds[i] = (int64_t)node->rounds[i];
	add_indent(l, frame);
	text_addf(&l->text, "for (long %s = 0; %s < ", variable, variable);
	if (!err)
		err = add_number(l, frame, &l->text, 'd', rounds, node->nrounds);
	text_addf(&l->text, "; %s++) {\n", variable);
	free(rounds);
	return err;
}

static int add_loop(struct listing *l, struct frame *frame, const struct node *node)
{
	struct frame inner = *frame;
	char turn[24];
	int err = add_rounds(l, &inner, node);

	if (err || inner.nest.depth == TURNS_DEEP)
		return err ? err : -E2BIG;
	memcpy(turn, inner.turn, sizeof(turn));
	inner.nest.loops[inner.nest.depth++] = node;
	for (size_t i = 0; !err && i < node->nparts; i++)
		err = add_node(l, &inner, node->parts[i]);
	add_indent(l, frame);
	text_addf(&l->text, "}\n");
	if (!err && *turn && strcmp(turn, "i")) {
		add_indent(l, frame);
		text_addf(&l->text, "%s++;\n", turn);
	}
	return err;
}

static int add_node(struct listing *l, struct frame *frame, const struct node *node)
{
	size_t first = SIZE_MAX, last = 0;
	struct frame outer = *frame;
	bool needs = false;
	int err = 0;

	if (!node->parts)
		return add_statement(l, frame, node);
	if (node->nparts == 1 && runs_once(node))
		return add_node(l, frame, node->parts[0]);
	if (frame->nest.depth)
		return add_loop(l, frame, node);
	find_ends(node, &first, &last);
	err = needs_count(l, &frame->nest, node, &needs);
	outer.counts = needs && can_count(l, node, last);
	outer.last = last;
	if (!err && outer.counts)
		err = add_skips(l, &outer, node);
	text_addf(&l->text, "\n\t/* %s:%" PRIu64 " to %s:%" PRIu64 " */\n", l->thread,
		  l->script->at[first].n, l->thread, l->script->at[last].n);
	if (outer.counts)
		text_addf(&l->text, "\tn = %" PRIu64 ";\n", l->script->at[first].counted);
	if (outer.counts && (!l->before.at || !strstr(l->before.at, "\tlong n;\n")))
		text_addf(&l->before, "\tlong n;\n");
	if (!err)
		err = add_loop(l, &outer, node);
	text_addf(&l->text, "\n");
	return err;
}

int listing_add(struct listing *l, const struct block *block)
{
	struct frame frame = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < block->n; i++)
		err = add_node(l, &frame, block->at[i]);
	return err ? err : l->text.failed || l->before.failed ? -ENOMEM : 0;
}
