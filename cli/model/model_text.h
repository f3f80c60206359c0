#pragma once
/*
 * Traffic as a text that a person can read and edit, and back
 *
 * 	model 1
 * 	ranks 16
 *
 * 	flow ring                the pattern of its senders; or edges: 0>1 4>1x2 (2 queue pairs)
 * 	    transport RC         RC, UC or UD; default RC
 * 	    requests 10000       of each sender
 * 	    rate 8312/s          of each sender, from its first request to its last
 * 	    start 1.5ms          of its first request; default 0
 * 	    depth 128            requests that a send queue holds; default 128
 * 	    signal 1/16          one in 16 requests is signaled; default 1/1
 * 	    send SEND 64 80%     operation, size, share; once or more
 * 	    send RDMA_WRITE 64k 20%
 * 	    gap 0ns 50%          between two requests, share; default: all are equal
 * 	    gap 240us 50%
 *
 * '#' starts a comment. Shares need not add up to 100 %. Gaps are scaled to fit the rate.
 *
 * Not thread-safe.
 */
#include <stdbool.h>

#include "core/base/text.h"
#include "replay/load/load.h"

/* Is @path a file that begins like such a text, after comments? */
bool model_is_text(const char *path);

/* Add the text of @load, whose classes were joined, to @to; @title is a comment. 0 or -errno. */
int model_write(const struct load *load, const char *title, struct text *to);

/*
 * Read the traffic that the text in @path describes: tracks are generated that fit its shares. 0;
 * or -errno after log_err(): -EINVAL, with the line, if the text is invalid.
 */
int model_read(const char *path, struct load *ret_load);

/* Parse a text in memory, which is changed; @path is for messages. */
int model_parse(char *text, const char *path, struct load *ret_load);
