#pragma once
/*
 * Which of those who connect is the other replay: the first one that proves that it has the key.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wire;

struct admit_options {
	const void *key;
	size_t key_length;
	int64_t deadline; /* CLOCK_MONOTONIC, ns: nobody is accepted after that */
	int64_t patience; /* ns that one has to prove it */
	bool (*ended)(void);
};

/*
 * Of those who connect to @listener, which does not block; takes it in any case. All others are
 * closed, each with a note that says who it was and why. 0 or -errno after log_err(); -ECANCELED,
 * without it, where @ended.
 */
int admit_peer(int listener, const struct admit_options *options, struct wire **ret_wire);
