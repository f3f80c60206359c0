/*
 * Loops
 *
 * First what comes several times in a row becomes a loop of one statement. Then stretches of
 * neighbours that come several times in a row become loops of what they consist of, short ones
 * before long ones, and those of two rounds last, until nothing changes:
 *
 *	A A A B A A B A B     the statements
 *	A*3 B A*2 B A B       loops of one
 *	(A*[3,2,1] B)*3       a loop of two; how often A comes depends on the round
 *
 * A statement and a loop of it alone have one shape, so that a round may have it once.
 */
#include "cli/emit/loops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"

enum { LOOP_PARTS = 96 }; /* longer stretches are not looked for */

static void free_node(struct node *node)
{
	if (!node)
		return;
	for (size_t i = 0; i < node->nparts; i++)
		free_node(node->parts[i]);
	free(node->parts);
	free(node->turns);
	free(node->rounds);
	free(node);
}

void loops_fini(struct block *block)
{
	for (size_t i = 0; i < block->n; i++)
		free_node(block->at[i]);
	free(block->at);
	memset(block, 0, sizeof(*block));
}

static int push_number(size_t **array, size_t *n, size_t value)
{
	size_t *place = vec_push(*array, *n);

	if (!place)
		return -ENOMEM;
	*place = value;
	return 0;
}

/* Make a statement a loop of it, which is run once in each turn. */
static int become_loop(struct node *node)
{
	struct node *statement = calloc(1, sizeof(*statement));
	struct node **parts = calloc(1, sizeof(struct node *));
	int err = statement && parts ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < node->nturns; i++)
		err = push_number(&node->rounds, &node->nrounds, 1);
	if (err) {
		free(statement);
		free(parts);
		return err;
	}
	*statement =
		(struct node){ .shape = node->shape, .turns = node->turns, .nturns = node->nturns };
	node->turns = NULL;
	node->nturns = 0;
	parts[0] = statement;
	node->parts = parts;
	node->nparts = 1;
	return 0;
}

/* The turns of @later come after those of @node, of the same shape. */
static int merge_turns(struct node *node, struct node *later)
{
	int err = 0;

	if (!node->parts && later->parts)
		err = become_loop(node);
	if (!err && node->parts && !later->parts)
		err = become_loop(later);
	for (size_t i = 0; !err && i < later->nturns; i++)
		err = push_number(&node->turns, &node->nturns, later->turns[i]);
	for (size_t i = 0; !err && i < later->nrounds; i++)
		err = push_number(&node->rounds, &node->nrounds, later->rounds[i]);
	for (size_t i = 0; !err && i < node->nparts; i++)
		err = merge_turns(node->parts[i], later->parts[i]);
	return err;
}

/* @later comes right after @node, of the same shape: one loop does both. */
static int merge_rounds(struct node *node, struct node *later)
{
	int err = node->parts ? 0 : become_loop(node);

	if (!err && !later->parts)
		err = become_loop(later);
	if (err)
		return err;
	node->rounds[0] += later->rounds[0];
	for (size_t i = 0; !err && i < node->nparts; i++)
		err = merge_turns(node->parts[i], later->parts[i]);
	return err;
}

static int merge_neighbours(struct block *block)
{
	size_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < block->n; i++) {
		if (err || !kept || block->at[kept - 1]->shape != block->at[i]->shape) {
			block->at[kept++] = block->at[i];
			continue;
		}
		err = merge_rounds(block->at[kept - 1], block->at[i]);
		free_node(block->at[i]);
	}
	block->n = kept;
	return err;
}

/* How often the @length nodes from @i on come in a row. */
static size_t count_rounds(const struct block *block, size_t i, size_t length)
{
	size_t same = 0;

	while (i + length + same < block->n &&
	       block->at[i + same]->shape == block->at[i + length + same]->shape)
		same++;
	return same / length + 1;
}

/* A loop of @rounds times the @length nodes at @nodes, which it takes. */
static int make_loop(struct node **nodes, size_t length, size_t rounds, struct node **ret_loop)
{
	struct node *loop = calloc(1, sizeof(*loop));
	struct node **parts = calloc(length, sizeof(struct node *));
	int err = loop && parts ? push_number(&loop->rounds, &loop->nrounds, rounds) : -ENOMEM;

	for (size_t i = length; !err && i < length * rounds; i++)
		err = merge_turns(nodes[i % length], nodes[i]);
	if (err) {
		free(parts);
		free_node(loop);
		return err;
	}
	loop->shape = length;
	for (size_t i = 0; i < length; i++) {
		loop->shape = map_hash(loop->shape ^ map_hash(nodes[i]->shape + i));
		parts[i] = nodes[i];
	}
	for (size_t i = length; i < length * rounds; i++)
		free_node(nodes[i]);
	loop->parts = parts;
	loop->nparts = length;
	*ret_loop = loop;
	return 0;
}

/*
 * Make loops of the stretches of @length nodes that come at least @least times in a row. 1: there
 * were some; 0; -errno.
 */
static int make_loops(struct block *block, size_t length, size_t least)
{
	size_t kept = 0;
	int changed = 0;

	for (size_t i = 0; i < block->n;) {
		size_t rounds = count_rounds(block, i, length);
		struct node *loop;
		int err;

		if (rounds < least) {
			block->at[kept++] = block->at[i++];
			continue;
		}
		err = make_loop(block->at + i, length, rounds, &loop);
		if (err) {
			memmove(block->at + kept, block->at + i,
				(block->n - i) * sizeof(*block->at));
			block->n -= i - kept;
			return err;
		}
		block->at[kept++] = loop;
		i += length * rounds;
		changed = 1;
	}
	block->n = kept;
	return changed;
}

int loops_find(const struct script *script, struct block *ret_block)
{
	struct block block = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < script->n; i++) {
		struct node **place = vec_push(block.at, block.n);

		*(place ? place : &(struct node *){ NULL }) = calloc(1, sizeof(struct node));
		if (!place || !*place) {
			err = -ENOMEM;
			break;
		}
		(*place)->shape = map_hash(script->at[i].text);
		err = push_number(&(*place)->turns, &(*place)->nturns, i);
	}
	if (!err)
		err = merge_neighbours(&block);
	for (size_t least = 3; !err && least >= 2; least--)
		for (size_t length = 2; !err && length <= LOOP_PARTS && length <= block.n / 2;) {
			int changed = make_loops(&block, length, least);

			err = changed < 0 ? changed : changed ? merge_neighbours(&block) : 0;
			length = changed > 0 ? 2 : length + 1;
		}
	if (err)
		loops_fini(&block);
	else
		*ret_block = block;
	return err;
}
