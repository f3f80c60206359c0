#pragma once
/*
 * The sockets of the process: one that receives packets, on UDP port 4791 of the wire's address,
 * and one that sends, whose port is this process's source port in all packets. Any thread.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Open the sockets, unless they are open. 0 or -errno; -EADDRINUSE: something outside the fabric
 * has the port. @shared: another process of the fabric has it.
 */
int sockets_open(bool shared);

/* Say on stderr why the port cannot be used: @err of sockets_open(). */
void sockets_report_error(int err);

void sockets_close(void);

/* Options of <linux/udp.h>, which conflicts with libc's. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* One that receives what is sent to the group at @addr, or -errno. */
struct in6_addr;
int sockets_open_group(const struct in6_addr *addr);

int sockets_receive_fd(void);
int sockets_send_fd(void);
uint16_t sockets_source_port(void);

/* The address of a machine on port 4791, as the sockets need it. Returns its length. */
socklen_t sockets_address(const struct in6_addr *addr, struct sockaddr_storage *to);
