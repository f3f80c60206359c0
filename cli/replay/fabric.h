#pragma once
/*
 * A private directory for the software device of one command. Not thread-safe.
 */

enum { FABRIC_PATH = 96 };

struct fabric {
	char path[FABRIC_PATH];
	int lock; /* the directory, locked while its creator is alive */
};

/*
 * Create a directory in @parent, normally "/dev/shm", and remove those of killed commands. Returns
 * 0 or -errno.
 */
int fabric_make(const char *parent, struct fabric *ret_fabric);

/* Remove the directory with its contents. */
void fabric_remove(struct fabric *fabric);
