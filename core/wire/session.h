#pragma once
/*
 * A session: the directory with the rings of the traced processes.
 *
 * 	DIR/session      struct session_page; made by the collector or, where there
 * 	                 is none, by the first program
 * 	DIR/ring.N       N-th ring (core/wire/ring.h); made by a thread of the program
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

/* A directory in the session's, in which the software device counts events of its ports. */
#define SESSION_COUNTERS "counters"

enum {
	SESSION_PATH = 240,
	SESSION_NAME = 24,
	SESSION_TEXT = 512,
	SESSION_VERBS = 256, /* more than there are verbs */
	SESSION_QPS = 32,
	SESSION_MAX_WAIT = 10,   /* seconds, by default */
	SESSION_RINGS = 1 << 20, /* further threads get no ring */
	SESSION_SHARED = 4096,   /* offset from which a program may write to the page */
};

/* Magic numbers: a stray store into the page must not end the recording of others. */
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
	uint32_t one_of;                       /* data verbs: one in this number; 0 or 1: all */
	uint64_t left_out[SESSION_VERBS / 64]; /* bits by enum verb */
	uint32_t some_qps;                     /* only queue pairs in qps, nths or qp_types */
	uint32_t nqps, nnths;
	uint32_t qps[SESSION_QPS];  /* numbers */
	uint32_t nths[SESSION_QPS]; /* N: the N-th that its process creates */
	uint32_t qp_types;          /* bits: session_qp_type() */
	char device[64];            /* "": all */
	char text[128];             /* as the user gave it */
};

/* The bit of an enum ibv_qp_type; IBV_QPT_DRIVER has the last one. */
static inline uint32_t session_qp_type(uint32_t type)
{
	return 1u << (type < 31 ? type : 31);
}

/*
 * The fields written before a program starts come first: a program maps them read-only, since its
 * stray stores would affect all other processes of the session.
 */
struct session_page {
	uint64_t magic;
	uint32_t version;
	uint32_t on_full;     /* enum session_on_full */
	uint64_t fingerprint; /* verbs_fingerprint of the collector */
	uint64_t ring_bytes;
	uint32_t collector; /* pid; 0: there is none */
	uint32_t lttng;     /* not 0: the program loads the tracepoints (tap.h), too */
	uint32_t memory;    /* not 0: releases of registered memory are recorded */
	/* not 0: misuses of the data path are recorded (record --strict) */
	uint32_t strict;
	uint64_t collector_start; /* field 22 of its /proc/PID/stat */
	uint32_t standby; /* pid of a process that continues if the collector dies; 0: none */
	struct clock clock;
	uint64_t limit;             /* ON_FULL_GROW: bytes of all rings together */
	char command[SESSION_TEXT]; /* what is recorded */
	char trace[SESSION_TEXT];   /* the collector's trace */
	char copy[SESSION_TEXT];    /* the last copy that was requested; "": it failed */
	uint32_t flight;            /* the collector makes copies on request */
	uint32_t filters; /* process_vm_readv(2) of oneself works with this many filters; 0: none */
	struct payload_rule payload;  /* the seed is chosen when the page is created */
	uint64_t ring_budget;         /* bytes of the rings of one process: core/wire/budget.h */
	uint32_t budget_given;        /* set by the user; else a process's cgroup may allow less */
	uint64_t max_wait;            /* ns that a thread waits for a stopped collector */
	struct session_filter filter; /* written before the program starts */
	struct stop_rule stop;        /* likewise */
	_Alignas(SESSION_SHARED) _Atomic uint64_t rings; /* session_new_ring() */
	_Atomic uint32_t state;                          /* enum session_state */
	_Atomic uint32_t asleep;    /* the collector sleeps: session_wake() wakes it */
	_Atomic uint32_t ringless;  /* threads that could not create a ring: not recorded */
	_Atomic uint32_t rounds;    /* of the collector, over all rings */
	_Atomic uint32_t gave_up;   /* how often a thread waited max_wait in vain */
	_Atomic uint32_t withheld;  /* rings that could not grow because of the budget */
	_Atomic uint32_t denied;    /* of the ringless: because of the budget */
	_Atomic uint32_t sandboxed; /* of the ringless: a filter of system calls forbade it */
	_Atomic uint32_t foreign;   /* of the ringless: their process had changed its user */
	_Atomic uint32_t strangers; /* programs started as a user who cannot join */
	_Atomic uint32_t stranger;  /* one of these users, plus 1; 0: none */
	/* the smallest budget that prevented a ring, or its growth; 0: none */
	_Atomic uint64_t withheld_budget;
	_Atomic uint64_t used; /* of the limit */
	_Atomic uint32_t copies_asked, copies_made;
	_Atomic uint32_t made; /* rings that were completely created, not interrupted by a kill */
	_Atomic uint32_t recorders; /* recorders that share the collector, if several do */
	_Atomic uint32_t outcome;   /* the collector's exit status plus 1; 0: it has not ended */
	struct stop_spot spot;
	uint32_t redact; /* REDACT_* of core/store/anonymise/redact.h: what is not stored */
};

struct session {
	struct session_page *page; /* NULL: not joined */
	char dir[SESSION_PATH];
	/*
	 * copied from the page when the session was created or joined, since the program can
	 * overwrite the page
	 */
	struct clock clock; /* sound */
	uint32_t collector;
	uint64_t collector_start;
	uint64_t device, inode; /* of the directory: its name may later refer to another */
	int lock;               /* creator: a descriptor that holds a lock; 0: none */
};

struct ring;

/* The directory of sessions: VERBATIM_SESSIONS, else /dev/shm, else /tmp. */
const char *session_parent(void);

/*
 * Create DIR in @parent ("/dev/shm"; NULL: VERBATIM_SESSIONS, else /dev/shm, else /tmp) and its
 * page. Returns 0 or -errno with *@session untouched.
 */
int session_create(struct session *session, const char *parent, uint64_t ring_bytes,
		   enum session_on_full on_full);

/*
 * Join the session at @dir, as a traced process. -EACCES: the directory is another user's or
 * writable by others; -EPROTO: another version's, truncated, or its clock is invalid; -ENOENT:
 * there is no session. @dir may be relative, session.dir is not.
 */
int session_join(struct session *session, const char *dir);

/* Would the program or library with these file contents join a session created by this build? */
bool session_is_known(const void *binary, size_t size);

/*
 * The same; if there is none, create one without a collector, and @dir itself if its parent exists.
 * But not in place of a collector's session that has ended: -ENOENT. Rings are VERBATIM_RING_SIZE
 * long, all together at most VERBATIM_LIMIT (default: half of the disk's free space).
 */
int session_join_or_make(struct session *session, const char *dir);

/*
 * A number for a new ring; SESSION_RINGS: there are no more. If the count was overwritten, it is a
 * random number of the upper half, which may be in use.
 */
uint32_t session_new_ring(struct session *session);

/* How many numbers were given out; SESSION_RINGS if the count was overwritten. */
uint32_t session_count_rings(const struct session *session);

/* Reserve @bytes of session_page.limit. False: this would exceed the limit. */
bool session_take(struct session *session, uint64_t bytes);

/* Give back @bytes that were taken and not used. */
void session_give_back(struct session *session, uint64_t bytes);

/* A session of this process only, without directory and collector: events go only to a tap. */
void session_make_private(struct session *session);

static inline bool session_is_alone(const struct session *session)
{
	return !session->dir[0];
}

/* Unmap, and release the lock; the directory remains. */
void session_leave(struct session *session);

/*
 * The collector calls session_will_sleep() before it sleeps, then checks once more whether there is
 * work, then calls session_sleep(), which sleeps until session_wake(), a signal, or until @ns
 * nanoseconds (0: no limit) have passed.
 */
void session_will_sleep(struct session *session);
void session_sleep(struct session *session, uint64_t ns);

/* Wake the collector, if it sleeps. Any thread, also in a signal handler; errno is preserved. */
void session_wake(struct session *session);

/* Does @name, without a directory, have the form that session_create() chooses? */
bool session_is_by_collector(const char *name);

/*
 * Open the session's directory. Returns a descriptor, or -errno: -ENOENT; -ESTALE if another
 * directory has its name by now. Everything in it is accessed through this descriptor: no link is
 * followed, and nothing outside is touched.
 */
int session_open_dir(const struct session *session);

/* Open ring @index of the session in directory @at, like ring_open(), ring_open_leftover(). */
int session_open_ring(int at, uint32_t index, struct ring *ret_ring);
int session_open_leftover(int at, uint32_t index, struct ring *ret_ring);

/*
 * The numbers of the existing rings, sorted, from the directory. Returns how many, and an array to
 * be freed; or -errno.
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
 * The path of a ring, for messages or for a search in /proc/PID/maps: @path has SESSION_PATH + 16
 * bytes.
 */
void session_ring_path(const struct session *session, uint32_t index, char *path);

/* Is the process with this start time (0: unknown) alive? */
bool session_process_alive(pid_t pid, uint64_t start);

/* Is the collector alive, or a process that takes over from it? */
bool session_has_collector(const struct session_page *page);

/* Processor time that process @pid has used so far, in ticks; 0 if there is no such process. */
uint64_t session_process_time(pid_t pid);

/* Field 22 of /proc/PID/stat, 0 if there is no such process. */
uint64_t session_process_start(pid_t pid);

/* The number of seccomp(2) filters of this process; UINT32_MAX: not known. */
uint32_t session_filters(void);

/* Is the session running? The magic number is missing if the file was truncated. */
static inline bool session_is_running(const struct session *session)
{
	const struct session_page *page = session->page;
	uint32_t state = page ? atomic_load_explicit(&page->state, memory_order_relaxed) : 0;

	return page && page->magic && state != SESSION_CLOSED && state != SESSION_ORPHAN;
}
