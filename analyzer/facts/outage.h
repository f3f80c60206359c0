#pragma once
/*
 * The times when ports and devices were down, as asynchronous events reported.
 *
 * One thread.
 */
#include <stdint.h>

struct outages;
struct trace_event;

/* The failed request of a queue pair. */
struct outage_victim {
	uint32_t process;
	uint64_t context; /* handle */
	uint32_t port;    /* 0: not known */
	uint32_t status;  /* enum ibv_wc_status */
	int64_t posted, failed;
};

/* NULL without memory. */
struct outages *outages_new(void);

/* Accepts NULL. */
void outages_free(struct outages *outages);

/* ibv_get_async_event() has returned an event. */
void outages_event(struct outages *outages, const struct trace_event *event);

/*
 * "port 1 was down: IBV_EVENT_PORT_ERR 1:47, 16 ms before": for the victim's port or device,
 * between its post and its failure, or reported shortly after. The caller frees it; NULL: nothing
 * is known, or a link failure cannot cause this status.
 */
char *outages_sentence(const struct outages *outages, const struct outage_victim *victim);
