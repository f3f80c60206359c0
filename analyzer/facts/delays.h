#pragma once
/*
 * Which rank was late: the share of each rank's waiting that each other rank has caused.
 *
 * Not thread-safe.
 */
#include <stdbool.h>

#include "analyzer/model/moment.h"
#include "core/base/map.h"

struct model;

/* How a process was late. */
enum delay_how {
	DELAY_SEND,     /* it posted a message late */
	DELAY_RECEIVE,  /* it posted a receive late: the other end had no credit for a message */
	DELAY_POLL,     /* before its post it left a completion unpolled in its CQ */
	DELAY_REGISTER, /* before its post it registered or deregistered memory */
	DELAY_HOWS,
};

/* "send", "receive", "poll", "register" */
extern const char *const delay_hows[DELAY_HOWS];

/* How long @waiter waited because of @cause, directly or through others. */
struct delay_pair {
	uint32_t waiter, cause; /* processes */
	int64_t ns;
	int64_t by[DELAY_HOWS]; /* the part of @ns for each enum delay_how */
	uint64_t times;
};

/* A process that others have waited for. */
struct delay_cause {
	int64_t ns; /* waiting that the process caused, directly or through others */
	int64_t by[DELAY_HOWS];
	int64_t late;        /* total time for which it was late */
	int64_t longest;     /* the longest single time */
	uint64_t times;      /* how often it was late */
	int64_t until;       /* when it was last late: the end of that time */
	struct moment first; /* the first late post: of a message, else of a receive */
	bool by_send;
	uint32_t qp; /* object: the queue pair of the first late post */
	bool main;   /* it was late again and again, and caused most of the waiting */
};

struct delay_process;
struct delay_sleep;

struct delays {
	struct trace *trace;
	struct delay_process *processes; /* by process */
	size_t nprocesses;
	struct delay_sleep *sleeps; /* by thread */
	size_t nsleeps;
	struct delay_pair *pairs;
	size_t npairs;
	struct map by_pair;         /* 1 + index */
	struct delay_cause *causes; /* by process */
	size_t ncauses;
	int64_t waited; /* total time that processes waited */
	int64_t run;    /* sum over these processes: from the first to the last verb */
	size_t waiters; /* processes that waited */
	uint32_t most;  /* the cause of most of the waiting; 0: none */
};

/* NULL if out of memory. */
struct delays *delays_new(struct trace *trace);

/* Accepts NULL. */
void delays_free(struct delays *delays);

/* A control verb of the application has returned. */
void delays_note_return(struct delays *delays, const struct model *model,
			const struct trace_event *event);

/* Completions were polled; the model's last verb of the thread is still the one before the poll. */
void delays_note_poll(struct delays *delays, struct model *model, const struct trace_event *event);

/* The reason why @cause was late most of the time. */
enum delay_how delays_main_reason(const struct delay_cause *cause);

/* The last event has been seen. */
void delays_finish(struct delays *delays, const struct model *model);
