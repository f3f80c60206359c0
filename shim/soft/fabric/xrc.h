#pragma once
/*
 * XRC domains and receive queue pairs, shared by all processes.
 *
 * Any thread. A holder is a process that has opened the object, with the serial number that the
 * object has there. An object without holders is destroyed.
 */
#include <stdbool.h>
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/*
 * Open the domain of file @dev, @ino (or a private one, if both are 0) with @oflags. Returns 0 and
 * its id, which is never 0; -EAGAIN: there is no such domain, and O_CREAT is not set; -EINVAL: it
 * exists, and O_EXCL is set; -ENOMEM.
 */
int xrc_open_domain(uint64_t dev, uint64_t ino, int oflags, const struct shm_holder *holder,
		    uint32_t *ret_id);
void xrc_close_domain(uint32_t id, uint32_t serial);

/* Create a receive queue pair in @domain. 0 or -ENOMEM. */
int xrc_new_qp(uint32_t domain, const struct shm_holder *holder, struct shm_xrc_qp **ret_qp);
/* Open an existing receive queue pair. -EINVAL if there is no @qpn in @domain; -ENOMEM. */
int xrc_open_qp(uint32_t domain, uint32_t qpn, const struct shm_holder *holder,
		struct shm_xrc_qp **ret_qp);
/* Close a receive queue pair; if that was the last holder, it is destroyed. */
void xrc_close_qp(struct shm_xrc_qp *qp, uint32_t serial);

/*
 * The taker is the process that takes the queue pair's packets from other machines. Make this
 * process the taker; is it the taker? xrc_find_taker(): the taker of @qpn; 0, or -ENOENT if there
 * is none.
 */
void xrc_set_taker(struct shm_xrc_qp *qp);
bool xrc_is_taker(const struct shm_xrc_qp *qp);
int xrc_find_taker(uint32_t qpn, uint32_t *ret_node, uint64_t *ret_instance);

/* Does a living process hold the queue pair? Callers hold the lock. */
bool xrc_is_held(const struct shm_xrc_qp *qp);

/* Send an event of @type to all holders. Callers hold the lock. */
void xrc_notify(const struct shm_xrc_qp *qp, int type);

/* Remove dead holders. Callers hold the registry's lock. */
void xrc_sweep(bool (*registered)(uint32_t node, uint64_t instance));
