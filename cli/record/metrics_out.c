/*
 * Where metrics go
 *
 * 	FILE	replaced by a new one each time, so that a reader never sees a part
 * 	:PORT	a process of its own answers, from memory that it shares with us (metrics_server.c):
 * 		a client can be as slow or hostile as it likes
 */
#include "cli/record/metrics_out.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/record/live_metrics.h"
#include "cli/record/metrics_server.h"
#include "core/wire/log.h"

struct metrics_out {
	const char *path;          /* NULL: a port */
	struct metrics_page *page; /* of a port */
	pid_t server;
	bool failed; /* a failure was reported */
};

/* The port in @setting; -1: it is not a port. */
static int read_port(const char *setting)
{
	const char *digits = setting + 1;
	size_t n = strspn(digits, "0123456789");

	return *setting == ':' && n && n < 6 && !digits[n] && atoi(digits) < 65536 ? atoi(digits)
										   : -1;
}

/* The port in "HOST:PORT" or "PORT", which would otherwise be a file; NULL: it is neither. */
static const char *find_misplaced_port(const char *setting)
{
	const char *colon = strrchr(setting, ':'), *digits = colon ? colon + 1 : setting;

	return !strchr(setting, '/') && *digits && !digits[strspn(digits, "0123456789")] ? digits
											 : NULL;
}

/* Would writing wait for another process? Then the recorder and the program would wait, too. */
static bool is_pipe(const char *path)
{
	struct stat st;

	return !stat(path, &st) && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int metrics_out_check(const char *setting)
{
	const char *port = find_misplaced_port(setting);

	if (*setting == ':' && read_port(setting) < 0)
		return cli_misuse("record",
				  "--metrics takes a file, or ':' and a port from 0 to 65535, not "
				  "'%s'",
				  setting);
	if (!*setting)
		return cli_misuse("record", "--metrics takes a file or ':' and a port");
	if (*setting == ':')
		return 0;
	if (port)
		return cli_misuse(
			"record",
			"--metrics ':%s' is a port of 127.0.0.1, the only address; './%s' "
			"is a file",
			port, setting);
	if (is_pipe(setting))
		return cli_misuse("record", "--metrics takes a file, and '%s' is a pipe", setting);
	return output_check("record", setting);
}

static int listen_at(int port, int *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&at, length) || listen(fd, 16) ||
	    getsockname(fd, (struct sockaddr *)&at, &length)) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int start_server(struct metrics_out *out, const char *setting, bool quiet)
{
	pid_t parent;
	int port = 0, fd = listen_at(read_port(setting), &port);

	if (fd < 0)
		return log_err(fd, "listen at 127.0.0.1%s", setting);
	out->page = mmap(NULL, sizeof(*out->page), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (out->page == MAP_FAILED) {
		out->page = NULL;
		close(fd);
		return log_err(-ENOMEM, "--metrics");
	}
	parent = getpid();
	out->server = fork();
	if (!out->server)
		metrics_server_run(fd, out->page, parent);
	close(fd);
	if (out->server < 0)
		return log_err(-errno, "--metrics");
	if (!quiet)
		log_note("metrics are at http://127.0.0.1:%d/metrics", port);
	return 0;
}

int metrics_out_open(const char *setting, bool quiet, struct metrics_out **ret_out)
{
	struct metrics_out *out = calloc(1, sizeof(*out));
	struct text text = { 0 };
	int err = 0;

	if (!out)
		return log_err(-ENOMEM, "--metrics");
	if (*setting == ':')
		err = start_server(out, setting, quiet);
	else
		out->path = setting;
	live_metrics_begin(&text);
	if (!err && out->path)
		err = text.failed ? log_err(-ENOMEM, "--metrics") : output_put(out->path, &text);
	else if (!err)
		metrics_out_put(out, &text);
	text_fini(&text);
	if (err) {
		metrics_out_close(out);
		return err;
	}
	*ret_out = out;
	return 0;
}

void metrics_out_put(struct metrics_out *out, const struct text *text)
{
	bool fits = !text->failed && (out->path || text->used <= METRICS_BYTES);

	log_silence(out->failed);
	if (fits && out->path)
		fits = !output_put(out->path, text);
	else if (fits)
		metrics_page_put(out->page, text->at, text->used);
	else if (!out->failed)
		log_err(-ENOMEM, "--metrics");
	log_silence(false);
	out->failed |= !fits;
}

void metrics_out_close(struct metrics_out *out)
{
	if (!out)
		return;
	if (out->server > 0) {
		kill(out->server, SIGKILL);
		waitpid(out->server, NULL, 0);
	}
	if (out->page)
		munmap(out->page, sizeof(*out->page));
	free(out);
}
