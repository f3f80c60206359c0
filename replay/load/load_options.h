#pragma once
/*
 * How traffic is sent, and the results. Plain data.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum load_workers {
	LOAD_SERIAL,    /* one thread sends and receives for all ranks */
	LOAD_THREADS,   /* one for each rank */
	LOAD_PROCESSES, /* a process for each rank */
};

struct load_options {
	const char *device; /* NULL: the machine's first */
	double pace;        /* 2: twice as fast as the times of the tracks */
	uint64_t memory;    /* bytes that buffers of requests may take; 0: any */
	int64_t timeout;    /* end after this time without progress, ns */
	int64_t deadline;   /* time at which to stop, ns from now; 0: none */
	enum load_workers workers;
	volatile sig_atomic_t *stop; /* not 0: stop; NULL: never */
	/*
	 * Called when a request was issued @ns after its time, and only requests of its worker
	 * delayed it. @worker is below load_workers(); called in its own thread or process.
	 */
	void (*late)(void *arg, uint32_t worker, int64_t ns);
	void *arg;
};

/* The first completion in error. */
struct load_failure {
	uint32_t from, to; /* ranks */
	int status;        /* enum ibv_wc_status; 0: none has failed */
	int64_t time;      /* ns */
};

struct load_result {
	char device[64];
	uint64_t issued, completed;
	uint64_t messages, received; /* requests that consume a receive: issued; arrived */
	double bytes;
	int64_t first, last;         /* when the first and the last request were issued, ns */
	uint64_t full;               /* requests that found the send queue full at their time */
	int64_t full_longest;        /* the longest wait of such a request, ns */
	uint32_t full_from, full_to; /* ranks of that request */
	uint64_t errors;             /* completions in error */
	struct load_failure failure;
	bool stopped, late; /* by @stop, by the deadline */
};
