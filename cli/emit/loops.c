/*
 * Loops
 *
 * The end of the statements is searched for loops each time that a statement is added:
 *
 * 	A A            a repeated statement is a round of a loop of one
 * 	(A B)*7 A B    all parts of the loop before are one more round of it, or of the loop that is
 * 	               the last part of its last round, and so on
 * 	A B A B A B    a stretch that comes three times in a row becomes a loop
 *
 * so memory is about the size of the program's text. After the last statement, sequences that occur
 * three times in a row become loops, short ones before long ones, and then those that occur twice:
 *
 * 	A A A B A A B A B     the statements
 * 	A*3 B A*2 B A B       loops of one
 * 	(A*[3,2,1] B)*3       a loop of two; how often A comes depends on the round
 *
 * A statement and a loop of only that statement have the same shape, so a round may contain the
 * statement once.
 */
#include "cli/emit/loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"

enum { LOOP_PARTS = 96 }; /* longer sequences are not searched for */

static void free_node(struct node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->nparts; i++)
		free_node(node->parts[i]);
	for (size_t i = 0; !node->parts && i <= node->nvalues; i++)
		numbers_fini(&node->values[i]);
	numbers_fini(&node->rounds);
	free(node->parts);
	free(node);
}

void loops_fini(struct block *block)
{
	for (size_t i = 0; i < block->n; i++)
		free_node(block->at[i]);
	free(block->at);
	memset(block, 0, sizeof(*block));
}

/* A loop without parts, with space for @nparts. */
static struct node *new_loop(uint64_t shape, size_t nparts)
{
	struct node *loop = calloc(1, sizeof(*loop));
	struct node **parts = calloc(nparts, sizeof(struct node *));

	if (!loop || !parts) {
		free(loop);
		free(parts);
		return NULL;
	}
	loop->shape = shape;
	loop->parts = parts;
	loop->depth = 1;
	return loop;
}

/* Turn a statement into a loop of it that runs once in each iteration. */
static int wrap_in_loop(struct node **node)
{
	struct node *statement = *node, *loop = new_loop(statement->shape, 1);

	if (!loop)
		return -ENOMEM;
	loop->parts[loop->nparts++] = statement;
	loop->nrounds = statement->nturns;
	loop->open = 1;
	*node = loop;
	return numbers_push_run(&loop->rounds, (struct run){ 1, 0, statement->nturns - 1 });
}

/* Append the iterations of @later, which is consumed, to those of @node, of the same shape. */
static int merge_iterations(struct node **node, struct node *later)
{
	int err = 0;

	if (!(*node)->parts && later->parts)
		err = wrap_in_loop(node);
	if (!err && (*node)->parts && !later->parts)
		err = wrap_in_loop(&later);
	if (!err && !(*node)->parts) {
		for (size_t i = 0; !err && i <= (*node)->nvalues; i++)
			err = numbers_append(&(*node)->values[i], &later->values[i]);
		(*node)->nturns += later->nturns;
	} else if (!err) {
		err = numbers_push(&(*node)->rounds, (int64_t)(*node)->open);
		if (!err)
			err = numbers_append(&(*node)->rounds, &later->rounds);
		(*node)->open = later->open;
		(*node)->nrounds += later->nrounds;
		for (size_t i = 0; !err && i < later->nparts; i++) {
			err = merge_iterations(&(*node)->parts[i], later->parts[i]);
			later->parts[i] = NULL;
		}
	}
	free_node(later);
	return err;
}

/*
 * @later, which is consumed, follows @node and has the same shape: make one loop of both.
 */
static int merge_rounds(struct node **node, struct node *later)
{
	int err = (*node)->parts ? 0 : wrap_in_loop(node);

	if (!err && !later->parts)
		err = wrap_in_loop(&later);
	if (!err)
		(*node)->open += later->open;
	for (size_t i = 0; !err && i < later->nparts; i++) {
		err = merge_iterations(&(*node)->parts[i], later->parts[i]);
		later->parts[i] = NULL;
	}
	free_node(later);
	return err;
}

static bool same_shapes(struct node *const *a, struct node *const *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i]->shape != b[i]->shape)
			return false;
	return true;
}

/* The last @n nodes are one more round of @loop, which takes them. */
static int add_round(struct node *loop, struct node *const *nodes, size_t n)
{
	int err = 0;

	loop->open++;
	for (size_t i = 0; i < n; i++) {
		if (err)
			free_node(nodes[i]);
		else
			err = merge_iterations(&loop->parts[i], nodes[i]);
	}
	return err;
}

/*
 * The innermost loop at the end of *@node that has the @n following nodes as a round, or the node
 * of which the next one is an iteration; or NULL.
 */
static struct node **find_absorbing_loop(struct node **node, struct node *const *nodes, size_t n)
{
	struct node **taker = NULL;

	for (;;) {
		struct node *of = *node;

		if (n == 1 && of->shape == nodes[0]->shape)
			return node;
		if (of->parts && of->nparts == n && same_shapes(of->parts, nodes, n))
			taker = node;
		if (!of->parts)
			return taker;
		node = &of->parts[of->nparts - 1];
	}
}

/* Add the last @n nodes to the loop before them if they are its next round. 1: done; 0; -ENOMEM. */
static int absorb_tail(struct block *block, size_t n)
{
	struct node **tail = block->at + block->n - n,
		    **taker = find_absorbing_loop(tail - 1, tail, n);
	int err;

	if (!taker)
		return 0;
	block->n -= n;
	err = n == 1 && (*taker)->shape == tail[0]->shape ? merge_rounds(taker, tail[0])
							  : add_round(*taker, tail, n);
	return err ? err : 1;
}

/* Make a loop of @rounds times the @length nodes at @nodes, which it takes. */
static int make_loop(struct node **nodes, size_t length, size_t rounds, struct node **ret_loop)
{
	struct node *loop = new_loop(length, length);
	int err = loop ? 0 : -ENOMEM;

	for (size_t i = length; i < length * rounds; i++) {
		if (err)
			free_node(nodes[i]);
		else
			err = merge_iterations(&nodes[i % length], nodes[i]);
	}
	for (size_t i = 0; i < length; i++) {
		if (!loop) {
			free_node(nodes[i]);
			continue;
		}
		loop->shape = map_hash(loop->shape ^ map_hash(nodes[i]->shape + i));
		loop->parts[loop->nparts++] = nodes[i];
		if (loop->depth <= nodes[i]->depth)
			loop->depth = nodes[i]->depth + 1;
	}
	if (loop) {
		loop->open = rounds;
		loop->nrounds = 1;
	}
	*ret_loop = loop;
	return err;
}

static bool has_deep_loop(struct node *const *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->depth >= LOOPS_DEEP)
			return true;
	return false;
}

/* Do the last @length nodes occur three times in a row? */
static bool is_repeated_three_times(const struct block *block, size_t length)
{
	struct node *const *end = block->at + block->n;

	return length >= 2 && 3 * length <= block->n && end[-1]->shape == end[-1 - length]->shape &&
	       same_shapes(end - length, end - 2 * length, length) &&
	       same_shapes(end - length, end - 3 * length, length) &&
	       !has_deep_loop(end - length, length);
}

/*
 * Make a loop of the last nodes, or add them to a loop as a round. 1: done, call again; 0: nothing
 * to do; -ENOMEM.
 */
static int fold_tail(struct block *block)
{
	for (size_t n = 1; n < block->n && n <= LOOP_PARTS; n++) {
		int err = absorb_tail(block, n);

		if (err)
			return err < 0 ? err : 0;
		if (!is_repeated_three_times(block, n))
			continue;
		block->n -= 3 * n - 1;
		err = make_loop(block->at + block->n - 1, n, 3, &block->at[block->n - 1]);
		block->n -= !block->at[block->n - 1];
		return err ? err : 1;
	}
	return 0;
}

/* Add @node, which is consumed, and fold the tail. */
static int push_node(struct block *block, struct node *node)
{
	struct node **place = vec_push(block->at, block->n);
	int err = place ? 1 : -ENOMEM;

	if (!place)
		free_node(node);
	else
		*place = node;
	while (err > 0)
		err = fold_tail(block);
	return err;
}

/* @node ends with a loop. May the @n nodes after it be the begin of the next round of this loop? */
static bool may_absorb(const struct node *node, struct node *const *nodes, size_t n)
{
	for (; node->parts; node = node->parts[node->nparts - 1])
		if (node->nparts > n && same_shapes(node->parts, nodes, n))
			return true;
	return false;
}

static int add_node(struct block *block, struct node *node);

/* The held nodes turn out not to be a round of a loop: fold the first, and add the others again. */
static int refold_held(struct block *block)
{
	struct node *held[LOOP_PARTS];
	size_t n = block->held;
	int err;

	block->n -= n;
	block->held = 0;
	memcpy(held, block->at + block->n, n * sizeof(*held));
	err = push_node(block, held[0]);
	for (size_t i = 1; i < n; i++) {
		if (err)
			free_node(held[i]);
		else
			err = add_node(block, held[i]);
	}
	return err;
}

/*
 * If the last nodes and @node, which is consumed, may begin a round of the loop before them, they
 * are held, so that no other loop takes them before the round is known to end.
 */
static int add_node(struct block *block, struct node *node)
{
	struct node **place;
	size_t n = block->held + 1;
	int err = 0;

	if (block->held && block->at[block->n - 1]->shape == node->shape)
		return merge_rounds(&block->at[block->n - 1], node);
	place = vec_push(block->at, block->n);
	if (!place) {
		free_node(node);
		return -ENOMEM;
	}
	*place = node;
	if (n < block->n) {
		block->held = 0;
		err = absorb_tail(block, n);
		if (err)
			return err < 0 ? err : 0;
		if (n < LOOP_PARTS && may_absorb(block->at[block->n - n - 1], place + 1 - n, n)) {
			block->held = n;
			return 0;
		}
	}
	block->n--;
	block->held = n - 1;
	if (block->held)
		err = refold_held(block);
	if (err) {
		free_node(node);
		return err;
	}
	return n > 1 ? add_node(block, node) : push_node(block, node);
}

int loops_add(struct block *block, const struct statement *s, const int64_t *values)
{
	struct node *node = calloc(1, sizeof(*node) + (s->nvalues + 1) * sizeof(*node->values));

	if (!node)
		return -ENOMEM;
	node->shape = map_hash(s->text);
	node->text = s->text;
	node->coming = s->coming;
	node->depth = 1;
	node->nturns = 1;
	node->nvalues = s->nvalues;
	node->values[0].last = (struct run){ (int64_t)s->n, 0, 1 };
	for (uint32_t i = 0; i < s->nvalues; i++)
		node->values[i + 1].last = (struct run){ values[i], 0, 1 };
	return add_node(block, node);
}

static int merge_neighbours(struct block *block)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < block->n; i++) {
		if (err || !kept || block->at[kept - 1]->shape != block->at[i]->shape)
			block->at[kept++] = block->at[i];
		else
			err = merge_rounds(&block->at[kept - 1], block->at[i]);
	}
	block->n = kept;
	return err;
}

/* How often the @length nodes from @i on occur in a row. */
static size_t count_rounds(const struct block *block, size_t i, size_t length)
{
	size_t same = 0;

	while (i + length + same < block->n &&
	       block->at[i + same]->shape == block->at[i + length + same]->shape)
		same++;
	return same / length + 1;
}

/*
 * Make loops of the sequences of @length nodes that occur at least @least times in a row. 1: there
 * were some; 0; -ENOMEM.
 */
static int make_loops(struct block *block, size_t length, size_t least)
{
	size_t kept = 0;
	int changed = 0;

	for (size_t i = 0; i < block->n;) {
		size_t rounds = changed < 0 ? 1 : count_rounds(block, i, length);
		struct node *loop;
		int err;

		if (rounds < least || has_deep_loop(block->at + i, length)) {
			block->at[kept++] = block->at[i++];
			continue;
		}
		err = make_loop(block->at + i, length, rounds, &loop);
		if (loop)
			block->at[kept++] = loop;
		i += length * rounds;
		changed = err ? err : 1;
	}
	block->n = kept;
	return changed;
}

/* Store the number of rounds of each loop's last run. */
static int close_node(struct node *node)
{
	int err = node->parts ? numbers_push(&node->rounds, (int64_t)node->open) : 0;

	for (size_t i = 0; !err && i < node->nparts; i++)
		err = close_node(node->parts[i]);
	return err;
}

int loops_finish(struct block *block)
{
	int err = 0;

	while (!err && block->held)
		err = refold_held(block);
	for (size_t least = 3; !err && least >= 2; least--)
		for (size_t length = 2; !err && length <= LOOP_PARTS && length <= block->n / 2;) {
			int changed = make_loops(block, length, least);

			err = changed < 0 ? changed : changed ? merge_neighbours(block) : 0;
			length = changed > 0 ? 2 : length + 1;
		}
	for (size_t i = 0; !err && i < block->n; i++)
		err = close_node(block->at[i]);
	return err;
}

static size_t count_bytes(const struct node *node)
{
	size_t size = sizeof(*node) + numbers_size(&node->rounds);

	for (size_t i = 0; !node->parts && i <= node->nvalues; i++)
		size += sizeof(node->values[i]) + numbers_size(&node->values[i]);
	for (size_t i = 0; i < node->nparts; i++)
		size += sizeof(node->parts[i]) + count_bytes(node->parts[i]);
	return size;
}

size_t loops_size(const struct block *block)
{
	size_t size = block->n * sizeof(*block->at);

	for (size_t i = 0; i < block->n; i++)
		size += count_bytes(block->at[i]);
	return size;
}

const struct node *loops_first(const struct node *node)
{
	while (node->parts)
		node = node->parts[0];
	return node;
}

static void begin_visit(struct node *node)
{
	node->at = (struct numbers_at){ 0 };
	for (size_t i = 0; i < node->nparts; i++)
		begin_visit(node->parts[i]);
}

static void visit_node(struct node *node,
		       void (*see)(void *arg, const struct node *node, uint64_t n), void *arg)
{
	int64_t next = 0;

	if (!numbers_next(node->parts ? &node->rounds : &node->values[0], &node->at, &next))
		return;
	if (!node->parts)
		see(arg, node, (uint64_t)next);
	for (int64_t round = 0; node->parts && round < next; round++)
		for (size_t i = 0; i < node->nparts; i++)
			visit_node(node->parts[i], see, arg);
}

void loops_visit(struct node *node, void (*see)(void *arg, const struct node *node, uint64_t n),
		 void *arg)
{
	begin_visit(node);
	visit_node(node, see, arg);
}
