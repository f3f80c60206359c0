/*
 * Copying a chunk to another trace
 *
 * Three of about sixty columns are decoded, changed and packed again. The others are copied
 * compressed, without being checked.
 */
#include "core/store/chunk/place.h"

#include <errno.h>

struct placement {
	int64_t (*time)(const void *arg, int64_t time);
	const void *arg;
	uint32_t stacks;
};

static uint64_t change_value(const struct placement *placing, enum column_id id, uint64_t value)
{
	switch (id) {
	case COLUMN_time:
		return (uint64_t)placing->time(placing->arg, (int64_t)value);
	case COLUMN_post_stack:
	case COLUMN_poll_stack:
		return value ? value + placing->stacks : 0;
	default:
		return value;
	}
}

static bool is_changed(enum column_id id)
{
	return id == COLUMN_time || id == COLUMN_post_stack || id == COLUMN_poll_stack;
}

static int place_column(struct placer *placer, const struct placement *placing, enum column_id id)
{
	const struct column_view *view = &placer->block.views[id];
	int err;

	/* the check of the chunk has decoded some columns, which then have no compressed bytes */
	if (!is_changed(id) && (view->code == COLUMN_LINEAR || view->bytes))
		return packer_add_view(&placer->packer, id, view);
	err = block_need(&placer->block, id);
	if (err)
		return err;
	column_clear(&placer->column);
	for (uint32_t i = 0; i < view->count; i++)
		column_put(&placer->column,
			   change_value(placing, id, block_get(&placer->block, id, i)));
	return packer_add(&placer->packer, id, &placer->column);
}

int placer_place(struct placer *placer, const void *bytes, size_t n,
		 int64_t (*time)(const void *arg, int64_t time), const void *arg, uint32_t stacks)
{
	const struct placement placing = { time, arg, stacks };
	struct block *block = &placer->block;
	uint32_t events;
	int err = block_load(block, bytes, n, 0);

	if (!err)
		err = packer_begin(&placer->packer);
	for (unsigned int id = 0; id < COLUMN_COUNT && !err; id++)
		if (block->views[id].count)
			err = place_column(placer, &placing, (enum column_id)id);
	events = block_count(block, COLUMN_time);
	if (!err && !events)
		err = -EBADMSG;
	if (err)
		return err;
	packer_end(&placer->packer);
	placer->begin = time(arg, (int64_t)block_get(block, COLUMN_time, 0));
	placer->end = time(arg, (int64_t)block_get(block, COLUMN_time, events - 1));
	return 0;
}

void placer_fini(struct placer *placer)
{
	block_fini(&placer->block);
	column_fini(&placer->column);
	packer_fini(&placer->packer);
}
