/*
 * Reading shapes, columns and blocks: shapes.c has the format
 */
#include "core/store/chunk/shapes_read.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/vec.h"
#include "core/store/chunk/shapes.h"

uint64_t shapes_get_varint(struct shapes_input *in, uint64_t most)
{
	uint64_t n = 0;
	size_t used = varint_get(in->at, (size_t)(in->end - in->at), &n);

	in->at += used;
	in->bad |= !used || n > most;
	return in->bad ? 0 : n;
}

const char *shapes_get_bytes(struct shapes_input *in, size_t n)
{
	const char *at = (const char *)in->at;

	if (in->bad || n > (size_t)(in->end - in->at)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return at;
}

struct shapes_text shapes_get_text(struct shapes_input *in)
{
	size_t length = shapes_get_varint(in, SHAPES_BYTES_MAX);
	const char *at = shapes_get_bytes(in, length);

	return (struct shapes_text){ at, at ? length : 0 };
}

const char *shapes_get_word(struct shapes_input *in)
{
	const char *at = (const char *)in->at;
	const uint8_t *end = in->bad ? NULL : memchr(in->at, 0, (size_t)(in->end - in->at));

	if (!end) {
		in->bad = true;
		return "";
	}
	in->at = end + 1;
	return at;
}

/* 64 bits, beginning at bit @in->bit; bits after the last byte are 0. */
static inline uint64_t load_bits(const struct shapes_input *in)
{
	const uint8_t *at = in->bits + in->bit / 8;
	size_t left = in->nbits / 8 - in->bit / 8; /* bytes */
	unsigned from = in->bit % 8;
	uint64_t low = 0;

	if (left >= sizeof(low))
		memcpy(&low, at, sizeof(low));
	else
		memcpy(&low, at, left);
	low = le64toh(low) >> from;
	return from && left > sizeof(low) ? low | (uint64_t)at[8] << (64 - from) : low;
}

static uint64_t get_bits(struct shapes_input *in, unsigned n)
{
	uint64_t value;

	if (n > in->nbits - in->bit) {
		in->bad = true;
		return 0;
	}
	if (!n)
		return 0;
	value = load_bits(in) & UINT64_MAX >> (64 - n);
	in->bit += n;
	return value;
}

static int get_times(struct shapes_input *in, uint64_t *values, uint32_t count)
{
	uint64_t value = 0;

	if (count > (size_t)(in->sizes_end - in->sizes))
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		unsigned size = *in->sizes++, bits = size / 2;
		uint64_t step;

		if (bits > 64)
			return -EBADMSG;
		step = bits ? get_bits(in, bits - 1) | UINT64_C(1) << (bits - 1) : 0;
		value += size % 2 ? -step : step;
		values[i] = value;
	}
	return in->bad ? -EBADMSG : 0;
}

int shapes_get_column(struct shapes_input *in, uint64_t *values, uint32_t count)
{
	struct column_view view = { .code = COLUMN_RAW, .count = count };
	const char *code = shapes_get_bytes(in, 1);

	if (!code)
		return -EBADMSG;
	if (*code == COLUMN_RAW) {
		view.unpacked = (uint32_t)shapes_get_varint(in, UINT32_MAX);
		view.bytes = (const uint8_t *)shapes_get_bytes(in, view.unpacked);
		return in->bad ? -EBADMSG : column_read(&view, NULL, NULL, values);
	}
	if (*code == COLUMN_TIMES)
		return get_times(in, values, count);
	if (*code != COLUMN_LINEAR)
		return -EBADMSG;
	view.base = zigzag_decode(shapes_get_varint(in, UINT64_MAX));
	view.step = zigzag_decode(shapes_get_varint(in, UINT64_MAX));
	for (uint32_t i = 0; i < count; i++, view.base += view.step)
		values[i] = view.base;
	return in->bad ? -EBADMSG : 0;
}

/* Also checks that less than one byte of bits is left. */
bool shapes_at_end(const struct shapes_input *in)
{
	return !in->bad && in->at == in->end && in->sizes == in->sizes_end &&
	       in->nbits - in->bit < 8;
}

/* A compressed part of a block. */
struct block_frame {
	const char *at;
	size_t size, unpacked;
};

static struct block_frame get_frame(struct shapes_input *in)
{
	struct block_frame frame = { .unpacked = shapes_get_varint(in, SHAPES_BYTES_MAX) };

	frame.size =
		in->version == 1 ? (size_t)(in->end - in->at) : shapes_get_varint(in, SIZE_MAX);
	frame.at = shapes_get_bytes(in, frame.size);
	in->bad |= !frame.at || ZSTD_getFrameContentSize(frame.at, frame.size) != frame.unpacked;
	return frame;
}

static int unpack_frame(const struct shapes_plain *plain, const struct block_frame *frame, char *to)
{
	size_t n = ZSTD_decompressDCtx(plain->context, to, frame->unpacked, frame->at, frame->size);

	return ZSTD_isError(n) || n != frame->unpacked ? -EBADMSG : 0;
}

/* Decompress the frames; one more byte, NUL, terminates any text in the first one. */
static int unpack_frames(struct shapes_plain *plain, const struct block_frame *parts,
			 const struct block_frame *sizes, struct shapes_input *in)
{
	char *second;

	if (!plain->context)
		plain->context = ZSTD_createDCtx();
	if (!plain->context ||
	    vec_reserve(plain->bytes, plain->size, parts->unpacked + 1 + sizes->unpacked))
		return -ENOMEM;
	second = plain->bytes + parts->unpacked + 1;
	if (unpack_frame(plain, parts, plain->bytes) ||
	    (sizes->at && unpack_frame(plain, sizes, second)))
		return -EBADMSG;
	second[-1] = '\0';
	in->bits = in->at;
	in->nbits = 8 * (size_t)(in->end - in->at);
	in->at = (const uint8_t *)plain->bytes;
	in->end = in->at + parts->unpacked;
	in->sizes = (const uint8_t *)second;
	in->sizes_end = in->sizes + sizes->unpacked;
	return 0;
}

int shapes_open(struct shapes_plain *plain, const void *data, size_t size, uint32_t most,
		uint32_t *ret_rows, struct shapes_input *ret_in)
{
	struct shapes_input in = { .at = data, .end = (const uint8_t *)data + size, .bad = !size };
	struct block_frame parts, sizes = { 0 };
	int err;

	in.version = (char)shapes_get_varint(&in, SHAPES_VERSION);
	in.bad |= !in.version;
	*ret_rows = (uint32_t)shapes_get_varint(&in, most);
	parts = get_frame(&in);
	if (in.version > 1)
		sizes = get_frame(&in);
	err = in.bad ? -EBADMSG : unpack_frames(plain, &parts, &sizes, &in);
	*ret_in = in;
	return err;
}

void shapes_plain_fini(struct shapes_plain *plain)
{
	ZSTD_freeDCtx(plain->context);
	free(plain->bytes);
	*plain = (struct shapes_plain){ 0 };
}
