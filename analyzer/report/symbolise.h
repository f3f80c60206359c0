#pragma once
/*
 * A process that reads symbols from files.
 *
 * Such files are untrusted, and libdw assumes trusted ones. So it runs in a separate process with
 * limits on memory and time, which only uses the descriptors that are passed to it.
 *
 * A request is one packet, and so is its answer. Before the answer the process may request a file
 * of debug information, and gets SYMBOLISE_GIVE.
 */
#include <stdbool.h>
#include <stdint.h>

enum {
	SYMBOLISE_ID = 2 * 64 + 1, /* a build id in hexadecimal, and the terminating zero */
	SYMBOLISE_MAX = 16,        /* largest number of functions at a frame */
	SYMBOLISE_CPU = 20,        /* seconds, for all files */
};

/* Memory beyond the files themselves: compressed sections are unpacked into it. */
#define SYMBOLISE_MEMORY (1ull << 30)

enum symbolise_kind {
	SYMBOLISE_OPEN, /* the descriptor is @file's, of build @id */
	SYMBOLISE_FIND, /* the functions at @offset of @file */
	SYMBOLISE_GIVE, /* the requested descriptor, or none */
};

struct symbolise_ask {
	enum symbolise_kind kind;
	uint32_t file; /* files are numbered from 0 */
	uint64_t offset;
	char id[SYMBOLISE_ID];
	bool table_only; /* SYMBOLISE_OPEN: do not read its debug information, only its symbols */
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
	/* request for debug information of this build; "": this is the answer */
	char wanted[SYMBOLISE_ID];
	uint32_t n; /* number of elements that are sent */
	struct symbolise_name names[SYMBOLISE_MAX];
};

/* Load libdw, before the limits: NULL, or why that failed, as library_load(). */
const char *symbolise_load(void);

/*
 * Answer the requests on @socket until it is closed, for at most @seconds of processor time. Does
 * not return. After symbolise_load().
 */
__attribute__((noreturn)) void symbolise_run(int socket, unsigned int seconds);
