#pragma once
/*
 * Why a call was refused because of the bits of its masks: refused.h.
 */
#include "analyzer/model/refused.h"

/* EINVAL, EOPNOTSUPP: bits of a comp_mask that do not exist. */
bool refused_explain_mask(const struct refused *r, char *text, size_t size);

/* EINVAL of ibv_rereg_mr(): flags and arguments that do not go together. */
bool refused_explain_rereg(const struct refused *r, char *text, size_t size);
