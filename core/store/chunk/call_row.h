#pragma once
/*
 * A control verb as a row of table `call` with its rows of table `ref`: what a block of calls
 * stores, and returns unchanged. call_batch.h writes such blocks, call_block.h reads them.
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
 * not have the process, which is that of the thread.
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
	CALLS_PLAIN = 32,           /* calls of a shape that are rows; later ones are in blocks */
	CALL_SHAPES_MAX = 1 << 16,  /* calls of further shapes are rows */
	CALL_ROWS_MAX = 8192,       /* of a block */
	CALL_VALUES_FULL = 1 << 18, /* a batch with this many values is full */
	CALL_TEXT_FULL = 1 << 20,   /* so is one with this many bytes of text */
	CALL_ARGS_MAX = 4 << 20,    /* bytes of JSON; an event has at most 65,535 words */
	CALL_VALUES_MAX = 1 << 20,  /* of a block: one call adds less than the difference */
};

/* The first byte of arguments in a shape; and, in a template, the holes for numbers and strings. */
enum { CALL_NO_TEXT, CALL_TEMPLATE, CALL_WHOLE_TEXT };
enum { CALL_NUMBER = 1, CALL_STRING = 2 };

/* A block has a bit for each of its verbs, which several verbs may share. */
uint64_t call_verb_bit(const char *verb);

/*
 * The columns that all calls of a block have, and the first columns of each shape, which the values
 * of its templates, and handle and object of each reference, follow.
 */
enum { CALL_SHAPE, CALL_N, CALL_BEGIN, CALL_LASTED, CALL_RETURNED, CALL_COMMON };
enum { CALL_RET, CALL_ERROR, CALL_HANDLE, CALL_OBJECT, CALL_OWN };
