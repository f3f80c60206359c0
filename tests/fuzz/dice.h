#pragma once
/*
 * The decisions of a mutator: from a seed, or from the bytes of a coverage-guided fuzzer, which
 * thereby controls the changes. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

struct dice {
	uint64_t state;       /* of the random numbers; not 0 */
	const uint8_t *bytes; /* or NULL: used first, then zeros */
	size_t left;
};

struct dice dice_of_seed(uint64_t seed, uint64_t index);
struct dice dice_of_bytes(const uint8_t *bytes, size_t n);

/* 0 to @sides - 1; 0 of none. */
uint32_t dice_roll(struct dice *dice, uint32_t sides);

/* A number that is often a limit of something. */
uint64_t dice_number(struct dice *dice);

/* Texts that must not be interpreted: escapes, formats, paths, deep JSON; static. */
const char *dice_text(struct dice *dice, size_t *ret_bytes);

/* Change @bytes a few times in place. */
void dice_spoil(struct dice *dice, uint8_t *bytes, size_t n);
