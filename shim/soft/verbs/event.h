#pragma once
/*
 * Waiting for event acknowledgements when objects are destroyed.
 */
#include "shim/soft/transport/objects.h"

/* Wait until the program has acknowledged all @given events of an object. */
void event_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		     uint32_t given);
