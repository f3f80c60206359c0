#pragma once
/*
 * Memory shared by the replaying process and the replayed ones: a channel for each recorded thread,
 * and one for each process.
 *
 *	replaying process: command, args, room -> asked ------> replayed process
 *	                   ret, error, copies  <- answered <---
 *
 * All of it is one mapping that is made before the first fork, so an address in it is the same
 * everywhere. A channel has one command in progress at a time.
 */
#include <infiniband/verbs.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/desc.h"

/* The commands to a replayed process, with their args[]. */
enum process_command {
	PROCESS_START,     /* a thread: its channel */
	PROCESS_FORK,      /* a process: its channel; the pid */
	PROCESS_REAP,      /* a child's pid; its status as from waitpid(), or -1 */
	PROCESS_MAP,       /* address, length, protection */
	PROCESS_SETENV,    /* name, value */
	PROCESS_WRITE,     /* address, length; bytes in channel.room */
	PROCESS_READ,      /* the same */
	PROCESS_CALL,      /* arguments of the verb */
	PROCESS_POST_SEND, /* QP, first request; returns the index of the refused one in args[2] */
	PROCESS_POST_RECV, /* QP, SRQ or WQ, first request, verb; likewise in args[2] */
	PROCESS_BUILD,     /* QP, first request, how many, buffers, to be completed */
	PROCESS_POLL,      /* CQ, most, completions */
	PROCESS_ITERATE,   /* the same, with struct process_wc */
	PROCESS_NOTIFY,    /* CQ, solicited only */
	PROCESS_LOOK,      /* is an event waiting? channel or context, its kind */
	PROCESS_CQ_EVENT,  /* channel; the CQ in args[1], its context in args[2] */
	PROCESS_ASYNC,     /* context; event in args[1] */
	PROCESS_ACK_ASYNC, /* event */
	PROCESS_FAULT,     /* a rule, or NULL: struct fault_maker */
	PROCESS_RAISE,     /* context, event: the same */
	PROCESS_STRUCK,    /* the same */
	PROCESS_END,       /* enum process_ending */
	PROCESS_COMMANDS,
};

enum process_ending { PROCESS_EXIT, PROCESS_EXIT_NOW, PROCESS_KILLED };

enum { PROCESS_COPY = 1024, PROCESS_COPIES = 3, PROCESS_DEVICE = 64 };

/* An object of a replayed process, byte by byte. */
struct process_copy {
	uint64_t real; /* the object's address in its process; 0: none */
	enum object_kind kind;
	bool builds;   /* QP: it has an ibv_qp_ex */
	bool extended; /* CQ: a struct ibv_cq_ex */
	_Alignas(16) char bytes[PROCESS_COPY];
};

/* A completion from an iterator, and the readers that the iterator has. */
struct process_wc {
	struct ibv_wc wc;
	uint32_t flow_tag;
};

struct channel {
	uint32_t asked, answered;        /* futexes: the number of commands so far */
	uint32_t agent_sleeps, we_sleep; /* does a thread wait on asked, on answered? */
	enum process_command command;
	enum verb verb;
	uint64_t args[16];
	int64_t ret;
	int error;            /* errno */
	unsigned int refused; /* refused by --max-memory in this call */
	char device[PROCESS_DEVICE];
	struct process_copy copies[PROCESS_COPIES];
	/* the first half is for the arguments of a call, which may need more than that */
	char *room;
	size_t size;
};

/* channels[0..nprocesses-1]: for processes, of which 0 starts the others; then for threads */
struct process_wire {
	int alive; /* the reading end of a pipe, closed when the replaying process ends */
	uint32_t nprocesses, nchannels;
	struct channel channels[];
};

#define process_load(word)         __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define process_store(word, value) __atomic_store_n(&(word), value, __ATOMIC_SEQ_CST)

/* Sleep while *@word is @value, for at most @ns. */
static inline void process_sleep(uint32_t *word, uint32_t value, long ns)
{
	const struct timespec slice = { .tv_nsec = ns };

	syscall(SYS_futex, word, FUTEX_WAIT, value, &slice, NULL, 0);
}

static inline void process_wake(uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
