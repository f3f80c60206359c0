#pragma once
/*
 * Lists of a trace's contents, whose cells are printed unchanged by commands.
 *
 *	struct listing *listing;
 *	int err = listing_open(trace, LISTING_THREADS, &listing);
 *
 *	while (!err && (err = listing_next(listing)) > 0) {
 *		...listing_text(listing, 3)...
 *		err = 0;
 *	}
 *	listing_close(listing);
 *
 * For one trace, not a joint one. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct trace;
struct listing;

enum listing_kind {
	/* summaries; times are ns, -1 or NULL: not known */
	LISTING_SOURCES,     /* name, host, processes, threads, clock, error, ahead, ppm, pairs, */
			     /* messages: of the traces that were merged */
	LISTING_PROCESSES,   /* id, pid, parent, threads, events, start, end, status, ending, */
			     /* command */
	LISTING_RANKS,       /* process, rank, size, local, node, job, step, launcher */
	LISTING_THREADS,     /* id, process, tid, name, events, lost */
	LISTING_LIMITS,      /* process, memlock, hard, nofile, hard, cap_ipc_lock, page_size */
	LISTING_ENVIRONMENT, /* name, value, processes, first */
	LISTING_DEVICES,     /* name, type, transport, firmware, port, state, mtu, lid, gids */
	LISTING_OBJECTS,     /* kind, made, destroyed, alive at the end */
	LISTING_CONNECTIONS, /* how the peer is known, connections, queue pairs */
	LISTING_VERBS,       /* verb, calls, failed, unfinished */
	LISTING_CQS,         /* name, process, polls, empty polls, completions */
	LISTING_EVENTS,      /* calls of asynchronous events: type, times, first */
	LISTING_LOST,        /* thread, process, events, first, last, overwritten */
	LISTING_UNSEEN,      /* what, process, object, times, first, detail */
	LISTING_MARKS,       /* text, kind, process, times, total ns, mean ns */
	LISTING_PAYLOADS,    /* kind, times, bytes, captured, hashed, less than asked */
	LISTING_COUNTERS,    /* of devices, with the times of changes; since format 12 */

	/* facts that may explain a difference of two runs: name, value */
	LISTING_FACTS,

	/* what a trace covers: one word in each row */
	LISTING_QP_TYPES,
	LISTING_FEATURES,
	LISTING_OPCODES,
	LISTING_STATUSES,
	LISTING_REFUSED,

	/*
	 * rows for the page of `report`, with the names of their columns; PAGE_QPS needs the
	 * model's tables
	 */
	LISTING_PAGE_CONTROL,
	LISTING_PAGE_QPS,
	LISTING_PAGE_STATES,
	LISTING_PAGE_REGIONS,
	LISTING_PAGE_MARKS,
	LISTING_PAGE_PROCESSES,
	LISTING_PAGE_DEVICES,
	LISTING_PAGE_COUNTERS,
	LISTING_PAGE_ENVIRONMENT,
	LISTING_PAGE_MODULES,
	LISTING_PAGE_COVERAGE,
	LISTING_PAGE_LOSS,
	LISTING_PAGE_META,
	LISTING_PAGE_SOURCES,
	LISTING_KINDS
};

enum listing_cell { LISTING_NULL, LISTING_INTEGER, LISTING_REAL, LISTING_TEXT };

/* 0 or -errno after log_err(); close it in either case. */
int listing_open(struct trace *trace, enum listing_kind kind, struct listing **ret_listing);

/*
 * The same for some columns of a table or view; both texts come from our own lists, for example
 * "calls" and "event, verb".
 */
int listing_open_table(struct trace *trace, const char *table, const char *columns,
		       struct listing **ret_listing);

/* Go to the next row, or at first to the first one: 1, 0 at the end, or -errno after log_err(). */
int listing_next(struct listing *listing);

unsigned int listing_columns(const struct listing *listing);
const char *listing_name(const struct listing *listing, unsigned int column);

/* Cells of the current row. A text is borrowed until the next row; NULL for NULL. */
enum listing_cell listing_cell(const struct listing *listing, unsigned int column);
int64_t listing_integer(const struct listing *listing, unsigned int column);
double listing_real(const struct listing *listing, unsigned int column);
const char *listing_text(const struct listing *listing, unsigned int column);

/* Accepts NULL. */
void listing_close(struct listing *listing);
