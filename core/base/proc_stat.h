#pragma once
/* The file stat of a process or a thread in /proc. No allocation: the guest reads it, too. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	PROC_STAT_TEXT = 1024,       /* longer than any such file: a name has at most 64 bytes */
	PROC_STAT_KERNEL = 0x200000, /* a flag: PF_KTHREAD of Linux */
};

/* Fields of proc(5); 0 where the kernel has none, or hides it. */
struct proc_stat {
	char state;
	uint64_t flags;
	uint64_t user, system; /* processor time, clock ticks */
	uint64_t threads;      /* number of threads; a zombie with 1 has ended */
	uint64_t start;        /* clock ticks since boot */
	uint64_t environ_end;  /* 0 during execve(), until the new environment exists */
	int exit_code;         /* in the format of waitpid() */
};

/* Parse the contents of the file. False: they are not valid from the state to the start time. */
bool proc_stat_parse(const char *text, struct proc_stat *ret);

/*
 * Read the file of process @pid, or of its thread @tid, if not 0. False: it has ended, or there is
 * no /proc.
 */
bool proc_stat_read(pid_t pid, pid_t tid, struct proc_stat *ret);
