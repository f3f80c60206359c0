/*
 * Reading a chunk
 *
 * The file is not trusted. The directory is checked while it is read, then the structure: the
 * number of posts must match the kinds, the number of work requests must match the posts, and so
 * on. An iteration then needs no further checks. A column has at most the rows that a writer puts
 * into a chunk, and its size in the directory must agree with the one in its compressed bytes
 * before memory is allocated. So a chunk takes at most 100 MB: 2.1 million elements in 3 columns,
 * and 0.1 million rows in the others.
 *
 * Not here: the format (batch.c).
 */
#include "core/store/chunk/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/store/chunk/chunk.h"
#include "core/wire/event.h"

struct block_input {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static uint64_t get_varint(struct block_input *in)
{
	uint64_t n = 0;
	size_t used = varint_get(in->at, in->left, &n);

	if (!used)
		in->bad = true;
	in->at += used;
	in->left -= used;
	return n;
}

static int read_entry(struct block *block, struct block_input *in)
{
	uint64_t id = get_varint(in), code = get_varint(in), count = get_varint(in), packed,
		 unpacked;
	struct column_view *view;

	if (in->bad || id >= COLUMN_COUNT || code >= COLUMN_CODES || !count ||
	    count > batch_rows_max(column_family[id]) || block->views[id].count)
		return -EBADMSG;
	view = &block->views[id];
	view->code = (enum column_code)code;
	view->count = (uint32_t)count;
	if (code == COLUMN_LINEAR) {
		view->base = zigzag_decode(get_varint(in));
		view->step = zigzag_decode(get_varint(in));
		return in->bad ? -EBADMSG : 0;
	}
	packed = get_varint(in);
	unpacked = code == COLUMN_ZSTD ? get_varint(in) : packed;
	if (in->bad || packed > in->left || unpacked < count || unpacked > count * 10)
		return -EBADMSG;
	view->packed = (uint32_t)packed;
	view->unpacked = (uint32_t)unpacked;
	return 0;
}

static int read_directory(struct block *block, struct block_input *in)
{
	unsigned int columns;

	if (in->left < 2 || in->at[0] != CHUNK_VERSION)
		return -EBADMSG;
	columns = in->at[1];
	in->at += 2;
	in->left -= 2;
	for (unsigned int i = 0; i < columns; i++) {
		int err = read_entry(block, in);

		if (err)
			return err;
	}
	/* the directory and the bytes are in the order of the columns */
	for (int id = 0; id < COLUMN_COUNT; id++) {
		struct column_view *view = &block->views[id];

		if (!view->count || view->code == COLUMN_LINEAR)
			continue;
		if (view->packed > in->left)
			return -EBADMSG;
		view->bytes = in->at;
		in->at += view->packed;
		in->left -= view->packed;
	}
	return in->left ? -EBADMSG : 0;
}

static int grow_bytes(void **memory, size_t *size, size_t bytes)
{
	void *more;

	if (*size >= bytes)
		return 0;
	more = realloc(*memory, bytes);
	if (!more)
		return -ENOMEM;
	*memory = more;
	*size = bytes;
	return 0;
}

static int values_size(struct block *block, enum column_id id, uint32_t count)
{
	uint64_t *more;

	if (block->sizes[id] >= count && block->values[id])
		return 0;
	more = realloc(block->values[id], count * sizeof(*more));
	if (!more)
		return -ENOMEM;
	block->values[id] = more;
	block->sizes[id] = count;
	return 0;
}

int block_need(struct block *block, enum column_id id)
{
	struct column_view *view = &block->views[id];
	int err;

	if (!view->count || view->code == COLUMN_LINEAR || !view->bytes)
		return 0;
	if (!column_is_sized(view))
		return -EBADMSG;
	if (!block->dctx)
		block->dctx = ZSTD_createDCtx();
	if (!block->dctx ||
	    grow_bytes((void **)&block->scratch, &block->scratch_size, view->unpacked) ||
	    values_size(block, id, view->count))
		return -ENOMEM;
	err = column_read(view, block->dctx, block->scratch, block->values[id]);
	view->values = block->values[id];
	view->bytes = NULL; /* the bytes of a decoded column are no longer needed */
	return err;
}

int block_spread(struct block *block, enum column_id id)
{
	struct column_view *view = &block->views[id];
	uint64_t value = view->base;

	if (!view->count || view->values)
		return 0;
	if (values_size(block, id, view->count))
		return -ENOMEM;
	for (uint32_t i = 0; i < view->count; i++, value += view->step)
		block->values[id][i] = value;
	view->values = block->values[id];
	return 0;
}

/* Does the column have rows, and do all have the same value? */
static bool is_constant(const struct block *block, enum column_id id)
{
	const struct column_view *view = &block->views[id];

	return view->count && view->code == COLUMN_LINEAR && !view->step;
}

/* Sum up a column; -EBADMSG if a value is above @max. */
static int sum_column(struct block *block, enum column_id id, uint64_t max, uint64_t *ret_sum)
{
	uint64_t total = 0;
	int err = block_need(block, id);

	if (is_constant(block, id)) {
		*ret_sum = block->views[id].base * block_count(block, id);
		return block->views[id].base > max ? -EBADMSG : 0;
	}
	for (uint32_t i = 0; i < block_count(block, id) && !err; i++) {
		uint64_t v = block_get(block, id, i);

		if (v > max)
			err = -EBADMSG;
		total += v;
	}
	*ret_sum = total;
	return err;
}

/* Do all columns of the family have @rows rows? */
static int check_family(const struct block *block, enum family family, uint64_t rows)
{
	for (int id = 0; id < COLUMN_COUNT; id++)
		if (column_family[id] == family && block->views[id].count != rows)
			return -EBADMSG;
	return 0;
}

enum { FLAGGED = (KIND_MASK | KIND_FLAGS) + 1 }; /* values of column `kind` */

struct kind_counts {
	uint32_t posts, polls, notifies;
	bool extra; /* does a poll have rows of family EXTRA? */
};

static int add_kind(struct kind_counts *kinds, uint32_t flagged, uint32_t events)
{
	uint32_t kind = flagged & KIND_MASK;
	bool poll = kind_is_poll(kind), extra = flagged & KIND_EXTRA;

	if ((!kind_is_post(kind) && !poll && kind != KIND_NOTIFY) || (extra && !poll) ||
	    (flagged & KIND_FILLED && kind != KIND_POLL))
		return -EBADMSG;
	if (poll)
		kinds->polls += events;
	else if (kind == KIND_NOTIFY)
		kinds->notifies += events;
	else
		kinds->posts += events;
	kinds->extra |= extra;
	return 0;
}

/* Count the posts, the polls and the other events. */
static int count_kinds(struct block *block, struct kind_counts *kinds)
{
	uint32_t events = block_count(block, COLUMN_kind), counts[FLAGGED] = { 0 };
	int err = block_need(block, COLUMN_kind) ?: block_spread(block, COLUMN_kind);
	const uint64_t *of = block->views[COLUMN_kind].values;

	for (uint32_t i = 0; i < events && !err; i++) {
		if (of[i] >= FLAGGED)
			return -EBADMSG;
		counts[of[i]]++;
	}
	for (uint32_t kind = 0; kind < FLAGGED && !err; kind++)
		if (counts[kind])
			err = add_kind(kinds, kind, counts[kind]);
	return err ? err : check_family(block, FAMILY_EVENT, events);
}

/* Check each family of a part: it must have a row for each work request with the part's bit. */
static int check_parts(struct block *block)
{
	static const enum family families[] = {
#define F(NAME, part) FAMILY_##NAME,
		EACH_PART(F)
#undef F
	};
	enum { PARTS = sizeof(families) / sizeof(*families) };
	uint32_t counts[PARTS] = { 0 }, rows = block_count(block, COLUMN_parts);
	uint32_t step = is_constant(block, COLUMN_parts) ? rows : 1;
	int err = block_need(block, COLUMN_parts);

	for (uint32_t i = 0; i < rows && !err; i += step) {
		uint64_t parts = block_get(block, COLUMN_parts, i);

		if (parts > WR_PARTS_ALL)
			return -EBADMSG;
		for (int p = 0; parts; p++, parts >>= 1)
			counts[p] += parts & 1 ? step : 0;
	}
	for (int p = 0; p < PARTS && !err; p++)
		err = check_family(block, families[p], counts[p]);
	return err;
}

static int check_posts(struct block *block, uint32_t posts, unsigned int families)
{
	uint64_t rows;
	int err = check_family(block, FAMILY_POST, posts);

	if (!err)
		err = sum_column(block, COLUMN_nwr, BATCH_ROWS_MAX, &rows);
	if (!err)
		err = check_family(block, FAMILY_WR, rows);
	if (!err && families & (FAMILY_BIT(WR) | FAMILY_BIT(SGE)))
		err = check_parts(block);
	if (!err && families & (FAMILY_BIT(WR) | FAMILY_BIT(SGE)))
		err = sum_column(block, COLUMN_nsge, 255, &rows);
	if (!err && families & (FAMILY_BIT(WR) | FAMILY_BIT(SGE)))
		err = check_family(block, FAMILY_SGE, rows);
	return err;
}

/* Check EXTRA: it must have a row for each completion of a poll with KIND_EXTRA. */
static int check_extras(struct block *block)
{
	uint32_t events = block_count(block, COLUMN_kind), polls = 0;
	uint64_t rows = 0;

	for (uint32_t i = 0; i < events; i++) {
		uint32_t kind = (uint32_t)block_get(block, COLUMN_kind, i);

		if (!kind_is_poll(kind & KIND_MASK))
			continue;
		if (kind & KIND_EXTRA)
			rows += block_get(block, COLUMN_nwc, polls);
		polls++;
	}
	return check_family(block, FAMILY_EXTRA, rows);
}

static int check_polls(struct block *block, bool extra)
{
	uint64_t rows;
	int err = sum_column(block, COLUMN_nwc, BATCH_ROWS_MAX, &rows);

	if (!err)
		err = check_family(block, FAMILY_WC, rows);
	if (err)
		return err;
	return extra ? check_extras(block) : check_family(block, FAMILY_EXTRA, 0);
}

static int check_families(struct block *block, unsigned int families)
{
	struct kind_counts kinds = { 0 };
	int err = count_kinds(block, &kinds);

	if (!err && families & (FAMILY_BIT(POST) | FAMILY_BIT(WR) | FAMILY_BIT(SGE)))
		err = check_posts(block, kinds.posts, families);
	if (!err && families & (FAMILY_BIT(POLL) | FAMILY_BIT(WC)))
		err = check_family(block, FAMILY_POLL, kinds.polls);
	if (!err && families & FAMILY_BIT(WC))
		err = check_polls(block, kinds.extra);
	if (!err && families & FAMILY_BIT(NOTIFY))
		err = check_family(block, FAMILY_NOTIFY, kinds.notifies);
	return err;
}

void block_clear(struct block *block)
{
	memset(block->views, 0, sizeof(block->views));
}

int block_load(struct block *block, const void *bytes, size_t n, unsigned int families)
{
	struct block_input in;
	int err;

	block_clear(block);
	if (grow_bytes((void **)&block->bytes, &block->bytes_size, n ? n : 1))
		return -ENOMEM;
	if (n)
		memcpy(block->bytes, bytes, n);
	in = (struct block_input){ block->bytes, n, false };
	err = read_directory(block, &in);
	if (!err)
		err = check_families(block, families);
	if (err)
		block_clear(block);
	return err;
}

int block_load_all(struct block *block, const void *bytes, size_t n)
{
	int err = block_load(block, bytes, n, FAMILIES_ALL);

	for (int id = 0; id < COLUMN_COUNT && !err; id++)
		err = block_need(block, (enum column_id)id);
	return !err && !block_count(block, COLUMN_n) ? -EBADMSG : err;
}

int block_add(struct block *block, enum column_id id, uint64_t value)
{
	struct column_view *view = &block->views[id];

	if (view->count == batch_rows_max(column_family[id]))
		return -EBADMSG;
	if (view->count == block->sizes[id] || !block->values[id]) {
		int err = values_size(block, id, view->count ? view->count * 2 : 256);

		if (err)
			return err;
	}
	view->code = COLUMN_RAW;
	view->bytes = NULL;
	block->values[id][view->count++] = value;
	view->values = block->values[id];
	return 0;
}

size_t block_bytes(const struct block *block)
{
	size_t bytes = block->bytes_size + block->scratch_size;

	for (int i = 0; i < COLUMN_COUNT; i++)
		bytes += block->sizes[i] * sizeof(*block->values[i]);
	return bytes;
}

void block_fini(struct block *block)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		free(block->values[i]);
	free(block->bytes);
	free(block->scratch);
	ZSTD_freeDCtx(block->dctx);
	*block = (struct block){ 0 };
}

void block_skip_wr(const struct block *block, struct block_position *position)
{
	uint32_t at = position->at[FAMILY_WR];

	block_skip_known_wr(position, (unsigned int)block_get(block, COLUMN_parts, at),
			    (uint32_t)block_get(block, COLUMN_nsge, at));
}

void block_skip_event(const struct block *block, struct block_position *position, bool skip)
{
	uint32_t flags = block_event_kind(block, position), kind = flags & KIND_MASK;

	if (kind_is_post(kind)) {
		uint32_t nwr = (uint32_t)block_get(block, COLUMN_nwr, position->at[FAMILY_POST]++);

		for (uint32_t i = 0; skip && i < nwr; i++)
			block_skip_wr(block, position);
	} else if (kind_is_poll(kind)) {
		uint32_t nwc = (uint32_t)block_get(block, COLUMN_nwc, position->at[FAMILY_POLL]++);

		if (skip)
			position->at[FAMILY_WC] += nwc;
		if (skip && flags & KIND_EXTRA)
			position->at[FAMILY_EXTRA] += nwc;
	} else {
		position->at[FAMILY_NOTIFY]++;
	}
	position->at[FAMILY_EVENT]++;
}
