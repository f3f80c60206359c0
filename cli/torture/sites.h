#pragma once
/*
 * The places of a recorded program at which something can fail: calls of verbs, requests, events of
 * librdmacm. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/wire/desc.h"

enum { SITE_PLACE = 160, SITE_NAME = 40, SITE_PATH = 512 };

struct site {
	uint32_t node;        /* the process: its number in the fabric, from 0 */
	enum verb verb;       /* of the call, or of the post */
	char name[SITE_NAME]; /* the verb, as in a faults file */
	int opcode;           /* of a request; -1: the call itself */
	int cm_event;         /* enum rdma_cm_event_type, that the call returned; -1: none */
	bool datagram;        /* a request of a UD queue pair */
	bool by_cm;   /* a call of librdmacm, which may not report a failure to the program */
	uint64_t key; /* of the call stack; 0: not known */
	/* counted as the device does: among all calls of that verb, or requests of that opcode */
	uint64_t first, last;
	uint64_t calls;
	uint64_t behind;        /* the first request that was not the first of its list; 0: none */
	char place[SITE_PLACE]; /* "connect_qp (app.c:58)", or "" */
	char path[SITE_PATH];   /* of the source file, or "" */
	int line;
	char function[SITE_PLACE]; /* or "" */
};

struct sites {
	struct site *all; /* in the order of their first calls */
	size_t n;
	uint32_t *processes; /* ids of processes, in the order in which they opened the device */
	uint32_t nodes;      /* their number */
	bool by_recorder;    /* calls are counted as the recorder does, not the software device */
};

/*
 * The sites of trace @path, whose calls are counted by the recorder, or by the software device.
 * Returns 0 and sites for sites_fini(); or -errno after log_err().
 */
int sites_read(const char *path, bool by_recorder, struct sites *ret_sites);
void sites_fini(struct sites *sites);
