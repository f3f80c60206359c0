#pragma once
/*
 * Where the metrics of `record --metrics FILE|:PORT` go: a file that is replaced, or a port of
 * 127.0.0.1. Not thread-safe.
 */
#include "core/base/text.h"

struct metrics_out;

/* Is @setting a file that may be written, or a port? 0, or the exit status after a message. */
int metrics_out_check(const char *setting);

/* 0 or -errno after log_err(). The port is printed unless @quiet. */
int metrics_out_open(const char *setting, bool quiet, struct metrics_out **ret_out);

/* From now on readers get @text. A failure is reported once. */
void metrics_out_put(struct metrics_out *out, const struct text *text);

/* Close the port; the file stays. Accepts NULL. */
void metrics_out_close(struct metrics_out *out);
