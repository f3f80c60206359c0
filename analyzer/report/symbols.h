#pragma once
/*
 * Names for recorded frames: function, offset, and the line if the program has debug information.
 * They are looked up after the recording, in the files that were mapped, by a separate process.
 *
 * If a file is missing, or is another build, only its name and an offset are given, since a wrong
 * function name would mislead. Not thread-safe.
 */
#include <stddef.h>

#include "core/store/read/trace.h"

struct symbols;

/* Returns 0 or -errno after log_err(). */
int symbols_open(struct symbols **ret_symbols);

/* Accepts NULL. */
void symbols_close(struct symbols *symbols);

/* A function of a stack. NULL and 0 if not known; borrowed until symbols_close(). */
struct symbol {
	const char *function;
	uint64_t offset;  /* in the function, or in the module if the function is not known */
	const char *path; /* of the source, as it was passed to the compiler; NULL not known */
	const char *file; /* the source's name, without its directory */
	int line;
	bool inlined; /* inlined into the function of the next symbol, which has the same frame */
	const char *module;  /* without its directory */
	const char *problem; /* why there is no function: "binary changed", "file not found", ... */
};

/*
 * The functions at @frame, innermost first: more than one if some are inlined. Returns how many, at
 * least 1 and at most @max.
 */
unsigned int symbols_find(struct symbols *symbols, const struct frame *frame,
			  struct symbol *ret_symbols, unsigned int max);

/* Is @frame in the recorder's library, which is between the program and the verbs? */
bool frame_is_ours(const struct frame *frame);

/*
 * Is @symbol a function of <infiniband/verbs.h> or <rdma/rdma_verbs.h>, which a build without
 * optimisation contains as separate functions? The event names the verb anyway.
 */
bool symbol_is_of_verbs(const struct symbol *symbol);

/* Is @symbol a function of the Python interpreter? Frames of the Python code are not recorded. */
bool symbol_is_python(const struct symbol *symbol);

/*
 * Write "connection_close+0x1f (app.c:58)", "libfoo.so+0x1234",
 * "libfoo.so+0x1234 (binary changed)" or "0x7f..." into @text, and return it.
 */
const char *symbol_text(const struct symbol *symbol, char *text, size_t size);
