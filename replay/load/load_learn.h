#pragma once
/*
 * The traffic of a trace. Not thread-safe.
 */
#include "replay/load/load.h"

struct trace;

/*
 * A class for each sender, with its recorded times. The time of a request is that of its post; a
 * peer that is not in the trace sends when its messages were polled. Fails with -ENOSPC if the
 * tracks would take more than @most bytes. Returns 0 and traffic for load_fini(), or -errno after
 * log_err(); an unusual trace may have no classes.
 */
int load_learn(struct trace *trace, uint64_t most, struct load *ret_load);
