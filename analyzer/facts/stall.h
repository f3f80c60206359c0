#pragma once
/*
 * One process, or a set of its threads, that may wait for others, and its links to them.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"

enum { STALL_PATIENCE_NS = 250000000, STALL_ALIVE_NS = 1000000000 };

/* The event that a link waits for. */
enum stall_why {
	STALL_SEND,     /* the peer's acknowledgement of a message */
	STALL_CREDIT,   /* the peer's receive for a message, and its acknowledgement */
	STALL_RDMA,     /* the result of an RDMA operation or an atomic */
	STALL_MESSAGE,  /* a message of the peer */
	STALL_DATAGRAM, /* a datagram of a queue pair with which it has exchanged datagrams */
	STALL_CONNECT,  /* the peer to accept or reject the connection */
	STALL_ACCEPT,   /* the peer to receive the answer to its request */
	STALL_REQUEST,  /* a connection request */
	STALL_EVENT,    /* another event of the connection */
	STALL_WHYS,
};

/* A queue pair, or an identifier of librdmacm, waits for its peer. */
struct stall_link {
	uint32_t process, to; /* processes */
	/* known at the end of the trace: the nodes of the graph, and stalls_thread() of both */
	uint32_t node, there;
	uint32_t thread, their_thread;
	uint32_t qp, other; /* queue pairs: objects, 0 not known */
	uint32_t cq;        /* CQ of the awaited completion: object, 0 not known */
	enum stall_why why;
	struct event_id request; /* the oldest send; 0:0: receives */
	int opcode;              /* opcode of that send */
	uint32_t stack;       /* stack of that send, or of the last post of receives; 0 not known */
	int64_t since;        /* when the send was posted; or the last progress of the process */
	int64_t until;        /* the end of the process, or of the trace */
	uint64_t outstanding; /* requests of the queue */
	uint64_t received;    /* messages that the queue pair has received */
	bool armed;           /* the CQ is armed, and no event was retrieved */
	uint64_t channel;     /* event channel of the CQ or identifier: handle, 0: none */
	uint32_t cmid;        /* 1 + index of a librdmacm connection (stalls_cm.c); 0: verbs */
	bool watched;         /* a thread polls the CQ, or waits for its event */
	bool used;            /* it is a link of the graph */
};

/*
 * Why a process does not wait, or what it waits for. Several states may apply; the first is
 * reported.
 */
enum stall_state {
	STALL_WELL,                /* the process had ended with success */
	STALL_ENDED,               /* the process had ended long before those that wait for it */
	STALL_STOPPED,             /* a signal or a debugger has stopped it */
	STALL_MISLED,              /* the peer of a queue pair is connected to another queue pair */
	STALL_HUNG,                /* it is in a call that did not return */
	STALL_UNPOLLED,            /* a completion has come, and was not polled */
	STALL_FULL,                /* a send queue is full of requests without a completion */
	STALL_IGNORES,             /* it polls, but not the CQ of its outstanding requests */
	STALL_NOTHING_OUTSTANDING, /* it polls, and nothing is outstanding */
	STALL_QUIET,               /* it calls no verb */
	STALL_BUSY,                /* none of the above: it was at work when it ended */
	STALL_WAITS,
	STALL_UNKNOWN, /* it may wait for a process that is not in the trace */
	STALL_STATES,
};

/* A process, or some of its threads. */
struct stall {
	uint32_t process;   /* 0: it called no verb */
	uint32_t set;       /* a set of its threads: thread_sets.h; 0: all threads of the process */
	int64_t time;       /* when the process or the trace ended */
	int64_t quiet;      /* its last progress */
	struct moment last; /* its last verb */
	int error;          /* errno of that verb, if it is a failed control verb; else 0 */
	struct moment forked; /* the last fork() or system() after that verb; id 0:0: none */
	char how[16];         /* how it forked: "system" */
	uint32_t stack;       /* stack of the last verb, else of the last post; 0: not known */
	bool ended, well;     /* ended before the trace; well: with success */
	bool listens;         /* it has a link of STALL_REQUEST */
	int signal;           /* signal that killed it; 0: not known, -1: none */
	int status;           /* exit status; -1: it did not exit, or not known */
	enum stall_state state;
	char seen;      /* state of its thread, as in proc(5): table `sample`; 0: not known */
	char wchan[40]; /* kernel function it slept in; "": not known */
	int64_t seen_since;
	size_t first, n; /* its links */
	/* details of the state */
	char object[LIFE_NAME]; /* queue pair or CQ */
	uint32_t qp;            /* object: the queue pair in @object; 0: none */
	uint64_t count;         /* completions, requests, polls */
	/*
	 * STALL_MISLED: the process that it is connected to; the process that it should be
	 * connected to
	 */
	uint32_t other, others;
	char other_qp[LIFE_NAME], others_qp[LIFE_NAME];
	struct event_id hung; /* the call that did not return */
	const char *what;     /* what the call does, in words, borrowed; NULL: none */
	int64_t since;        /* 0: not known */
};

/* How long a process must have waited to count: a running job may just be in a long step. */
static inline int64_t stall_patience(const struct stall *stall)
{
	return stall->ended ? STALL_PATIENCE_NS : STALL_ALIVE_NS;
}
