#pragma once
/*
 * Names for recorded frames: function, offset, and the line if the program has
 * debug information. They are found afterwards, from the files that were mapped,
 * which a separate process reads.
 *
 * For a file that is gone, or is another build, only its name and an offset are
 * given: no name is better than a wrong one. One thread.
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
	uint64_t offset;  /* in the function, or in the module if there is none */
	const char *path; /* of the source, as the compiler was given it; NULL not known */
	const char *file; /* the same without its directory */
	int line;
	bool inlined;        /* into the next symbol's function, which has the same frame */
	const char *module;  /* without its directory */
	const char *problem; /* why there is no function: "binary changed", "file not found", ... */
};

/*
 * The functions at @frame, innermost first: more than one where the compiler has
 * inlined. Returns how many, at least 1 and at most @max.
 */
unsigned int symbols_find(struct symbols *symbols, const struct frame *frame,
			  struct symbol *ret_symbols, unsigned int max);

/* Is it of the recorder, which stands between a program and what it calls? */
bool frame_is_ours(const struct frame *frame);

/*
 * Write "connection_close+0x1f (app.c:58)", "libfoo.so+0x1234",
 * "libfoo.so+0x1234 (binary changed)" or "0x7f..." into @text, and return it.
 */
const char *symbol_text(const struct symbol *symbol, char *text, size_t size);
