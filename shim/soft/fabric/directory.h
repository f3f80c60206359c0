#pragma once
/*
 * The fabric's directory: finding, creating, checking and cleaning it. Callers serialize.
 */
#include <stdbool.h>
#include <stdint.h>

enum { DIRECTORY_PATH = 400 };

/*
 * The directory of this user, or that of VERBATIM_SOFT_FABRIC; created if it does not exist.
 * *@ret_made: a process of the fabric created it. 0; -EPERM if it is not owned by this user or not
 * closed to others; -EAGAIN if another process removed it meanwhile; or -errno.
 */
int directory_open(bool *ret_made);

/*
 * Remove the directory with all files of the fabric. The caller holds the record lock of one of
 * these files, for which all other processes wait. The directory is renamed first, so that another
 * process finds either all of it or nothing, but never an empty directory in which it would create
 * a file.
 */
void directory_remove(void);

/* Remove the directory if it is empty: its creator failed to create a file in it. */
void directory_remove_empty(void);

const char *directory_path(void);

/*
 * Print on stderr, once, why the fabric cannot be used: @file: the file in the directory
 * ("/fabric"), or "" for the directory. @why: the reason; NULL: the text of @err. Returns @err.
 */
int directory_report_error(const char *file, const char *why, int err);

/* Unlink the files of each node for which @keep returns false. */
void directory_sweep(bool (*keep)(uint32_t node, uint64_t instance));

/* The path of a node's file of a kind, with its number: "DIR/KIND.NODE.INSTANCE.ID" */
enum { DIRECTORY_FILE = 512 };
void directory_file(char file[DIRECTORY_FILE], const char *kind, uint32_t node, uint64_t instance,
		    uint32_t id);
