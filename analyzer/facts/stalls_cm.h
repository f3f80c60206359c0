#pragma once
/*
 * Connections of librdmacm for which processes wait.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/stall.h"

struct activity_note;
struct model;
struct stalls_cm;

/* NULL: out of memory. */
struct stalls_cm *stalls_cm_new(struct trace *trace);

/* Accepts NULL. */
void stalls_cm_free(struct stalls_cm *cm);

/* Call these when the application calls librdmacm, and when that call has returned. */
void stalls_cm_note_call(struct stalls_cm *cm, const struct trace_event *event);
void stalls_cm_note_return(struct stalls_cm *cm, const struct trace_event *event);

/*
 * The process of @stall has ended: call @each with a link for each connection that it waits for;
 * the other ends are not known yet. True: it also waits for the network, not for a process.
 */
bool stalls_cm_end_process(struct stalls_cm *cm, struct model *model,
			   const struct activity_note *note, const struct stall *stall,
			   void (*each)(void *arg, const struct stall_link *link), void *arg);

/*
 * The last process has ended: find the other ends of all links of librdmacm. `to` remains 0 if
 * there is none, and for STALL_REQUEST.
 */
void stalls_cm_finish(struct stalls_cm *cm, struct stall_link *links, size_t n);

/* Set @asked[] of the processes whose requests the listener of @link (STALL_REQUEST) has got. */
void stalls_cm_mark_asked(const struct stalls_cm *cm, const struct stall_link *link, bool *asked,
			  size_t nprocesses);
