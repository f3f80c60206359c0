#pragma once
/*
 * Names for recorded frames: function, offset, and the line where the program
 * has debug information. Offline, from the files that were mapped, which are
 * read by a process of their own.
 *
 * A file that is not there any more, or is another build, gives its name and
 * an offset: no name is better than a wrong one. One thread.
 */
#include <stddef.h>

#include "core/store/read/trace.h"

struct symbols;

/* Returns 0 or -errno after log_err(). */
int symbols_open(struct symbols **ret_symbols);

/* Accepts NULL. */
void symbols_close(struct symbols *symbols);

/* A function of a stack. NULL and 0 where not known; borrowed until symbols_close(). */
struct symbol {
	const char *function;
	uint64_t offset;  /* in the function; of the module where there is none */
	const char *file; /* without its directory */
	int line;
	bool inlined;        /* into the next symbol's function, which has the same frame */
	const char *module;  /* without its directory */
	const char *problem; /* why there is no function: "binary changed", "file not found", ... */
};

/*
 * What was called at @frame, innermost first: more than one where the compiler
 * put functions into another. Returns how many, at least 1 and at most @max.
 */
unsigned int symbols_find(struct symbols *symbols, const struct frame *frame,
			  struct symbol *ret_symbols, unsigned int max);

/*
 * Write "connection_close+0x1f (demo_bug.c:58)", "libfoo.so+0x1234",
 * "libfoo.so+0x1234 (binary changed)" or "0x7f..." into @text, and return it.
 */
const char *symbol_text(const struct symbol *symbol, char *text, size_t size);
