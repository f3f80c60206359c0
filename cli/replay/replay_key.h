#pragma once
/*
 * The key that both replays of a pair have: --key, VERBATIM_REPLAY_KEY. Not thread-safe.
 */
#include <stddef.h>

enum { REPLAY_KEY_LEAST = 16, REPLAY_KEY_MOST = 1024 }; /* bytes */

/*
 * Read the key from @path or, if that is NULL, from the environment. Returns 0; or the exit status,
 * after a message.
 */
int replay_key_read(const char *path, char key[REPLAY_KEY_MOST], size_t *ret_length);
