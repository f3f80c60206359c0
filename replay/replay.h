#pragma once
/*
 * A trace, replayed on the devices at hand and compared.
 *
 * All recorded processes are replayed by one process, each of their threads by a thread of its own,
 * or all by one. One thread calls it.
 */
#include "replay/report/options.h"

struct outcome;
struct trace;

/*
 * Replay @trace and fill @outcome. Returns 0, with divergences or without; or
 * -errno after log_err(): -ENODEV no device, -ENOMEM, -EBADMSG damaged trace,
 * -EFBIG it needs more memory than allowed...
 */
int replay_run(struct trace *trace, const struct replay_options *options, struct outcome *outcome);
