#pragma once
/*
 * The format of an event in a ring
 *
 * Every event starts with a struct event_head, is a whole number of 8-byte words long and 8-byte
 * aligned; the byte order is the machine's, since a session never leaves it. docs/TRACE-FORMAT.md
 * lists all events.
 *
 *	head | body of a fixed size, by type | arrays with lengths from the body
 *
 * Plain records; any thread.
 */
#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/wire/misuse.h"
#include "gen/data_gen.h"

enum event_type {
	EVENT_PROCESS = 1, /* first event of a process's first ring */
	EVENT_MODULE,      /* a mapped object file, for symbols */
	EVENT_FORK,        /* in the parent, before it creates a child; also before an exec */
	EVENT_CALL,        /* a control verb begins */
	EVENT_RETURN,      /* a control verb has returned */
	/* ibv_post_*, ibv_wr_complete, ibv_wr_abort: one event per call, or several: EVENT_PART */
	EVENT_POST,
	EVENT_POLL,    /* a poll that returned completions or failed */
	EVENT_NOTIFY,  /* ibv_req_notify_cq */
	EVENT_COUNT,   /* a poll counter of a thread, when its CQ was destroyed */
	EVENT_BLIND,   /* something that is not recorded happened */
	EVENT_MARK,    /* a mark set by the program */
	EVENT_SPAWNED, /* the result of an EVENT_FORK */
	EVENT_EXIT,    /* the process is about to end */
	EVENT_THREAD,  /* from this event on the ring belongs to another thread */
	EVENT_PAYLOAD, /* bytes that a work request sends, or has received */
	EVENT_SITE,    /* a place in the program from which a thread posts */
	EVENT_DIRECT,  /* a provider's own function was called, bypassing the verbs */
	EVENT_MEMORY,  /* registered memory of the program was released */
	EVENT_WAITED,  /* the recorder made the thread wait */
	EVENT_MISUSE,  /* record --strict: invalid use of an object */
	EVENT_TYPES,
};

enum event_flag {
	EVENT_INNER = 1,  /* called by the library or a provider inside another verb */
	EVENT_OURS = 2,   /* called by the recorder itself: a snapshot of the device */
	EVENT_PART = 4,   /* EVENT_POST: the next event continues the same call */
	EVENT_FILLED = 4, /* EVENT_POLL: the array of ibv_poll_cq had no room for more */
	EVENT_CUT = 8,    /* the event was too long: the rest of the call is missing */
	EVENT_START = 16, /* EVENT_POLL: by ibv_start_poll */
	EVENT_NEXT = 32,  /* EVENT_POLL: by ibv_next_poll */
	/* EVENT_POLL: a struct event_wc_extra for each completion, after all of them */
	EVENT_EXTRA = 64,
	EVENT_CARRIES = 128, /* EVENT_POST: payload of its requests precedes it */
	EVENT_STACK = 128,   /* EVENT_POLL: a struct event_stack at the end */
};

struct event_head {
	uint16_t words; /* length including this head, in 8-byte words */
	uint8_t type;
	uint8_t flags;
	uint32_t seq;   /* N of T:N: 1 for the thread's first event, low 32 bits */
	uint64_t ticks; /* of the session's clock */
};

enum event_ipc_lock { IPC_LOCK_UNKNOWN, IPC_LOCK_MISSING, IPC_LOCK_HELD };

/*
 * Followed by the executable's path, the command line (argv joined by '\0'), and environment
 * variables that RDMA libraries read: each "NAME=value" with its '\0'.
 */
struct event_process {
	struct event_head head;
	uint32_t pid;
	uint32_t ppid;
	uint32_t forked_from; /* after fork: pid of the parent; after exec: 0 */
	uint32_t fork_seq;    /* number of the fork in the parent: event_fork.fork_seq */
	uint64_t fork_ticks;
	uint16_t exe_bytes; /* without a terminating 0 */
	uint16_t cmd_bytes;
	uint16_t environ_bytes;
	/* enum event_ipc_lock: CAP_IPC_LOCK, as the kernel's RDMA core checks it */
	uint8_t ipc_lock;
	uint8_t pad;
	uint64_t memlock, memlock_most; /* RLIMIT_MEMLOCK, soft and hard; EVENT_UNLIMITED */
	uint64_t nofile, nofile_most;
	uint32_t page_size; /* 0: not known, like the limits */
	uint32_t pad2;
	/* char exe[], cmd[], environ[] */
};

#define EVENT_UNLIMITED UINT64_MAX

struct event_module {
	struct event_head head;
	uint64_t base;  /* load address: add it to addresses in the file */
	uint64_t start; /* the first mapped byte, and the one after the last */
	uint64_t end;
	uint16_t path_bytes;
	uint16_t build_id_bytes;
	uint32_t serial; /* increases within a process: a file found later has a higher one */

	/* char path[], uint8_t build_id[] */
};

/* How a child is created; with FORK_EXEC the process continues as another program. */
enum event_fork_how {
	FORK_FORK,
	FORK_VFORK,
	FORK_POSIX_SPAWN,
	FORK_SYSTEM,
	FORK_POPEN,
	FORK_CLONE,
	FORK_EXEC,
	FORK_HOWS,
};

struct event_fork {
	struct event_head head;
	uint32_t fork_seq; /* 1 for the process's first fork */
	uint16_t nframes;
	uint16_t how;     /* enum event_fork_how */
	uint32_t modules; /* the highest serial of its frames' modules */
	uint32_t ndescriptors;

	/*
	 * uint64_t frames[nframes], innermost first; struct event_descriptor[ndescriptors]: the
	 * descriptors without FD_CLOEXEC
	 */
};

/* A descriptor of a context or a completion channel. */
struct event_descriptor {
	uint64_t object;
	int32_t fd;
	uint32_t pad;
};

enum { EVENT_FORK_DESCRIPTORS = 16 }; /* maximum; further descriptors are not recorded */

/* The result of struct event_fork. Not written after a successful exec. */
struct event_spawned {
	struct event_head head;
	uint32_t fork_seq;
	int32_t pid;   /* 0: not known */
	int32_t error; /* errno; 0: success */
	uint32_t pad;
};

enum event_exit_how { EXIT_EXIT, EXIT_AT_ONCE /* _exit() */, EXIT_HOWS };

struct event_exit {
	struct event_head head;
	uint32_t how;   /* enum event_exit_how */
	int32_t status; /* as the program passed it */
};

struct event_call {
	struct event_head head;
	uint16_t verb;
	uint8_t nframes;
	uint8_t depth;    /* 0: called by the application */
	uint32_t nargs;   /* words of encoded arguments */
	uint32_t modules; /* the highest serial of its frames' modules */
	uint32_t pad;
	/* uint64_t frames[nframes], args[nargs]: codec.h */
};

struct event_return {
	struct event_head head;
	uint32_t call_seq; /* seq of its struct event_call */
	int32_t error;     /* errno as the application saw it after the call */
	int64_t ret;
	uint32_t nouts; /* words of outputs: the arguments that it wrote, then the new object */
	uint16_t verb;
	uint16_t pad;
	/* uint64_t outs[nouts] */
};

/*
 * Written before a thread's first post from a place in the program; its posts from there have its
 * number.
 */
struct event_site {
	struct event_head head;
	uint16_t site; /* number of the site, from 1 */
	uint16_t nframes;
	uint32_t modules; /* the highest serial of its frames' modules */

	/* uint64_t frames[nframes], innermost first */
};

struct event_post {
	struct event_head head;
	uint64_t object; /* address of the QP or SRQ */
	uint32_t verb : 9;
	uint32_t bad : 9; /* 0, or 1 + index of *bad_wr in the call */
	int32_t ret : 14; /* valid if EVENT_PART is not set */
	uint16_t nwr;     /* number of requests in this event */
	uint16_t site;    /* number of this thread's struct event_site; 0: not known */

	/* struct event_wr wrs[nwr], each with its parts */
};

enum {
	/* maximum of one call, in all its events: it ends a circular list */
	EVENT_POST_WRS = 1 << 16,
	EVENT_POST_SGES = 32, /* maximum of one request: devices allow fewer */
};

/*
 * struct event_wr is followed by its parts in the order of the bits of enum event_wr_part, then by
 * struct event_sge[nsge]. These structures, struct event_wc and struct event_wc_extra are generated
 * from core/wire/data.list.
 */
_Static_assert(sizeof(struct event_wr) == 16 && sizeof(struct event_sge) == 16 &&
		       sizeof(struct event_post) == 32,
	       "a SEND of one element takes 64 bytes");

/*
 * The second word of a request: opcode, flags, elements and parts, one byte each, and imm. It is
 * written and read as one word, because a load that spans several recent stores waits for all of
 * them.
 */
enum { WR_WORD = offsetof(struct event_wr, opcode) };

_Static_assert(WR_WORD == 8 && offsetof(struct event_wr, nsge) == 10 &&
		       offsetof(struct event_wr, parts) == 11 &&
		       offsetof(struct event_wr, imm) == 12,
	       "event_wr_word()");

static inline uint64_t event_wr_word(unsigned int opcode, unsigned int flags, unsigned int nsge,
				     unsigned int parts, uint32_t imm)
{
	return (opcode & 255) | (flags & 255) << 8 | nsge << 16 | parts << 24 | (uint64_t)imm << 32;
}

static inline uint64_t event_wr_get_word(const struct event_wr *wr)
{
	uint64_t word;

	memcpy(&word, (const char *)wr + WR_WORD, sizeof(word));
	return le64toh(word);
}

static inline void event_wr_put_word(struct event_wr *wr, uint64_t word)
{
	word = htole64(word);
	memcpy((char *)wr + WR_WORD, &word, sizeof(word));
}

struct event_poll {
	struct event_head head;
	uint64_t cq;
	uint64_t empty; /* empty polls of this CQ by this thread so far */
	int32_t ret;
	uint32_t nwc;
	/*
	 * struct event_wc wcs[nwc], each with the same bytes as struct ibv_wc; with EVENT_EXTRA
	 * struct event_wc_extra extras[nwc]; with EVENT_STACK struct event_stack, if the poll
	 * failed, or a completion has an error other than a flush
	 */
};

struct event_stack {
	uint32_t nframes;
	uint32_t modules; /* the highest serial of its frames' modules */

	/* uint64_t frames[nframes], innermost first */
};

/* The extras of a poll that has them. */
static inline const struct event_wc_extra *event_poll_extras(const struct event_poll *poll)
{
	return (const void *)((const struct event_wc *)(poll + 1) + poll->nwc);
}

/*
 * Length of a poll with its completions, without a stack; longer than any event if it is not a
 * poll.
 */
static inline size_t event_poll_bytes(const struct event_poll *poll)
{
	size_t each = sizeof(struct event_wc) +
		      (poll->head.flags & EVENT_EXTRA ? sizeof(struct event_wc_extra) : 0);

	return sizeof(*poll) + (size_t)poll->nwc * each;
}

/*
 * The stack at the end of a poll. NULL: it has none, or @bytes is not the length of the poll with
 * its stack.
 */
static inline const struct event_stack *event_poll_stack(const struct event_poll *poll,
							 size_t bytes)
{
	size_t at = event_poll_bytes(poll);
	const struct event_stack *stack = (const void *)((const char *)poll + at);

	if (!(poll->head.flags & EVENT_STACK) || at > bytes || bytes - at < sizeof(*stack) ||
	    (bytes - at - sizeof(*stack)) / 8 != stack->nframes)
		return NULL;
	return stack;
}

/* Is the event a poll, with a length that matches its contents? @bytes is its length. */
static inline bool event_poll_fits(const struct event_poll *poll, size_t bytes)
{
	if (bytes < sizeof(*poll))
		return false;
	return poll->head.flags & EVENT_STACK ? event_poll_stack(poll, bytes) != NULL
					      : event_poll_bytes(poll) == bytes;
}

struct event_notify {
	struct event_head head;
	uint64_t cq;
	int32_t solicited_only;
	int32_t ret;
};

/*
 * Written when a CQ is destroyed, for each thread that has polled it: the thread's counter for a CQ
 * at this address starts from 0 again.
 */
struct event_count {
	struct event_head head;
	uint32_t ring; /* index in the session of the ring with the counter */
	uint32_t tid;  /* the thread of the ring when it was written, since rings are reused */
	uint64_t cq;
	uint64_t empty;
};

/* Counters from the ring's head of the thread that has ended, and the tid of the next thread. */
struct event_thread {
	struct event_head head;
	uint32_t tid;
	uint32_t npolls;
	char comm[16];
	uint64_t dropped, drop_first, drop_last; /* as in struct ring_head */
	uint64_t in_handlers, uncounted, filtered, ended;
	/* struct ring_polls polls[npolls], of CQs that still exist */
};

enum event_blind_what {
	BLIND_EXTENDED_QP, /* posts by ibv_wr_* on this QP that could not be watched */
	BLIND_EXTENDED_CQ, /* completions by ibv_start_poll on this CQ */
	BLIND_WQ,          /* posts to this WQ that could not be watched */
	BLIND_DM,          /* copies to and from device memory that could not be watched */
	BLIND_PROVIDERS,   /* more providers in one process than the recorder has slots for */
	BLIND_THREAD,      /* a thread without a ring */
	BLIND_MODULES,     /* more object files than the recorder remembers; object: one of them */
	/* more posting places than the recorder remembers; object: one of them */
	BLIND_SITES,
	BLIND_VFORK,   /* verbs of a child that shares its parent's memory; object: its pid */
	BLIND_IMPORTS, /* more provider functions than the recorder remembers */
	/* a seccomp filter forbids system calls of the recorder; object: enum event_need */
	BLIND_SANDBOX,
	BLIND_BEFORE, /* the process ran before the recording: its earlier posts and completions */
	BLIND_JUMP,   /* a longjmp() left a verb while its event was written */
	BLIND_KINDS,
};

/* Reasons for system calls of the recorder in the program; bits. */
enum event_need {
	NEED_QUIET = 1 << 0,   /* block signals */
	NEED_STACK = 1 << 1,   /* unwind a call stack */
	NEED_ROOM = 1 << 2,    /* extend a ring */
	NEED_PAUSE = 1 << 3,   /* sleep until the collector has freed space */
	NEED_YIELD = 1 << 4,   /* yield to other threads while waiting */
	NEED_LOOK = 1 << 5,    /* check whether the collector is alive */
	NEED_WAKE = 1 << 6,    /* wake the collector */
	NEED_RING = 1 << 7,    /* join the session, and create a ring for a thread */
	NEED_END = 1 << 8,     /* release memory when a thread ends */
	NEED_MEMORY = 1 << 9,  /* allocate memory for the state of queues and batches */
	NEED_LOAD = 1 << 10,   /* look for functions in libraries */
	NEED_PATCH = 1 << 11,  /* write import slots */
	NEED_DEVICE = 1 << 12, /* describe a device that is opened */
	NEED_FORK = 1 << 13,   /* check which descriptors a child gets; wait for a fork */
	NEED_STOP = 1 << 14,   /* stop at a verb that fails */
	NEED_IDS = 1 << 15,    /* get the ids of this process */
	NEED_ALL = (1 << 16) - 1,
};

struct event_blind {
	struct event_head head;
	uint32_t what;
	uint32_t pad;
	uint64_t object;
};

enum event_mark_kind {
	MARK_POINT,
	MARK_BEGIN,
	MARK_END,
	MARK_FAULT, /* set by the recorder: it has injected a fault (record --faults) */
	MARK_KINDS,
};

struct event_mark {
	struct event_head head;
	uint16_t kind;
	uint16_t bytes;
	uint32_t pad;
	/* char text[] */
};

/* The operation that moves the bytes. */
enum payload_kind { PAYLOAD_SEND, PAYLOAD_RECV, PAYLOAD_READ, PAYLOAD_ATOMIC, PAYLOAD_KINDS };

/* Why fewer bytes were stored than requested. */
enum payload_why {
	PAYLOAD_WHOLE,      /* all bytes were stored */
	PAYLOAD_UNREADABLE, /* the memory does not exist, or may not be read */
	PAYLOAD_DEVICE,     /* the key belongs to memory of a device or of another process */
	PAYLOAD_KEY,        /* the key belongs to no known region */
	PAYLOAD_REQUEST,    /* the buffers of the completed request are not known */
	PAYLOAD_AMBIGUOUS,  /* outstanding requests with that wr_id have different buffers */
	PAYLOAD_LENGTH,     /* the length is not known: the CQ was created without byte_len */
	PAYLOAD_LONG,       /* longer than PAYLOAD_CALL_MAX, or too many elements */
	PAYLOAD_LOST,       /* pieces did not fit into the ring */
	/* a seccomp filter might kill the program if the recorder reads the memory */
	PAYLOAD_SANDBOX,
	PAYLOAD_WHYS,
};

enum event_payload_flag {
	PAYLOAD_LAST = 1,   /* the last piece of the payload */
	PAYLOAD_HASHED = 2, /* @hash is valid: the hash of the whole payload */
};

/*
 * One piece of a payload, followed by its bytes. The pieces of a post precede its EVENT_POST, which
 * has EVENT_CARRIES; the pieces of a completion follow its EVENT_POLL. The pieces of a payload are
 * in order.
 */
struct event_payload {
	struct event_head head;
	uint64_t object; /* the queue of the post; 0: the payload of a completion */
	uint64_t total;  /* bytes of the whole payload */
	uint64_t offset; /* offset of this piece in the payload */
	uint64_t hash;   /* hash of the bytes after @before: core/wire/hash.h */
	/* of a post: a number that all its pieces have; of a completion: seq of its EVENT_POLL */
	uint32_t of;
	uint32_t index; /* index of the request in the call, or of the completion in the event */
	uint32_t bytes; /* number of bytes in this piece */
	uint8_t kind;   /* enum payload_kind */
	uint8_t why;    /* enum payload_why; valid in the last piece */
	uint8_t before; /* number of bytes before the message itself: 40 for a datagram's GRH */
	uint8_t flags;  /* enum event_payload_flag */

	/* uint8_t bytes[], padded to 8 */
};

enum event_direct_how {
	DIRECT_CALLED,
	DIRECT_LINKED, /* the program imports the function; its calls cannot be observed */
	DIRECT_HOWS,
};

struct event_direct {
	struct event_head head;
	uint16_t how; /* enum event_direct_how */
	uint16_t bytes;
	uint32_t pad;
	/* char name[]: "mlx5dv_init_obj" */
};

/* How memory was released. */
enum event_memory_what {
	MEMORY_MUNMAP,
	MEMORY_MMAP,    /* other memory was mapped over it */
	MEMORY_MREMAP,  /* it was moved, or made shorter */
	MEMORY_MADVISE, /* its contents were discarded: MADV_DONTNEED, MADV_REMOVE */
	MEMORY_FREE,
	MEMORY_REALLOC, /* realloc() moved it */
	MEMORY_HUGE,    /* not released: memory in huge pages will be registered */
	MEMORY_WHATS,
};

struct event_memory {
	struct event_head head;
	uint64_t addr; /* the released range, whether registered or not */
	uint64_t length;
	uint16_t what; /* enum event_memory_what */
	uint16_t nframes;
	uint32_t modules; /* the highest serial of its frames' modules */

	/* uint64_t frames[nframes], innermost first */
};

/* What the thread waited for. */
enum event_waited_why {
	WAITED_ROOM,   /* the ring was full: it waited until the collector had read events */
	WAITED_LONGER, /* it waited until the ring was extended */
	WAITED_WHYS,
};

/*
 * Written after the wait, when the ring has space again; its head has the time when the wait began.
 */
struct event_waited {
	struct event_head head;
	uint64_t ticks; /* total duration */
	uint32_t times; /* number of waits; events of earlier waits did not fit */
	uint32_t why;   /* enum event_waited_why of the last wait */
};

/* Written before the misused verb is called. */
struct event_misuse {
	struct event_head head;
	uint64_t object; /* CQ, QP or SRQ */
	uint64_t of;     /* another object involved; 0: none */
	uint16_t what;   /* enum event_misuse_what */
	uint16_t verb;   /* enum verb; unused if a field was read */
	uint16_t field;  /* enum event_cq_field */
	uint16_t other_verb;
	uint32_t ring, tid; /* of the other thread; tid 0: there is none */
	uint32_t status;    /* of the completion whose field was read */
	uint16_t pad;
	uint16_t nframes;
	uint32_t modules; /* the highest serial of its frames' modules */
	uint32_t pad2;

	/* uint64_t frames[nframes], innermost first */
};
