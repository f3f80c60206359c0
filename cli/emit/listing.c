/*
 * A thread's statements as text
 *
 * A number that differs between iterations becomes an expression of the loop variables, else an
 * element of a table. The n of an event T:n becomes such an expression, too. If that is not
 * possible for all events of a loop, the program counts them: most are a fixed step after the one
 * before, and a table has the other distances, as runs.
 */
#include "cli/emit/listing.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/emit/loop_expr.h"
#include "core/wire/hash.h"

enum { TABLE_WIDTH = 92, TABLE_HEAD = 16, TABLE_NAME = 44 };

/* State while a loop is printed. */
struct loop_frame {
	struct nest nest;
	bool counts;   /* events of the loop are counted */
	char turn[24]; /* the variable that counts the statement's iterations; "": none yet */
};

static void add_indent(struct listing *l, const struct loop_frame *frame)
{
	for (size_t i = 0; i <= frame->nest.depth; i++)
		text_char(&l->text, '\t');
}

/* The body of a table, in one line if it fits. */
struct value_table {
	struct text text;
	size_t columns;
	bool broken;
};

static void add_element(struct value_table *t, const char *element)
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

enum { NUMBER_BITS = 24 }; /* listing.written: a table's number; above these bits, its position */

/* The number of the table with @body; 0: none, so a new table must be written. */
static unsigned int find_table(const struct listing *l, const struct text *body, uint64_t *hash)
{
	uint64_t found;

	for (*hash = hash_of(body->at, body->used, 0); map_get(&l->written, *hash, &found); ++*hash)
		if (!strncmp(l->before.at + (found >> NUMBER_BITS), body->at, body->used))
			return found & ((1u << NUMBER_BITS) - 1);
	return 0;
}

/* The number of the finished table; equal tables are shared. */
static unsigned int finish_table(struct listing *l, struct value_table *t, const char *type,
				 const char *name)
{
	struct text body = { 0 };
	unsigned int number = 0;
	uint64_t hash = 0;

	if (t->text.used)
		text_cut(&t->text, t->text.used - 1); /* the last comma */
	text_addf(&body, t->broken ? "[] = {\n\t\t%s\n\t};\n" : "[] = { %s };\n",
		  t->text.at ? t->text.at : "");
	l->before.failed |= body.failed || t->text.failed;
	if (!l->before.failed)
		number = find_table(l, &body, &hash);
	if (!number && !l->before.failed) {
		number = ++l->ntables;
		text_addf(&l->before, "\tstatic const %s %s%u", type, name, number);
		if (map_put(&l->written, hash, (uint64_t)l->before.used << NUMBER_BITS | number))
			l->before.failed = true;
		text_add(&l->before, body.at, body.used);
	}
	text_fini(&body);
	text_fini(&t->text);
	return number;
}

/* The number of the new table. */
static unsigned int add_table(struct listing *l, const int64_t *values, size_t n)
{
	struct value_table table = { 0 };

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

/*
 * Name the index of a table's element: the loop's variable, or a variable that counts the
 * iterations.
 */
static void name_index(struct listing *l, struct loop_frame *frame)
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
static int add_number(struct listing *l, struct loop_frame *frame, struct text *text, char letter,
		      const struct numbers *values, size_t n)
{
	struct loop_expr expr;
	int64_t *elements;
	int err = loop_expr_fit(&frame->nest, values, n, &expr, &elements);
	unsigned int table;
	bool steps = false;

	if (err)
		return err;
	if (expr.how == LOOP_EXPR_TABLE) {
		name_index(l, frame);
		table = add_table(l, elements, expr.period);
		free(elements);
		text_addf(text, "%stable%u[%s",
			  letter == 'o'   ? " + "
			  : letter == 'x' ? "(uint64_t)"
					  : "",
			  table, frame->turn);
		text_addf(text, expr.period < n ? " %% %zu]" : "]", expr.period);
		return 0;
	}
	for (size_t d = 0; d < frame->nest.depth; d++)
		steps |= expr.step[d] != 0;
	if (letter == 'o' && expr.base)
		text_addf(text, expr.base < 0 ? " - %" PRIu64 : " + %" PRIu64,
			  (uint64_t)(expr.base < 0 ? -expr.base : expr.base));
	else if (letter == 'x' && expr.base)
		text_addf(text, "0x%" PRIx64, (uint64_t)expr.base);
	else if (letter != 'o' && (expr.base || !steps))
		text_addf(text, "%" PRId64, expr.base);
	loop_expr_add_steps(&expr, &frame->nest, text, letter != 'o' && !expr.base);
	return 0;
}

/* Value @v of the statement, from 1; 0: the event's n. */
static int add_value(struct listing *l, struct loop_frame *frame, struct text *text, char letter,
		     const struct node *node, uint32_t v)
{
	return add_number(l, frame, text, letter, &node->values[v], node->nturns);
}

static int add_event(struct listing *l, struct loop_frame *frame, struct text *text,
		     const struct node *node)
{
	int err;

	if (!frame->nest.depth) {
		text_addf(text, "\"%s:%" PRIu64 "\"", l->thread,
			  skips_add_back(l->skips, (uint64_t)numbers_first(&node->values[0])));
		return 0;
	}
	if (frame->counts) {
		if (!node->coming)
			text_addf(text, "next(&n, %" PRId64 ")", l->steps[node->text]);
		else
			text_addf(text, "coming(n, %" PRId64 ")",
				  l->named[node->coming] ? l->steps[node->coming] : 0);
		l->has_waits |= node->coming;
		return 0;
	}
	l->has_loops = true;
	text_addf(text, "at(\"%s\", ", l->thread);
	err = add_value(l, frame, text, 'd', node, 0);
	text_addf(text, ")");
	return err;
}

static int add_kept_element(struct listing *l, struct loop_frame *frame, const struct node *node,
			    uint32_t object, uint32_t v)
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

/* The number of slots with values in @length bytes of a statement. */
static uint32_t count_values(const char *at, size_t length)
{
	uint32_t n = 0;

	for (size_t i = 0; i < length; i++)
		n += at[i] == *SLOT && at[i + 1] != 'n';
	return n;
}

static bool is_constant(const struct numbers *values)
{
	return numbers_is_run(values) && (values->last.count == 1 || !values->last.step);
}

/*
 * Write the request or completion at @at of a statement as C, if its numbers are the same in all
 * iterations; else *@ret_source is empty. @v: the index of its first value.
 */
static int render_literal(struct listing *l, const struct node *node, const char *at, size_t length,
			  uint32_t v, struct text *ret_source)
{
	struct loop_frame frame = { 0 };
	int err = 0;

	for (uint32_t i = v; i < v + count_values(at, length); i++)
		if (!is_constant(&node->values[i]))
			return 0;
	if (memchr(at, *OBJECT_KEPT, length))
		return 0;
	for (size_t i = 0; !err && i < length; i++)
		if (at[i] == *SLOT)
			err = add_value(l, &frame, ret_source, at[++i], node, v++);
		else
			text_char(ret_source, at[i]);
	return ret_source->failed ? -ENOMEM : err;
}

/* Count the requests and completions below @node. */
static int count_literals(struct listing *l, const struct node *node)
{
	const char *text = node->parts ? "" : l->texts->at[node->text - 1];
	struct text source = { 0 };
	size_t length;
	const char *at = repeated_find(text, &length);
	int err = 0;

	for (size_t i = 0; !err && i < node->nparts; i++)
		err = count_literals(l, node->parts[i]);
	if (at)
		err = render_literal(l, node, at, length,
				     1 + count_values(text, (size_t)(at - text)), &source);
	if (!err && source.used)
		err = repeated_count(l->repeated, source.at);
	text_fini(&source);
	return err;
}

/*
 * If the request or completion at @at has a name, add that in its place. @ret_length: bytes of the
 * statement that the name replaces; 0: there is no name.
 */
static int add_repeated(struct listing *l, const struct node *node, const char *at, uint32_t v,
			size_t *ret_length)
{
	struct text source = { 0 };
	size_t length;
	int err = 0;

	*ret_length = 0;
	if (!l->repeated || repeated_find(at, &length) != at)
		return 0;
	err = render_literal(l, node, at, length, v, &source);
	if (!err && source.used && repeated_add(l->repeated, source.at, &l->text))
		*ret_length = length;
	text_fini(&source);
	return err;
}

static int add_statement(struct listing *l, const struct loop_frame *of, const struct node *node)
{
	const char *at = l->texts->at[node->text - 1];
	struct loop_frame frame = *of;
	uint32_t v = 1;
	int err = 0;

	*frame.turn = '\0';
	add_indent(l, &frame);
	for (; !err && *at; at++) {
		size_t length = 0;

		if (*at == '&')
			err = add_repeated(l, node, at, v, &length);
		if (length) {
			v += count_values(at, length);
			at += length - 1;
		} else if (*at == *SLOT) {
			at++;
			err = *at == 'n' ? add_event(l, &frame, &l->text, node)
					 : add_value(l, &frame, &l->text, *at, node, v++);
		} else if (*at == *OBJECT_KEPT) {
			uint32_t object = (uint32_t)strtoul(at + 1, (char **)&at, 10);

			if (!strncmp(at + 1, SLOT "d", 2)) { /* at points to its ; */
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

/* A traversal of the events of a loop. */
struct tour {
	struct listing *l;
	bool began;
	uint64_t first, before; /* n of the first event, and of the last one named so far */
	uint64_t last;          /* n of the last */
	uint64_t *votes;        /* by text */
	uint64_t times;         /* number of consecutive events */
	int64_t more; /* difference between the n of these events and the n that the steps give */
	struct value_table table; /* the table of these runs */
};

static bool is_named_event(const struct listing *l, const struct node *node)
{
	return !node->coming && l->named[node->text];
}

static void note_ends(void *arg, const struct node *node, uint64_t n)
{
	struct tour *tour = arg;

	(void)node;
	if (!tour->began)
		tour->first = n;
	tour->began = true;
	tour->last = n;
}

/* Find the most frequent step to each statement, by text (Boyer and Moore's vote). */
static void count_step_vote(void *arg, const struct node *node, uint64_t n)
{
	struct tour *tour = arg;
	int64_t *step = &tour->l->steps[node->text];

	if (!is_named_event(tour->l, node))
		return;
	if (!tour->votes[node->text])
		*step = (int64_t)(n - tour->before);
	tour->votes[node->text] += *step == (int64_t)(n - tour->before) ? 1 : -1ull;
	tour->before = n;
}

static int count_step_votes(struct listing *l, struct node *node)
{
	size_t texts = l->texts->n + 1;
	struct tour tour = { .l = l, .votes = calloc(texts, sizeof(*tour.votes)) };

	free(l->steps);
	l->steps = calloc(texts, sizeof(*l->steps));
	if (!tour.votes || !l->steps) {
		free(tour.votes);
		return -ENOMEM;
	}
	tour.before = (uint64_t)numbers_first(&loops_first(node)->values[0]);
	loops_visit(node, count_step_vote, &tour);
	free(tour.votes);
	return 0;
}

static void add_run(struct value_table *table, uint64_t times, int64_t more)
{
	char element[64];

	snprintf(element, sizeof(element), "{ %" PRIu64 ", %" PRId64 " },", times, more);
	add_element(table, element);
}

static void add_step(void *arg, const struct node *node, uint64_t n)
{
	struct tour *tour = arg;
	int64_t more;

	if (!is_named_event(tour->l, node))
		return;
	if (!tour->began)
		tour->first = tour->before = n - (uint64_t)tour->l->steps[node->text];
	tour->began = true;
	more = (int64_t)(n - tour->before) - tour->l->steps[node->text];
	tour->before = n;
	if (more != tour->more && tour->times) {
		add_run(&tour->table, tour->times, tour->more);
		tour->times = 0;
	}
	tour->more = more;
	tour->times++;
}

/*
 * Add a table of the distances between the events' n and the n that the steps give. Its number, or
 * 0 if all distances are 0; *@ret_n: its length.
 */
static unsigned int add_runs(struct listing *l, struct node *node, uint64_t *ret_n)
{
	struct tour tour = { .l = l };

	loops_visit(node, add_step, &tour);
	*ret_n = tour.first;
	if (!tour.table.text.used && !tour.more)
		return 0;
	add_run(&tour.table, tour.times, tour.more);
	return finish_table(l, &tour.table, "struct run", "runs");
}

/* Is there a statement whose event cannot be computed from the loops' variables alone? */
static bool needs_count(const struct listing *l, const struct nest *nest, const struct node *node)
{
	struct nest inner = *nest;

	if (!node->parts)
		return l->named[node->text] &&
		       !loop_expr_is_linear(nest, &node->values[0], node->nturns);
	if (inner.depth < LOOP_EXPR_DEEP)
		inner.loops[inner.depth++] = node;
	for (size_t i = 0; i < node->nparts; i++)
		if (needs_count(l, &inner, node->parts[i]))
			return true;
	return false;
}

static int add_node(struct listing *l, struct loop_frame *frame, struct node *node);

static bool runs_once(const struct node *node)
{
	return numbers_is_run(&node->rounds) && node->rounds.last.value == 1 &&
	       !node->rounds.last.step;
}

static int add_rounds(struct listing *l, struct loop_frame *frame, const struct node *node)
{
	const char *variable = loop_expr_variable(frame->nest.depth);
	int err;

	*frame->turn = '\0';
	add_indent(l, frame);
	text_addf(&l->text, "for (long %s = 0; %s < ", variable, variable);
	err = add_number(l, frame, &l->text, 'd', &node->rounds, node->nrounds);
	text_addf(&l->text, "; %s++) {\n", variable);
	return err;
}

/* Is the text from @from on one statement? */
static bool is_one_statement(const struct text *text, size_t from)
{
	const char *end = text->failed ? NULL : strstr(text->at + from, ";\n");

	return end && end + 2 == text->at + text->used;
}

/* Remove the brace before the body at @body. */
static void remove_brace(struct text *text, size_t body)
{
	memmove(text->at + body - 3, text->at + body - 1, text->used - body + 1);
	text_cut(text, text->used - 2);
}

static int add_loop(struct listing *l, struct loop_frame *frame, struct node *node)
{
	struct loop_frame inner = *frame;
	char turn[24];
	size_t body;
	int err = add_rounds(l, &inner, node);

	if (err || inner.nest.depth == LOOP_EXPR_DEEP)
		return err ? err : -E2BIG;
	memcpy(turn, inner.turn, sizeof(turn));
	inner.nest.loops[inner.nest.depth++] = node;
	body = l->text.used;
	for (size_t i = 0; !err && i < node->nparts; i++)
		err = add_node(l, &inner, node->parts[i]);
	if (node->nparts == 1 && !node->parts[0]->parts && is_one_statement(&l->text, body)) {
		remove_brace(&l->text, body);
	} else {
		add_indent(l, frame);
		text_addf(&l->text, "}\n");
	}
	if (!err && *turn && strcmp(turn, "i")) {
		add_indent(l, frame);
		text_addf(&l->text, "%s++;\n", turn);
	}
	return err;
}

/* Count the events of a loop. */
static int begin_count(struct listing *l, struct node *node)
{
	int err = count_step_votes(l, node);
	unsigned int runs;
	uint64_t n;

	if (err)
		return err;
	runs = add_runs(l, node, &n);
	l->has_steps = true;
	text_addf(&l->text, "\tn = (struct numbers){ \"%s\", %" PRIu64, l->thread, n);
	text_addf(&l->text, runs ? ", runs%u, 0 };\n" : ", NULL, 0 };\n", runs);
	return 0;
}

static bool ends_with_empty_line(const struct text *text)
{
	return text->used > 1 && !memcmp(text->at + text->used - 2, "\n\n", 2);
}

/* A loop of one statement that names its events needs no comment. */
static bool is_short_loop(const struct listing *l, const struct node *node)
{
	return node->nparts == 1 && !node->parts[0]->parts && l->named[node->parts[0]->text];
}

static int add_node(struct listing *l, struct loop_frame *frame, struct node *node)
{
	struct tour ends = { 0 };
	struct loop_frame outer = *frame;
	int err = 0;

	if (!node->parts)
		return add_statement(l, frame, node);
	if (node->nparts == 1 && runs_once(node))
		return add_node(l, frame, node->parts[0]);
	if (frame->nest.depth)
		return add_loop(l, frame, node);
	loops_visit(node, note_ends, &ends);
	outer.counts = needs_count(l, &frame->nest, node);
	if (is_short_loop(l, node) && !outer.counts)
		return add_loop(l, &outer, node);
	if (!ends_with_empty_line(&l->text))
		text_char(&l->text, '\n');
	text_addf(&l->text, "\t/* %s:%" PRIu64 " to %s:%" PRIu64 " */\n", l->thread,
		  skips_add_back(l->skips, ends.first), l->thread,
		  skips_add_back(l->skips, ends.last));
	if (outer.counts)
		err = begin_count(l, node);
	if (!err)
		err = add_loop(l, &outer, node);
	text_addf(&l->text, "\n");
	return err;
}

int listing_add(struct listing *l, const struct block *block)
{
	struct loop_frame frame = { 0 };
	int err = 0;

	l->named = calloc(l->texts->n + 1, sizeof(*l->named));
	if (!l->named)
		return -ENOMEM;
	for (size_t i = 0; i < l->texts->n; i++)
		l->named[i + 1] = strstr(l->texts->at[i], SLOT "n");
	for (size_t i = 0; l->repeated && !err && i < block->n; i++)
		err = count_literals(l, block->at[i]);
	for (size_t i = 0; !err && i < block->n; i++)
		err = add_node(l, &frame, block->at[i]);
	free(l->named);
	free(l->steps);
	map_fini(&l->written);
	l->named = NULL;
	l->steps = NULL;
	return err ? err : l->text.failed || l->before.failed ? -ENOMEM : 0;
}
