#pragma once
/*
 * Options of a replay.
 */
#include <stdbool.h>
#include <stdint.h>

/* --faults */
enum faults {
	FAULTS_RECORDED,
	FAULTS_NONE,
	FAULTS_DEFAULT, /* recorded, if the device supports it */
};

/* --cm */
enum cm_calls {
	CM_RECORDED, /* calls of librdmacm are replayed */
	CM_VERBS,    /* only the verbs inside the calls of librdmacm */
};

/* --threads */
enum replay_threads {
	THREADS_RECORDED, /* one thread for each recorded thread */
	THREADS_SERIAL,   /* one thread, in the order of the recorded times */
	THREADS_AUTO,     /* one thread if that is faster */
};

struct alive_objects;
struct pair_options;

struct replay_options {
	const char *device; /* NULL: all devices of this machine */
	bool processes;     /* a process for each recorded process, forked at the same points */
	double pace;        /* 0: as fast as possible; 1: as recorded; 2: twice as fast ... */
	/*
	 * called from time to time, also while waiting: the number of replayed events, and the time
	 * of the last
	 */
	void (*tell)(uint64_t events, int64_t time);
	int64_t timeout;       /* ns to wait for a completion or event */
	unsigned int threads;  /* enum replay_threads */
	unsigned int faults;   /* enum faults */
	unsigned int cm;       /* enum cm_calls */
	bool skip_unsupported; /* leave out calls that need features the device lacks */
	bool stands_in;        /* the device is the software device, in place of the recorded one */
	bool described;        /* the software device has another device's attributes */
	bool moment;           /* list the objects that are alive at the end */
	/* called with that list, while the objects are alive; or NULL */
	void (*look)(const struct alive_objects *moment);
	const struct pair_options *pair; /* the other half on another host; NULL: none */
	uint64_t max_memory; /* bytes, for regions and for queues of the software device */
	/* called after all processes are forked: from now on there may be more threads */
	void (*forked)(void *arg);
	void *arg; /* of forked() */
};
