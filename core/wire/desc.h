#pragma once
/*
 * Descriptors of the arguments and results of each verb: the lists as tables.
 *
 * Generated from verbs.list and structs.list at build time. A verb's arguments are described like
 * the fields of a structure, an array of uint64_t with one element for each argument, so that one
 * iterator serves arguments and structures.
 *
 * Constant data; any thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen/verbs_gen.h" /* enum verb, enum object_kind */

enum verb_via { VIA_SYM, VIA_OPS, VIA_VCTX, VIA_QPX, VIA_CQX, VIA_WQ, VIA_DM, VIA_CM, VIA_DV };
enum verb_plane { PLANE_CONTROL, PLANE_DATA };
enum verb_effect {
	EFFECT_CREATE,
	EFFECT_DESTROY,
	EFFECT_USE,
	EFFECT_GET,
	EFFECT_ACK,
	EFFECT_QUERY,
};
enum verb_fail { FAIL_NULL, FAIL_NONZERO, FAIL_NEGATIVE, FAIL_NEVER };

enum field_kind {
	FIELD_INT, /* signed */
	FIELD_UINT,
	FIELD_BE, /* network byte order in memory, host order when encoded */
	FIELD_ENUM,
	FIELD_FLAGS,
	FIELD_ADDR,     /* a pointer that is recorded as a number */
	FIELD_OBJ,      /* a handle: the address of a verbs object */
	FIELD_STRUCT,   /* embedded */
	FIELD_PTR,      /* a pointer to one or several values of @type */
	FIELD_STR,      /* text in an array of @size bytes */
	FIELD_TEXT,     /* a pointer to a text */
	FIELD_BYTES,    /* @size bytes, unchanged */
	FIELD_SOCKADDR, /* an address; in memory behind a pointer if @size is that of a pointer */
	FIELD_BLOB,     /* a pointer to bytes; sibling @count has their number */
	/* bytes that are data of the program, recorded according to the payload rule */
	FIELD_PRIVATE,
	FIELD_OBJS, /* a NULL-terminated array of handles with their fields */
};

enum field_dir { DIR_IN = 1, DIR_OUT = 2 };

/* special values of field_info.count; others are the index of a sibling field */
enum { COUNT_ONE = -1, COUNT_RET = -2 };

struct enum_value {
	const char *name;
	int64_t value;
};

struct enum_info {
	const char *name;
	const struct enum_value *values;
	unsigned int nvalues;
};

struct field_info {
	const char *name;
	enum field_kind kind;
	enum object_kind object; /* FIELD_OBJ */
	uint16_t size;           /* bytes in memory */
	uint16_t offset;         /* bytes from the start of the structure */
	uint8_t dir;             /* enum field_dir; arguments only */
	/* FIELD_OBJ, arguments only: the verb changes the object's public fields */
	bool after;
	bool shift;    /* the number of elements is 1 << the sibling's value */
	int16_t count; /* FIELD_PTR: sibling with the number of elements */
	int16_t mask;  /* FIELD_PTR: sibling with the mask of its fields, or -1 */
	/* FIELD_PTR: sibling with the structure's size; -1: none; or minus the size */
	int16_t limit;
	/* recorded if the structure's mask has one of these bits; 0: always */
	uint64_t when;
	uint8_t through; /* 1 + sibling pointer to which @offset is relative; 0: none */
	/* recorded if this sibling, 1 + its index, is @value, or is not; 0: no condition */
	uint8_t only, unless;
	int value;
	const struct struct_info *type; /* FIELD_STRUCT, FIELD_PTR */
	const struct enum_info *names;  /* FIELD_ENUM, FIELD_FLAGS */
};

struct struct_info {
	const char *name;
	uint16_t size;
	uint16_t nfields; /* at most 64 */
	int16_t mask;     /* index of the field that says which fields are valid, or -1 */
	bool select;      /* the mask field is a number N, which means the mask 1 << N */
	bool scalar;      /* a single value behind a pointer */
	const struct field_info *fields;
};

struct verb_info {
	const char *name;   /* "ibv_reg_mr" */
	const char *symbol; /* name of its exported symbol; NULL: none */
	const char *node;   /* version node of the symbol: "IBVERBS_1.1" */
	enum verb_via via;
	enum verb_plane plane;
	enum verb_effect effect;
	enum object_kind object;
	enum verb_fail fail;
	bool blocks; /* may wait for an event */
	bool later;  /* only newer libraries have it; the recorder does not export it */
	int8_t self; /* index of the argument that it acts on; -1: none, as in creations */
	struct struct_info args;
	struct field_info ret; /* the return value; offset is unused; FIELD_OBJ for creations */
	bool returns;          /* false for void */
};

extern const struct verb_info verb_infos[VERB_COUNT];

/* Public fields of a handle, recorded when the object is created. */
extern const struct struct_info object_infos[OBJECT_COUNT];

/* "qp", "mr"... */
extern const char *const object_names[OBJECT_COUNT];

/* The enum with that name: ibv_wr_opcode, ibv_wc_status, ibv_send_flags, ...; NULL: unknown. */
const struct enum_info *enum_find(const char *name);

/* The name of @value, or NULL. */
const char *enum_name(const struct enum_info *info, int64_t value);

/* The verb of that name with or without "ibv_", or -1. */
int verb_find(const char *name);

/* The kind of object with that name, or -1. */
int object_find(const char *name);

/* Does @ret, sign-extended to 64 bits, mean that the verb failed? */
bool verb_failed(enum verb verb, int64_t ret);

/* Changes whenever the lists change: both sides of a session must have the same value. */
extern const uint64_t verbs_fingerprint;
