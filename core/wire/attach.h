#pragma once
/*
 * The interface between `verbatim attach --record` and the recorder in the running program.
 *
 * The command writes a struct attach_request into the program's memory and makes one of its threads
 * call a function of libverbatim.so with the address of the request; the function writes the result
 * into it.
 */
#include <stdint.h>

#include "core/wire/session.h"

/* The marks around the calls that describe the objects which were found in the program. */
#define ATTACH_MARK "objects made before the recording"

/* File with the objects that were found in the program, in the session's directory. */
#define ATTACH_OBJECTS "session.objects"

/*
 * Functions exported by libverbatim.so: begin and end recording, and release what remains mapped.
 */
#define ATTACH_BEGIN   "verbatim_attach_begin"
#define ATTACH_END     "verbatim_attach_end"
#define ATTACH_RELEASE "verbatim_attach_release"

enum { ATTACH_VERSION = 1, ATTACH_INSIDE = 512, ATTACH_OBJECTS_MAX = 1 << 16 };

struct attach_request {
	uint32_t version;
	int32_t result;         /* 0 or -errno; ATTACH_PENDING until the function returns */
	char dir[SESSION_PATH]; /* path of the session */
	uint64_t bytes;         /* size of the file of objects */
	/* number of threads inside a function of the recorder: their rings stay */
	uint32_t ninside;
	uint32_t inside[ATTACH_INSIDE];
};

enum { ATTACH_PENDING = 1 };

/* In dependency order: each kind comes after those that it needs. */
enum attach_kind { ATTACH_CONTEXT, ATTACH_MR, ATTACH_CQ, ATTACH_QP };

/*
 * An object that was found. The recorder checks that it still has these values, since the program
 * continues while the list is made.
 */
struct attach_object {
	uint64_t at, context;
	uint32_t kind;   /* enum attach_kind */
	uint32_t number; /* of a queue pair; lkey of a region; size of a CQ; cmd_fd of a context */
};
