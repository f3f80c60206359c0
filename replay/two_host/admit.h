#pragma once
/*
 * Selects the other replay among the connecting programs: the first program that proves that it has
 * the key.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire;

struct admit_options {
	const void *key;
	size_t key_length;
	int64_t deadline; /* CLOCK_MONOTONIC, ns: no connection is accepted after that */
	int64_t patience; /* ns in which a connection must prove the key */
	bool (*ended)(void);
};

/*
 * Selects one of the connections to @listener, which does not block; takes ownership of @listener,
 * even on failure. All others are closed, each with a note that gives its address and the reason. 0
 * or -errno after log_err(); -ECANCELED, without a message, if options->ended.
 */
int admit_peer(int listener, const struct admit_options *options, struct wire **ret_wire);
