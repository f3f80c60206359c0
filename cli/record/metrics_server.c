/*
 * A process that answers HTTP requests with the last metrics
 *
 * At most CLIENTS connections, each for at most PATIENCE_NS; a further one replaces the oldest. A
 * connection has one request of at most REQUEST bytes, and one response. Only GET and HEAD of
 * /metrics. The Host must be this machine's loopback: so a web page whose host name resolves to
 * this machine gets nothing.
 */
#include "cli/record/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/wire/clock.h"

enum { CLIENTS = 16, REQUEST = 4096, HEAD = 256, TRIES = 8 };

#define PATIENCE_NS 3000000000ull

struct client {
	int fd; /* -1: none */
	uint64_t since;
	size_t used; /* of the request */
	char request[REQUEST];
	char *response; /* NULL: the request is not complete */
	size_t sent, size;
};

/* The page */

void metrics_page_put(struct metrics_page *page, const char *text, size_t n)
{
	uint64_t turn = page->turn + 1;

	memcpy(page->text[turn & 1], text, n);
	page->n[turn & 1] = n;
	/* pairs with the load in metrics_page_get() */
	__atomic_store_n(&page->turn, turn, __ATOMIC_RELEASE);
}

char *metrics_page_get(struct metrics_page *page, size_t *ret_n)
{
	char *copy = NULL;

	for (int i = 0; i < TRIES; i++) {
		/* pairs with the store in metrics_page_put() */
		uint64_t turn = __atomic_load_n(&page->turn, __ATOMIC_ACQUIRE);
		size_t n = page->n[turn & 1];
		char *larger = n <= METRICS_BYTES ? realloc(copy, n + 1) : NULL;

		if (!larger)
			break;
		copy = larger;
		memcpy(copy, page->text[turn & 1], n);
		*ret_n = n;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&page->turn, __ATOMIC_RELAXED) == turn)
			return copy;
	}
	free(copy);
	return NULL;
}

/* Requests */

/* Is the host in @value, which a "\r\n" ends, this machine's loopback? */
static int names_loopback(const char *value)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };

	value += strspn(value, " \t");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (!strncasecmp(value, names[i], n) && strchr(":\r\n \t", value[n]))
			return 1;
	}
	return 0;
}

/* A request without a Host is not from a browser. */
static int names_other_host(const char *request)
{
	for (const char *line = strchr(request, '\n'); line; line = strchr(line, '\n')) {
		line++;
		if (!strncasecmp(line, "host:", 5) && !names_loopback(line + 5))
			return 1;
	}
	return 0;
}

int metrics_server_answer(const char *request, size_t n, int *ret_body)
{
	char text[REQUEST + 1];
	const char *path;
	size_t length;
	int get;

	*ret_body = 0;
	n = n < REQUEST ? n : REQUEST;
	memcpy(text, request, n);
	text[n] = '\0';
	if (!strstr(text, "\r\n\r\n") && !strstr(text, "\n\n"))
		return n == REQUEST || strlen(text) < n ? 400 : 0;
	get = !strncmp(text, "GET ", 4);
	if (!get && strncmp(text, "HEAD ", 5) != 0)
		return 405;
	path = text + (get ? 4 : 5);
	length = strcspn(path, " ?\r\n");
	if (names_other_host(text))
		return 403;
	if (!(length == 1 && *path == '/') && !(length == 8 && !strncmp(path, "/metrics", 8)))
		return 404;
	*ret_body = get;
	return 200;
}

static const char *name_status(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	default:
		return "Bad Request";
	}
}

/* Clients */

static void drop_client(struct client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	free(client->response);
	*client = (struct client){ .fd = -1 };
}

static void write_response(struct client *client, struct metrics_page *page, int status, int body)
{
	size_t n = 0;
	char *text = status == 200 ? metrics_page_get(page, &n) : NULL;
	int head;

	client->response = malloc(HEAD + n);
	if (!client->response || (status == 200 && !text)) {
		free(text);
		drop_client(client);
		return;
	}
	head = snprintf(client->response, HEAD,
			"HTTP/1.1 %d %s\r\nContent-Type: application/openmetrics-text; "
			"version=1.0.0; charset=utf-8\r\nContent-Length: %zu\r\n"
			"Connection: close\r\n%s\r\n",
			status, name_status(status), n,
			status == 405 ? "Allow: GET, HEAD\r\n" : "");
	client->size = (size_t)head;
	if (body) {
		memcpy(client->response + head, text, n);
		client->size += n;
	}
	free(text);
}

static void read_request(struct client *client, struct metrics_page *page)
{
	ssize_t n = recv(client->fd, client->request + client->used, REQUEST - client->used, 0);
	int status, body;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop_client(client);
		return;
	}
	client->used += (size_t)n;
	status = metrics_server_answer(client->request, client->used, &body);
	if (status)
		write_response(client, page, status, body);
}

static void send_response(struct client *client)
{
	ssize_t n = send(client->fd, client->response + client->sent, client->size - client->sent,
			 MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		client->sent += (size_t)n;
	if (n <= 0 || client->sent == client->size) {
		shutdown(client->fd, SHUT_WR);
		drop_client(client);
	}
}

/* A free entry, or the entry of the oldest client. */
static struct client *find_client_slot(struct client *clients)
{
	struct client *oldest = &clients[0];

	for (int i = 0; i < CLIENTS; i++) {
		if (clients[i].fd < 0)
			return &clients[i];
		if (clients[i].since < oldest->since)
			oldest = &clients[i];
	}
	drop_client(oldest);
	return oldest;
}

static void accept_client(int fd, struct client *clients)
{
	int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *place;

	if (client < 0)
		return;
	place = find_client_slot(clients);
	place->fd = client;
	place->since = clock_monotonic();
}

static void serve_clients(struct client *clients, const struct pollfd *polled,
			  struct metrics_page *page)
{
	uint64_t now = clock_monotonic();

	for (int i = 0; i < CLIENTS; i++) {
		struct client *client = &clients[i];

		if (client->fd < 0)
			continue;
		if (polled[i].revents && client->response)
			send_response(client);
		else if (polled[i].revents)
			read_request(client, page);
		if (client->fd >= 0 && now - client->since > PATIENCE_NS)
			drop_client(client);
	}
}

/* Close all descriptors of the recorder, and end when it ends. */
static void detach_from_recorder(int fd, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	dup2(fd, 3);
	close_range(4, ~0u, 0);
}

_Noreturn void metrics_server_run(int fd, struct metrics_page *page, pid_t parent)
{
	static struct client clients[CLIENTS];
	struct pollfd polled[CLIENTS + 1];

	detach_from_recorder(fd, parent);
	for (int i = 0; i < CLIENTS; i++)
		clients[i].fd = -1;
	for (;;) {
		int any = 0;

		for (int i = 0; i < CLIENTS; i++) {
			polled[i] = (struct pollfd){ clients[i].fd,
						     clients[i].response ? POLLOUT : POLLIN, 0 };
			any |= clients[i].fd >= 0;
		}
		polled[CLIENTS] = (struct pollfd){ 3, POLLIN, 0 };
		if (poll(polled, CLIENTS + 1, any ? (int)(PATIENCE_NS / 1000000) : -1) < 0 &&
		    errno != EINTR)
			_exit(1);
		serve_clients(clients, polled, page);
		if (polled[CLIENTS].revents)
			accept_client(3, clients);
	}
}
