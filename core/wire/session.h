#pragma once
/*
 * A session: the directory with the rings of the traced processes.
 *
 *	DIR/session      struct session_page; created by the collector or, without a
 *	                 collector, by the first program
 *	DIR/ring.N       N-th ring (core/wire/ring.h); created by a thread of the program
 *
 * DIR belongs to the user, and nobody else may write to it; VERBATIM_DIR has its path for the
 * program. The page is memory that processes share: any thread, by the operations below.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/clock.h"
#include "core/wire/payload.h"
#include "core/wire/stop.h"

#define SESSION_ENV "VERBATIM_DIR"

/* Subdirectory in which the software device counts events of its ports. */
#define SESSION_COUNTERS "counters"

enum {
	SESSION_PATH = 240,
	SESSION_NAME = 24,
	SESSION_TEXT = 512,
	SESSION_VERBS = 256, /* more than the number of verbs */
	SESSION_QPS = 32,
	SESSION_MAX_WAIT = 10,   /* seconds, by default */
	SESSION_RINGS = 1 << 20, /* maximum; further threads get no ring */
	SESSION_SHARED = 4096,   /* offset from which a program may write to the page */
};

/*
 * Magic numbers, so that a stray store into the page does not end the recording of other processes.
 */
enum session_state {
	SESSION_RUNNING = 1,
	SESSION_CLOSED = 0x436c6f73, /* the collector has ended: nothing more is recorded */
	SESSION_ORPHAN = 0x4f727068, /* a writer found that the collector is dead */
};

/* ON_FULL_GROW: there is no collector; rings grow */
enum session_on_full { ON_FULL_WAIT, ON_FULL_DROP, ON_FULL_GROW };

/* What is recorded. Zeroed: everything. */
struct session_filter {
	uint32_t on;
	/* one in this number of data verbs is recorded; 0 or 1: all */
	uint32_t one_of;
	uint64_t left_out[SESSION_VERBS / 64]; /* verbs that are not recorded: bits by enum verb */
	/* record only queue pairs in qps, nths or qp_types */
	uint32_t some_qps;
	uint32_t nqps, nnths;
	uint32_t qps[SESSION_QPS];  /* queue pair numbers */
	uint32_t nths[SESSION_QPS]; /* N: the N-th queue pair that its process creates */
	uint32_t qp_types;          /* bits: session_qp_type() */
	char device[64];            /* name of the only device that is recorded; "": all */
	char text[128];             /* as the user gave it */
};

/* The bit of an enum ibv_qp_type; IBV_QPT_DRIVER has the highest bit. */
static inline uint32_t session_qp_type(uint32_t type)
{
	return 1u << (type < 31 ? type : 31);
}

/*
 * Fields that are written before a program starts come first: a program maps them read-only, so
 * that its stray stores cannot affect other processes of the session.
 */
struct session_page {
	uint64_t magic;
	uint32_t version;
	uint32_t on_full;     /* enum session_on_full */
	uint64_t fingerprint; /* verbs_fingerprint of the collector */
	uint64_t ring_bytes;
	uint32_t collector; /* pid of the collector; 0: there is none */
	uint32_t lttng;     /* not 0: the program loads the tracepoints (tap.h), too */
	uint32_t memory;    /* not 0: releases of registered memory are recorded */
	/* not 0: misuses of the data path are recorded (record --strict) */
	uint32_t strict;
	uint64_t collector_start; /* start time of the collector: field 22 of its /proc/PID/stat */
	uint32_t standby; /* pid of a process that continues if the collector dies; 0: none */
	struct clock clock;
	uint64_t limit;             /* ON_FULL_GROW: maximum bytes of all rings together */
	char command[SESSION_TEXT]; /* the recorded command */
	char trace[SESSION_TEXT];   /* path of the collector's trace */
	char copy[SESSION_TEXT];    /* path of the copy that was requested last; "": it failed */
	uint32_t flight;            /* the collector makes copies on request */
	/* process_vm_readv(2) of the own process works with this many seccomp filters; 0: none */
	uint32_t filters;
	struct payload_rule payload; /* the seed is chosen when the page is created */
	uint64_t ring_budget;        /* bytes of the rings of one process: core/wire/budget.h */
	/* the user has set ring_budget; else a process's cgroup may lower it */
	uint32_t budget_given;
	uint64_t max_wait;            /* ns: maximum wait of a thread for a stopped collector */
	struct session_filter filter; /* written before the program starts */
	struct stop_rule stop;        /* also written before the program starts */
	_Alignas(SESSION_SHARED) _Atomic uint64_t rings; /* number of rings: session_new_ring() */
	_Atomic uint32_t state;                          /* enum session_state */
	_Atomic uint32_t asleep; /* the collector sleeps: session_wake() wakes it */
	/* number of threads that could not create a ring and are not recorded */
	_Atomic uint32_t ringless;
	_Atomic uint32_t rounds;    /* how often the collector has read all rings */
	_Atomic uint32_t gave_up;   /* how often a thread waited for max_wait without success */
	_Atomic uint32_t withheld;  /* number of rings that could not grow because of the budget */
	_Atomic uint32_t denied;    /* part of @ringless: because of the budget */
	_Atomic uint32_t sandboxed; /* part of @ringless: a seccomp filter forbade it */
	/* part of @ringless: threads whose process had changed its user */
	_Atomic uint32_t foreign;
	_Atomic uint32_t strangers; /* number of programs started as a user who cannot join */
	_Atomic uint32_t stranger;  /* the user of one of these processes, plus 1; 0: none */
	/* the smallest budget that prevented the creation or growth of a ring; 0: none */
	_Atomic uint64_t withheld_budget;
	_Atomic uint64_t used; /* bytes of @limit in use */
	_Atomic uint32_t copies_asked, copies_made;
	_Atomic uint32_t made;      /* number of rings that were completely created */
	_Atomic uint32_t recorders; /* number of recorders that share the collector */
	_Atomic uint32_t outcome;   /* the collector's exit status plus 1; 0: it has not ended */
	struct stop_spot spot;
	/* what the collector does not store: REDACT_* of core/store/anonymise/redact.h */
	uint32_t redact;
};

struct session {
	struct session_page *page; /* NULL: not joined */
	char dir[SESSION_PATH];
	/*
	 * copies of fields of the page, made when the session was created or joined: the program
	 * can overwrite the page
	 */
	struct clock clock; /* checked by clock_is_sound() */
	uint32_t collector;
	uint64_t collector_start;
	/* of the directory: its name may refer to another directory later */
	uint64_t device, inode;
	int lock; /* creator: a descriptor that holds the lock; 0: none */
};

struct ring;

/* The directory in which sessions are created: VERBATIM_SESSIONS, else /dev/shm, else /tmp. */
const char *session_parent(void);

/*
 * Create DIR in @parent (NULL: session_parent()), and its page. Returns 0 or -errno with *@session
 * untouched.
 */
int session_create(struct session *session, const char *parent, uint64_t ring_bytes,
		   enum session_on_full on_full);

/*
 * Join the session at @dir, as a traced process. -EACCES: the directory belongs to another user, or
 * others may write to it; -EPROTO: the session has another version, is truncated, or has an invalid
 * clock; -ENOENT: there is no session. @dir may be relative, session.dir is not.
 */
int session_join(struct session *session, const char *dir);

/*
 * Would the program or library @binary, the contents of its file, join a session created by this
 * build?
 */
bool session_is_known(const void *binary, size_t size);

/*
 * Join the session at @dir. If there is none, create one without a collector, and also @dir if its
 * parent exists; but -ENOENT if @dir had a collector's session that has ended. A ring extends its
 * file by VERBATIM_RING_SIZE; all together have at most VERBATIM_LIMIT (default: half of the disk's
 * free space).
 */
int session_join_or_make(struct session *session, const char *dir);

/*
 * A number for a new ring; SESSION_RINGS: there are no more. If a stray store has overwritten the
 * count, the result is a random number from the upper half, which may be in use.
 */
uint32_t session_new_ring(struct session *session);

/* How many ring numbers were assigned; SESSION_RINGS if a stray store has overwritten the count. */
uint32_t session_count_rings(const struct session *session);

/* Reserve @bytes of session_page.limit. False: this would exceed the limit. */
bool session_reserve(struct session *session, uint64_t bytes);

/* Return @bytes that session_reserve() reserved and that were not used. */
void session_unreserve(struct session *session, uint64_t bytes);

/* A session of this process only, without directory and collector: events go only to a tap. */
void session_make_private(struct session *session);

static inline bool session_is_alone(const struct session *session)
{
	return !session->dir[0];
}

/* Unmap, and release the lock; the directory remains. */
void session_leave(struct session *session);

/*
 * The collector calls session_will_sleep() before it sleeps, checks once more whether there is
 * work, and calls session_sleep(). This sleeps until session_wake(), until a signal, or for @ns
 * nanoseconds (0: no limit).
 */
void session_will_sleep(struct session *session);
void session_sleep(struct session *session, uint64_t ns);

/* Wake the collector, if it sleeps. Any thread, also in a signal handler; errno is preserved. */
void session_wake(struct session *session);

/* Does @name, without a directory, have the form that session_create() gives to a session? */
bool session_is_by_collector(const char *name);

/*
 * Open the session's directory. Returns a descriptor, or -errno: -ENOENT; -ESTALE if another
 * directory now has its name. All its files are accessed through this descriptor, so that no link
 * is followed and no file outside is touched.
 */
int session_open_dir(const struct session *session);

/* Open ring @index of the session in directory @at, like ring_open() or ring_open_leftover(). */
int session_open_ring(int at, uint32_t index, struct ring *ret_ring);
int session_open_leftover(int at, uint32_t index, struct ring *ret_ring);

/*
 * List the numbers of the rings in directory @at, sorted. Returns how many, and an array that the
 * caller frees; or -errno.
 */
int session_list_rings(int at, uint32_t **ret_numbers);

/*
 * Is the session in directory @at still open in the process that created it? A lock shows this,
 * even in other PID namespaces, which share /dev/shm but see other numbers in /proc.
 */
bool session_is_locked(int at);

/* Unlink all files of a session in its directory. */
void session_clear(int at);

/* Remove the session's files and its directory, and unmap. */
void session_remove(struct session *session);

/* Name of ring @index in the session's directory. */
void session_ring_name(uint32_t index, char name[SESSION_NAME]);

/*
 * The path of a ring, for messages and for searching /proc/PID/maps: @path has SESSION_PATH + 16
 * bytes.
 */
void session_ring_path(const struct session *session, uint32_t index, char *path);

/* Is process @pid alive, and did it start at @start (0: unknown)? */
bool session_process_alive(pid_t pid, uint64_t start);

/* Is the collector alive, or a process that takes over from it? */
bool session_has_collector(const struct session_page *page);

/* Processor time that process @pid has used so far, in ticks; 0 if there is no such process. */
uint64_t session_process_time(pid_t pid);

/* Field 22 of /proc/PID/stat, 0 if there is no such process. */
uint64_t session_process_start(pid_t pid);

/* The number of seccomp(2) filters of this process; UINT32_MAX: not known. */
uint32_t session_filters(void);

/* Is the session running? If its file was truncated, the magic number is missing, and it is not. */
static inline bool session_is_running(const struct session *session)
{
	const struct session_page *page = session->page;
	uint32_t state = page ? atomic_load_explicit(&page->state, memory_order_relaxed) : 0;

	return page && page->magic && state != SESSION_CLOSED && state != SESSION_ORPHAN;
}
