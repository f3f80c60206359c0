#pragma once
/*
 * This process's part in a session. Any thread.
 */
#include <stdbool.h>

#include "core/wire/session.h"

/* Valid where join_process() has said yes once. */
extern struct session join_session;

/* One thread joins, the others wait; false: this process is not recorded. */
bool join_process(void);

/* Recording has ended for this process; what runs in other threads notices. */
void join_end(void);
bool join_is_over(void);
