/*
 * Blocks of a pcapng file
 *
 * 	+------+--------+------------------+--------------------------+--------+
 * 	| type | length | fields, the data | options: code, length... | length |
 * 	+------+--------+------------------+--------------------------+--------+
 *
 * In the byte order of the machine that writes it, which the section header shows; lengths are
 * padded to a multiple of four bytes. draft-ietf-opsawg-pcapng.
 */
#include "cli/export/pcapng.h"

#include <string.h>

enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	OPTION_NAME = 2,        /* of an interface */
	OPTION_RESOLUTION = 9,  /* the resolution of the interface's times */
	OPTION_APPLICATION = 4, /* of a section */
	LINK_ETHERNET = 1,
};

struct pcapng_option {
	uint16_t code, length;
	const void *bytes;
};

static size_t pad_length(size_t length)
{
	return (length + 3) & ~(size_t)3;
}

static void put_padded(FILE *file, const void *bytes, size_t length)
{
	fwrite(bytes, 1, length, file);
	fwrite("\0\0\0", 1, pad_length(length) - length, file);
}

static void put_word(FILE *file, uint32_t word)
{
	fwrite(&word, sizeof(word), 1, file);
}

static struct pcapng_option text_option(uint16_t code, const char *text)
{
	size_t length = strnlen(text, UINT16_MAX & ~3);

	return (struct pcapng_option){ code, (uint16_t)length, text };
}

struct pcapng_block {
	uint32_t type;
	const void *fields;
	size_t nfields;
	const void *data;
	size_t ndata;
	const struct pcapng_option *options;
	size_t noptions;
};

static void put_block(FILE *file, const struct pcapng_block *block)
{
	size_t length = 12 + block->nfields + pad_length(block->ndata) + 4;

	for (size_t i = 0; i < block->noptions; i++)
		length += 4 + pad_length(block->options[i].length);
	put_word(file, block->type);
	put_word(file, (uint32_t)length);
	put_padded(file, block->fields, block->nfields);
	if (block->ndata)
		put_padded(file, block->data, block->ndata);
	for (size_t i = 0; i < block->noptions; i++) {
		const struct pcapng_option *option = &block->options[i];

		fwrite(&option->code, 2, 1, file);
		fwrite(&option->length, 2, 1, file);
		put_padded(file, option->bytes, option->length);
	}
	put_word(file, OPTION_END);
	put_word(file, (uint32_t)length);
}

void pcapng_write_section(FILE *file, const char *comment, const char *application)
{
	struct {
		uint32_t order;
		uint16_t major, minor;
		uint32_t length[2];
	} fields = { 0x1a2b3c4d, 1, 0, { UINT32_MAX, UINT32_MAX } };
	struct pcapng_option options[] = { text_option(OPTION_COMMENT, comment),
					   text_option(OPTION_APPLICATION, application) };

	put_block(file, &(struct pcapng_block){ .type = BLOCK_SECTION,
						.fields = &fields,
						.nfields = sizeof(fields),
						.options = options,
						.noptions = 2 });
}

void pcapng_write_interface(FILE *file, const char *name)
{
	static const uint8_t nanoseconds = 9;
	struct {
		uint16_t link, reserved;
		uint32_t snap;
	} fields = { LINK_ETHERNET, 0, PCAPNG_SNAP };
	struct pcapng_option options[] = { text_option(OPTION_NAME, name),
					   { OPTION_RESOLUTION, 1, &nanoseconds } };

	put_block(file, &(struct pcapng_block){ .type = BLOCK_INTERFACE,
						.fields = &fields,
						.nfields = sizeof(fields),
						.options = options,
						.noptions = 2 });
}

void pcapng_write_packet(FILE *file, const struct pcapng_write_packet *packet)
{
	uint32_t fields[] = { packet->interface, (uint32_t)(packet->time >> 32),
			      (uint32_t)packet->time, (uint32_t)packet->nbytes,
			      (uint32_t)packet->nbytes };
	struct pcapng_option comment = text_option(OPTION_COMMENT, packet->comment);

	put_block(file, &(struct pcapng_block){ .type = BLOCK_PACKET,
						.fields = fields,
						.nfields = sizeof(fields),
						.data = packet->bytes,
						.ndata = packet->nbytes,
						.options = &comment,
						.noptions = 1 });
}
