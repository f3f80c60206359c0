#pragma once
/*
 * Faults on demand, defined by the file VERBATIM_SOFT_FAULTS.
 *
 * Any thread. docs/SOFT-DEVICE.md has the format of the file; fault_text.c reads it.
 */
#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_ERRNO,   /* of a verb; @value */
	FAULT_STATUS,  /* of a completion; @value, @vendor_err */
	FAULT_DELAY,   /* by @ns */
	FAULT_LOSE,    /* the packet */
	FAULT_RNR,     /* the receiver is not ready */
	FAULT_OVERRUN, /* of the completion queue */
	FAULT_EVENT,   /* asynchronous; @value */
	FAULT_PORT,    /* goes down for @ns, permanently if 0; or up: @value */
	FAULT_KILL,    /* this process ends by SIGKILL; never returned */
};

struct fault {
	enum fault_kind kind;
	int value;
	uint8_t vendor_err;
	bool given; /* by the program: the request fails only if it would not fail by itself */
	uint64_t ns;
};

/* One line of the file. */
struct fault_rule {
	char verb[40];     /* without ibv_; "": send requests; "any" */
	int opcode;        /* enum ibv_wr_opcode; -1: any */
	uint32_t qpn;      /* 0: any */
	int node;          /* of the fabric; -1: any */
	uint64_t from, to; /* of those that match; counted from 1 */
	uint64_t every;    /* from @from on; 1: each */
	double chance;     /* probability for those that are left */
	uint64_t random;   /* state of the generator: begins with the seed */
	struct fault fault;
	uint64_t count; /* number of matches so far */
	/* for one that the program gives (fault_give): */
	uint64_t thread; /* calls of this thread only */
	uint32_t pos;    /* the request at this position of its send queue */
};

/*
 * Parse one line into @rule. 1: a rule; 0: none, as in an empty line; -EINVAL with the reason in
 * @why.
 */
int fault_parse(char *line, struct fault_rule *rule, const char **why);

/* Are there any rules? Check this before calling the functions below. */
extern bool fault_any;

static inline bool fault_is_any(void)
{
	return __atomic_load_n(&fault_any, __ATOMIC_RELAXED);
}

/*
 * Read the file, if there is one, for the process that is @node of its fabric. 0 or -EINVAL,
 * reported on stderr.
 */
int fault_load(uint32_t node);
void fault_unload(void);

/* The fault that applies to this call of @verb. */
struct fault fault_verb(const char *verb);

/*
 * The fault that applies to the send request at position @pos of its queue. @again: it is a retry,
 * to which only random rules apply.
 */
struct fault fault_request(uint32_t qpn, uint32_t pos, int opcode, bool again);

/*
 * Rules that the program adds at run time, for one operation each; they precede those of the file.
 * 0 or -ENOMEM.
 */
int fault_give(const struct fault_rule *rule);

/* Drop unused ones for calls of @thread (0: none), or for requests of @qpn. */
void fault_take_back(uint64_t thread, uint32_t qpn);

/* Count a fault that was applied; and their number. */
void fault_note_struck(void);
unsigned int fault_struck(void);
