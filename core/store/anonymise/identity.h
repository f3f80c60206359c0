#pragma once
/*
 * The list of data that identifies a machine, a person or a program, and of data that does not.
 *
 * The list has each column of each table of a trace, each key of table meta, and each member of
 * call arguments except numbers and enumerators of <infiniband/verbs.h>. Data that is not in the
 * list is not copied; an unlisted column is an error. Constant data; any thread.
 */
#include <stdbool.h>

#include "core/wire/desc.h"

enum identity {
	IDENTITY_UNKNOWN = -1, /* not in the list */
	IDENTITY_NONE,         /* a number, a time, a name of the verbs: copied unchanged */
	IDENTITY_DROPPED,      /* the row, or the value, is not copied */
	IDENTITY_HOST,         /* the name of a machine, or its address */
	IDENTITY_PATH,
	IDENTITY_COMMAND,
	IDENTITY_NAME, /* the name of a thread, or of a merged trace */
	IDENTITY_MARK,
	IDENTITY_TEXT,   /* any other text */
	IDENTITY_VALUE,  /* the value of an environment variable */
	IDENTITY_FILTER, /* text of --filter, which may name a device */
	IDENTITY_RELEASE,
	IDENTITY_BOOT,
	IDENTITY_DEVICE,
	IDENTITY_OBJECT,    /* a device's name, if the object is a device */
	IDENTITY_FOLDER,    /* the folder is copied, the name of its device is replaced */
	IDENTITY_GID,       /* 32 hex digits */
	IDENTITY_GUID,      /* a number in host order */
	IDENTITY_ADDRESS,   /* a network address as text */
	IDENTITY_SERVICE,   /* a port, or the name of one */
	IDENTITY_PRIVATE,   /* bytes of the program as hex text, or their length and hash */
	IDENTITY_OPTION,    /* bytes as hex text: a number, or something longer */
	IDENTITY_ARGUMENTS, /* JSON */
	IDENTITY_RETURNED,  /* result of a verb: its name determines the identity */
	IDENTITY_META,      /* value of table meta: its key determines the identity */
	IDENTITY_HASH,      /* of bytes of the program: a number, or 16 hex digits */
	IDENTITY_BYTES,     /* of the program */
	IDENTITY_CHUNK,     /* of payload */
};

enum identity identity_of_column(const char *table, const char *column);

/* Identity of a member of arguments, by its name; IDENTITY_UNKNOWN for numbers and enumerators. */
enum identity identity_of_argument(const char *name, size_t length);

/* Must fields of this kind be in the list? */
bool identity_is_needed(const struct field_info *field);

enum identity identity_of_meta(const char *key);
