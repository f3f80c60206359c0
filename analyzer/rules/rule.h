#pragma once
/*
 * The rules, one row each in rules.def. docs/HOWTO-add-a-rule.md explains a row.
 *
 * Constant data; any thread.
 */
#include "analyzer/model/astray.h"
#include "analyzer/model/crash.h"
#include "analyzer/model/destroy_race.h"
#include "analyzer/model/watcher.h"

struct check;
struct findings;

enum rule_id {
#define RULE(id, ...) RULE_##id,
#define HOOK(...)
#include "analyzer/rules/rules.def"
#undef RULE
#undef HOOK
	RULE_COUNT,
};

/*
 * A completion is plain if it succeeded, is not the first of its queue, and its request was
 * outstanding for less than this time (so its queue is alive), or is a receive of a queue pair that
 * lives. Nearly all are plain, and rules ignore them.
 */
enum { COMPLETE_SOON = 250000000 }; /* ns */

/*
 * The hooks of rules, and the type of their argument. `call', `returned' and `post' get only the
 * application's own events, not those of a library on its behalf.
 */
#define EACH_HOOK(X)                                                                               \
	X(use, struct model_use)         /* an object was used that is dying, dead or unknown */   \
	X(destroy, struct model_destroy) /* a destroy ended, or never will */                      \
	X(leak, struct model_leak)       /* an object outlived its context or process */           \
	X(key, struct model_key)         /* a request names a key that does not fit */             \
	X(modify, struct model_modify)   /* ibv_modify_qp() has returned */                        \
	X(invalid_post,                                                                            \
	  struct model_invalid_post)         /* a post that its queue pair is not ready for */     \
	X(unreached, struct model_unreached) /* the first request was not answered */              \
	X(inside, struct model_inside)   /* a call used an object that another thread destroyed */ \
	X(crash, struct model_crash)     /* a process crashed after a destroy */                   \
	X(device, struct model_device)   /* a device of a list that was freed is used */           \
	X(foreign, struct model_foreign) /* an object of another context was passed */             \
	X(call, struct trace_event)      /* a control verb begins */                               \
	X(returned, struct trace_event)  /* a control verb has returned */                         \
	X(post, struct model_post)       /* requests were posted; for each post: be quick */       \
	X(complete, struct model_complete) /* a completion that is not plain was polled */         \
	X(queue_problem, struct model_queue_problem) /* a queue got more than it holds */          \
	X(astray, struct model_astray)               /* a datagram without a receiver */           \
	X(retire, struct life)         /* a queue or CQ ends; its counts are still known */        \
	X(remain, struct life)         /* the same, when the end of its process is unknown */      \
	X(batch, struct model_batch)   /* ibv_next_poll() was out of place */                      \
	X(misuse, struct model_misuse) /* record --strict has seen a misuse */                     \
	X(wait, struct model_wait)     /* a process waits for an event that cannot come */         \
	X(fork, struct trace_event)    /* a fork, in the parent */                                 \
	X(memory, struct trace_event)  /* registered memory was given back */                      \
	X(end, struct model_exit)      /* a process ended; its objects are still known */          \
	X(finish, struct findings)     /* the last event has been seen */

#define HOOK_TYPE(hook, fact) typedef void hook##_fn(struct check *check, const fact *hook);
EACH_HOOK(HOOK_TYPE)
#undef HOOK_TYPE

#define RULE(...)
#define HOOK(rule, hook, function) hook##_fn function;
#include "analyzer/rules/rules.def"
#undef RULE
#undef HOOK

struct rule {
	const char *id;       /* "LIFE-001": stable, never reused */
	const char *name;     /* "use-after-destroy" */
	char severity;        /* 'E' error, 'W' warning, 'P' performance, 'I' information */
	const char *evidence; /* kinds of events: c control, d data, q polling, f fork,
			      m memory map, p the peer, t threads */
	const char *means, *harm, *advice, *source;
};

extern const struct rule rules[RULE_COUNT];

/* "LIFE-001", regardless of the case, or "use-after-destroy"; -1 if there is none. */
int rule_find(const char *id);

/* "error", "warning"... */
const char *rule_severity(char severity);
