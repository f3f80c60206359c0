#pragma once
/*
 * The device's sysfs tree, which programs see below /sys and /dev.
 *
 * It is a tree of files and links in a directory of the process, created when the first of these
 * paths is used and removed when the process ends. Any thread, and signal handlers.
 */
#include <stdbool.h>
#include <sys/types.h>

enum { SYSFS_TREE_PATH = 512 };

/* May @path, also a pattern, refer to the tree? Fast; accepts NULL. */
bool sysfs_tree_watches(const char *path);

/*
 * The path to use instead of @path: in the tree, stored in @buf; else @path itself. errno is
 * preserved.
 */
const char *sysfs_tree_path(const char *path, char buf[SYSFS_TREE_PATH]);

/* As sysfs_tree_path(), for a path relative to the directory @dir, as for openat(2). */
const char *sysfs_tree_path_at(int dir, const char *path, char buf[SYSFS_TREE_PATH]);

/* Convert a path in the tree to the path that it represents, in place; returns it. */
char *sysfs_tree_strip(char *path);

/* Is @to, a path in the tree, the connection manager's device? */
bool sysfs_tree_is_cm(const char *to);

/* Does the file with @dev and @ino represent a device node? Returns its device number, too. */
bool sysfs_tree_node(dev_t dev, ino_t ino, dev_t *ret_rdev);

/* May an inode with this number be a device node? */
bool sysfs_tree_is_node(ino_t ino);

/* The device number of the connection manager's device. Returns true. */
bool sysfs_tree_cm_node(dev_t *ret_rdev);

/* The process ends: remove the tree. */
void sysfs_tree_exit(void);
