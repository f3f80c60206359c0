#pragma once
/*
 * The faults of this process: the rules of --faults, and which of them applies now.
 *
 * Any thread. In a program that was started without --faults, plan_on is always false, and nothing
 * happens.
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

/* Is there a rule with this kind of fault? */
bool plan_has(enum fault_kind kind);

/* This process is about to open a device: it gets its number, and its rules count from 0 again. */
void plan_open_device(void);

/* A fault that was chosen, and its line in the file. */
struct planned_fault {
	struct fault fault;
	unsigned int line; /* 0: the program has requested the fault */
	bool quiet;        /* it need not be recorded, since the first fault of the rule was */
	size_t pacer;      /* the rule with rate= that applies: plan_pace(); 0: none */
};

/*
 * Count a call of @verb, and choose its fault. Calls by the recorder itself are not counted. Does
 * not return for FAULT_KILL.
 */
struct planned_fault plan_call(enum verb verb);

/*
 * The same for a request of @opcode (enum ibv_wr_opcode, FAULT_OPCODE_RECV) of queue pair @qpn,
 * with @bytes of data.
 */
struct planned_fault plan_request(uint32_t qpn, int opcode, uint64_t bytes);

/* The same for a completion that was polled from the device: only FAULT_LATE or FAULT_NEVER. */
struct planned_fault plan_completion(const struct ibv_wc *wc);

/* The fault for an event of librdmacm, of enum rdma_cm_event_type. */
struct planned_fault plan_cm_event(int event);

/*
 * The fault, FAULT_DELAY or none, of a request with @pacer whose @bytes were not yet known when it
 * was counted.
 */
struct planned_fault plan_pace(size_t pacer, uint64_t bytes);

/*
 * Record that a fault is injected now, for example "ibv_reg_mr() fails with ENOMEM", with its line
 * in the file.
 */
void plan_note(const struct planned_fault *planned, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The current time, CLOCK_MONOTONIC, ns. */
uint64_t plan_now(void);

/* Sleep for @ns. errno is preserved. */
void plan_wait(uint64_t ns);
