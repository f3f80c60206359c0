#pragma once
/*
 * Blocks of a pcapng file. One thread.
 *
 * Whether the file took them its owner asks at the end: ferror().
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PCAPNG_SNAP = 65535 };

/* The first block, of a capture that @application has made. */
void pcapng_section(FILE *file, const char *comment, const char *application);

/* The next interface, of Ethernet, with times in ns; they are numbered from 0 on. */
void pcapng_interface(FILE *file, const char *name);

struct pcapng_packet {
	uint32_t interface;
	uint64_t time; /* ns since 1970 */
	const void *bytes;
	size_t nbytes;
	const char *comment;
};

void pcapng_packet(FILE *file, const struct pcapng_packet *packet);
