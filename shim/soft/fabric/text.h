#pragma once
/* Text files named by an environment variable. Any thread. */

enum { TEXT_MAX = 1 << 20 };

/*
 * Open the file for reading. It must be regular and at most TEXT_MAX long: another file could block
 * the program while the library is loaded. Returns a descriptor, or -errno with a text in *ret_why.
 */
int text_open(const char *path, const char **ret_why);
