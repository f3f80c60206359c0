/*
 * Queue pairs and identifiers of this process, for faults that concern more than one object
 *
 * The mutex is held while an object is used, so that it is not destroyed meanwhile.
 */
#include "shim/trace/faults/connected.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "shim/trace/faults/original.h"
#include "shim/trace/faults/postponed.h"
#include "shim/trace/ring/record.h"

struct connected_entry {
	struct connected_entry *next;
	struct ibv_qp *qp;     /* set for a queue pair; else: */
	struct rdma_cm_id *id; /* the id whose queue pair has number qpn */
	uint32_t qpn;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct connected_entry *all;

static void add_entry(struct ibv_qp *qp, struct rdma_cm_id *id, uint32_t qpn)
{
	struct connected_entry *entry = malloc(sizeof(*entry));

	if (!entry)
		return;
	pthread_mutex_lock(&mutex);
	*entry = (struct connected_entry){ all, qp, id, qpn };
	all = entry;
	pthread_mutex_unlock(&mutex);
}

static void remove_entries(const struct ibv_qp *qp, const struct rdma_cm_id *id)
{
	struct connected_entry **at = &all, *entry;

	pthread_mutex_lock(&mutex);
	while (*at) {
		entry = *at;
		if (entry->qp != qp || entry->id != id) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		free(entry);
	}
	pthread_mutex_unlock(&mutex);
}

void connected_add(struct ibv_qp *qp)
{
	add_entry(qp, NULL, 0);
}

void connected_remove(const struct ibv_qp *qp)
{
	remove_entries(qp, NULL);
}

void connected_add_id(struct rdma_cm_id *id, uint32_t qpn)
{
	remove_entries(NULL, id);
	add_entry(NULL, id, qpn);
}

void connected_remove_id(const struct rdma_cm_id *id)
{
	remove_entries(NULL, id);
}

void connected_fail_users(const struct ibv_cq *cq)
{
	pthread_mutex_lock(&mutex);
	for (const struct connected_entry *entry = all; entry; entry = entry->next)
		if (entry->qp && (entry->qp->send_cq == cq || entry->qp->recv_cq == cq)) {
			postponed_release(entry->qp);
			original_fail_qp(entry->qp);
		}
	pthread_mutex_unlock(&mutex);
}

static struct rdma_cm_id *find_id(uint32_t qpn)
{
	const struct connected_entry *entry = all;

	while (entry && !(entry->id && entry->qpn == qpn))
		entry = entry->next;
	return entry ? entry->id : NULL;
}

/* Disconnect. Verbs that librdmacm calls inside this are neither recorded nor counted. */
static void disconnect_id(struct rdma_cm_id *id)
{
	int (*disconnect)(struct rdma_cm_id *) = original_find(VERB_rdma_disconnect);
	bool busy = recorder.busy;
	uint8_t ours = recorder.ours;

	recorder.busy = true;
	recorder.ours = EVENT_OURS;
	if (disconnect)
		disconnect(id);
	recorder.busy = busy;
	recorder.ours = ours;
}

bool connected_disconnect(struct ibv_qp *qp)
{
	int saved = errno;
	struct rdma_cm_id *id;

	pthread_mutex_lock(&mutex);
	id = find_id(qp->qp_num);
	if (id) {
		postponed_release(qp);
		original_fail_qp(
			qp); /* rdma_disconnect() does this only for a QP of rdma_create_qp() */
		disconnect_id(id);
	}
	pthread_mutex_unlock(&mutex);
	errno = saved;
	return id;
}
