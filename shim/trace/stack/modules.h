#pragma once
/*
 * The addresses of object files, so that stacks can be resolved later.
 *
 * Any thread, also in a signal handler and while another thread holds the loader's lock. Events go
 * into this thread's ring.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write the files with which the program was started. */
void modules_write_started(void);

/* A new session begins, to which no file was written yet. No other thread may take a stack. */
void modules_forget(void);

struct modules_seen {
	uint32_t serial; /* of the newest file; together with an address it identifies a file */
	bool replaced;   /* one of the files is mapped where another file was before */
};

/* Write those files of the @n addresses that are not known yet. */
struct modules_seen modules_note_all(void *const *addresses, unsigned int n);

/*
 * How often a file may have been unloaded: after that, a known address may belong to another file.
 */
extern _Atomic uint32_t modules_unloaded __attribute__((visibility("hidden")));

static inline uint32_t modules_unloads(void)
{
	/* pairs with the addition in dlclose() */
	return atomic_load_explicit(&modules_unloaded, memory_order_acquire);
}
