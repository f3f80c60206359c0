#pragma once
/*
 * A control verb as a row of table `call` with its rows of table `ref`: what a block of calls
 * stores and a reader gets back unchanged. call_batch.h writes such blocks, call_block.h reads
 * them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of `ref`. */
struct ref_row {
	const char *path, *kind;
	uint64_t handle;
	uint32_t object; /* 0: none */
};

/*
 * A call that has returned. @stack, @object and @handle are 0 for NULL in the file. A block does
 * not store the process, since the thread determines it.
 */
struct call_row {
	uint64_t n, end_n;
	int64_t begin, end;
	uint32_t process, depth, stack, object;
	bool failed, ours;
	const char *verb;
	int64_t ret, error;
	uint64_t handle;
	const char *args, *out; /* JSON */
	const struct ref_row *refs;
	size_t nrefs;
};

enum {
	/* the first calls of a shape are rows; later ones are in blocks */
	CALLS_PLAIN = 32,
	CALL_SHAPES_MAX = 1 << 16,  /* calls of further shapes are rows only */
	CALL_ROWS_MAX = 8192,       /* calls of a block */
	CALL_VALUES_FULL = 1 << 18, /* a batch with this many values is full */
	CALL_TEXT_FULL = 1 << 20,   /* so is a batch with this many bytes of text */
	/* bytes of JSON of one call; an event has at most 65,535 words */
	CALL_ARGS_MAX = 4 << 20,
	/* values of a block: one call adds less than the difference to CALL_VALUES_FULL */
	CALL_VALUES_MAX = 1 << 20,
};

/* The first byte of the arguments in a shape; and the bytes for holes in a template. */
enum { CALL_NO_TEXT, CALL_TEMPLATE, CALL_WHOLE_TEXT };
enum { CALL_NUMBER = 1, CALL_STRING = 2 };

/* The bit for @verb in table call_chunk; several verbs may share a bit. */
uint64_t call_verb_bit(const char *verb);

/*
 * The columns of all calls of a block; and the first columns of each shape. These are followed by a
 * column for each hole of its templates, and two for each reference: handle and object.
 */
enum { CALL_SHAPE, CALL_N, CALL_BEGIN, CALL_LASTED, CALL_RETURNED, CALL_COMMON };
enum { CALL_RET, CALL_ERROR, CALL_HANDLE, CALL_OBJECT, CALL_OWN };
