#pragma once
/*
 * Inferred properties of an end that the trace does not have, for the report.
 *
 * Called by one thread, at the end of a replay.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Memory that requests accessed by its key; recorded addresses. */
struct inferred_range {
	uint32_t rkey;
	int access; /* enum ibv_access_flags */
	uint64_t start, length;
};

struct inferred {
	char address[64]; /* "LID 1", a GID; as recorded */
	uint64_t queue_pairs;
	uint64_t receives; /* number of posted receives, each as long as the received message */
	uint64_t messages; /* sent */
	/* receives consumed by RDMA writes with immediate data to an unknown address */
	uint64_t placed;
	uint64_t regions; /* number of their rkeys */
	struct inferred_range *ranges;
	size_t nranges;
};

/* A list of inferred ends, owned by an outcome. */
struct inferred_list {
	struct inferred *at;
	size_t n;
	uint64_t open; /* regions of the programs that those ends could write to or read from */
};

void inferred_fini(struct inferred_list *list);

/* Lines for a reader; the JSON member "made", with a comma after it. */
void inferred_text(const struct inferred_list *list, FILE *to);
void inferred_json(const struct inferred_list *list, FILE *to);
