/*
 * A chunk's bytes, of either table, and a walk over all that is in it
 */
#include "core/store/chunk/block.h"
#include "core/store/chunk/payload.h"
#include "core/wire/event.h"
#include "tests/fuzz/fuzz.h"

static void walk_all(const struct block *block)
{
	struct walk walk = { 0 };

	while (walk.at[FAMILY_EVENT] < block_count(block, COLUMN_kind)) {
		uint32_t kind = walk_kind(block, &walk);
		uint32_t wcs =
			kind_is_poll(kind & KIND_MASK)
				? (uint32_t)block_get(block, COLUMN_nwc, walk.at[FAMILY_POLL])
				: 0;

		while (wcs--)
			walk_next_wc(block, &walk);
		walk_next_event(block, &walk, !kind_is_poll(kind & KIND_MASK));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct payload_rows rows = { 0 };
	struct block block = { 0 };

	if (n && bytes[0] & 1) {
		payload_unpack(bytes + 1, n - 1, &rows);
	} else if (n && !block_load(&block, bytes + 1, n - 1, FAMILIES_ALL)) {
		walk_all(&block);
		for (int id = 0; id < COLUMN_COUNT; id++)
			block_need(&block, id);
	}
	payload_rows_fini(&rows);
	block_fini(&block);
	return 0;
}
