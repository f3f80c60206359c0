/*
 * A trace file with all tables and no rows
 *
 * SQLite takes 7 million instructions to create the tables, one statement after the other.
 * Therefore the file was created when the program was built (scripts/gen_blank.c), and is part of
 * the program.
 */
#include "core/store/db/blank.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct blank_piece {
	uint32_t at, n;
};

#include "gen/blank_gen.h"

static int write_all(int fd, const uint8_t *file, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pwrite(fd, file + done, bytes - done, (off_t)done);

		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

int blank_write(int fd)
{
	uint8_t *file = calloc(1, BLANK_BYTES);
	const uint8_t *from = blank_bytes;
	int err;

	if (!file)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(blank_pieces) / sizeof(*blank_pieces); i++) {
		memcpy(file + blank_pieces[i].at, from, blank_pieces[i].n);
		from += blank_pieces[i].n;
	}
	err = write_all(fd, file, BLANK_BYTES);
	free(file);
	return err;
}
