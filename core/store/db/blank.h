#pragma once
/*
 * A trace file with all tables and no rows, created when the program was built.
 */

/* Write the blank trace to @fd, an empty file. Returns 0 or -errno. */
int blank_write(int fd);
