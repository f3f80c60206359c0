#pragma once
#include <stddef.h>

/*
 * Reads the whole file at @path, also of /proc and /sys, whose files have no known length. Returns
 * 0, with a text of @ret_bytes bytes and a terminating 0, to be freed by the caller; or -errno,
 * without a message. Any thread.
 */
int read_file(const char *path, char **ret_text, size_t *ret_bytes);
