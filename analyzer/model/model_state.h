#pragma once
/*
 * The state of a model, shared by model.c (data verbs, processes) and control.c
 * (control verbs).
 *
 * Not thread-safe.
 */
#include "analyzer/model/device_list.h"
#include "analyzer/model/handles.h"
#include "analyzer/model/key.h"
#include "analyzer/model/lives.h"

#include "analyzer/model/peer.h"
#include "analyzer/model/watcher.h"
#include "core/base/map.h"

enum { QPS = 64, LEFT = 64 };

/* A destroy that has begun. */
struct destroy_in_progress {
	struct model_destroy destroy;
	struct life *life;
	struct destroy_in_progress *next;
};

/* A call of librdmacm that a thread is in. */
struct cm_call {
	bool inside;
	uint64_t id; /* its cm_id; 0: none */
};

/* A process that inherited another's objects. */
struct forked_process {
	uint32_t process;
	struct moment moment;
	struct forked_process *next, **at;
};

struct model {
	struct trace *trace;
	struct model_watcher watcher;
	struct lives lives;
	struct keys keys;
	struct peers peers;
	int64_t now; /* of the last event */
	struct destroy_in_progress *pending;
	struct pool pendings;       /* of struct destroy_in_progress */
	struct event_wait *waiting; /* cq_event.h */
	bool wakes;                 /* the process has a CQ with a channel */
	struct forked_process *forks;
	struct map fork_of; /* by process, to struct forked_process */
	struct device_lists device_lists;
	bool binds;            /* ibv_bind_mw() was called */
	struct cm_call *in_cm; /* by thread */
	uint32_t nin_cm;
	bool hidden_channels; /* an identifier has a channel of librdmacm itself */
	struct queue *busy;   /* queues with outstanding requests */
	/* threads whose events describe objects that existed before the recording */
	struct map older;
	struct map by_id; /* QPs by the trace's number, to struct life; without inherited ones */
	struct life *qps[QPS]; /* the QPs found last, by id; may be NULL */
	struct pinned *pinned; /* of process i + 1: pinned.h */
	uint32_t npinned;
	struct queue_destroyed *left; /* a ring of LEFT entries; NULL: none */
	unsigned int nleft;           /* number of entries ever stored */
	struct steady *steadies;      /* by process */
	uint32_t nsteadies;
	struct lost_pool *lost;           /* lost_buffers.h */
	struct vectors *vectors;          /* vectors.h */
	struct inside_call *inside;       /* destroy_race.h: calls that have not returned */
	struct inside_call *spare;        /* unused memory for the next such call, or NULL */
	struct destroy_race_meeting *met; /* calls whose object is being destroyed */
	struct last_verb *lasts;          /* by thread: last_verb.h */
	size_t nlasts;
	struct last_verb_process *last_of; /* by process */
	size_t nlast_of;
	struct crash_thread *crashes; /* crash.h */
	size_t ncrashes;
	struct swapped *swapped;             /* swapped.h; NULL: none */
	uint64_t compared;                   /* buffers: overlap.h */
	struct crossing *crossings;          /* crossing.c; NULL: none */
	struct read_release_polled *release; /* read_release.h; NULL: none */
	bool reads;                          /* a READ or an atomic was posted */
	unsigned int doubt;                  /* enum queue_doubt: applies to every new queue */
	int64_t whole_from;                  /* posts before this time may be missing */
};

/* Also finds dying and dead objects; NULL if there is none. */
static inline struct life *model_find(struct model *model, uint32_t process, enum object_kind kind,
				      uint64_t handle)
{
	return handle ? lives_find(&model->lives, process, kind, handle) : NULL;
}

/* The object whose handle argument @arg of @args is; NULL if there is none. @args may be NULL. */
static inline struct life *model_argument(struct model *model, const struct trace_event *event,
					  const struct args *args, enum arg arg,
					  enum object_kind kind)
{
	int64_t handle;

	if (!args || !args_get(args, arg, &handle))
		return NULL;
	return model_find(model, event->process, kind, (uint64_t)handle);
}

/* The librdmacm call that the event's thread is in. */
static inline const struct cm_call *cm_call_of(const struct model *model,
					       const struct trace_event *event)
{
	static const struct cm_call none;

	return event->id.thread < model->nin_cm ? &model->in_cm[event->id.thread] : &none;
}

/*
 * When the thread of a call that never returned ended; INT64_MAX: not before its process,
 * INT64_MIN: not known.
 */
static inline int64_t model_end_of_thread(const struct model *model, const struct moment *call)
{
	const struct thread *thread =
		model->trace ? trace_thread(model->trace, call->id.thread) : NULL;

	if (!thread || thread->end == INT64_MIN)
		return INT64_MIN;
	return thread->end > call->time ? thread->end : INT64_MAX;
}
