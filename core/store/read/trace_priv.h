#pragma once
/*
 * Internals of a trace, for the files that read it: trace.c, stream.c, cursor.c, vtab.c. Not
 * thread-safe.
 */
#include "core/store/finish/connections.h"
#include "core/store/finish/objects.h"
#include "core/store/finish/queue_table.h"
#include "core/store/read/trace.h"
#include "core/store/read/trace_clock.h"

struct joint;
struct live;

struct meta {
	char *key, *value;
};

/* An event of a small table: a fork, a mark, the first event of a process. */
struct rare_event {
	enum trace_event_kind kind; /* TRACE_FORK, _MARK, _MEMORY, _MISUSE or _PROCESS */
	struct event_id id;
	uint32_t process;
	int64_t time;
	union {
		struct fork_event fork;
		struct mark_event mark;
		struct memory_event memory;
		struct writer_note_misuse misuse;
	};
};

/* A source trace of a merged trace (merged.h). */
struct merged_source {
	char *name, *host;
	uint32_t first_process;
	struct trace_clock clock;
	int64_t ahead; /* how far its machine's time of day is ahead of the first trace's */
	struct meta *meta;
	size_t nmeta;
};

struct known_module {
	int64_t id;
	char *path, *build_id;
};

struct trace {
	sqlite3 *db;
	bool borrowed;                               /* the database belongs to the caller */
	bool again;                                  /* its file may be opened again */
	void (*tell)(uint64_t events, int64_t time); /* set by trace_on_progress(); may be NULL */
	bool plain;                                  /* the data plane is in plain tables */
	/* of a trace that is still being written; else NULL */
	struct live *live;
	struct joint *joint; /* of a joint trace, which has no db; else NULL */
	struct objects objects;
	struct connections connections; /* its peers is NULL: not computed yet */
	struct queue_table queues;      /* its first is NULL: not computed yet */
	struct process *processes;
	uint32_t nprocesses;
	struct thread *threads;
	uint32_t nthreads;
	struct meta *meta;
	size_t nmeta;
	struct merged_source *merged;
	size_t nmerged;
	struct rare_event *rares; /* sorted by thread, n */
	size_t nrares;
	struct known_module *modules;
	size_t nmodules;
	sqlite3_stmt *frames;
	struct finder *finder; /* payload_find.c; NULL until the first use */
	uint32_t one_of;       /* trace_sampling_factor(); 0: not read yet */
	struct trace_loss loss;
	struct totals totals; /* of a finished trace that is not joint */
	int64_t whole_from;   /* posts and polls before it may be missing; INT64_MIN: none are */
	int64_t cut;          /* result of trace_cut() */
	/* processes that ended up to this time are in the previous trace; -1: none */
	int64_t carried;
	struct process_name *names; /* set by trace_name_ranks(); or NULL */
	bool numberless; /* some CQs do not report the queue pair numbers of completions */
};

/*
 * Like trace_open(), on an open database that the caller still owns. @again: the file has the same
 * contents, so further connections may read it.
 */
int trace_borrow(sqlite3 *db, bool again, struct trace **ret_trace);

/* trace_load.c: load the tables; 0 or -errno after log_err(). And free them. */
int trace_load(struct trace *trace);
void trace_unload(struct trace *trace);

/* trace_large.c: load the objects, and check the calls. 0 or -errno after log_err(). */
struct references_bounds;
int trace_load_large(struct trace *trace, const struct references_bounds *bounds);

/*
 * Open another connection to the same file, for one thread only: it has no locks, which would make
 * reading rows a fifth slower. Opening takes as long as reading a thousand rows, since SQLite reads
 * the schema. 0; or -1, without a message, if it cannot be opened.
 */
int trace_open_again(const struct trace *trace, sqlite3 **ret_db);

/*
 * cursor.c: from the next event on, posts, polls and notifies are stored in @room, and stay valid
 * until @room is cleared. False: not supported, for a joint trace.
 */
struct room;
bool cursor_use_room(struct cursor *cursor, struct room *room);

/* payload_find.c */
void trace_payloads_fini(struct trace *trace);

/* The kind for column `how` of table `fork`; NULL means fork. */
enum fork_how trace_fork_kind(const char *how);

/* Returns the constant equal to the text; NULL: unknown. */
const char *trace_fork_how(const char *how);
const char *trace_memory_what(const char *what);

/* Values of table `misuse` as constants; MISUSES, VERB_COUNT or NULL if unknown. */
enum event_misuse_what trace_misuse_what(const char *what);
enum verb trace_misuse_verb(const char *name);
const char *trace_misuse_field(const char *name);

/*
 * For a trace that is still being written (live.h): read the data that was known when the recording
 * began. 0 or -errno.
 */
int trace_load_meta(struct trace *trace);

/* For a trace that is still being written: read a row, also again after it changed. 0 or -errno. */
int trace_read_process(struct trace *trace, uint32_t id);
int trace_read_thread(struct trace *trace, uint32_t id);
int trace_read_modules(struct trace *trace); /* only new ones */
void trace_read_loss(struct trace *trace);

/* A frame with code address @ip; @module is an id, 0: none. */
struct frame trace_frame(const struct trace *trace, int64_t ip, int64_t module, int64_t offset);
