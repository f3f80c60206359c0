#pragma once
/*
 * The language of a faults file: one rule a line, a condition and an effect.
 *
 * It is read by the software device, by the recorder's library, which injects the same faults on
 * any device, and by the commands. docs/FAULTS.md explains it. Plain records; any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_ERRNO,      /* of a verb, or of the post of a request; @value */
	FAULT_STATUS,     /* of a completion; @value, @vendor_err */
	FAULT_DELAY,      /* by @ns, and more (struct fault_delay) */
	FAULT_LOSE,       /* the packet */
	FAULT_RNR,        /* the receiver is not ready */
	FAULT_OVERRUN,    /* of the completion queue */
	FAULT_EVENT,      /* asynchronous; @value */
	FAULT_PORT,       /* goes down for @ns, permanently if 0; or up: @value */
	FAULT_KILL,       /* this process ends by SIGKILL; never returned */
	FAULT_LATE,       /* the completion is delivered @ns later */
	FAULT_NEVER,      /* the completion is not delivered */
	FAULT_RATE,       /* requests leave at @rate: becomes FAULT_DELAY by fault_limit_rate() */
	FAULT_DISCONNECT, /* the connection of librdmacm ends at this request */
	FAULT_BECOMES,    /* an event of librdmacm is replaced by @value, enum rdma_cm_event_type */
	FAULT_KINDS,
};

/* The software that injects the fault. */
enum fault_maker {
	FAULT_BY_DEVICE,   /* the software device: VERBATIM_SOFT_FAULTS */
	FAULT_BY_RECORDER, /* libverbatim.so, on any device: --faults */
};

/* A receive request has no enum ibv_wr_opcode. */
#define FAULT_OPCODE_RECV 256

struct fault {
	enum fault_kind kind;
	int value;
	uint8_t vendor_err;
	bool given; /* added by the program: applied only to a request that would not fail anyway */
	uint64_t ns;
	uint64_t spread; /* ns: the time is uniformly distributed within this distance of @ns */
	uint64_t rate;   /* bytes a second */
	double tail;     /* probability of a much longer time: Pareto, with exponent 1 */
};

/* FAULT_PLACES: the most rules of a file that have at= */
enum { FAULT_NAME = 64, FAULT_PLACES = 256 };

/* One line of the file. */
struct fault_rule {
	char verb[40];          /* without ibv_; "": requests; "any" */
	int opcode;             /* enum ibv_wr_opcode; -1: any send request; or FAULT_OPCODE_RECV */
	uint32_t qpn;           /* 0: any */
	int node;               /* the place of the process; -1: any */
	int nth_thread;         /* of the process, in the order of first verbs; -1: any */
	int cm_event;           /* enum rdma_cm_event_type; -1: it is not for events of librdmacm */
	char mark[FAULT_NAME];  /* only after the program has set this mark; "": always */
	char phase[FAULT_NAME]; /* only in this phase of the program; "": always */
	char at[FAULT_NAME];    /* only calls from this place: fault_is_at(); "": any */
	uint64_t from, to;      /* of the matching operations; counted from 1 */
	uint64_t every;         /* from @from on; 1: each */
	double chance;          /* probability for the operations that remain */
	uint64_t random;        /* state of the generator: begins with the seed */
	struct fault fault;
	unsigned int line; /* in the file, from 1 */
	uint64_t count;    /* number of matches so far */
	uint64_t free_at;  /* FAULT_RATE: when the bytes so far have left, CLOCK_MONOTONIC, ns */
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
const char *fault_why_unsuited(const struct fault_rule *rule, enum fault_maker maker);

/*
 * The name of @verb, "ibv_create_qp_ex", in a rule: an extended verb has the name of the plain one.
 */
void fault_name_verb(const char *verb, char name[40]);

/* Is @rule for calls of @verb, a name as from fault_name_verb()? */
bool fault_is_for_verb(const struct fault_rule *rule, const char *verb);

/* A function of a call stack, where it is executed. */
struct fault_place {
	const char *function, *file; /* NULL: not known; a path */
	int line;
};

/* Is @at "function", "file.c" or "file.c:120", of @place? A path may lack its first folders. */
bool fault_is_at(const char *at, const struct fault_place *place);

/* The name of an enum rdma_cm_event_type in a rule; NULL: there is none. */
const char *fault_cm_name(int event);

/* Is @rule for requests of @opcode of queue pair @qpn? */
bool fault_is_for_request(const struct fault_rule *rule, uint32_t qpn, int opcode);

/*
 * Is @rule for completions of @opcode (enum ibv_wc_opcode; -1: not known, since it is an error) of
 * queue pair @qpn? A rule without an opcode is for all.
 */
bool fault_is_for_completion(const struct fault_rule *rule, uint32_t qpn, int opcode);

/*
 * Count an operation that matches @rule; does the rule apply to it? @again: it is a retry, to which
 * only random rules apply. One thread at a time.
 */
bool fault_applies(struct fault_rule *rule, bool again);

/*
 * The fault of @rule, with a time drawn from its distribution. FAULT_RATE becomes a delay for a
 * request of @bytes, or FAULT_NONE: the requests of the rule leave one after the other.
 */
struct fault fault_draw(struct fault_rule *rule, uint64_t bytes);

/* The same for FAULT_RATE at time @now, CLOCK_MONOTONIC in ns. */
struct fault fault_limit_rate(struct fault_rule *rule, uint64_t bytes, uint64_t now);
