#pragma once
/*
 * Why an object could not be created: refused.h. Compares the request with the device's
 * capabilities.
 */
#include "analyzer/model/refused.h"

bool refused_qp(const struct refused *r, char *text, size_t size);
bool refused_connect(const struct refused *r, char *text, size_t size);
bool refused_cq(const struct refused *r, char *text, size_t size);
bool refused_fields(const struct refused *r, char *text, size_t size);
bool refused_srq(const struct refused *r, char *text, size_t size);

/* Registration: flags that need another; unmapped memory. */
bool refused_rights(const struct refused *r, char *text, size_t size);
bool refused_access(const struct refused *r, char *text, size_t size);
bool refused_dmabuf(const struct refused *r, char *text, size_t size);
bool refused_dm(const struct refused *r, char *text, size_t size);
bool refused_memory(const struct refused *r, char *text, size_t size);

/* ENOMEM: the process's pinned memory and its limit; refused_otherwise(): not the limit. */
bool refused_memlock(const struct refused *r, char *text, size_t size);
bool refused_otherwise(const struct refused *r, char *text, size_t size);

/* ENOMEM of a post, although the queue was not full. */
bool refused_full_queue(const struct refused *r, char *text, size_t size);

/* ENOMEM of a post whose list of requests is a cycle. */
bool refused_list(const struct refused *r, char *text, size_t size);
