#pragma once
/*
 * A replay in a child: with the software device preloaded, or of a part of a trace. Not
 * thread-safe.
 */
#include <stdbool.h>

/*
 * Run the same command, with the arguments @again, and wait for it; @soft: on the software device,
 * @alone: on a private fabric. A signal that ends us is passed to the child. Returns its exit
 * status.
 */
int replay_as_child(char **again, bool soft, bool alone);

/* Are we such a child, on the software device? */
bool replay_child_is(void);
