#pragma once
/*
 * Reading the parts of a block that shapes.h wrote. The bytes are not trusted.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHAPES_BYTES_MAX = 64 << 20 }; /* maximum bytes of a block before compression */

/* The unread part of a block. @bad: a read failed, since the block is damaged. */
struct shapes_input {
	const uint8_t *at, *end;
	bool bad;
	char version;
	const uint8_t *sizes, *sizes_end; /* sizes of the times that were not read yet */
	const uint8_t *bits;
	size_t bit, nbits; /* index of the next bit, and number of all bits */
};

/* The content of a block, in memory that the next block reuses. All zero: empty. */
struct shapes_plain {
	char *bytes;
	size_t size;
	void *context; /* of zstd */
};

/* Decompress a block of at most @most rows. 0, -EBADMSG or -ENOMEM. */
int shapes_open(struct shapes_plain *plain, const void *data, size_t size, uint32_t most,
		uint32_t *ret_rows, struct shapes_input *ret_in);
void shapes_plain_fini(struct shapes_plain *plain);

struct shapes_text {
	const char *at;
	size_t length;
};

/* Read a part, and move to the next one; 0, NULL, "" or an empty text if @in is bad. */
uint64_t shapes_get_varint(struct shapes_input *in, uint64_t most);
const char *shapes_get_bytes(struct shapes_input *in, size_t n);
struct shapes_text shapes_get_text(struct shapes_input *in);
const char *shapes_get_word(struct shapes_input *in); /* up to a NUL */

/* Decode a column of @count values. 0 or -EBADMSG. */
int shapes_get_column(struct shapes_input *in, uint64_t *values, uint32_t count);

/* Has the whole block been read? */
bool shapes_at_end(const struct shapes_input *in);
