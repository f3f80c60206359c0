#pragma once
/*
 * Why an object could not be created: refused.h. Compares the request with the device's
 * capabilities.
 */
#include "analyzer/model/refused.h"

bool refused_explain_qp(const struct refused *r, char *text, size_t size);
bool refused_explain_connect(const struct refused *r, char *text, size_t size);
bool refused_explain_cq(const struct refused *r, char *text, size_t size);
bool refused_explain_fields(const struct refused *r, char *text, size_t size);
bool refused_explain_srq(const struct refused *r, char *text, size_t size);

/* Registrations: an access flag that needs another one, and memory that is not mapped. */
bool refused_explain_rights(const struct refused *r, char *text, size_t size);
bool refused_explain_access(const struct refused *r, char *text, size_t size);
bool refused_explain_dmabuf(const struct refused *r, char *text, size_t size);
bool refused_explain_dm(const struct refused *r, char *text, size_t size);
bool refused_explain_memory(const struct refused *r, char *text, size_t size);

/* ENOMEM: the process's pinned memory and its limit; refused_explain_other(): not the limit. */
bool refused_explain_memlock(const struct refused *r, char *text, size_t size);
bool refused_explain_other(const struct refused *r, char *text, size_t size);

/* ENOMEM of a post, although the queue was not full. */
bool refused_explain_full_queue(const struct refused *r, char *text, size_t size);

/* ENOMEM of a post whose list of requests is a cycle. */
bool refused_explain_list(const struct refused *r, char *text, size_t size);
