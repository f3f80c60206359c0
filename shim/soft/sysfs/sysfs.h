#pragma once
/*
 * The device's files below /sys and /dev.
 */
#include <stddef.h>
#include <sys/types.h>

/* The paths that the tree replaces, with everything below them. */
enum { SYSFS_PATHS = 9 };
extern const char *const sysfs_paths[SYSFS_PATHS];

/* Device nodes, which are plain files in the tree. */
enum { SYSFS_UVERBS, SYSFS_CM, SYSFS_NODES };
extern const char *const sysfs_nodes[SYSFS_NODES];

/* The device number of @node. */
dev_t sysfs_number(unsigned int node);

/* Fill the directory @root. 0 or -errno. No malloc(). */
int sysfs_make(int root);

/* Create a file of @len bytes. */
int sysfs_put(int root, const char *path, const char *text, size_t len);
