#pragma once
/*
 * The substitutes in an anonymised trace.
 *
 * Equal values get equal substitutes, different values different ones: texts are numbered in their
 * order, numbers are random. The table is in memory only, and no substitute is derived from its
 * original, so the originals cannot be computed from the substitutes. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

enum substitute_kind {
	SUBSTITUTE_HOST,
	SUBSTITUTE_NAME, /* of a file, a folder, a thread */
	SUBSTITUTE_ARGUMENT,
	SUBSTITUTE_VALUE, /* of a variable */
	SUBSTITUTE_DEVICE,
	SUBSTITUTE_MARK,
	SUBSTITUTE_TEXT, /* any other text */
	SUBSTITUTE_BOOT,
	SUBSTITUTE_MAC,
	SUBSTITUTE_INTERFACE, /* the lower half of an address, a GUID */
	SUBSTITUTE_PREFIX,    /* the upper half */
	SUBSTITUTE_NET,       /* the first three bytes of an IPv4 address */
	SUBSTITUTE_HOST_BYTE,
	SUBSTITUTE_HASH,
};

struct substitutes;

/* 0 or -errno after log_err(). */
int substitutes_new(struct substitutes **ret_substitutes);

/* Accepts NULL. */
void substitutes_free(struct substitutes *substitutes);

/* Did memory or randomness run out? Later substitutes must not be used. 0 or -errno. */
int substitutes_error(const struct substitutes *substitutes);

/* The substitute of @n bytes, such as "host1", valid until substitutes_free(); "" for no bytes. */
const char *substitute_text(struct substitutes *substitutes, enum substitute_kind kind,
			    const char *text, size_t n);

/* The substitute of a number of @bits bits (1 to 64): never 0, except for 0. */
uint64_t substitute_number(struct substitutes *substitutes, enum substitute_kind kind,
			   uint64_t value, unsigned int bits);
