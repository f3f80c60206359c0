#pragma once
/*
 * The process that reads files for their symbols.
 *
 * Such a file cannot be trusted, and libdw is written for files that can. So it
 * runs in a process of its own with limits of memory and time, which opens nothing
 * but the descriptors that it is given.
 *
 * A request is one packet, and so is its answer. Before the answer the process may
 * ask for a file of debug information, and is sent SYMBOLISE_GIVE.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	SYMBOLISE_ID = 2 * 64 + 1, /* a build id in hexadecimal, and its end */
	SYMBOLISE_MAX = 16,        /* functions around a frame, at most */
	SYMBOLISE_CPU = 20,        /* seconds, for all files */
};

/* Memory beyond the files themselves: compressed sections are unpacked into it. */
#define SYMBOLISE_MEMORY (1ull << 30)

enum symbolise_kind {
	SYMBOLISE_OPEN, /* the descriptor is @file's, of build @id */
	SYMBOLISE_FIND, /* what is at @offset of @file? */
	SYMBOLISE_GIVE, /* the descriptor that was wanted, or none */
};

struct symbolise_ask {
	enum symbolise_kind kind;
	uint32_t file; /* they are numbered from 0 */
	uint64_t offset;
	char id[SYMBOLISE_ID];
};

enum symbolise_problem {
	SYMBOLISE_FINE,
	SYMBOLISE_MEMORY_OUT,
	SYMBOLISE_NOT_READ,
	SYMBOLISE_CHANGED,
};

struct symbolise_name {
	char function[1024], file[512]; /* "": not known */
	uint64_t offset;
	int line;
	bool inlined;
};

struct symbolise_answer {
	enum symbolise_problem problem;
	char wanted[SYMBOLISE_ID]; /* debug information of this build; "": this is the answer */
	uint32_t n;                /* only these are sent */
	struct symbolise_name names[SYMBOLISE_MAX];
};

/*
 * Answer the requests on @socket until it is closed, for at most @seconds of processor time. Does
 * not return.
 */
__attribute__((noreturn)) void symbolise_run(int socket, unsigned int seconds);
