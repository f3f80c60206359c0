#pragma once
/*
 * Runs of the program under test, each recorded, with a fabric of the software device, a folder for
 * temporary files and a range of ports of its own. Several at a time. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUN_PATH = 300, RUN_PORTS = 16 };

struct run {
	const char *device;    /* "soft", or its name */
	bool by_recorder;      /* the recorder injects the failures, not the software device */
	pid_t pid;             /* of the recorder; 0: not running */
	char folder[RUN_PATH]; /* its trace, output and temporary files */
	char fabric[64];       /* where its processes meet */
	uint64_t begin, end;   /* CLOCK_MONOTONIC, ns; it is stopped at @end */
	/* memory is filled with garbage when it is allocated and when it is freed */
	bool perturbed;
	bool late; /* the run was stopped, since it was late */
	unsigned int
		port; /* for %p in arguments: this one and RUN_PORTS - 1 after it are its own */
};

/* The result of a run. */
struct run_end {
	int status;    /* exit status of the program; 128 + N: signal N */
	bool late;     /* the program did not end in time */
	uint64_t took; /* ns */
};

/*
 * Create @run->folder and start @program in it, with @rule as its faults file (NULL: none), for at
 * most @ns. 0 or -errno after log_err().
 */
int run_start(struct run *run, char *const *program, const char *rule, uint64_t ns);

/* Has the run ended? 1; 0: not yet; or -errno after log_err(). */
int run_poll(struct run *run, struct run_end *ret_end);

/* Kill the run. Does nothing if it is not running. */
void run_stop(struct run *run);

/* Remove the folder and the fabric of the run. */
void run_remove(const struct run *run);

/* The path of one of the run's files: "trace.db", "out", "err". Returns @path. */
const char *run_file(const struct run *run, const char *name, char path[RUN_PATH + 16]);
