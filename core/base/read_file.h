#pragma once
#include <stddef.h>

/*
 * All of the file at @path, of /proc and /sys, too, which do not tell their
 * lengths. Returns 0, with a text that ends with a 0 behind its @ret_bytes bytes
 * and is the caller's to free(); or -errno, and nothing was said. Any thread.
 */
int read_file(const char *path, char **ret_text, size_t *ret_bytes);
