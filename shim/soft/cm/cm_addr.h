#pragma once
/*
 * Addresses of the connection manager: IP addresses of this machine.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cm_addr {
	uint16_t family; /* AF_INET, AF_INET6; 0: none */
	uint16_t port;   /* in network order */
	uint32_t scope;  /* interface of a link-local address */
	uint8_t ip[16];  /* AF_INET: 4 bytes, then zeros */
};

/* Large enough for any socket address of the kernel's interface. */
enum { CM_SOCKADDR = 128 };

/*
 * Convert the socket address at @sockaddr of @size bytes. 0, -EINVAL, or -EAFNOSUPPORT for AF_IB:
 * librdmacm then uses IP addresses.
 */
int cm_addr_from_sockaddr(struct cm_addr *addr, const void *sockaddr, size_t size);

/* Write @addr as a sockaddr, and return its length; the rest of the @size bytes is zeroed. */
size_t cm_addr_to_sockaddr(const struct cm_addr *addr, void *sockaddr, size_t size);

bool cm_addr_is_any(const struct cm_addr *addr);
bool cm_addr_is_multicast(const struct cm_addr *addr);
bool cm_addr_is_loopback(const struct cm_addr *addr);
bool cm_addr_has_same_ip(const struct cm_addr *a, const struct cm_addr *b);

/*
 * Convert an address to a GID (IPv4 as IPv4-mapped). cm_addr_set_ip(): the reverse, without
 * changing the port.
 */
void cm_addr_to_gid(const struct cm_addr *addr, uint8_t gid[16]);
void cm_addr_set_ip(struct cm_addr *addr, const uint8_t gid[16]);

/* Is @addr an address of this machine? */
bool cm_addr_is_local(const struct cm_addr *addr);

/* Set the source address of packets to the local address @dst; the port does not change. */
void cm_addr_set_source(struct cm_addr *src, const struct cm_addr *dst);
