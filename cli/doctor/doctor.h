#pragma once
/*
 * The checks of `verbatim doctor`, and their findings.
 *
 * Not thread-safe.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	DOCTOR_OK,
	DOCTOR_NOTE,    /* works, with a limit worth knowing */
	DOCTOR_PROBLEM, /* prevents RDMA or tracing */
	DOCTOR_VERDICTS,
};

struct finding {
	enum verdict verdict;
	const char *check; /* name of the check that found it */
	char *text;
	const char *remedy; /* NULL: none is needed */
};

struct doctor {
	const char *root;     /* prefix of each path of the machine: "" */
	const char *program;  /* the program to check; NULL: none */
	unsigned int devices; /* RDMA devices of this machine, after doctor_check_devices() */
	const char *check;    /* the check that is running */
	struct finding *findings;
	size_t nfindings;
	char image[PATH_MAX]; /* the loaded file: the program itself, or a script's interpreter */
};

struct doctor_check {
	const char *name;
	void (*look)(struct doctor *doctor); /* calls doctor_report() any number of times */
};

/* Checks of the machine, and of a program; the last of each has no name. */
extern const struct doctor_check doctor_machine_checks[], doctor_program_checks[];

/* Run a table of checks. */
void doctor_run(struct doctor *doctor, const struct doctor_check *checks);

/* Add a finding of the running check; @remedy is borrowed, NULL if there is nothing to do. */
void doctor_report(struct doctor *doctor, enum verdict verdict, const char *remedy,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The number of findings with @verdict. */
size_t doctor_count(const struct doctor *doctor, enum verdict verdict);

/* Frees the findings. */
void doctor_fini(struct doctor *doctor);

/* Format a path and put the root of the machine in front of it. */
void doctor_path(const struct doctor *doctor, char path[PATH_MAX], const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Read the first line of a file of the machine, without the newline. False, and "", if the file
 * cannot be read.
 */
bool doctor_read_line(const struct doctor *doctor, const char *name, char *line, size_t size);

/* Does the machine have the file @name? */
bool doctor_has(const struct doctor *doctor, const char *name);

/* Called for each entry of a folder, sorted by name. */
typedef void doctor_entry(struct doctor *doctor, const char *name);

/* The number of entries of the folder; 0 if it does not exist. @entry may be NULL. */
unsigned int doctor_each(struct doctor *doctor, const char *folder, doctor_entry *entry);

/*
 * One function for each check: doctor_machine.c, doctor_device.c, doctor_verbs.c, doctor_program.c.
 */
void doctor_check_devices(struct doctor *doctor);
void doctor_check_nodes(struct doctor *doctor);
void doctor_check_modules(struct doctor *doctor);
void doctor_check_memlock(struct doctor *doctor);
void doctor_check_ports(struct doctor *doctor);
void doctor_check_library(struct doctor *doctor);
void doctor_check_kernel(struct doctor *doctor);
void doctor_check_fork(struct doctor *doctor);
void doctor_check_ptrace(struct doctor *doctor);
void doctor_check_shm(struct doctor *doctor);
void doctor_check_session(struct doctor *doctor);
void doctor_check_memory(struct doctor *doctor);
void doctor_check_fabric(struct doctor *doctor);
void doctor_check_wire(struct doctor *doctor);
void doctor_check_guest(struct doctor *doctor);
void doctor_check_preload(struct doctor *doctor);
void doctor_check_lttng(struct doctor *doctor);
void doctor_check_clock(struct doctor *doctor);

void doctor_find_program(struct doctor *doctor);
void doctor_check_format(struct doctor *doctor);
void doctor_check_secure(struct doctor *doctor);
void doctor_check_linked(struct doctor *doctor);
void doctor_check_direct(struct doctor *doctor);

/* Does the kernel copy pinned pages on fork (Linux 5.12)? */
bool doctor_copies_on_fork(const struct doctor *doctor);

/* Report @free_bytes left for rings at @where. */
void doctor_judge_space(struct doctor *doctor, const char *where, uint64_t free_bytes);

/* Report the clock of events: is the time stamp counter @invariant? Reading the clock takes @ns. */
void doctor_judge_clock(struct doctor *doctor, bool invariant, const char *source, double ns);
