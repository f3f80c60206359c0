#pragma once
/*
 * A value of a verb's argument, decoded by its descriptor. Not thread-safe.
 */
#include <stdint.h>
#include <stdio.h>

#include "core/store/read/trace.h"

struct args_place;
struct names;

/* The context of a value, on which the names of objects depend. */
struct values {
	FILE *out;
	struct trace *trace;
	uint32_t process;
	int64_t time;
	struct names *names; /* of keys and peers; NULL: none */
	uint32_t queue;      /* object that the keys and peer belong to; 0 unknown */
	bool beside;         /* numbers and peers beside objects: names_print_object() */
	uint64_t outside;    /* mask bits whose fields are not shown */
};

/* "IBV_QP_STATE|IBV_QP_AV|0x40000000"; "0" */
void values_print_flags(FILE *out, const struct enum_info *names, uint64_t value);

/* The enumerator, or the number. */
void values_print_enum(FILE *out, const struct enum_info *names, int64_t value);

/* Add the name of an object, and its identifiers. */
void values_print_object(const struct values *values, const struct object *object);

/* "qp1"; its address if it is not known; NULL for 0. */
void values_print_handle(const struct values *values, enum object_kind kind, uint64_t handle);

/*
 * The mask bits that a query did not set; 0 for another verb. A device may leave anything in the
 * attributes of these bits: ibv_query_qp(3).
 */
uint64_t values_outside(const struct call *call);

/* @value: the value of @field among a call's arguments. */
void values_print_field(const struct values *values, const struct field_info *field,
			const struct json_node *value);

/* For visitors of a value: args_visit(). */

/* The bytes of a structure that consists only of bytes, like a GID; else NULL. */
const struct json_node *values_raw(const struct args_place *place);

/* Is @place a member that must not be shown? */
bool values_is_outside(const struct values *values, const struct args_place *place);

/* The unsigned value of a field: the store has all numbers as signed 64 bits. */
uint64_t values_unsigned(const struct field_info *field, int64_t value);
