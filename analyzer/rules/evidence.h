#pragma once
/*
 * Which rules a trace has evidence for: missing events, and how processes ended.
 *
 * Not thread-safe.
 */
#include "analyzer/rules/findings.h"
#include "analyzer/model/model.h"

/* Report to @findings which rules have no, or incomplete, evidence. */
int evidence_note_gaps(struct trace *trace, struct findings *findings);

/* Settings with which programs use the verbs; DPDK has none (docs/PRODUCTION.md). */
#define EVIDENCE_UCX      "UCX_TLS=rc_v,ud_v,self,sm"
#define EVIDENCE_SETTINGS EVIDENCE_UCX " (UCX, MPI), NCCL_NET=IB, NVSHMEM_REMOTE_TRANSPORT=ibrc"

/* Does a provider's function, by its name, bypass the verbs? */
bool evidence_is_bypassed(const char *function);

/* How @process ended. Reports to @findings if leaks are unknown because of that. */
enum model_end evidence_end(struct trace *trace, uint32_t process, struct findings *findings);
