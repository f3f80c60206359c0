#pragma once
/*
 * Names for the numbers in a finished trace: the region of a key, the queue pair of a number.
 *
 * Nothing is read before the first name is requested; then the objects are read, and for the first
 * remote name the control verbs. A name is printed only if it is unambiguous. Not thread-safe.
 */
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

struct names;

/* NULL if out of memory, which is the same as no names. */
struct names *names_new(struct trace *trace);

/* Accepts NULL. */
void names_free(struct names *names);

/*
 * Print "<mr2 of pd1>" for an lkey of a request on @queue (object) at @time, "<mr2, deregistered
 * 2.00 ms earlier>"; "<process 2 mr1>" for an rkey of its peer; "<process 2 qp1>" for the number of
 * its peer. Nothing is printed for what is not known. @names may be NULL.
 */
void names_print_lkey(struct names *names, FILE *out, uint32_t queue, uint32_t lkey, int64_t time);
void names_print_rkey(struct names *names, FILE *out, uint32_t queue, uint32_t rkey, int64_t time);
void names_print_peer(struct names *names, FILE *out, uint32_t queue, uint32_t number,
		      int64_t time);

/*
 * Print other identifiers of @object: "<0x12, peer process 2 qp1>" for a queue pair that is
 * connected by @time, "<lkey 0x2, rkey 0x3>" for a region; nothing if there are none.
 */
void names_print_object(struct names *names, FILE *out, const struct object *object, int64_t time);
