/*
 * Joining and leaving the fabric
 *
 * A process joins with its first context and leaves with its last, or at exit. The next process
 * that joins removes the files of killed processes.
 *
 * Not here: the data that all processes share (registry.c), the own segment (segment.c), and
 * mapping the segment of a peer (peer.c).
 */
#include "shim/soft/fabric/fabric.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "shim/soft/fabric/defer.h"
#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/heap.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/peer.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/stage.h"
#include "shim/soft/fabric/xrc.h"

enum { EXIT_WAIT_NS = 200000000 }; /* limit of waiting for another thread that has the mutex */

static unsigned int joined;
/* result of fabric_process(); UINT32_MAX: this process has never joined */
static uint32_t number = UINT32_MAX;

static unsigned int sweep_nodes(void)
{
	unsigned int i, alive = 0;

	for (i = 0; i < NODE_MAX; i++) {
		if (!node_table[i].pid)
			continue;
		if (node_lives(&node_table[i])) {
			alive++;
			continue;
		}
		registry_drop_node(i);
		node_table[i].pid = 0;
	}
	xrc_sweep(node_is_registered);
	directory_sweep(node_is_registered);
	return alive;
}

static int take_node(void)
{
	struct node *node;
	uint32_t i;

	for (i = 0; i < NODE_MAX && node_table[i].pid; i++)
		;
	if (i == NODE_MAX)
		return -EUSERS;
	node = &node_table[i];
	node->start = process_start(getpid());
	if (!node->start)
		return -EMFILE;
	node->instance = registry_new_instance();
	if (number == UINT32_MAX)
		number = registry_new_process();
	node->pid = getpid();
	node_self = (struct node_id){ i, node->instance };
	lock_self = node_owner(i, node->instance);
	return segment_make();
}

/* Remove the files of this process; and the whole fabric, if no process is left. */
static void remove_own_files(void)
{
	if (lock_self) {
		node_table[node_self.node].pid = 0;
		registry_drop_node(node_self.node);
	}
	if (!sweep_nodes())
		registry_remove(registry_is_made());
}

/*
 * Undo a failed join. @made: the directory may have been created for a fabric that could not be
 * mapped.
 */
static void undo_join(bool made)
{
	if (registry_is_mapped())
		remove_own_files();
	else if (registry_is_fresh())
		registry_remove(made);
	lock_set_own(NULL, 0, 0, NULL);
	if (segment_own)
		segment_unmap(segment_own);
	segment_own = NULL;
	registry_close();
}

static int join_fabric(void)
{
	bool made;
	int err;

	if (!segment_is_allowed())
		return -EFBIG;
	err = registry_open(&made);
	lock_self = 0;
	if (err < 0)
		return err;
	err = registry_map(made);
	if (!err) {
		if (!sweep_nodes())
			registry_forget_processes();
		err = take_node();
	}
	if (err < 0) {
		undo_join(made);
		return err;
	}
	registry_unlock_file();
	return 0;
}

int fabric_join(void)
{
	int err = 0;

	pthread_mutex_lock(&registry_mutex);
	if (!joined)
		err = join_fabric();
	if (!err)
		joined++;
	pthread_mutex_unlock(&registry_mutex);
	return err;
}

uint32_t fabric_process(void)
{
	return number;
}

void fabric_leave(void)
{
	pthread_mutex_lock(&registry_mutex);
	if (joined && --joined == 0) {
		__atomic_store_n(&segment_own->gone, 1, __ATOMIC_RELEASE);
		stage_stop();
		peer_forget();
		heap_forget();
		registry_lock_file();
		undo_join(false);
	}
	pthread_mutex_unlock(&registry_mutex);
}

/*
 * Lock the mutex, unless that takes too long: a signal handler that calls exit() may have
 * interrupted this thread while it held the mutex. Then the process leaves as if it were killed,
 * and the next process that joins cleans up.
 */
static bool lock_at_exit(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += EXIT_WAIT_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return !pthread_mutex_timedlock(&registry_mutex, &until);
}

void fabric_exit(void)
{
	if (!lock_at_exit()) {
		if (segment_own)
			__atomic_store_n(&segment_own->gone, 1, __ATOMIC_RELEASE);
		return;
	}
	if (joined) {
		__atomic_store_n(&segment_own->gone, 1, __ATOMIC_RELEASE);
		registry_lock_file();
		remove_own_files();
		registry_unlock_file();
	}
	pthread_mutex_unlock(&registry_mutex);
}

/* In a child: forget the fabric; the segments are not mapped there (MADV_DONTFORK). */
void fabric_forget(void)
{
	registry_forget();
	lock_set_own(NULL, 0, 0, NULL);
	segment_own = NULL;
	joined = 0;
	number = UINT32_MAX;
	heap_forget_inherited();
	stage_forget();
	defer_forget();
	peer_forget_inherited();
}
