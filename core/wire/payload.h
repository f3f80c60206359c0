#pragma once
/*
 * How much of the bytes that are sent and received is stored: nothing, their hash, the first of
 * them, or all.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	PAYLOAD_NONE = 0,
	PAYLOAD_CALL_MAX = 64 << 20, /* bytes stored for one call, or for one completion */
};

/* Anything else is a number of bytes. */
#define PAYLOAD_HASH (UINT64_MAX - 1)
#define PAYLOAD_FULL UINT64_MAX

/* What a recording stores, and the seed of its hashes, which differs between recordings. */
struct payload_rule {
	uint64_t keep;
	uint64_t seed;
};

/* "none", "hash", "full", "64", "4K"; NULL and "" are PAYLOAD_NONE. False: anything else. */
bool payload_parse(const char *text, uint64_t *ret_payload);

/* The same as text; in @text if it is a number. */
const char *payload_text(uint64_t payload, char text[24]);

/* "send", "recv", "read", "atomic" for enum payload_kind; "?" for any other number. */
const char *payload_kind_text(unsigned int kind);

/* For enum payload_why, the text in table `payload`; NULL for PAYLOAD_WHOLE. */
const char *payload_why_text(unsigned int why);
