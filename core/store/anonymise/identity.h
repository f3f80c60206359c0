#pragma once
/*
 * The list of data that identifies a machine, a person or a program, and of data that does not.
 *
 * It has each column of each table of a trace, each member of call arguments that is not a number
 * or name of <infiniband/verbs.h>, and each key of table meta. Data that is not in the list is not
 * copied (a column: an error). Constant data; any thread.
 */
#include <stdbool.h>

#include "core/wire/desc.h"

enum identity {
	IDENTITY_UNKNOWN = -1, /* it has no entry */
	IDENTITY_NONE,         /* a number, a time, a name of the verbs: copied unchanged */
	IDENTITY_DROPPED,      /* the row, or the value, is left out */
	IDENTITY_HOST,         /* the name of a machine, or its address */
	IDENTITY_PATH,
	IDENTITY_COMMAND,
	IDENTITY_NAME, /* a thread's name, or a merged trace's */
	IDENTITY_MARK,
	IDENTITY_TEXT,   /* any other */
	IDENTITY_VALUE,  /* of a variable */
	IDENTITY_FILTER, /* it may name a device */
	IDENTITY_RELEASE,
	IDENTITY_BOOT,
	IDENTITY_DEVICE,
	IDENTITY_OBJECT,    /* a device's name, if the object is a device */
	IDENTITY_FOLDER,    /* the folder is copied, the name of its device is replaced */
	IDENTITY_GID,       /* 32 hex digits */
	IDENTITY_GUID,      /* a number in host order */
	IDENTITY_ADDRESS,   /* a network address as text */
	IDENTITY_SERVICE,   /* a port, or the name of one */
	IDENTITY_PRIVATE,   /* bytes of the program as hex text, or its length and hash */
	IDENTITY_OPTION,    /* bytes as hex text: a number, or something longer */
	IDENTITY_ARGUMENTS, /* JSON */
	IDENTITY_RETURNED,  /* by a verb */
	IDENTITY_META,      /* by its key */
	IDENTITY_HASH,      /* of bytes of the program: a number, or 16 hex digits */
	IDENTITY_BYTES,     /* of the program */
	IDENTITY_CHUNK,     /* of payload */
};

enum identity identity_of_column(const char *table, const char *column);

/* For a member of arguments, by its name; IDENTITY_UNKNOWN for numbers and enumerators. */
enum identity identity_of_argument(const char *name, size_t length);

/* Must fields of this kind be in the list? */
bool identity_is_needed(const struct field_info *field);

enum identity identity_of_meta(const char *key);
