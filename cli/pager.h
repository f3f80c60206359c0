#pragma once
/*
 * A pager between standard output and the terminal. One thread.
 */
#include <stdbool.h>

/*
 * Send standard output, and standard error if it is a terminal, through $PAGER or less, if standard
 * output is a terminal and such a program exists. From now on the process ends with status 0 when
 * the reader quits it.
 */
void pager_open(void);

/* Write the remaining output, and wait until the reader has quit. Does nothing without a pager. */
void pager_close(void);
