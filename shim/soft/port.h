#pragma once
/*
 * The port and who can be reached through it.
 */
#include <stdbool.h>
#include <infiniband/verbs.h>

bool port_is_roce(void);
bool port_has_gid(const union ibv_gid *gid);

/* Does anybody answer at this address? */
bool port_reaches(const struct ibv_ah_attr *attr);
