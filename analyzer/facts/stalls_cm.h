#pragma once
/*
 * Connections of librdmacm, as far as processes wait for each other to make them.
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

/* The application calls librdmacm; the call has returned. */
void stalls_cm_call(struct stalls_cm *cm, const struct trace_event *event);
void stalls_cm_return(struct stalls_cm *cm, const struct trace_event *event);

/*
 * The process of @stall has ended: give @each a link for what it waits for, whose other end is not
 * known yet. True: it also waits for the network, not for another process.
 */
bool stalls_cm_end(struct stalls_cm *cm, struct model *model, const struct activity_note *note,
		   const struct stall *stall,
		   void (*each)(void *arg, const struct stall_link *link), void *arg);

/*
 * The last process has ended: find the other ends of all links that are of librdmacm. Those without
 * one keep `to` 0, and so do those of STALL_REQUEST.
 */
void stalls_cm_finish(struct stalls_cm *cm, struct stall_link *links, size_t n);

/* The link is one of STALL_REQUEST: set those processes of @asked that it has had requests of. */
void stalls_cm_asked(const struct stalls_cm *cm, const struct stall_link *link, bool *asked,
		     size_t nprocesses);
