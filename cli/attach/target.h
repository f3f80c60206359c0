#pragma once
/*
 * What /proc tells about a process: threads, limits, descriptors and mappings.
 *
 * Reading it changes nothing in the process. Everything in it is foreign: names are made printable
 * where they are printed. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { TARGET_NAME = 64, TARGET_ARGUMENTS = 6, TARGET_THREADS = 4096, TARGET_FDS = 65536 };

struct target_thread {
	pid_t tid;
	char name[TARGET_NAME];
	char state;              /* 'R', 'S', 'D', 'T', 't', 'Z'; 0: it has ended */
	char wchan[TARGET_NAME]; /* function of the kernel where it sleeps, or "" */
	long syscall;            /* its number; -1: in none; -2: not known */
	uint64_t arguments[TARGET_ARGUMENTS];
	uint64_t sp, pc; /* 0: not known */
};

/* The kind of file that a descriptor refers to. */
enum target_fd_kind {
	TARGET_FD_OTHER,
	TARGET_FD_UVERBS,
	TARGET_FD_RDMA_CM,
	TARGET_FD_COMP_EVENT,  /* a completion channel of the kernel */
	TARGET_FD_ASYNC_EVENT, /* asynchronous events of the kernel */
	TARGET_FD_SOFT_PIPE,   /* events of the software device */
	TARGET_FD_SOCKET,
	TARGET_FD_INOTIFY,
	TARGET_FD_KINDS,
};

struct target_fd {
	int fd;
	enum target_fd_kind kind;
	char *target; /* the link's text */
};

struct target_map {
	uint64_t start, end, offset;
	uint64_t inode;
	uint32_t major, minor;
	char mode[5]; /* "rw-p" */
	char *path;   /* "" if anonymous */
};

struct target {
	pid_t pid;
	pid_t inner_pid; /* its PID in its own PID namespace */
	uid_t uid;
	char name[TARGET_NAME];
	uint64_t start;                      /* in clock ticks since boot */
	pid_t tracer;                        /* 0: none */
	uint64_t locked, pinned;             /* bytes: VmLck, VmPin */
	uint64_t memlock_soft, memlock_hard; /* bytes; UINT64_MAX: unlimited */
	uint64_t nofile_soft, nofile_hard;
	bool ipc_lock;     /* has CAP_IPC_LOCK: the limit does not apply */
	bool soft_memlock; /* VERBATIM_SOFT_MEMLOCK: the software device has the limit, too */
	struct target_thread *threads;
	size_t nthreads;
	struct target_fd *fds;
	size_t nfds;
	struct target_map *maps;
	size_t nmaps;
	bool no_maps; /* the maps could not be read: no permission */
	bool no_fds;
};

/*
 * Read what /proc has about @pid. 0; or, after log_err() with what to do, -ESRCH if there is no
 * such process or it ended, -EPERM if this user may not look, or -errno.
 */
int target_read(pid_t pid, struct target *ret_target);
void target_fini(struct target *process);

/* Is the program of @process of another architecture, or 32-bit? */
bool target_is_foreign(const struct target *process);

/* Read the current state, system call, SP and PC of @thread. False: it has ended. */
bool target_read_call(pid_t pid, struct target_thread *thread);

/* Does @process still run? False if its PID now belongs to a different process. */
bool target_is_same(const struct target *process);

/* The map that contains @address, or NULL. */
const struct target_map *target_map_at(const struct target *process, uint64_t address);

/* The kind and the text of descriptor @fd; NULL if it is not open. */
const struct target_fd *target_fd_find(const struct target *process, int fd);

/* The number of descriptors of @kind. */
size_t target_fd_count(const struct target *process, enum target_fd_kind kind);

/*
 * Open the regular file @path, below the process's own root, for reading; never a FIFO, a device or
 * the like. Returns a descriptor and *@ret_stat, or -errno.
 */
int target_open(const struct target *target, const char *path, struct stat *ret_stat);

/* Parsers of untrusted text. Each returns false if the text is invalid. */
bool target_parse_map(char *line, struct target_map *ret_map);
bool target_parse_syscall(const char *text, struct target_thread *thread);
bool target_parse_limit(const char *text, const char *name, uint64_t *ret_soft, uint64_t *ret_hard);
enum target_fd_kind target_fd_kind_of(const char *target);
