#pragma once
/*
 * What the model reports, and the functions that it reports to.
 *
 * One thread.
 */
#include "analyzer/model/lives.h"
#include "analyzer/model/transition.h"

struct key;
struct model_inside;
struct peer;

enum { MODEL_SHOWN = 8 };

/* A call of the application was given @object, which is not simply alive, by an argument. */
struct model_use {
	const struct trace_event *event;
	const struct life *object;
	enum verb verb;
	const char *path; /* "qp", "qp_init_attr.send_cq"; "wr[].wr.ud.ah" with an index: */
	unsigned int index;
	bool destroys; /* it is what the call destroys */
};

struct model_child {
	enum object_kind kind;
	char name[LIFE_NAME];
	struct moment created;
};

/* A destroy that has ended, or never will. */
struct model_destroy {
	const struct life *object;
	struct moment moment; /* of the call */
	bool returned;        /* false: it had not when its process or the trace ended */
	bool ended;           /* its process did, as far as is known */
	bool failed;
	int64_t ret;
	int64_t end; /* when it returned, or its process ended */
	/* objects that made it fail, or that it left without their parent */
	unsigned int nchildren;
	struct model_child children[MODEL_SHOWN]; /* the first of them */
};

/* An object that was alive when its context was closed or its process ended. */
struct model_leak {
	const struct life *object;
	struct moment at; /* the close; at the end of a process its id is 0:0 */
};

struct queue;
struct queue_request;

/* A post of the application, with what it accepted already outstanding. */
struct model_post {
	const struct trace_event *event; /* .post */
	const struct life *object;       /* QP, SRQ or WQ; NULL: not known, as is the queue */
	const struct queue *queue;       /* NULL: of an object that was inherited, or is dead */
	uint32_t taken;                  /* requests that were accepted, from the first on */
};

/* One completion; what it retires is still outstanding. */
struct model_complete {
	const struct trace_event *event;     /* .poll */
	uint32_t index;                      /* event->poll->wc[] */
	const struct life *cq, *qp;          /* NULL: not known */
	const struct queue *queue;           /* NULL: not known; that of an SRQ for its receives */
	const struct queue_request *request; /* NULL: not known */
};

/* What a queue was asked that it has no room for. */
enum model_strain_kind {
	STRAIN_BEYOND,   /* accepted, with more outstanding than the device said it takes */
	STRAIN_STUCK,    /* full of unsignalled requests, and one more; or its process was killed */
	STRAIN_FULL,     /* full of unsignalled requests, and no more before it ended */
	STRAIN_SGE,      /* a request has more SGEs than the queue takes: .number, .limit */
	STRAIN_INLINE,   /* or more inline bytes */
	STRAIN_REPEATED, /* part of a list was accepted, and then the whole list: .refusal */
	STRAIN_GIVEN_UP, /* a refused request was never posted again: .refusal */
	STRAIN_CQ,       /* more outstanding that complete there than it holds: queue->cq */
	STRAIN_WR_ID,    /* a number that is outstanding is posted again: .earlier */
	STRAIN_BUFFER,   /* a buffer that the device may write to is: .earlier */
};

struct queue_refusal;

struct model_strain {
	enum model_strain_kind kind;
	struct moment moment; /* of the post */
	uint32_t index;       /* of the request within it */
	const struct life *object;
	const struct queue *queue;
	uint64_t number, limit;
	const struct queue_refusal *refusal;
	const struct queue_request *earlier;
};

struct batch;

/* An object was used in a way that is not allowed: misuse.h. */
struct model_misuse {
	const struct trace_event *event;
	const struct life *object;
	struct moment at;
};

/* A completion of ibv_next_poll(), which was out of place: batch.h. */
struct model_batch {
	const struct life *cq;
	const struct batch *batch;
	struct moment at;
	uint64_t empty; /* calls of ibv_start_poll() that found nothing, just before it */
};

struct wake;

/* ibv_get_cq_event() has waited for a CQ's event while completions lay there: wake.h. */
struct model_wait {
	const struct life *cq;
	const struct wake *wake;
	struct moment at; /* of the call */
	int64_t from, to; /* when both was true */
};

/* How a process ended decides which objects it leaked. */
enum model_end {
	MODEL_EXITED,
	MODEL_REPLACED, /* by exec, which released its objects */
	MODEL_KILLED,
	MODEL_UNKNOWN, /* nobody saw it, or the trace ends first */
};

struct model_exit {
	uint32_t process;
	int64_t time;
	enum model_end how;
};

/* What is wrong with the use of a key. */
enum key_fault {
	KEY_UNKNOWN,   /* never seen, and the device refused it */
	KEY_GONE,      /* its region had been deregistered */
	KEY_OUTSIDE,   /* the range leaves its region */
	KEY_OTHER_PD,  /* of another protection domain than the queue */
	KEY_NO_ACCESS, /* the region lacks an access flag */
	KEY_UNBOUND,   /* of a window that is not bound */
	KEY_BINDING,   /* of a window whose bind has not completed */
	KEY_OTHER_AH,  /* no key: the address handle is of another protection domain */
};

/* A request names a key that does not fit. */
struct model_key {
	enum key_fault fault;
	struct moment at; /* the post */
	const struct life *queue;
	const struct key *key; /* NULL: never seen */
	uint32_t index;        /* of the request in its list */
	int sge;               /* which element; -1: the remote key */
	int opcode;            /* enum ibv_wr_opcode; -1: a receive */
	uint32_t number;
	uint64_t addr, length;
	uint32_t missing;        /* of access flags */
	const struct peer *peer; /* whose key it is; NULL: the program's own */
	const struct life *ah;   /* of KEY_OTHER_AH */
	int ret;                 /* of the post */
	int status;              /* of the completion that told; 0: none */
};

/* ibv_modify_qp() has returned. */
struct model_modify {
	const struct trace_event *event; /* the return */
	const struct life *object;
	int from, to; /* ABI_QPS_*; QP_UNKNOWN */
	uint32_t mask;
	bool wrong; /* not in the table of transitions: */
	struct transition_fault fault;
};

enum misfit {
	MISFIT_STATE,  /* its state does not allow posting there */
	MISFIT_SRQ,    /* a receive on a queue pair that has an SRQ */
	MISFIT_ERROR,  /* it is in ERR, and the program knows that */
	MISFIT_OPCODE, /* its type does not allow the opcode */
	MISFIT_OPS,    /* send_ops_flags do not have the opcode */
};

/* A post that its queue pair is not made for, or not ready for. */
struct model_misfit {
	const struct trace_event *event;
	const struct life *object;
	enum misfit what;
	uint32_t index; /* of the request with the opcode */
};

/* The first completion of a queue pair is that its peer did not answer. */
struct model_unreached {
	const struct trace_event *event; /* the poll */
	const struct life *object;
	uint32_t index; /* of the completion */
};

/* A device is used that is not open, and all lists with it were freed. */
struct model_device {
	const struct trace_event *event;
	const char *name;
	struct moment freed; /* the last of the lists */
};

/* A creation was given an object of another context, or what is no object of that kind. */
struct model_foreign {
	const struct trace_event *event; /* its return */
	const struct life *first;        /* of the arguments: its context should be that of all */
	const char *path;                /* "qp_init_attr.send_cq" */
	enum object_kind kind;           /* that belongs there */
	uint64_t handle;
	const struct life *object; /* what it is; NULL: nothing that is known */
};

/* A request that leaves its queue, which goes on, without a completion. */
struct model_forget {
	const struct queue *queue;
	const struct queue_request *request; /* still outstanding */
	bool reset; /* its queue was; false: no completion of it was seen */
};

/* The functions are called in order of the events. One that is NULL is not called. */
struct model_watcher {
	void (*use)(void *arg, const struct model_use *use);
	void (*destroy)(void *arg, const struct model_destroy *destroy);
	void (*leak)(void *arg, const struct model_leak *leak);
	void (*key)(void *arg, const struct model_key *key);
	void (*end)(void *arg, const struct model_exit *end);
	void (*post)(void *arg, const struct model_post *post);             /* may be NULL */
	void (*complete)(void *arg, const struct model_complete *complete); /* may be NULL */
	/* ibv_bind_mw() has posted to it; may be NULL */
	void (*bind)(void *arg, const struct queue *queue);
	void (*modify)(void *arg, const struct model_modify *modify);
	void (*misfit)(void *arg, const struct model_misfit *misfit);
	void (*batch)(void *arg, const struct model_batch *batch);
	void (*misuse)(void *arg, const struct model_misuse *misuse);
	void (*wait)(void *arg, const struct model_wait *wait);
	void (*strain)(void *arg, const struct model_strain *strain);
	/* a queue pair, SRQ, WQ or CQ is destroyed, or its process has ended; may be NULL */
	void (*retire)(void *arg, const struct life *object);
	void (*forget)(void *arg, const struct model_forget *forget); /* may be NULL */
	/* alive or dying, it is about to be dead or forgotten, for any reason; may be NULL */
	void (*leave)(void *arg, const struct life *object);
	void (*unreached)(void *arg, const struct model_unreached *unreached);
	void (*inside)(void *arg, const struct model_inside *inside); /* inside.h */
	void (*device)(void *arg, const struct model_device *device);
	void (*foreign)(void *arg, const struct model_foreign *foreign);
	void *arg;
};

/* Put functions that do nothing where there are none, but for those that may be NULL. */
void watcher_fill(struct model_watcher *watcher);

/* Tell of a use of @object, unless it is NULL or simply alive; @path as in struct model_use. */
void watcher_use(const struct model_watcher *watcher, const struct trace_event *event,
		 enum verb verb, struct life *object, const char *path, unsigned int index);
