#pragma once
/* Files of text that an environment variable names. Any thread. */

enum { TEXT_MAX = 1 << 20 };

/*
 * Open the file for reading: a regular one, at most TEXT_MAX long. Any other file could block the
 * program as it loads us. Returns a descriptor, or -errno with a text in *ret_why.
 */
int text_open(const char *path, const char **ret_why);
