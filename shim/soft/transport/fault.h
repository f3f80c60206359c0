#pragma once
/*
 * Faults on demand, as the file VERBATIM_SOFT_FAULTS asks for them.
 *
 * Any thread. The form of the file is in docs/SOFT-DEVICE.md; fault_text.c
 * reads it.
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
	FAULT_PORT,    /* goes down for @ns, for good if 0; or up: @value */
};

struct fault {
	enum fault_kind kind;
	int value;
	uint8_t vendor_err;
	uint64_t ns;
};

/* One line of the file. */
struct fault_rule {
	char verb[40];     /* without ibv_; "": send requests */
	int opcode;        /* enum ibv_wr_opcode; -1: any */
	uint32_t qpn;      /* 0: any */
	int node;          /* of the fabric; -1: any */
	uint64_t from, to; /* of those that match; from 1 */
	uint64_t every;    /* from @from on; 1: each */
	double chance;     /* of those that are left */
	uint64_t random;   /* its state: begins with the seed */
	struct fault fault;
	uint64_t count; /* so many have matched */
};

/*
 * Read one line into @rule. 1: a rule; 0: none, as in an empty line; -EINVAL
 * with the reason in @why.
 */
int fault_parse(char *line, struct fault_rule *rule, const char **why);

/* Are there any rules? Check this before calling the functions below. */
extern bool fault_any;

/*
 * Read the file, if there is one, for the process that is @node of its fabric. 0 or -EINVAL,
 * reported on stderr.
 */
int fault_load(uint32_t node);
void fault_unload(void);

/* The fault that strikes this call of @verb. */
struct fault fault_verb(const char *verb);

/*
 * The fault that strikes a send request. @again: it is a retry, which only rules of chance can
 * strike.
 */
struct fault fault_request(uint32_t qpn, int opcode, bool again);
