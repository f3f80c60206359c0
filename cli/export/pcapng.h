#pragma once
/*
 * Blocks of a pcapng file. Not thread-safe.
 *
 * The owner of the file checks for write errors at the end: ferror().
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { PCAPNG_SNAP = 65535 };

/* The first block, of a capture made by @application. */
void pcapng_write_section(FILE *file, const char *comment, const char *application);

/* The next interface: Ethernet, with times in ns; they are numbered from 0. */
void pcapng_write_interface(FILE *file, const char *name);

struct pcapng_write_packet {
	uint32_t interface;
	uint64_t time; /* ns since 1970 */
	const void *bytes;
	size_t nbytes;
	const char *comment;
};

void pcapng_write_packet(FILE *file, const struct pcapng_write_packet *packet);
