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
	FIELD_BE, /* network byte order in memory, host order on the wire */
	FIELD_ENUM,
	FIELD_FLAGS,
	FIELD_ADDR,     /* a pointer as a number */
	FIELD_OBJ,      /* a handle: the address of a verbs object */
	FIELD_STRUCT,   /* embedded */
	FIELD_PTR,      /* a pointer to one or several of @type */
	FIELD_STR,      /* text in an array of @size bytes */
	FIELD_TEXT,     /* a pointer to a text */
	FIELD_BYTES,    /* @size bytes as they are */
	FIELD_SOCKADDR, /* an address; behind a pointer if @size is a pointer's */
	FIELD_BLOB,     /* a pointer to bytes; sibling @count has their number */
	FIELD_PRIVATE,  /* the same, for data of the program: recorded by the payload rule */
	FIELD_OBJS,     /* a NULL-terminated array of handles with their fields */
};

enum field_dir { DIR_IN = 1, DIR_OUT = 2 };

/* values of field_info.count that are not the index of a sibling field */
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
	bool after;              /* FIELD_OBJ, arguments only: the verb changes its fields */
	bool shift;              /* the count is 1 << the sibling */
	int16_t count;           /* FIELD_PTR: sibling with the number of elements */
	int16_t mask;            /* FIELD_PTR: sibling with the mask of its fields, or -1 */
	int16_t limit;           /* FIELD_PTR: sibling with its size, -1, or -bytes */
	uint64_t when;           /* recorded if the mask has one of these bits; 0: always */
	uint8_t through;         /* 1 + sibling pointer that @offset is relative to; 0: none */
	uint8_t only, unless;    /* 1 + sibling that must, or must not, be @value; 0: none */
	int value;
	const struct struct_info *type; /* FIELD_STRUCT, FIELD_PTR */
	const struct enum_info *names;  /* FIELD_ENUM, FIELD_FLAGS */
};

struct struct_info {
	const char *name;
	uint16_t size;
	uint16_t nfields; /* at most 64 */
	int16_t mask;     /* index of the field that is the mask of valid ones, or -1 */
	bool select;      /* the mask field is a number N: the mask is 1 << N */
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
	bool later;  /* only newer libraries have it: not exported by the recorder */
	int8_t self; /* the index of the object it acts on, or -1 (creations: -1) */
	struct struct_info args;
	struct field_info ret; /* its offset is unused; FIELD_OBJ for creations */
	bool returns;          /* false for void */
};

extern const struct verb_info verb_infos[VERB_COUNT];

/* Public fields of a handle, recorded when one is created. */
extern const struct struct_info object_infos[OBJECT_COUNT];

/* "qp", "mr"... */
extern const char *const object_names[OBJECT_COUNT];

/* ibv_wr_opcode, ibv_wc_opcode, ibv_wc_status, ibv_send_flags... by name; NULL if unknown */
const struct enum_info *enum_find(const char *name);

/* The name of @value, or NULL. */
const char *enum_name(const struct enum_info *info, int64_t value);

/* The verb of that name with or without "ibv_", or -1. */
int verb_find(const char *name);

/* The kind of objects that is named @name, or -1. */
int object_find(const char *name);

/* Does @ret, sign-extended to 64 bits, mean that the verb failed? */
bool verb_failed(enum verb verb, int64_t ret);

/* Changes whenever the lists do: both sides of a session must have the same value. */
extern const uint64_t verbs_fingerprint;
