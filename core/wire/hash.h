#pragma once
/*
 * A 64-bit hash of bytes, XXH64, to distinguish payloads. It does not protect against deliberate
 * collisions; a reader who has the seed can test guesses of the bytes.
 *
 * Plain records; no allocation; any thread, each with its own state.
 */
#include <stddef.h>
#include <stdint.h>

struct hash {
	uint64_t state[11];
};

void hash_begin(struct hash *hash, uint64_t seed);
void hash_add(struct hash *hash, const void *bytes, size_t n);
uint64_t hash_end(const struct hash *hash);

uint64_t hash_of(const void *bytes, size_t n, uint64_t seed);
