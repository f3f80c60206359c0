#pragma once
/*
 * A pager between standard output and the terminal. Not thread-safe.
 */

/*
 * Send standard output, and standard error if it is a terminal, through $VERBATIM_PAGER, $PAGER or
 * less as soon as it is longer than the terminal, if standard output is a terminal and such a
 * program exists. From then on the process ends with status 0 when the reader quits it.
 */
void pager_offer(void);

/* Use no pager, for output that is read while it is written. */
void pager_cancel(void);

/* Wait until the reader has quit; all output was written. Does nothing without a pager. */
void pager_close(void);
