#pragma once
/*
 * What was inferred of an end that the trace does not have, for the report.
 *
 * One thread, at the end of a replay.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Memory that was named by its key; addresses of the recording. */
struct inferred_range {
	uint32_t rkey;
	int access; /* enum ibv_access_flags */
	uint64_t start, length;
};

struct inferred {
	char address[64]; /* "LID 1", a GID; of the recording */
	uint64_t queue_pairs;
	uint64_t receives; /* posted, each as long as what came */
	uint64_t messages; /* sent */
	uint64_t placed;   /* of them written with immediate data, to a place that is not known */
	uint64_t regions;  /* keys */
	struct inferred_range *ranges;
	size_t nranges;
};

/* A list of these, kept by an outcome. */
struct inferred_list {
	struct inferred *at;
	size_t n;
	uint64_t open; /* regions of the programs that those ends could write to or read from */
};

void inferred_fini(struct inferred_list *list);

/* Lines for a reader; the member "made" of an object with a comma behind it. */
void inferred_text(const struct inferred_list *list, FILE *to);
void inferred_json(const struct inferred_list *list, FILE *to);
