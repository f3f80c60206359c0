/*
 * Handing packets over between processes
 *
 * Each process has a UDP socket on the loopback interface, and a file in the fabric directory with
 * its port and a secret:
 *
 *	| secret | origin | packet |
 *
 * Only processes of this user can read the secret, so no other process can pretend that a packet
 * came from the peer's address. The receiving process checks the packet as if it had received it
 * itself.
 */
#include "shim/soft/network/handover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/soft/fabric/directory.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/xrc.h"

struct handover_offer {
	uint64_t instance; /* 0: the process has no valid offer */
	uint8_t secret[16];
	uint16_t port;
};

struct envelope {
	uint8_t secret[16];
	struct handover_origin origin;
};

static int fd = -1;
static struct handover_offer own;
static struct handover_offer known[NODE_MAX];

static void offer_path(char path[DIRECTORY_FILE], uint32_t node, uint64_t instance)
{
	directory_file(path, "wire", node, instance, 0);
}

static int write_offer(void)
{
	char path[DIRECTORY_FILE];
	ssize_t n;
	int file;

	offer_path(path, node_self.node, node_self.instance);
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return -errno;
	n = write(file, &own, sizeof(own));
	close(file);
	return n == sizeof(own) ? 0 : -EIO;
}

static bool read_offer(uint32_t node, uint64_t instance, struct handover_offer *offer)
{
	char path[DIRECTORY_FILE];
	ssize_t n;
	int file;

	offer_path(path, node, instance);
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return false;
	n = read(file, offer, sizeof(*offer));
	close(file);
	return n == sizeof(*offer) && offer->instance == instance;
}

static int open_socket(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(addr);

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) < 0)
		return -errno;
	own.port = ntohs(addr.sin_port);
	return 0;
}

int handover_open(void)
{
	int err = open_socket();

	own.instance = node_self.instance;
	if (!err && getrandom(own.secret, sizeof(own.secret), 0) != sizeof(own.secret))
		err = -EIO;
	if (!err)
		err = write_offer();
	if (err < 0)
		handover_close();
	return err;
}

void handover_close(void)
{
	char path[DIRECTORY_FILE];

	if (fd < 0)
		return;
	close(fd);
	fd = -1;
	if (own.instance != node_self.instance)
		return; /* inherited from a parent */
	offer_path(path, node_self.node, own.instance);
	unlink(path);
}

int handover_fd(void)
{
	return fd;
}

bool handover_has_others(void)
{
	struct handover_offer offer;
	uint32_t i;

	for (i = 0; i < NODE_MAX; i++)
		if (node_table[i].pid && i != node_self.node &&
		    read_offer(i, node_table[i].instance, &offer) && node_has(i, offer.instance))
			return true;
	return false;
}

/* The offer of the process that has queue pair @qpn, or NULL. */
static const struct handover_offer *find_offer(uint32_t qpn)
{
	uint64_t instance;
	uint32_t node;

	if (registry_find_owner(REGISTRY_QP, qpn, &node, &instance) < 0 &&
	    xrc_find_taker(qpn, &node, &instance) < 0)
		return NULL;
	if (node == node_self.node)
		return NULL;
	if (known[node].instance != instance && !read_offer(node, instance, &known[node]))
		return NULL;
	return &known[node];
}

void handover_send(uint32_t qpn, const struct handover_origin *origin, const uint8_t *packet,
		   size_t len)
{
	const struct handover_offer *offer = find_offer(qpn);
	struct envelope envelope = { .origin = *origin };
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct iovec iov[] = { { &envelope, sizeof(envelope) }, { (void *)packet, len } };
	struct msghdr msg = { &to, sizeof(to), iov, 2, NULL, 0, 0 };

	if (!offer)
		return;
	to.sin_port = htons(offer->port);
	memcpy(envelope.secret, offer->secret, sizeof(envelope.secret));
	if (sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return; /* drop the packet, as if it was lost */
}

static bool is_secret(const uint8_t *secret)
{
	uint8_t differs = 0;
	size_t i;

	for (i = 0; i < sizeof(own.secret); i++)
		differs |= secret[i] ^ own.secret[i];
	return !differs;
}

ssize_t handover_receive(struct handover_origin *ret_origin, uint8_t *packet, size_t size)
{
	struct envelope envelope;
	struct iovec iov[] = { { &envelope, sizeof(envelope) }, { packet, size } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

	if (n < 0)
		return -1;
	if (n < (ssize_t)sizeof(envelope) || msg.msg_flags & MSG_TRUNC ||
	    !is_secret(envelope.secret))
		return 0;
	*ret_origin = envelope.origin;
	return n - sizeof(envelope);
}
