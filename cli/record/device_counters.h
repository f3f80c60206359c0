#pragma once
/*
 * The counters that devices show below ports/N/counters and hw_counters, at the beginning of a
 * trace and at its end. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct writer;

struct device_counter {
	char device[64];
	uint32_t port; /* 0: of the whole device */
	const char *folder;
	char name[64];
	uint64_t value; /* when the trace began */
	uint64_t seen;  /* when the counter was read last */
};

struct device_counters {
	char root[256]; /* a directory like /sys/class/infiniband */
	struct device_counter *all;
	size_t n;
	size_t refused;         /* files that this user may not read, ... */
	char refused_name[160]; /* ... and the first of these files */
	int64_t begun, next;    /* ns: first and next sample; 0: none yet */
};

/*
 * Read the counters of all devices below @root; none if @root does not exist. Returns 0 or -ENOMEM
 * after log_err().
 */
int device_counters_begin(struct device_counters *counters, const char *root);

/*
 * The same for a recording. @soft: the program's software device counts in a directory below
 * @session_dir, unless the user has chosen one; sets VERBATIM_SOFT_COUNTERS. session_remove()
 * removes that directory. Returns 0, or -errno after log_err().
 */
int device_counters_start(struct device_counters *counters, bool soft, const char *session_dir);

/*
 * Read the counters again and store both values. A device that did not exist at the beginning has
 * counted from 0; one that no longer exists is left out. Accepts zeroed @counters. Returns 0 or
 * -errno.
 */
int device_counters_store(const struct device_counters *counters, struct writer *writer);

/*
 * Once a second, if called at least as often: store the values that have changed since the last
 * time. After ten minutes it is less often, at most some thousand times. @now is in ns. Accepts
 * zeroed @counters. 0 or -errno.
 */
int device_counters_sample(struct device_counters *counters, struct writer *writer, int64_t now);

/* A rotation begins a trace: the current values are its first ones. Returns 0 or -ENOMEM. */
int device_counters_restart(struct device_counters *counters);

/* Free the contents of @counters and zero it. */
void device_counters_end(struct device_counters *counters);
