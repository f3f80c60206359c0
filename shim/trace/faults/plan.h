#pragma once
/*
 * The faults of this process: the rules of --faults, and which of them applies now.
 *
 * Any thread. Nothing happens in a program that was started without --faults: plan_on is then false
 * forever.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/faults/rule.h"
#include "core/wire/desc.h"

extern bool plan_on __attribute__((visibility("hidden")));

static inline bool plan_is_on(void)
{
	return __builtin_expect(plan_on, 0);
}

/* Add the rules of @file. Called when the process starts, by one thread. */
void plan_load(const char *file);

/* Does a rule have this effect? */
bool plan_has(enum fault_kind kind);

/* This process is about to open a device: it gets its number, and begins to count anew. */
void plan_open_device(void);

/* A fault that was chosen, and its line in the file. */
struct planned {
	struct fault fault;
	unsigned int line; /* 0: the program has asked for it */
	bool quiet;        /* the rule's first fault was recorded, and this one need not be */
	size_t pacer;      /* the rule with rate= for the request: plan_pace(); 0: none */
};

/*
 * Count a call of @verb, and choose its fault. A call of the recorder itself is not counted.
 * FAULT_KILL does not return.
 */
struct planned plan_call(enum verb verb);

/*
 * The same for a request of @opcode (enum ibv_wr_opcode, FAULT_OPCODE_RECV) of queue pair @qpn,
 * with @bytes of data.
 */
struct planned plan_request(uint32_t qpn, int opcode, uint64_t bytes);

/*
 * The same for a completion that comes from the device: FAULT_LATE or FAULT_NEVER, which are for
 * completions only.
 */
struct planned plan_completion(const struct ibv_wc *wc);

/* The same for an event of librdmacm, of enum rdma_cm_event_type. */
struct planned plan_cm_event(int event);

/*
 * The fault, FAULT_DELAY or none, of a request whose bytes were not known yet when it was counted,
 * and that has @pacer.
 */
struct planned plan_pace(size_t pacer, uint64_t bytes);

/*
 * Record that a fault is injected now: "ibv_reg_mr() fails with ENOMEM", and its line in the file.
 */
void plan_note(const struct planned *planned, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Now, CLOCK_MONOTONIC, ns. */
uint64_t plan_now(void);

/* Sleep for @ns. errno is preserved. */
void plan_wait(uint64_t ns);
