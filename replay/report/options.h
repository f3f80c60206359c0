#pragma once
/*
 * How a trace is to be replayed.
 */
#include <stdbool.h>
#include <stdint.h>

/* --faults */
enum faults {
	FAULTS_RECORDED,
	FAULTS_NONE,
	FAULTS_DEFAULT, /* recorded, where the device can */
};

/* --cm */
enum cm_calls {
	CM_RECORDED, /* calls of librdmacm are made again */
	CM_VERBS,    /* only the verbs inside them */
};

/* --threads */
enum replay_threads {
	THREADS_RECORDED, /* one for each recorded one */
	THREADS_SERIAL,   /* one, in the order of the recorded times */
	THREADS_AUTO,     /* one where that is faster */
};

struct moment;
struct pair_options;

struct replay_options {
	const char *device; /* NULL: all devices of this machine */
	bool processes;     /* one for each recorded one, forked where that was */
	double pace;        /* 0: as fast as possible; 1: as recorded; 2: twice as fast ... */
	/* called from time to time, also while waiting: events done, and the time of the last */
	void (*tell)(uint64_t events, int64_t time);
	int64_t timeout;       /* ns to wait for a completion or event */
	unsigned int threads;  /* enum replay_threads */
	unsigned int faults;   /* enum faults */
	unsigned int cm;       /* enum cm_calls */
	bool skip_unsupported; /* leave out what the device cannot do */
	bool stands_in;        /* the software device, for another that was recorded */
	bool described;        /* the software device has another's attributes */
	bool moment;           /* list what is alive at the end */
	void (*look)(const struct moment *moment); /* then call that, with all alive; or NULL */
	const struct pair_options *pair; /* the other half is on another host; NULL: it is not */
	uint64_t max_memory; /* bytes, for regions and for queues of the software device */
	/* called when all that it forks itself is forked: from now on there may be more threads */
	void (*forked)(void *arg);
	void *arg; /* of that */
};
