#pragma once
/*
 * A session: the directory where the traced processes leave their rings.
 *
 *	DIR/session      struct session_page; made by the collector or, where there
 *	                 is none, by the first program
 *	DIR/ring.N       N-th ring (core/wire/ring.h); made by a thread of the program
 *
 * DIR belongs to the user, and nobody else may write there; VERBATIM_DIR tells
 * it to the program.
 * The page is shared memory between processes: any thread, by the named
 * operations below.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/wire/clock.h"
#include "core/wire/payload.h"

#define SESSION_ENV "VERBATIM_DIR"

enum {
	SESSION_PATH = 240,
	SESSION_NAME = 24,
	SESSION_TEXT = 512,
	SESSION_VERBS = 256, /* more than there are */
	SESSION_QPS = 32,
	SESSION_MAX_WAIT = 10,   /* seconds, if nobody says another time */
	SESSION_RINGS = 1 << 20, /* more threads than that get no ring */
};

enum session_state {
	SESSION_RUNNING = 1,
	SESSION_CLOSED, /* the collector has ended: record nothing more */
	SESSION_ORPHAN, /* a writer found the collector dead */
};

/* ON_FULL_GROW: nobody collects; rings grow */
enum session_on_full { ON_FULL_WAIT, ON_FULL_DROP, ON_FULL_GROW };

/* What is recorded of all there is. Zeroed: everything. */
struct session_filter {
	uint32_t on;
	uint32_t one_of;   /* data verbs: one of so many; 0 or 1: all */
	uint64_t left_out[SESSION_VERBS / 64]; /* bits by enum verb */
	uint32_t some_qps; /* of the queue pairs only those that one of the next three has */
	uint32_t nqps, nnths;
	uint32_t qps[SESSION_QPS];  /* numbers */
	uint32_t nths[SESSION_QPS]; /* N of the N-th that its process makes */
	uint32_t qp_types; /* bits: session_qp_type() */
	char device[64];   /* "": all */
	char text[128];    /* as it was given */
};

/* The bit of an enum ibv_qp_type; IBV_QPT_DRIVER has the last. */
static inline uint32_t session_qp_type(uint32_t type)
{
	return 1u << (type < 31 ? type : 31);
}

struct session_page {
	uint64_t magic;
	uint32_t version;
	uint32_t on_full;       /* enum session_on_full */
	uint64_t fingerprint;   /* verbs_fingerprint of the collector */
	uint64_t ring_bytes;
	uint32_t collector;     /* pid; 0: there is none */
	uint32_t lttng;         /* not 0: the program is to load the tracepoints (tap.h), too */
	uint64_t collector_start; /* field 22 of its /proc/PID/stat */
	struct clock clock;
	uint64_t limit;         /* ON_FULL_GROW: bytes that all rings together may have */
	char command[SESSION_TEXT]; /* what is recorded */
	char trace[SESSION_TEXT];   /* the collector's trace */
	char copy[SESSION_TEXT];    /* the last copy of it that was asked for; "": it failed */
	uint32_t flight;        /* the collector makes copies */
	uint32_t filters;       /* under so many process_vm_readv(2) of oneself is allowed; 0: none */
	struct payload_rule payload; /* the seed is made with the page */
	uint64_t ring_budget;   /* bytes that the rings of one process may have: core/wire/budget.h */
	uint32_t budget_given;  /* by the user; else a process's own cgroup may say less */
	uint64_t max_wait;      /* ns that a thread waits for a collector that stands still */
	struct session_filter filter; /* written before a program starts */
	_Alignas(64) _Atomic uint32_t state; /* enum session_state */
	_Atomic uint32_t rings;              /* numbers given out */
	_Atomic uint32_t asleep;             /* the collector: who has something for it is to wake it */
	_Atomic uint32_t ringless;           /* threads that could not make a ring: not recorded */
	_Atomic uint32_t rounds;             /* how often the collector has been through all rings */
	_Atomic uint32_t gave_up;            /* how often a thread has waited for so long, in vain */
	_Atomic uint32_t withheld;           /* rings that the budget kept from growing */
	_Atomic uint32_t denied;             /* of the ringless: by the budget */
	_Atomic uint64_t withheld_budget;    /* the least that kept one from growing, or from being; 0 */
	_Atomic uint64_t used;               /* of the limit */
	_Atomic uint32_t copies_asked, copies_made;
};

struct session {
	struct session_page *page; /* NULL: there is none */
	char dir[SESSION_PATH];
	/* as the page had it when it was made or joined: the program may write there */
	struct clock clock;         /* sound */
	uint32_t collector;
	uint64_t collector_start;
	uint64_t device, inode; /* of that directory: its name may come to stand for another */
};

struct ring;

/* Where sessions are: VERBATIM_SESSIONS, else /dev/shm, else /tmp. */
const char *session_parent(void);

/*
 * Make DIR under @parent ("/dev/shm"; NULL: VERBATIM_SESSIONS, else /dev/shm,
 * else /tmp) and its page. Returns 0 or -errno with *@session untouched.
 */
int session_create(struct session *session, const char *parent, uint64_t ring_bytes,
		   enum session_on_full on_full);

/*
 * Join the session at @dir, as a traced process. -EACCES: the directory is
 * another user's or others may write there; -EPROTO: another version's,
 * cut, or its clock makes no sense; -ENOENT: none. @dir may be relative, the session's is not.
 */
int session_join(struct session *session, const char *dir);

/*
 * The same; where there is none, make one that nobody collects, and @dir if
 * only that is missing. Not where a collector's session has been: -ENOENT.
 * Rings are VERBATIM_RING_SIZE long, all of them at most VERBATIM_LIMIT, half
 * of what the disk has free if that is not given.
 */
int session_join_or_make(struct session *session, const char *dir);

/* May the rings become longer by @bytes? They count as used then. */
bool session_take(struct session *session, uint64_t bytes);

/* So many of them were not. */
void session_give_back(struct session *session, uint64_t bytes);

/*
 * A session without a directory and a collector, of this process alone: what
 * is recorded goes to a tap, and nowhere else.
 */
void session_alone(struct session *session);

static inline bool session_is_alone(const struct session *session)
{
	return !session->dir[0];
}

/* Unmap; the directory stays. */
void session_leave(struct session *session);

/*
 * The collector is about to sleep: after this it looks once more whether there
 * is something to do, and then sleeps until session_wake(), a signal, or that
 * many nanoseconds (0: any number) have passed.
 */
void session_lie_down(struct session *session);
void session_sleep(struct session *session, uint64_t ns);

/* Wake the collector, if it sleeps. Any thread, also in a signal handler; errno stays. */
void session_wake(struct session *session);

/* Is @name, without a directory before it, one that session_create() makes for this user? */
bool session_is_collectors(const char *name);

/*
 * The session's directory. Returns a descriptor, or -errno: -ENOENT; -ESTALE
 * where another directory has its name by now. What is done in it is done by
 * this descriptor: nothing there is followed, and nothing outside is touched.
 */
int session_open_dir(const struct session *session);

/* Open ring @index of the session in directory @at: as ring_open() and ring_open_leftover() do. */
int session_open_ring(int at, uint32_t index, struct ring *ret_ring);
int session_open_leftover(int at, uint32_t index, struct ring *ret_ring);

/*
 * The numbers of the rings that are there, in order. Returns how many, and the
 * numbers, to be freed; or -errno. The page may say anything.
 */
int session_list_rings(int at, uint32_t **ret_numbers);

/* Unlink all that a session leaves in its directory. */
void session_clear(int at);

/* Remove the directory with all that a session leaves in it, and unmap. */
void session_remove(struct session *session);

/* Name of ring @index in the session's directory. */
void session_ring_name(uint32_t index, char name[SESSION_NAME]);

/* Its path, to be shown and looked for in maps: @path has SESSION_PATH + 16 bytes. */
void session_ring_path(const struct session *session, uint32_t index, char *path);

/* Is the process with this start time alive? 0 as start time: unknown. */
bool session_process_alive(pid_t pid, uint64_t start);

/* Time of processors that it has taken so far, in ticks; 0 if there is no such process. */
uint64_t session_process_time(pid_t pid);

/* Field 22 of /proc/PID/stat, 0 if there is no such process. */
uint64_t session_process_start(pid_t pid);

/* How many filters of system calls this process has (seccomp(2)); UINT32_MAX: not known. */
uint32_t session_filters(void);

static inline bool session_running(const struct session *session)
{
	return session->page && atomic_load_explicit(&session->page->state,
						     memory_order_relaxed) == SESSION_RUNNING;
}
