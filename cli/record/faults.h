#pragma once
/*
 * The faults file of a program that is about to be started. Not thread-safe.
 */
#include <stdbool.h>

/*
 * Check the faults file at @path, with one line on stderr for each that is wrong, and put it into
 * our environment, for libverbatim.so of the program, which replaces this process or is its child.
 * Returns 0; -EINVAL: lines are wrong; or another -errno after log_err().
 */
int faults_prepare(const char *path, bool replaced);
