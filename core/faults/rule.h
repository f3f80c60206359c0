#pragma once
/*
 * The language of a faults file: one rule per line, a condition and a fault.
 *
 * It is read by the software device, by the recorder's library, which injects the same faults on
 * any device, and by the commands. docs/FAULTS.md explains it. Plain records; any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_ERRNO,   /* a verb, or the post of a request, fails with errno @value */
	FAULT_STATUS,  /* a completion has status @value, and @vendor_err */
	FAULT_DELAY,   /* a delay by @ns, and more (struct fault_delay) */
	FAULT_LOSE,    /* the packet is lost */
	FAULT_RNR,     /* the receiver is not ready */
	FAULT_OVERRUN, /* the completion queue overruns */
	FAULT_EVENT,   /* an asynchronous event: @value */
	FAULT_PORT,    /* the port goes down for @ns, permanently if 0; or up: @value */
	FAULT_KILL,    /* this process ends by SIGKILL; never returned */
	FAULT_LATE,    /* the completion is delivered @ns later */
	FAULT_NEVER,   /* the completion is not delivered */
	/* requests leave at @rate: fault_limit_rate() makes a FAULT_DELAY of it */
	FAULT_RATE,
	FAULT_DISCONNECT, /* the connection of librdmacm ends at this request */
	FAULT_BECOMES,    /* an event of librdmacm is replaced by @value, enum rdma_cm_event_type */
	FAULT_KINDS,
};

/* The software that injects the fault. */
enum fault_maker {
	FAULT_BY_DEVICE,   /* the software device: VERBATIM_SOFT_FAULTS */
	FAULT_BY_RECORDER, /* libverbatim.so, on any device: --faults */
};

/* The opcode of a receive request, which has no enum ibv_wr_opcode. */
#define FAULT_OPCODE_RECV 256

struct fault {
	enum fault_kind kind;
	int value;
	uint8_t vendor_err;
	/* added by the program: it applies only to a request that would succeed otherwise */
	bool given;
	uint64_t ns;
	uint64_t spread; /* ns: the time is uniformly distributed within this distance of @ns */
	uint64_t rate;   /* bytes a second */
	double tail;     /* probability of a much longer time: Pareto, with exponent 1 */
};

/* FAULT_PLACES: the most rules of a file that have at= */
enum { FAULT_NAME = 64, FAULT_PLACES = 256 };

/* One line of a faults file. */
struct fault_rule {
	char verb[40]; /* without ibv_; "": requests; "any" */
	int opcode;    /* enum ibv_wr_opcode; -1: any send request; or FAULT_OPCODE_RECV */
	uint32_t qpn;  /* 0: any */
	int node;      /* number of the process on the fabric; -1: any */
	/* ordinal of the thread in its process, by the first verb of each thread; -1: any */
	int nth_thread;
	/* enum rdma_cm_event_type; -1: the rule is not for events of librdmacm */
	int cm_event;
	char mark[FAULT_NAME];  /* only after the program has set this mark; "": always */
	char phase[FAULT_NAME]; /* only in this phase of the program; "": always */
	char at[FAULT_NAME];    /* only calls from this place in the code: fault_is_at(); "": any */
	uint64_t from, to;      /* the range of matching operations, counted from 1 */
	uint64_t every;         /* only each @every-th operation, from @from on; 1: all */
	/* probability that the fault is applied to one of these operations */
	double chance;
	uint64_t random; /* state of the generator: begins with the seed */
	struct fault fault;
	unsigned int line; /* in the file, from 1 */
	uint64_t count;    /* number of matches so far */
	uint64_t free_at;  /* FAULT_RATE: when all bytes so far have left, CLOCK_MONOTONIC, ns */
	/* for a rule that the program adds (fault_give()): */
	uint64_t thread; /* calls of this thread only */
	uint32_t pos;    /* the request at this position of its send queue */
};

/*
 * Parse one line into @rule. 1: a rule; 0: none, as in an empty line; -EINVAL with the reason in
 * @why.
 */
int fault_parse(char *line, struct fault_rule *rule, const char **why);

/* The reason why @maker cannot inject the fault; NULL: it can. */
const char *fault_why_impossible(const struct fault_rule *rule, enum fault_maker maker);

/*
 * The name of @verb, "ibv_create_qp_ex", in a rule: an extended verb has the name of the plain one.
 */
void fault_name_verb(const char *verb, char name[40]);

/* Is @rule for calls of @verb, a name as from fault_name_verb()? */
bool fault_is_for_verb(const struct fault_rule *rule, const char *verb);

/* A function of a call stack, and the line that it executes. */
struct fault_place {
	const char *function, *file; /* NULL: not known; a path */
	int line;
};

/*
 * Does @at, "function", "file.c" or "file.c:120", match @place? A path in @at may lack its first
 * folders.
 */
bool fault_is_at(const char *at, const struct fault_place *place);

/* The name in a rule for @event, enum rdma_cm_event_type; NULL: there is none. */
const char *fault_cm_name(int event);

/* Is @rule for requests of @opcode of queue pair @qpn? */
bool fault_is_for_request(const struct fault_rule *rule, uint32_t qpn, int opcode);

/*
 * Is @rule for completions of @opcode (enum ibv_wc_opcode; -1: not known, since it is an error) of
 * queue pair @qpn? A rule without an opcode is for all.
 */
bool fault_is_for_completion(const struct fault_rule *rule, uint32_t qpn, int opcode);

/*
 * Count an operation that matches @rule; Returns whether the rule applies to it. @again: it is a
 * retry, to which only random rules apply. One thread at a time.
 */
bool fault_applies(struct fault_rule *rule, bool again);

/*
 * The fault of @rule, with a time drawn from its distribution. FAULT_RATE becomes the FAULT_DELAY
 * of a request of @bytes until the earlier requests of the rule have left, or FAULT_NONE.
 */
struct fault fault_draw(struct fault_rule *rule, uint64_t bytes);

/* The same for FAULT_RATE at time @now, CLOCK_MONOTONIC in ns. */
struct fault fault_limit_rate(struct fault_rule *rule, uint64_t bytes, uint64_t now);
