#pragma once
/*
 * Why an object could not be made: refused.h. Compared with what the device can do.
 */
#include "analyzer/model/refused.h"

bool refused_qp(const struct refused *r, char *text, size_t size);
bool refused_connect(const struct refused *r, char *text, size_t size);
bool refused_cq(const struct refused *r, char *text, size_t size);
bool refused_fields(const struct refused *r, char *text, size_t size);
bool refused_srq(const struct refused *r, char *text, size_t size);

/* Registration: flags that need another; memory that is not there. */
bool refused_access(const struct refused *r, char *text, size_t size);
bool refused_memory(const struct refused *r, char *text, size_t size);

/* ENOMEM: what the process has pinned, and its limit; or that it was not that. */
bool refused_memlock(const struct refused *r, char *text, size_t size);
bool refused_otherwise(const struct refused *r, char *text, size_t size);

/* ENOMEM of a post: that its queue was not full. */
bool refused_room(const struct refused *r, char *text, size_t size);
