#pragma once
/*
 * Which rules a trace has evidence for: what was not seen, and how processes ended.
 *
 * One thread.
 */
#include "analyzer/rules/findings.h"
#include "analyzer/model/model.h"

/* Tell @findings which rules have no evidence, or incomplete evidence. */
int evidence_gaps(struct trace *trace, struct findings *findings);

/* Does a provider's function, by its name, move data past the verbs? */
bool evidence_goes_round(const char *function);

/* How @process ended. Tells @findings if leaks are unknown because of that. */
enum model_end evidence_end(struct trace *trace, uint32_t process, struct findings *findings);
