#pragma once
/*
 * A 64-bit hash of bytes: XXH64. It tells payloads apart. It does not protect
 * against somebody who makes two payloads with the same hash on purpose, and
 * whoever has the seed can guess the bytes.
 *
 * Plain records; no allocation; any thread with a state of its own.
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
