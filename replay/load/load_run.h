#pragma once
/*
 * Sends traffic on a device, each request at its time (open loop). Not thread-safe.
 */
#include "replay/load/load.h"
#include "replay/load/load_options.h"

/* The number of workers that send @load. */
uint32_t load_workers(const struct load *load, const struct load_options *options);

/*
 * Returns 0 and the result, also if requests failed; or -errno after log_err(): the device is
 * missing or lacks something, the buffers need more memory (-ENOSPC), or nothing has completed for
 * the timeout (-ETIMEDOUT).
 */
int load_run(const struct load *load, const struct load_options *options,
	     struct load_result *ret_result);
