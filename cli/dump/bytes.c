/*
 * Payloads as text, in the manner of hexdump -C
 */
#include "cli/dump/bytes.h"

#include <ctype.h>
#include <inttypes.h>

#include "core/base/printable.h"

void bytes_print_short(FILE *out, const struct payload *p)
{
	fprintf(out, "%" PRIu64 " byte%s", p->total, p->total == 1 ? "" : "s");
	if (p->hashed)
		fprintf(out, ", hash %016" PRIx64, p->hash);
	if (p->why) {
		fputs(", ", out);
		print_untrusted(out, p->why);
	}
}

static void put_line(FILE *out, const uint8_t *at, uint64_t offset, uint64_t n, const char *indent)
{
	fprintf(out, "%s%08" PRIx64, indent, offset);
	for (uint64_t i = 0; i < 16; i++) {
		if (i < n)
			fprintf(out, "%s%02x", i == 8 ? "  " : " ", at[offset + i]);
		else
			fputs(i == 8 ? "    " : "   ", out);
	}
	fputs("  |", out);
	for (uint64_t i = 0; i < n; i++)
		fputc(isprint(at[offset + i]) && at[offset + i] < 128 ? at[offset + i] : '.', out);
	fputs("|\n", out);
}

void bytes_print_dump(FILE *out, const struct payload *p, uint64_t max, const char *indent)
{
	uint64_t end = p->nbytes < max ? p->nbytes : max;

	for (uint64_t offset = 0; offset < end; offset += 16)
		put_line(out, p->bytes, offset, end - offset < 16 ? end - offset : 16, indent);
}
