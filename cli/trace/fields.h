#pragma once
/*
 * The parts of a work request, and what an extended CQ tells of a completion, as
 * text. One thread.
 */
#include "cli/trace/values.h"

/* ", remote_addr=0x1000, rkey=0x7": each part of which a field is not 0. */
void fields_put_wr(const struct values *values, const struct wr *wr);

/* ", completion_ts=5": what wc->parts says is there. */
void fields_put_wc(const struct values *values, const struct wc *wc);
