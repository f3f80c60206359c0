#pragma once
/*
 * The facts that the model reports, and the callbacks for them.
 *
 * Not thread-safe.
 */
#include "analyzer/model/lives.h"
#include "analyzer/model/transition.h"

struct key;
struct model_astray;
struct model_crash;
struct model_inside;
struct peer;

enum { MODEL_SHOWN = 8 };

/* A call of the application has @object, which is not simply alive, as an argument. */
struct model_use {
	const struct trace_event *event;
	const struct life *object;
	enum verb verb;
	const char *path; /* "qp", "qp_init_attr.send_cq"; "wr[].wr.ud.ah" with an index: */
	unsigned int index;
	bool destroys; /* the call destroys the object */
};

struct model_child {
	enum object_kind kind;
	char name[LIFE_NAME];
	struct moment created;
};

/* A destroy that has ended, or that will never end. */
struct model_destroy {
	const struct life *object;
	struct moment moment; /* of the call */
	bool returned;        /* false: it had not returned when its process or the trace ended */
	bool ended;           /* its process is known to have ended */
	bool failed;
	int64_t ret;
	int64_t end; /* when it returned, or its process ended */
	/* objects that made it fail, or that lost their parent */
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

/* A post of the application; accepted requests are outstanding already. */
struct model_post {
	const struct trace_event *event; /* .post */
	const struct life *object;       /* QP, SRQ or WQ; NULL: not known, as is the queue */
	const struct queue *queue;       /* NULL: the object was inherited, or is dead */
	uint32_t taken;                  /* accepted requests, counted from the first */
};

/* One completion; the requests that it retires are still outstanding. */
struct model_complete {
	const struct trace_event *event; /* .poll */
	uint32_t index;                  /* event->poll->wc[] */
	const struct life *cq, *qp;      /* NULL: not known */
	/* NULL: not known; for receives of an SRQ, the queue of the SRQ */
	const struct queue *queue;
	const struct queue_request *request; /* NULL: not known */
};

/* How a queue's capacity was exceeded. */
enum queue_problem_kind {
	PROBLEM_BEYOND, /* accepted, with more outstanding than the granted depth */
	/* full of unsignalled requests when it got one more post, or when its process was killed */
	PROBLEM_STUCK,
	PROBLEM_FULL,   /* full of unsignalled requests until the end, without a further post */
	PROBLEM_SGE,    /* a request has more SGEs than the queue takes: .number, .limit */
	PROBLEM_INLINE, /* a request has more inline bytes than the queue takes: .number, .limit */
	PROBLEM_REPEATED, /* part of a list was accepted, and then the whole list: .refusal */
	PROBLEM_GIVEN_UP, /* a refused request was never posted again: .refusal */
	/* more outstanding requests will complete on a CQ than it holds: queue->cq */
	PROBLEM_CQ,
	PROBLEM_FLUSHED_CQ, /* the CQ would overflow if all outstanding requests were flushed */
	PROBLEM_NARROW_CQ,  /* its queues may have .number completions, and it has .limit entries */
	PROBLEM_WR_ID,      /* a request is posted with the wr_id of an outstanding one: .earlier */
	PROBLEM_BUFFER,     /* a receive buffer is already in use by another request: .earlier */
	PROBLEM_GRH_ROOM,   /* the receive of a datagram is not larger than the GRH: .number */
	PROBLEM_GRH_SENT,   /* a datagram is sent from the GRH of another: address .number */
	/* a datagram of .number bytes from .other; the receives have at most .limit bytes */
	PROBLEM_GRH_SHORT,
	/*
	 * A datagram has Q_Key .number, and its receiver, .other, has .limit. .given: the
	 * remote_qkey of the request.
	 */
	PROBLEM_QKEY,
};

struct queue_refusal;

struct model_queue_problem {
	enum queue_problem_kind kind;
	struct moment moment; /* of the post */
	uint32_t index;       /* of the request in its list */
	uint32_t unposted;    /* requests after it in the list, if the post failed with it */
	const struct life *object;
	const struct queue *queue;
	uint64_t number, limit;
	uint32_t given;
	const struct queue_refusal *refusal;
	const struct queue_request *earlier;
	const struct life *other;
};

struct batch;

/* Invalid use of an object: misuse.h. */
struct model_misuse {
	const struct trace_event *event;
	const struct life *object;
	struct moment at;
};

/* A call of ibv_next_poll() at a wrong time: batch.h. */
struct model_batch {
	const struct life *cq;
	const struct batch *batch;
	struct moment at;
	/* calls of ibv_start_poll() just before the completion that found nothing */
	uint64_t empty;
};

struct cq_event;

/* ibv_get_cq_event() has waited for a CQ's event while completions were in the CQ: cq_event.h. */
struct model_wait {
	const struct life *cq;
	const struct cq_event *wake;
	struct moment at; /* of the call */
	int64_t from, to; /* while the call waited and completions were in the CQ */
};

/* The way a process ended; it determines the leaked objects. */
enum model_end {
	MODEL_EXITED,
	MODEL_REPLACED, /* an exec has replaced the program and released its objects */
	MODEL_KILLED,
	MODEL_UNKNOWN, /* the end was not recorded, or the trace ends first */
};

struct model_exit {
	uint32_t process;
	int64_t time;
	enum model_end how;
};

/* Why a request does not fit its key; the first are those of key_judge(). */
enum key_fault {
	KEY_FITS,
	KEY_UNCERTAIN, /* the key was created, changed or destroyed at about that time */
	KEY_UNKNOWN,   /* not in the trace; reported if the device refused it */
	KEY_GONE,      /* its region had been deregistered, or its window deallocated */
	KEY_INVALID,   /* its window had been invalidated, and perhaps deallocated since */
	KEY_OTHER_PD,  /* its protection domain differs from the queue's */
	KEY_UNBOUND,   /* the key of a window that is not bound */
	KEY_OUTSIDE,   /* the range exceeds its region or window */
	KEY_NO_ACCESS, /* the region or window lacks an access flag */
	KEY_BINDING,   /* the key of a window whose bind has not completed */
	KEY_RELEASED,  /* the memory of its region had been unmapped */
	KEY_OTHER_AH,  /* not a key: the address handle is of another protection domain */
};

/* A request uses an invalid key. */
struct model_key {
	enum key_fault fault;
	struct moment at; /* the post */
	const struct life *queue;
	const struct key *key; /* NULL: never seen */
	uint32_t index;        /* of the request in its list */
	int sge;               /* index of the element; -1: the remote key */
	int opcode;            /* enum ibv_wr_opcode; -1: a receive */
	uint32_t number;
	uint64_t addr, length;
	uint32_t missing;        /* access flags that the key lacks */
	const struct peer *peer; /* the owner of the key; NULL: the program itself */
	const struct life *ah;   /* of KEY_OTHER_AH */
	int ret;                 /* of the post */
	int status;              /* status of the completion that reported it; 0: none */
};

/* ibv_modify_qp() has returned. */
struct model_modify {
	const struct trace_event *event; /* the return */
	const struct life *object;
	int from, to; /* ABI_QPS_*; QP_UNKNOWN */
	uint32_t mask;
	bool wrong; /* not in the table of transitions: `fault` says why */
	struct transition_fault fault;
};

enum invalid_post {
	INVALID_POST_STATE, /* the queue pair's state does not allow the post */
	INVALID_POST_SRQ,   /* a receive on a queue pair that has an SRQ */
	INVALID_POST_ERROR, /* the queue pair is in ERR, and the program was notified of that */
	/* the queue pair is in ERR, but another thread posts, which may not know that yet */
	INVALID_POST_LATE,
	INVALID_POST_SPARE,  /* qp->spare, at a modify to RESET */
	INVALID_POST_OPCODE, /* the queue pair's type does not allow the opcode */
	INVALID_POST_OPS,    /* send_ops_flags do not include the opcode */
};

/* A post that is invalid for the type or state of its queue pair. */
struct model_invalid_post {
	const struct trace_event *event;
	const struct life *object;
	enum invalid_post what;
	uint32_t index; /* index of the request with the opcode */
};

/* The first completion of a queue pair is an error, because the peer did not answer. */
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

/*
 * A creation was passed an object of another context, or something that is not an object of the
 * expected kind.
 */
struct model_foreign {
	const struct trace_event *event; /* the return of the modify */
	/* first of the arguments: all others should have its context */
	const struct life *first;
	const char *path;      /* "qp_init_attr.send_cq" */
	enum object_kind kind; /* the expected kind */
	uint64_t handle;
	const struct life *object; /* the argument; NULL: not a known object */
};

/* A request that leaves its queue without a completion, while the queue continues. */
struct model_forget {
	const struct queue *queue;
	const struct queue_request *request; /* still outstanding */
	bool reset; /* the queue was reset; false: its completion is not in the trace */
};

/* The functions are called in the order of the events. Those that are NULL are not called. */
struct model_watcher {
	void (*use)(void *arg, const struct model_use *use);
	void (*destroy)(void *arg, const struct model_destroy *destroy);
	void (*leak)(void *arg, const struct model_leak *leak);
	void (*key)(void *arg, const struct model_key *key);
	void (*end)(void *arg, const struct model_exit *end);
	void (*post)(void *arg, const struct model_post *post);             /* may be NULL */
	void (*complete)(void *arg, const struct model_complete *complete); /* may be NULL */
	/* ibv_bind_mw() has posted to @queue; may be NULL */
	void (*bind)(void *arg, const struct queue *queue);
	void (*modify)(void *arg, const struct model_modify *modify);
	void (*invalid_post)(void *arg, const struct model_invalid_post *invalid_post);
	void (*batch)(void *arg, const struct model_batch *batch);
	void (*misuse)(void *arg, const struct model_misuse *misuse);
	void (*wait)(void *arg, const struct model_wait *wait);
	void (*queue_problem)(void *arg, const struct model_queue_problem *queue_problem);
	void (*astray)(void *arg, const struct model_astray *astray); /* astray.h */
	/* a queue pair, SRQ, WQ or CQ is destroyed, or its process has ended; may be NULL */
	void (*retire)(void *arg, const struct life *object);
	/* a queue or CQ exists when its process leaves the trace in an unknown way; may be NULL */
	void (*remain)(void *arg, const struct life *object);
	void (*forget)(void *arg, const struct model_forget *forget); /* may be NULL */
	/* a live or dying object is about to become dead or be dropped; may be NULL */
	void (*leave)(void *arg, const struct life *object);
	void (*unreached)(void *arg, const struct model_unreached *unreached);
	void (*inside)(void *arg, const struct model_inside *inside); /* destroy_race.h */
	void (*crash)(void *arg, const struct model_crash *crash);    /* crash.h */
	void (*device)(void *arg, const struct model_device *device);
	void (*foreign)(void *arg, const struct model_foreign *foreign);
	/*
	 * Only the states of objects and the contents of queues are wanted: of data verbs, nothing
	 * is judged but by post, complete, forget and leave, which takes half the time.
	 */
	bool states_only;
	bool starved; /* with states_only: messages without a receive are found nevertheless */
	void *arg;
};

/* Set functions that do nothing in place of NULL, except for those that may be NULL. */
void watcher_fill(struct model_watcher *watcher);

/*
 * Is a use of @object, which may be NULL, worth a report? Nearly all objects are alive, and need no
 * report.
 */
static inline bool watcher_wants(const struct life *object)
{
	return object && (object->state != LIFE_LIVE || object->inherited);
}

/* Report a use of @object, if it is needed; @path as in struct model_use. */
void watcher_report_use(const struct model_watcher *watcher, const struct trace_event *event,
			enum verb verb, struct life *object, const char *path, unsigned int index);

static inline void watcher_use(const struct model_watcher *watcher, const struct trace_event *event,
			       enum verb verb, struct life *object, const char *path,
			       unsigned int index)
{
	if (watcher_wants(object))
		watcher_report_use(watcher, event, verb, object, path, index);
}
