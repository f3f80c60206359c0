#pragma once
/*
 * What each process waits for when it ends, or when the trace ends, and whom; and who is to blame
 * if many wait.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/activity.h"
#include "analyzer/facts/fact.h"
#include "analyzer/facts/wait_graph.h"
#include "analyzer/model/lives.h"
#include "analyzer/model/watcher.h"

struct model;
struct stalls_work;

/* What a link waits for. */
enum stall_why {
	STALL_SEND,    /* that the peer acknowledges its message, */
	STALL_CREDIT,  /* after it has posted a receive for it, */
	STALL_RDMA,    /* or the result of an RDMA operation or an atomic */
	STALL_MESSAGE, /* a message of the peer */
	STALL_WHYS,
};

/* A queue pair waits for its peer. */
struct stall_link {
	uint32_t process, to; /* processes */
	uint32_t qp, other;   /* queue pairs: objects, 0 not known */
	uint32_t cq;          /* the CQ of its completion: object, 0 not known */
	enum stall_why why;
	struct event_id request; /* the oldest send; 0:0: receives */
	int opcode;              /* of that */
	uint32_t stack;          /* of that, or of the last post of receives; 0 not known */
	int64_t since;           /* its post; or the last progress of the process */
	int64_t until;           /* the end of the process, or of the trace */
	uint64_t outstanding;    /* requests of the queue */
	uint64_t received;       /* messages that have come there */
	bool armed;              /* the CQ is armed, and no event was retrieved */
	uint64_t channel;        /* of the CQ: handle, 0 none */
	bool watched;            /* a thread polls the CQ, or waits for its event */
	bool used;               /* it is a link of the graph */
};

/* Why a process does not wait, or what it waits for; several may be true, the first is reported. */
enum stall_state {
	STALL_WELL,     /* it had ended with success */
	STALL_ENDED,    /* it had ended long before those that wait for it */
	STALL_STOPPED,  /* by a signal, or a debugger */
	STALL_MISLED,   /* a queue pair is connected to one that is connected to another */
	STALL_HUNG,     /* in a call that did not return */
	STALL_UNPOLLED, /* a completion has come, and was not polled */
	STALL_FULL,     /* a send queue is full of requests without a completion */
	STALL_IGNORES,  /* it polls, but not the CQ of what is outstanding */
	STALL_BARREN,   /* it polls, and nothing is outstanding */
	STALL_QUIET,    /* it calls no verb */
	STALL_BUSY,     /* none of these: it was at work when it ended */
	STALL_WAITS,
	STALL_UNKNOWN, /* it may wait for a process that is not in the trace */
	STALL_STATES,
};

/* "unpolled" */
extern const char *const stall_states[STALL_STATES];
/* "receive" */
extern const char *const stall_whys[STALL_WHYS];

/* A process. */
struct stall {
	uint32_t process;     /* 0: it called no verb */
	int64_t time;         /* when it ended, or the trace */
	int64_t quiet;        /* its last progress */
	struct moment last;   /* its last verb */
	int error;            /* with which that failed, if it was a control verb; else 0 */
	struct moment forked; /* the last fork or the like after it; id 0:0: none */
	char how[16];         /* that was made: "system" */
	uint32_t stack;       /* of that verb, else of its last post; 0 not known */
	bool ended, well;     /* before the trace did; with success */
	int signal;           /* that killed it; 0: not known, -1: none */
	int status;           /* with which it exited; -1: it did not, or not known */
	enum stall_state state;
	char seen;      /* state of its thread, as in proc(5): table `sample`; 0: not known */
	char wchan[40]; /* where it slept in the kernel; "": not known */
	int64_t seen_since;
	size_t first, n; /* its links */
	/* of the first state that applies */
	char object[LIFE_NAME]; /* queue pair or CQ */
	uint32_t qp;            /* that it is about: object, 0 none */
	uint64_t count;         /* completions, requests, polls */
	uint32_t other, others; /* MISLED: the connected process, and the intended one */
	char other_qp[LIFE_NAME], others_qp[LIFE_NAME];
	struct event_id hung; /* the call, */
	const char *what;     /* in words, borrowed; NULL: none */
	int64_t since;        /* 0: not known */
};

struct stalls {
	struct stall *all; /* by process */
	size_t n;
	struct stall_link *links; /* by process */
	size_t nlinks;
	struct wait_graph graph; /* its nodes are processes */
	size_t waiting;          /* processes that wait for one that is to blame */
	size_t processes;        /* that called a verb */
	bool err;                /* no memory: it has nothing */
	struct stalls_work *work;
};

int stalls_new(struct trace *trace, const struct activity *activity, struct stalls **ret_stalls);

/* Accepts NULL. */
void stalls_free(struct stalls *stalls);

/* The application has made a process. */
void stalls_fork(struct stalls *stalls, const struct trace_event *event);

/* A control verb of the application has returned. */
void stalls_return(struct stalls *stalls, const struct trace_event *event);

/* A process has ended, or the trace ends; the model still knows its objects. */
void stalls_end(struct stalls *stalls, struct model *model, const struct model_exit *end);

/* The last event has been seen, and all facts are known. */
void stalls_finish(struct stalls *stalls, const struct fact_list *facts);

/* The links of @stall. */
static inline const struct stall_link *stall_links(const struct stalls *stalls,
						   const struct stall *stall)
{
	return stalls->links + stall->first;
}

/* The link of the graph from @process to @to; NULL: none. */
const struct stall_link *stalls_link_from(const struct stalls *stalls, uint32_t process,
					  uint32_t to);

/* The same to one of @blame's processes. */
const struct stall_link *stalls_link_to(const struct stalls *stalls, const struct wait_blame *blame,
					uint32_t process);
