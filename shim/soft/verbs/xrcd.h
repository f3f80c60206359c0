#pragma once
/*
 * XRC domains: the verbs for them.
 */
#include "shim/soft/transport/objects.h"

struct ibv_xrcd *soft_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
int soft_close_xrcd(struct ibv_xrcd *xrcd);
void xrcd_close_all(struct ibv_context *context);
void xrcd_forget(void);
