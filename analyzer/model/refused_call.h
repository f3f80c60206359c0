#pragma once
/*
 * Why a call on an object that exists was refused: refused.h. Compares its arguments with the
 * object, the limits of its device, and the lists of the header.
 */
#include "analyzer/model/refused.h"

/* Ports and entries of the GID table that a device does not have. */
bool refused_explain_query(const struct refused *r, char *text, size_t size);

bool refused_explain_group(const struct refused *r, char *text, size_t size);
bool refused_explain_capacity(const struct refused *r, char *text, size_t size);
bool refused_explain_limit(const struct refused *r, char *text, size_t size);
bool refused_explain_window(const struct refused *r, char *text, size_t size);

/*
 * Why a call of librdmacm was refused: an IPv4 address in the wrong byte order; a port space; an
 * identifier in the wrong role, or one that was already asked or answered; parameters that a
 * connection cannot have.
 */
bool refused_explain_address(const struct refused *r, char *text, size_t size);
bool refused_explain_port_space(const struct refused *r, char *text, size_t size);
bool refused_explain_given_up(const struct refused *r, char *text, size_t size);
bool refused_explain_reconnect(const struct refused *r, char *text, size_t size);
bool refused_explain_no_route(const struct refused *r, char *text, size_t size);
bool refused_explain_role(const struct refused *r, char *text, size_t size);
bool refused_explain_repetition(const struct refused *r, char *text, size_t size);
bool refused_explain_rejection(const struct refused *r, char *text, size_t size);
bool refused_explain_parameters(const struct refused *r, char *text, size_t size);

/* rdma_create_qp(): the type of the queue pair does not fit the port space of the identifier. */
bool refused_explain_type(const struct refused *r, char *text, size_t size);

/* ibv_advise_mr(): a region that is not on demand, or has been deregistered. */
bool refused_explain_advice(const struct refused *r, char *text, size_t size);
