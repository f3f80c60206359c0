#pragma once
/*
 * The verbs that return EOPNOTSUPP.
 */
#include "shim/soft/transport/objects.h"

void unsupported_init(struct verbs_context *verbs);
