#pragma once
/*
 * An unnamed file for data that does not fit into memory.
 *
 * In $TMPDIR, else in /var/tmp. Writing: one thread; reading: any thread, for data written before.
 */
#include <stddef.h>
#include <stdint.h>

struct spill {
	int fd; /* -1: nothing has been written yet */
	uint64_t end;
};

#define SPILL_NONE       \
	{                \
		.fd = -1 \
	}

/* Append; *@ret_at is the offset. Creates the file if needed. 0 or -errno after log_err(). */
int spill_put(struct spill *spill, const void *bytes, size_t n, uint64_t *ret_at);

/* 0 or -errno after log_err(). */
int spill_get(const struct spill *spill, uint64_t at, void *bytes, size_t n);

/* Announce that this part will be read soon. */
void spill_expect(const struct spill *spill, uint64_t at, size_t n);

void spill_close(struct spill *spill);
