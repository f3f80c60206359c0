/*
 * A thread's statements as text
 *
 * A number that differs from turn to turn becomes an expression of the loops' variables, else an
 * element of a table. Events are named by an expression of that kind; where that is not possible
 * for each event of a loop, all are counted: each is mostly so much after the one before, and a
 * table has the runs of those that are not.
 */
#include "cli/emit/listing.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/turns.h"
#include "core/base/vec.h"

enum { TABLE_WIDTH = 92, TABLE_HEAD = 16, TABLE_NAME = 44 };

/* What is known while a loop is printed. */
struct frame {
	struct nest nest;
	bool counts;   /* its events are counted */
	char turn[24]; /* the variable that counts the turns of the statement; "": none yet */
};

static void add_indent(struct listing *l, const struct frame *frame)
{
	for (size_t i = 0; i <= frame->nest.depth; i++)
		text_char(&l->text, '\t');
}

/* The body of a table, in one line where it has room. */
struct table {
	struct text text;
	size_t columns;
	bool broken;
};

static void add_element(struct table *t, const char *element)
{
	size_t length = strlen(element) + 1;

	if (t->text.used &&
	    (t->broken ? TABLE_HEAD : TABLE_NAME) + t->columns + length > TABLE_WIDTH) {
		text_addf(&t->text, "\n\t\t%s", element);
		t->columns = 0;
		t->broken = true;
	} else {
		text_addf(&t->text, t->text.used ? " %s" : "%s", element);
	}
	t->columns += length;
}

/* The number of that table, of which there may be one. */
static unsigned int finish_table(struct listing *l, struct table *t, const char *type,
				 const char *name)
{
	struct text body = { 0 };
	const char *same;
	unsigned int number;

	if (t->text.used)
		text_cut(&t->text, t->text.used - 1); /* the last comma */
	text_addf(&body, t->broken ? "[] = {\n\t\t%s\n\t};\n" : "[] = { %s };\n",
		  t->text.at ? t->text.at : "");
	same = l->before.at && body.at ? strstr(l->before.at, body.at) : NULL;
	while (same && same > l->before.at && same[-1] >= '0' && same[-1] <= '9')
		same--;
	number = same ? (unsigned int)strtoul(same, NULL, 10) : ++l->ntables;
	if (!same)
		text_addf(&l->before, "\tstatic const %s %s%u%s", type, name, number,
			  body.at ? body.at : "");
	l->before.failed |= body.failed || t->text.failed;
	text_fini(&body);
	text_fini(&t->text);
	return number;
}

/* Its number. */
static unsigned int add_table(struct listing *l, const int64_t *values, size_t n)
{
	struct table table = { 0 };

	for (size_t i = 0; i < n; i++) {
		char element[32];

		if (values[i] == INT64_MIN)
			snprintf(element, sizeof(element), "INT64_MIN,");
		else
			snprintf(element, sizeof(element), "%" PRId64 ",", values[i]);
		add_element(&table, element);
	}
	return finish_table(l, &table, "int64_t", "table");
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
	snprintf(frame->turn, sizeof(frame->turn), "turn%u", ++l->nturns);
}

/* @letter as in statement.h. */
static int add_number(struct listing *l, struct frame *frame, struct text *text, char letter,
		      const int64_t *values, size_t n)
{
	struct turns turns;
	int err = turns_fit(&frame->nest, values, n, &turns);
	unsigned int table;
	bool steps = false;

	if (err)
		return err;
	if (turns.how == TURNS_TABLE) {
		name_turn(l, frame);
		table = add_table(l, values, turns.period);
		text_addf(text, "%stable%u[%s",
			  letter == 'o'   ? " + "
			  : letter == 'x' ? "(uint64_t)"
					  : "",
			  table, frame->turn);
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

static bool is_named(const struct listing *l, const struct statement *s)
{
	return strstr(l->texts->at[s->text - 1], SLOT "n");
}

/* The step to the event that statement @i waits before. */
static int64_t find_coming(const struct listing *l, size_t i)
{
	while (i + 1 < l->script->n && !l->script->at[i].event)
		i++;
	return is_named(l, &l->script->at[i]) ? l->steps[l->script->at[i].text] : 0;
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
	if (frame->counts) {
		if (s->event)
			text_addf(text, "next(&n, %" PRId64 ")", l->steps[s->text]);
		else
			text_addf(text, "coming(n, %" PRId64 ")", find_coming(l, node->turns[0]));
		l->has_waits |= !s->event;
		return 0;
	}
	l->has_loops = true;
	text_addf(text, "at(\"%s\", ", l->thread);
	err = add_value(l, frame, text, 'd', node, -1);
	text_addf(text, ")");
	return err;
}

static int add_kept_element(struct listing *l, struct frame *frame, const struct node *node,
			    uint32_t object, int v)
{
	struct text index = { 0 }, lines = { 0 };
	int err;

	text_addf(&index, "[");
	err = add_value(l, frame, &index, 'd', node, v);
	text_addf(&index, "]");
	if (!err)
		l->kept(l->of, object, index.at, &lines);
	for (const char *at = lines.at; at && *at; at++) {
		text_char(&l->text, *at);
		for (size_t i = 1; *at == '\n' && i <= frame->nest.depth; i++)
			text_char(&l->text, '\t');
	}
	text_fini(&index);
	text_fini(&lines);
	return err;
}

static int add_statement(struct listing *l, const struct frame *of, const struct node *node)
{
	const struct statement *s = &l->script->at[node->turns[0]];
	const char *at = l->texts->at[s->text - 1];
	struct frame frame = *of;
	int v = 0, err = 0;

	*frame.turn = '\0';
	add_indent(l, &frame);
	for (; !err && *at; at++) {
		if (*at == *SLOT) {
			at++;
			err = *at == 'n' ? add_event(l, &frame, &l->text, node)
					 : add_value(l, &frame, &l->text, *at, node, v++);
		} else if (*at == *OBJECT_KEPT) {
			uint32_t object = (uint32_t)strtoul(at + 1, (char **)&at, 10);

			if (!strncmp(at + 1, SLOT "d", 2)) { /* at is on its ; */
				at += 2;
				err = add_kept_element(l, &frame, node, object, v++);
			} else {
				l->kept(l->of, object, "", &l->text);
			}
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

/* The named events of a loop, one after the other: how far each is from the one before. */
static bool find_step(const struct listing *l, size_t i, uint64_t *before, int64_t *ret_step)
{
	const struct statement *s = &l->script->at[i];

	if (!s->event || !is_named(l, s))
		return false;
	*ret_step = (int64_t)(s->n - *before);
	*before = s->n;
	return true;
}

/* What the step to each statement mostly is, by text (Boyer and Moore's vote). */
static int vote_steps(struct listing *l, size_t first, size_t last)
{
	size_t texts = l->texts->n + 1;
	uint64_t before = l->script->at[first].n, *votes = calloc(texts, sizeof(*votes));
	int64_t step;

	free(l->steps);
	l->steps = calloc(texts, sizeof(*l->steps));
	if (!votes || !l->steps) {
		free(votes);
		return -ENOMEM;
	}
	for (size_t i = first; i <= last; i++) {
		uint32_t text = l->script->at[i].text;

		if (!find_step(l, i, &before, &step))
			continue;
		if (!votes[text])
			l->steps[text] = step;
		votes[text] += l->steps[text] == step ? 1 : -1ull;
	}
	free(votes);
	return 0;
}

static void add_run(struct table *table, uint64_t times, int64_t more)
{
	char element[64];

	snprintf(element, sizeof(element), "{ %" PRIu64 ", %" PRId64 " },", times, more);
	add_element(table, element);
}

/*
 * The number of a table of how far the events are from where these steps lead, or 0 where none is;
 * behind *@ret_n, which the first of them steps on from.
 */
static unsigned int add_runs(struct listing *l, size_t first, size_t last, uint64_t *ret_n)
{
	uint64_t before, times = 0;
	int64_t step, more = 0;
	struct table table = { 0 };

	while (first < last && !(l->script->at[first].event && is_named(l, &l->script->at[first])))
		first++;
	before = *ret_n = l->script->at[first].n - (uint64_t)l->steps[l->script->at[first].text];
	for (size_t i = first; i <= last; i++) {
		if (!find_step(l, i, &before, &step))
			continue;
		step -= l->steps[l->script->at[i].text];
		if (step != more && times) {
			add_run(&table, times, more);
			times = 0;
		}
		more = step;
		times++;
	}
	if (!table.text.used && !more)
		return 0;
	add_run(&table, times, more);
	return finish_table(l, &table, "struct run", "runs");
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
	if (!is_named(l, &l->script->at[node->turns[0]]))
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

/* Count the events of a loop, from statement @first to @last. */
static int begin_count(struct listing *l, size_t first, size_t last)
{
	int err = vote_steps(l, first, last);
	unsigned int runs;
	uint64_t n;

	if (err)
		return err;
	runs = add_runs(l, first, last, &n);
	l->has_steps = true;
	text_addf(&l->text, "\tn = (struct numbers){ \"%s\", %" PRIu64, l->thread, n);
	text_addf(&l->text, runs ? ", runs%u, 0 };\n" : ", NULL, 0 };\n", runs);
	return 0;
}

static bool ends_with_empty_line(const struct text *text)
{
	return text->used > 1 && !memcmp(text->at + text->used - 2, "\n\n", 2);
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
	outer.counts = needs;
	if (!ends_with_empty_line(&l->text))
		text_char(&l->text, '\n');
	text_addf(&l->text, "\t/* %s:%" PRIu64 " to %s:%" PRIu64 " */\n", l->thread,
		  l->script->at[first].n, l->thread, l->script->at[last].n);
	if (!err && needs)
		err = begin_count(l, first, last);
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
	free(l->steps);
	l->steps = NULL;
	return err ? err : l->text.failed || l->before.failed ? -ENOMEM : 0;
}
