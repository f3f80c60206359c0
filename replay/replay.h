#pragma once
/*
 * Replays a trace on the devices of this machine and compares the results.
 *
 * All recorded processes are replayed by one process, and their threads by one thread each, or all
 * by one. One thread calls it.
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
