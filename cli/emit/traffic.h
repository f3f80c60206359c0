#pragma once
/*
 * Posts, polls and armings as statements.
 */
#include "cli/emit/maker.h"

/* 0; -ENOTSUP after log_err() if the program could not do it; -errno. */
int traffic_add_post(struct maker *maker, const struct post *post);
int traffic_add_poll(struct maker *maker, const struct poll *poll);

/*
 * The number of completions of @poll up to the first message whose sender saw no acknowledgement.
 */
uint32_t traffic_count_acknowledged(struct maker *maker, const struct poll *poll);
int traffic_add_notify(struct maker *maker, const struct notify *notify);
