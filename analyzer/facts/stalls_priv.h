#pragma once
/*
 * What stalls.c collects when processes end, and stalls_finish.c judges at the end of the trace.
 */
#include "analyzer/facts/stalls.h"
#include "analyzer/facts/thread_sets.h"

/* The state of a process when it ended. */
struct stall_note {
	struct activity_note threads;
	bool idle;         /* the samples show that its last poll was long before its end */
	bool unknown;      /* a request is outstanding, and its peer is not known */
	bool misled, full; /* stall.object etc. describe the misled queue pair, or the full queue */
	bool unpolled;     /* stall.object etc. describe an unpolled completion */
	uint32_t unpolled_cq;   /* the CQ of that completion: object */
	char cq[LIFE_NAME];     /* name of the CQ of its first link */
	struct event_id failed; /* the last call of the process that failed */
	int error;              /* the errno of that call */
	struct moment forked;   /* its last fork, even if the child has not ended yet */
	char how[16];
};

/* A further set of threads of a process; the first set has the process's own entry. */
struct stall_part {
	struct stall stall;
	struct stall_note note;
};

struct stalls_work {
	struct trace *trace;
	const struct activity *activity;
	struct stall_note *notes; /* by process */
	size_t n;
	struct thread_sets *sets;
	struct stall_part *parts;
	size_t nparts;
	uint32_t *part_of; /* by set: 1 + index in @parts; 0: it is the first set of its process */
	size_t npart_of;
	uint32_t base; /* at the end: the node of the first of the parts */
	struct stalls_cm *cm;
	struct stalls_datagram *datagrams;
};

/* Set the end of @stall's process: @time, or when a live process was last seen. */
void stall_fill_end(struct stall *stall, struct trace *trace, int64_t time);

/* At the end of the trace: the parts of processes become nodes. 0 or -1. */
int stalls_append_parts(struct stalls *stalls);

/* The node of set @set of the threads of @process; 0: there is none. */
uint32_t stalls_node_of(const struct stalls *stalls, uint32_t process, uint32_t set);

/* Find the nodes at both ends of all links, whose processes are known. */
void stalls_find_nodes(struct stalls *stalls);

/*
 * Read the samples of each node; its polls do not count if they stopped long before its end. 0 or
 * -1.
 */
int stalls_read_samples(struct stalls *stalls);
