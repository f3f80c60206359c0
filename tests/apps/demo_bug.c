/*
 * A bug as found in real servers: a connection is closed, and the timer that monitors it fires once
 * more.
 *
 * Nothing crashes, and nothing is printed: the memory of the completion queue is free, but not used
 * again yet. `verbatim check` shows which calls made and destroyed the queue, and which one came
 * too late. With the argument `good` the timer is stopped first.
 */
#include "tests/apps/app.h"

enum { TIMERS = 4 };

struct server {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct connection *timers[TIMERS]; /* whose heartbeat is expected */
	bool careful;
};

struct connection {
	struct server *server;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	unsigned int unacked; /* completion events, acknowledged in batches */
	int timer;
};

static void server_start(struct server *server)
{
	server->context = open_first_device();
	server->pd = NEED(ibv_alloc_pd(server->context));
}

static void server_stop(struct server *server)
{
	MUST(ibv_dealloc_pd(server->pd));
	MUST(ibv_close_device(server->context));
}

static void timer_start(struct connection *connection, int timer)
{
	connection->timer = timer;
	connection->server->timers[timer] = connection;
}

static void timer_stop(struct connection *connection)
{
	connection->server->timers[connection->timer] = NULL;
}

static void acknowledge_events(struct connection *connection)
{
	ibv_ack_cq_events(connection->cq, connection->unacked);
	connection->unacked = 0;
}

static struct connection *connection_open(struct server *server, int timer)
{
	struct connection *connection = NEED(calloc(1, sizeof(*connection)));

	connection->server = server;
	connection->channel = NEED(ibv_create_comp_channel(server->context));
	connection->cq = NEED(ibv_create_cq(server->context, 16, NULL, connection->channel, 0));
	connection->qp = create_rc_qp(server->pd, connection->cq);
	timer_start(connection, timer);
	return connection;
}

/* The peer has closed the connection. */
static void connection_close(struct connection *connection)
{
	if (connection->server->careful)
		timer_stop(connection);
	acknowledge_events(connection);
	MUST(ibv_destroy_qp(connection->qp));
	MUST(ibv_destroy_cq(connection->cq));
	MUST(ibv_destroy_comp_channel(connection->channel));
}

/* Once a second: is the peer still alive? Also acknowledges events. */
static void heartbeat_timer(struct connection *connection)
{
	acknowledge_events(connection);
}

static void timers_fire(struct server *server)
{
	for (int i = 0; i < TIMERS; i++)
		if (server->timers[i])
			heartbeat_timer(server->timers[i]);
}

int main(int argc, char **argv)
{
	struct server server = { .careful = is_good(argc, argv) };
	struct connection *alice, *bob;

	server_start(&server);
	alice = connection_open(&server, 0);
	bob = connection_open(&server, 1);
	connection_close(alice);
	timers_fire(&server);
	server.careful = true;
	connection_close(bob);
	server_stop(&server);
	free(alice);
	free(bob);
	return 0;
}
