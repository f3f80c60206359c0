#pragma once
/*
 * The memory that a one-sided request accesses at the other end, and what that end checks.
 *
 * Not thread-safe.
 */
#include "cli/query/view.h"

struct key;
struct life;

enum { REMOTE_TEXT = 4 * VIEW_TEXT };

/* A READ, a WRITE or an atomic, on the queue pair @qp. */
struct remote_access {
	const struct life *qp;
	int opcode;
	uint32_t rkey;
	uint64_t addr, length;
};

/* "64 bytes at process 2 mr1+0x40, rkey 0x3"; *@ret_key is NULL if it is not known. */
const char *remote_name(const struct view *view, const struct remote_access *remote,
			const struct key **ret_key, char text[REMOTE_TEXT]);

/*
 * "alive: yes; same domain: yes; in range: no, it has 4096 bytes at 0x7f10; access: yes", in
 * @view.
 */
const char *remote_checks(const struct view *view, const struct remote_access *remote,
			  char text[REMOTE_TEXT]);
