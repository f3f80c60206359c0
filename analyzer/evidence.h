#pragma once
/*
 * What a trace can bear witness to: what was not seen, and how processes ended.
 *
 * One thread.
 */
#include "analyzer/findings.h"
#include "analyzer/model.h"

/* Tell @findings which rules have no evidence, or not all of it. */
int evidence_gaps(struct trace *trace, struct findings *findings);

/* How @process ended; where that leaves leaks unknown, @findings is told. */
enum model_end evidence_end(struct trace *trace, uint32_t process, struct findings *findings);
