#pragma once
/*
 * Why a queue pair refused a modify or a post: refused.h.
 */
#include "analyzer/model/refused.h"

/*
 * ibv_modify_qp(): the table of transitions; a value that is too large; the address, as for
 * ibv_create_ah().
 */
bool refused_explain_transition(const struct refused *r, char *text, size_t size);
bool refused_explain_attribute(const struct refused *r, char *text, size_t size);
bool refused_explain_path(const struct refused *r, char *text, size_t size);
/* ETIMEDOUT on Ethernet: no port has the address */
bool refused_explain_resolution(const struct refused *r, char *text, size_t size);

/* ibv_bind_mw(), EINVAL: the state of the queue pair, or the range of the window. */
bool refused_explain_bind(const struct refused *r, char *text, size_t size);

/*
 * Posts: the state, the opcode, and the results of refused_explain_elements(): number and length of
 * SGEs.
 */
bool refused_explain_post(const struct refused *r, char *text, size_t size);
bool refused_explain_elements(const struct refused *r, char *text, size_t size);
