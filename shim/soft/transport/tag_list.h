#pragma once
/*
 * The list of tagged buffers of a shared receive queue. Callers hold its lock, unless a comment
 * says otherwise.
 */
#include "shim/soft/transport/objects.h"

#define TAG_LIST_NONE UINT32_MAX

/* Look up a list of @num buffers in @seg, and check it. NULL if it is damaged. Needs no lock. */
struct shm_tm *tag_list_find(struct shm_seg *seg, uint64_t off, uint32_t num);

/* The slot of the oldest buffer that matches @tag, or TAG_LIST_NONE. */
uint32_t tag_list_match(const struct shm_tm *tm, uint32_t num, uint64_t tag);

/* Remove a buffer from the list; its slot stays in use. */
void tag_list_remove(struct shm_tm *tm, uint32_t num, uint32_t slot);

/* Create the list of @srq, a queue of this process. Callers hold the object mutex. 0 or -ENOMEM. */
int tag_list_make(struct soft_srq *srq, const struct ibv_tm_cap *cap);
void tag_list_free(struct soft_srq *srq);

/* Execute one list operation. Callers also hold the posting lock. 0, EINVAL or ENOMEM. */
int tag_list_post(struct soft_srq *srq, struct ibv_ops_wr *wr);

/* A completion of the list was polled. Callers hold only the posting lock. */
void tag_list_retire(struct soft_tags *tags, const struct shm_cqe *cqe);
