/*
 * A chunk's bytes, of either table, and a traversal of its contents
 */
#include "core/store/chunk/block.h"
#include "core/store/chunk/payload.h"
#include "core/wire/event.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/seeds.h"

static void walk_all(const struct block *block)
{
	struct block_position walk = { 0 };

	while (walk.at[FAMILY_EVENT] < block_count(block, COLUMN_kind)) {
		uint32_t kind = block_event_kind(block, &walk);
		uint32_t wcs =
			kind_is_poll(kind & KIND_MASK)
				? (uint32_t)block_get(block, COLUMN_nwc, walk.at[FAMILY_POLL])
				: 0;

		while (wcs--)
			block_skip_wc(block, &walk);
		block_skip_event(block, &walk, !kind_is_poll(kind & KIND_MASK));
	}
}

/* Reads everything; returns whether it can be read. */
static bool read_chunk(const uint8_t *bytes, size_t n)
{
	struct payload_rows rows = { 0 };
	struct block block = { 0 };
	int err;

	if (bytes[0] & 1) {
		err = payload_unpack(bytes + 1, n - 1, &rows);
	} else {
		err = block_load(&block, bytes + 1, n - 1, FAMILIES_ALL);
		if (!err)
			walk_all(&block);
		for (int id = 0; id < COLUMN_COUNT && !err; id++)
			block_need(&block, id);
	}
	payload_rows_fini(&rows);
	block_fini(&block);
	return !err;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	seeds_check("chunk", read_chunk);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	if (n)
		read_chunk(bytes, n);
	return 0;
}
