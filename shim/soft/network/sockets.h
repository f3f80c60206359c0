#pragma once
/*
 * The sockets of the process: one receives packets, on UDP port 4791 of the network's address; the
 * other one sends, and its port is the source port of all packets of this process. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Open the sockets, unless they are open. 0 or -errno; -EADDRINUSE: a program outside the fabric
 * has the port. @shared: another process of the fabric has it.
 */
int sockets_open(bool shared);

/* Print on stderr why the port cannot be used: @err is the result of sockets_open(). */
void sockets_report_error(int err);

void sockets_close(void);

/* Options of <linux/udp.h>, which conflicts with libc's. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Open a socket that receives packets to the group at @addr. Returns it, or -errno. */
struct in6_addr;
int sockets_open_group(const struct in6_addr *addr);

int sockets_receive_fd(void);
int sockets_send_fd(void);
uint16_t sockets_source_port(void);

/* The socket address of port 4791 on machine @addr. Returns its length. */
socklen_t sockets_address(const struct in6_addr *addr, struct sockaddr_storage *to);
