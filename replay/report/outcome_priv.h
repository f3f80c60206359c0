#pragma once
/* Shared by the files that write an outcome. */
#include <pthread.h>
#include <stddef.h>

#include "replay/report/inferred.h"
#include "replay/report/alive_objects.h"
#include "replay/report/outcome.h"
#include "replay/report/outcome_cause.h"
#include "replay/report/rounds.h"
#include "replay/report/tolerate.h"

/* The cause number for line 0 of --tolerate; later lines have the following numbers. */
#define CAUSE_TOLERATED (UINT64_MAX / 2)

/* The cause number of injected error 0, as long as it has no consequence that differs. */
#define CAUSE_INJECTED (UINT64_MAX / 4)

enum { KEPT_MAX = 10000, REASONS_MAX = 64, OBJECTS_NAMED = 4 };

enum skip_kind { SKIP_POST, SKIP_COMPLETION, SKIP_CALL, SKIP_KINDS };

struct skip {
	struct event_id event; /* the first */
	enum verb verb;
	char *why;
	uint64_t n;
};

struct tolerated_count {
	const char *reason;
	uint64_t n;
};

/* A divergence and its consequences. */
struct cause {
	struct divergence first;
	uint64_t consequences;
	/* objects of the consequences, in the order they were found */
	uint32_t objects[OBJECTS_NAMED];
	uint32_t nobjects; /* number of @objects; more_objects: there are further objects */
	bool more_objects;
	bool tolerated; /* its cause is tolerated, by @line of --tolerate */
	size_t line;
};

/* An error that was injected. */
struct injected_error {
	struct divergence d;
	uint64_t cause; /* 1 + the number of its divergence; 0: it has caused none so far */
};

struct outcome {
	struct outcome_state state;
	pthread_mutex_t lock; /* protects everything except the counts */
	char *path, *device, *part;
	struct trace *trace;
	bool other_device, fail_fast;
	bool is_compiled;
	bool diverged; /* a difference was found, even a tolerated one, or an error was injected */
	const char *why_stopped;
	struct outcome_shard *shards;
	struct tolerate *tolerate; /* file of --tolerate; NULL: none */
	struct cause *kept;
	size_t nkept;
	uint64_t ncauses; /* number of causes; not all are stored */
	uint64_t ndivergences,
		nconsequences; /* divergences that are not tolerated, and their consequences */
	uint64_t classes[DIVERGENCE_CLASSES];
	struct outcome_causes causes;
	struct injected_error *injected;
	size_t ninjected;
	struct skip *skips;
	size_t nskips;
	uint64_t nskipped[SKIP_KINDS];
	char **gaps;
	size_t ngaps;
	char **notes;
	size_t nnotes;
	struct inferred_list inferred;
	struct alive_objects *moment;
	struct rounds rounds;
	struct tolerated_count tolerated[REASONS_MAX];
	size_t ntolerated;
	double recorded, compiled, replayed; /* seconds */
	int64_t waited;                      /* ns */
};

int outcome_count_init(struct outcome *outcome);
void outcome_count_fini(struct outcome *outcome);

/* The calls of all threads. */
uint64_t outcome_total_calls(const struct outcome *outcome, enum verb verb);

enum { OBJECT_TEXT = 40 + PROCESS_TEXT };

/* "qp1 of process 2"; with the process only if the trace has several. */
const char *outcome_object_text(const struct outcome *outcome, uint32_t object,
				char text[OBJECT_TEXT]);
