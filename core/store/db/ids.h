#pragma once
/*
 * Names of events and objects, as all tables use them.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/wire/desc.h"

/* The name of an event, T:N: thread of the trace and event of the thread, both from 1. */
struct event_id {
	uint32_t thread; /* 0: none */
	uint64_t n;
};

/* The event as a key of a map. */
static inline uint64_t event_key(struct event_id id)
{
	return (uint64_t)id.thread << 40 ^ id.n;
}

/* Write "3:1042", or "-" for none, into @text, and return it; for a joint trace "b.db:3:1042". */
const char *event_id_text(struct event_id id, char text[32]);

enum { PROCESS_TEXT = 96 };

/*
 * The same for a process: "rank 5 (node n3)" in the trace of a job, else "process 2", "b.db process
 * 2".
 */
const char *process_id_text(uint32_t process, char text[PROCESS_TEXT]);

/* The number of a thread in its own trace, as in T:N. */
uint32_t thread_number(uint32_t thread);

/*
 * A part of a joint trace (core/store/read/joint.h): its name, and the number of threads and of
 * processes in the parts before it.
 */
struct id_range {
	char name[16];
	uint32_t threads, processes;
};

/*
 * Use the ranges @of in names of events and processes from now on; NULL: plain numbers. @of is
 * borrowed. No other thread may format names during this call.
 */
void ids_set_ranges(const struct id_range *of, size_t n);

struct process_name {
	char text[PROCESS_TEXT]; /* "": only the number of the process is known */
};

/*
 * Use these names for processes 1 to @n from now on. @names is borrowed. Thread-safe like
 * ids_set_ranges().
 */
void ids_set_process_names(const struct process_name *names, uint32_t n);

/* The part that contains @thread, or @process if @thread is 0; NULL: the trace is not joint. */
const struct id_range *ids_find_range(uint32_t thread, uint32_t process);

/* An object of the trace: table `object`. Never changes while the trace is open. */
struct object {
	uint32_t id; /* from 1, unique in the trace */
	uint32_t process;
	enum object_kind kind;
	uint32_t ordinal; /* 1: the first of its kind in its process */
	uint64_t handle;  /* the address of the object in that process */
	uint32_t number;  /* qp_num; lkey of an MR; rkey of an MW; wq_num; 0 for other kinds */
	uint32_t rkey;    /* of an MR */
	uint32_t parent;  /* id of the PD, context or device from which it was created; 0: none */
	/* the call that created it; 0:0: it existed before the recording */
	struct event_id created;
	struct event_id destroyed; /* the call that destroyed it; 0:0: none did */
	int64_t created_at;        /* ns: when the creating call returned */
	int64_t destroyed_at;      /* ns: when the destroying call began; INT64_MAX if none */
	const char *name;          /* "qp2", unique in the process; or the device's own name */
};
