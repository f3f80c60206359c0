#pragma once
/*
 * The places in the program that post.
 *
 * A site is a call stack. It is recognized by its frame address, by the post's return address and
 * by the return addresses above that. It is unwound when it is first found, and then gets a number.
 *
 * Each thread has its own sites; no function waits.
 */
#include <stdint.h>

#include "shim/trace/stack/modules.h"

enum { SITE_ABOVE = 3, SITES = 1024, SITE_SPARE = 4096 };

struct site {
	const void *const *frame; /* __builtin_frame_address(0) of the verb; NULL: no site */
	const void *caller;       /* return address of the verb */
	const void *above[SITE_ABOVE];
	uint16_t at[SITE_ABOVE]; /* positions of above[] in words from the frame */
	uint16_t id;
	uint32_t unloads; /* value of modules_unloads() when it was unwound */
	uint32_t stack;   /* hash of the unwound stack */
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct site) == 64, "a cache line");

struct sites {
	struct site *table;
	uint64_t mask;  /* for the offset of an entry in bytes */
	uint32_t count; /* number of sites so far */
};

extern __thread struct sites sites __attribute__((tls_model("initial-exec")));

/*
 * SITE_SPARE bytes of this thread after its table, from its first post on; NULL: none. They are
 * zero at first, and in each process the first word begins as zero again.
 */
void *site_spare_bytes(void);

/* The slow path: find the site elsewhere in the table, or unwind and write it. 0: none. */
uint16_t site_find(const void *const *frame);

static inline struct site *site_place(const void *const *frame, const void *caller)
{
	/*
	 * frames differ by multiples of 16 bytes, return addresses by any number; a site has 64
	 * bytes
	 */
	uint64_t mixed = (uint64_t)(uintptr_t)frame << 2 ^ (uint64_t)(uintptr_t)caller << 6;

	return (struct site *)(void *)((char *)sites.table + (mixed & sites.mask));
}

/*
 * The number of the site that calls the verb with @frame. Call it before space in the ring is
 * reserved.
 */
static inline __attribute__((always_inline)) uint16_t site_of(const void *const *frame)
{
	const struct site *site = site_place(frame, frame[1]);

	/*
	 * a hint for each condition: otherwise the compiler moves all but the first out of the
	 * straight path
	 */
	return __builtin_expect(site->frame == frame, 1) &&
			       __builtin_expect(site->caller == frame[1], 1) &&
			       __builtin_expect(frame[site->at[0]] == site->above[0], 1) &&
			       __builtin_expect(frame[site->at[1]] == site->above[1], 1) &&
			       __builtin_expect(frame[site->at[2]] == site->above[2], 1) &&
			       __builtin_expect(site->unloads == modules_unloads(), 1)
		       ? site->id
		       : site_find(frame);
}

/* The thread has a new ring: the numbers of its sites are invalid. */
void site_begin(void);

/* The thread ends: free its sites. */
void site_end(void);
