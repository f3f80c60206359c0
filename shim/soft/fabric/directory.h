#pragma once
/*
 * The fabric's directory: found or made, checked, swept. Callers serialize.
 */
#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_PATH = 400 };

/*
 * The directory of this user, or that of VERBATIM_SOFT_FABRIC; made if it
 * is not there. *ret_made: it was made so, by some process of the fabric. 0; -EPERM if it is not
 * ours and closed to others, -EAGAIN if it was taken away meanwhile, or -errno.
 */
int directory_open(bool *ret_made);

/*
 * Remove the directory with all files of the fabric. The caller holds the record lock of one of
 * them, for which all others wait. A single rename takes it out of sight: another process finds all
 * of it or nothing, never an empty directory to put a file into.
 */
void directory_remove(void);

/* Remove it if it is empty, after its creator could put nothing into it. */
void directory_give_up(void);

const char *directory_path(void);

/*
 * Say on stderr, once, why the fabric cannot be used: of @file in it ("/fabric"), or "" for the
 * directory; @why, or NULL for what @err means. Returns @err.
 */
int directory_complain(const char *file, const char *why, int err);

/* Unlink what belongs to a node that @keep does not know. */
void directory_sweep(bool (*keep)(uint32_t node, uint64_t instance));

/* The path of a node's file of a kind, with its number: "DIR/KIND.NODE.INSTANCE.ID" */
enum { DIRECTORY_FILE = 512 };
void directory_file(char file[DIRECTORY_FILE], const char *kind, uint32_t node, uint64_t instance,
		    uint32_t id);
