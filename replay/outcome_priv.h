#pragma once
/* Shared by the files that write an outcome. */
#include <pthread.h>
#include <stddef.h>

#include "replay/inferred.h"
#include "replay/outcome.h"
#include "replay/outcome_cause.h"

enum { KEPT_MAX = 10000, REASONS_MAX = 64, OBJECTS_NAMED = 4 };

struct skip {
	struct event_id event; /* the first */
	enum verb verb;
	char *why;
	uint64_t n;
};

struct tolerated {
	const char *reason;
	uint64_t n;
};

/* A divergence with what follows from it. */
struct cause {
	struct divergence first;
	uint64_t consequences;
	uint32_t objects[OBJECTS_NAMED]; /* of the consequences, the first that differ */
	uint32_t nobjects;               /* of those named; more are counted: */
	bool more_objects;
};

struct outcome {
	pthread_mutex_t lock; /* of all but the counts */
	char *path, *device;
	struct trace *trace;
	bool other_device;
	struct outcome_shard *shards;
	struct cause *kept;
	size_t nkept;
	uint64_t ndivergences, nconsequences; /* ndivergences: of causes, not all are kept */
	uint64_t classes[DIVERGENCE_CLASSES];
	struct outcome_causes causes;
	struct skip *skips;
	size_t nskips;
	uint64_t nskipped;
	char **notes;
	size_t nnotes;
	struct inferred_list inferred;
	struct tolerated tolerated[REASONS_MAX];
	size_t ntolerated;
	double recorded, replayed; /* seconds */
};

/* Of all threads. */
uint64_t outcome_total(const struct outcome *outcome, enum outcome_count what);
uint64_t outcome_total_calls(const struct outcome *outcome, enum verb verb);

enum { OBJECT_TEXT = 96 };

/* "qp1 of process 2"; the process where the trace has several. */
const char *outcome_object_text(const struct outcome *outcome, uint32_t object,
				char text[OBJECT_TEXT]);
