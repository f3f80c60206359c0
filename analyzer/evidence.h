#pragma once
/*
 * What a trace can bear witness to: what was not seen, and how processes ended.
 *
 * One thread.
 */
#include "analyzer/findings.h"
#include "analyzer/model.h"

struct evidence {
	int *statuses; /* of waitpid(), by process; -1 not known */
	uint32_t nprocesses;
	bool interrupted; /* the recorder died */
};

/* Returns 0 or -errno after log_err(). */
int evidence_load(struct trace *trace, struct evidence *ret_evidence);
void evidence_fini(struct evidence *evidence);

/* Tell @findings which rules have no evidence, or not all of it. */
int evidence_gaps(const struct evidence *evidence, struct trace *trace, struct findings *findings);

/* How @process ended; where that leaves leaks unknown, @findings is told. */
enum model_end evidence_end(const struct evidence *evidence, struct trace *trace, uint32_t process,
			    struct findings *findings);
