#pragma once
/*
 * How much of a payload, the bytes that are sent or received, is stored: nothing, its hash, its
 * first bytes, or all.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	PAYLOAD_NONE = 0,
	PAYLOAD_CALL_MAX = 64 << 20, /* bytes stored for one call, or for one completion */
};

/* Special values of payload_rule.keep; any other is a number of bytes. */
#define PAYLOAD_HASH (UINT64_MAX - 1)
#define PAYLOAD_FULL UINT64_MAX

/* What a recording stores, and the seed of its hashes, which differs between recordings. */
struct payload_rule {
	uint64_t keep;
	uint64_t seed;
};

/*
 * Read "none", "hash", "full", or a number of bytes: "64", "4K"; NULL and "" are PAYLOAD_NONE.
 * False: anything else.
 */
bool payload_parse(const char *text, uint64_t *ret_payload);

/* The reverse; a number is written into @text. */
const char *payload_text(uint64_t payload, char text[24]);

/* "send", "recv", "read" or "atomic" for an enum payload_kind; "?" for any other number. */
const char *payload_kind_text(unsigned int kind);

/* The text in table `payload` for an enum payload_why; NULL for PAYLOAD_WHOLE. */
const char *payload_why_text(unsigned int why);
