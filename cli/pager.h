#pragma once
/*
 * A pager between standard output and the terminal. One thread.
 */
#include <stdbool.h>

/*
 * Let standard output, and standard error where that is a terminal, go through $PAGER or less, if
 * standard output is a terminal and there is such a program. From now on the process ends with
 * status 0 when the reader quits it.
 */
void pager_open(void);

/* Write what is left, and wait until the reader has quit. Nothing where there is no pager. */
void pager_close(void);
