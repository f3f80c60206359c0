#pragma once
/*
 * A trace, done again on the devices at hand, and compared.
 *
 * All recorded processes are replayed by one thread of one process, in the
 * order of the recorded time. One thread.
 */
#include <stdint.h>

struct outcome;
struct trace;

struct replay_options {
	const char *device;  /* NULL: those that there are */
	double pace;         /* 0: as fast as possible; 1: as recorded; 2: twice as fast ... */
	/* called now and then, also while it waits: how many events, and the time of the last */
	void (*tell)(uint64_t events, int64_t time);
	int64_t timeout;     /* ns to wait for a completion or event */
	uint64_t max_memory; /* bytes: regions, and queues of the software device; at most */
};

/*
 * Replay @trace and fill @report. Returns 0, with divergences or without; or
 * -errno after log_err(): -ENODEV no device, -ENOMEM, -EBADMSG damaged trace,
 * -EFBIG it needs more memory than it may have...
 */
int replay_run(struct trace *trace, const struct replay_options *options, struct outcome *outcome);
