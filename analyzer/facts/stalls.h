#pragma once
/*
 * What each process waits for when it or the trace ends, and for which process; and the process to
 * blame if many wait.
 *
 * Not thread-safe.
 */
#include "analyzer/facts/activity.h"
#include "analyzer/facts/fact.h"
#include "analyzer/facts/stall.h"
#include "analyzer/facts/wait_graph.h"
#include "analyzer/model/watcher.h"

struct model;
struct stalls_work;

/* "unpolled" */
extern const char *const stall_states[STALL_STATES];
/* "receive" */
extern const char *const stall_whys[STALL_WHYS];

struct stalls {
	/*
	 * The nodes of the graph: processes by number, then the further sets of processes whose
	 * threads can be told apart.
	 */
	struct stall *all;
	size_t n;
	struct stall_link *links; /* by node */
	size_t nlinks;
	struct wait_graph graph;
	size_t waiting;   /* processes that wait for a process to blame */
	size_t processes; /* processes that called a verb */
	bool err;         /* out of memory: all lists are empty */
	struct stalls_work *work;
};

int stalls_new(struct trace *trace, const struct activity *activity, struct stalls **ret_stalls);

/* Accepts NULL. */
void stalls_free(struct stalls *stalls);

/* The application has forked a process. */
void stalls_note_fork(struct stalls *stalls, const struct trace_event *event);

/* The application calls a control verb, has posted requests, or has polled a CQ. */
void stalls_note_call(struct stalls *stalls, const struct trace_event *event);
void stalls_note_post(struct stalls *stalls, struct model *model, const struct trace_event *event);
void stalls_note_poll(struct stalls *stalls, const struct trace_event *event);

/* A control verb of the application has returned. */
void stalls_note_return(struct stalls *stalls, const struct trace_event *event);

/* A process has ended, or the trace ends; the model still knows its objects. */
void stalls_end_process(struct stalls *stalls, struct model *model, const struct model_exit *end);

/* The last event has been seen, and all facts are known. */
void stalls_finish(struct stalls *stalls, const struct fact_list *facts);

/* The links of @stall. */
static inline const struct stall_link *stall_links(const struct stalls *stalls,
						   const struct stall *stall)
{
	return stalls->links + stall->first;
}

/* The thread that represents a node: it called the last verb; 0: all threads of the process. */
uint32_t stalls_thread(const struct stalls *stalls, uint32_t node);

/* The link of the graph from node @from to @to; NULL: none. */
const struct stall_link *stalls_link_from(const struct stalls *stalls, uint32_t from, uint32_t to);

/* The link of the graph from node @from to one of @blame's nodes. */
const struct stall_link *stalls_link_to(const struct stalls *stalls, const struct wait_blame *blame,
					uint32_t from);
