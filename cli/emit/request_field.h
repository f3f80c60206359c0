#pragma once
/*
 * Keys, addresses and windows: shared by lists of structures and ibv_wr_*().
 */
#include "cli/emit/maker.h"

/*
 * The process whose memory a queue pair accesses; does a request access its memory? In which
 * region?
 */
uint32_t field_find_peer_process(const struct maker *maker, uint32_t qp);
bool field_is_remote(const struct wr *wr);
const struct region *field_find_remote_region(const struct maker *maker, uint32_t qp,
					      const struct wr *wr);
const struct region *field_find_local_region(const struct maker *maker, const struct sge *sge);

/* Keys. */
void field_add_key(struct maker *maker, const struct region *region, uint32_t key, bool remote,
		   uint32_t length);
void field_add_rkey(struct maker *maker, uint32_t qp, const struct wr *wr);
void field_add_invalidated(struct maker *maker, uint32_t qp, const struct wr *wr);

/* Add an SGE; add only its address. */
void field_add_sge(struct maker *maker, const struct wr *wr, const struct sge *sge);
void field_add_address(struct maker *maker, const struct wr *wr, const struct sge *sge,
		       const struct region *region, bool pointer);

/* The destination of a datagram: its address handle, and its queue pair (0: not in the trace). */
uint32_t field_find_ah(const struct maker *maker, const struct wr *wr);
uint32_t field_find_target(const struct maker *maker, uint32_t qp, const struct wr *wr);
void field_add_peer_number(struct maker *maker, uint32_t qp, const struct wr *wr);

/* Windows: the new key, the bound region, and what the program must store of it. */
void field_add_window_key(struct maker *maker, const struct wr *wr, uint32_t mw);
void field_add_bind_info(struct maker *maker, const struct wr *wr);
void field_add_bound(struct maker *maker, const struct post *post);
