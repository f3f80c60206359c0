/*
 * What hinders the software device on a network: the address, the interface, the port, a firewall
 *
 * Nothing is checked without VERBATIM_SOFT_WIRE. The rules are those of the software device
 * (docs/SOFT-DEVICE.md), which shares no code with us.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"

enum {
	PORT = 4791,
	HEADERS = 100, /* of IPv6, UDP and RoCE, at most */
	MTU_LEAST = 256,
	MTU_MOST = 4096,
	LINE = 32,
};

/* Is @wire the name of interface @i, or its address? */
static bool is_interface_named(const struct ifaddrs *i, const char *wire)
{
	char text[INET6_ADDRSTRLEN];
	const void *addr;

	if (!i->ifa_addr ||
	    (i->ifa_addr->sa_family != AF_INET && i->ifa_addr->sa_family != AF_INET6))
		return false;
	addr = i->ifa_addr->sa_family == AF_INET
		       ? (void *)&((struct sockaddr_in *)i->ifa_addr)->sin_addr
		       : (void *)&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr;
	inet_ntop(i->ifa_addr->sa_family, addr, text, sizeof(text));
	return !strcmp(i->ifa_name, wire) || !strcmp(text, wire);
}

static bool find_interface(const char *wire, char *name, size_t size)
{
	struct ifaddrs *all, *i;

	if (getifaddrs(&all) < 0)
		return false;
	for (i = all; i && !is_interface_named(i, wire); i = i->ifa_next)
		;
	if (i)
		snprintf(name, size, "%s", i->ifa_name);
	freeifaddrs(all);
	return i;
}

/* The longest path MTU that fits, or 0. */
static unsigned int path_mtu(unsigned int link)
{
	unsigned int mtu = MTU_MOST;

	while (mtu >= MTU_LEAST && mtu + HEADERS > link)
		mtu /= 2;
	return mtu >= MTU_LEAST ? mtu : 0;
}

struct link {
	unsigned int flags, mtu;
};

static bool read_number(struct doctor *doctor, const char *name, const char *file,
			unsigned int *ret_number)
{
	char path[128], line[LINE];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	if (!doctor_read_line(doctor, path, line, sizeof(line)))
		return false;
	*ret_number = strtoul(line, NULL, 0);
	return true;
}

/* Ask the kernel: a network namespace may have no /sys of its own. */
static bool query_link(const char *name, struct link *link)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool known;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	known = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;
	link->flags = (unsigned short)request.ifr_flags;
	known = known && ioctl(fd, SIOCGIFMTU, &request) == 0;
	link->mtu = request.ifr_mtu;
	if (fd >= 0)
		close(fd);
	return known;
}

static bool find_link(struct doctor *doctor, const char *name, struct link *link)
{
	return (read_number(doctor, name, "mtu", &link->mtu) &&
		read_number(doctor, name, "flags", &link->flags)) ||
	       query_link(name, link);
}

static void check_link(struct doctor *doctor, const char *wire, const char *name)
{
	unsigned int mtu;
	struct link link;

	if (!find_link(doctor, name, &link))
		return;
	if (!(link.flags & IFF_UP))
		doctor_report(doctor, DOCTOR_PROBLEM, "'ip link set DEV up'",
			      "VERBATIM_SOFT_WIRE=%s: %s is down", wire, name);
	mtu = path_mtu(link.mtu);
	if (!mtu)
		doctor_report(doctor, DOCTOR_PROBLEM, "raise it: 'ip link set DEV mtu 1500'",
			      "VERBATIM_SOFT_WIRE=%s: the MTU of %s, %u, is too short", wire, name,
			      link.mtu);
	else if (mtu < MTU_MOST)
		doctor_report(
			doctor, DOCTOR_NOTE,
			"with an MTU of 4196 or more at both ends, paths may have 4096",
			"VERBATIM_SOFT_WIRE=%s: packets have %u bytes, as the MTU of %s is %u",
			wire, mtu, name, link.mtu);
	else
		doctor_report(doctor, DOCTOR_OK, NULL,
			      "VERBATIM_SOFT_WIRE=%s: packets have %u bytes", wire, mtu);
}

/* Has any socket of @file the port? Lines: "  sl: ADDRESS:PORT ...", in hexadecimal digits. */
static bool is_port_in_use(const struct doctor *doctor, const char *file)
{
	char path[PATH_MAX], line[512], *at;
	bool taken = false;
	FILE *f;

	doctor_path(doctor, path, "%s", file);
	f = fopen(path, "re");
	while (f && !taken && fgets(line, sizeof(line), f)) {
		at = strchr(line, ':');
		at = at ? strchr(at + 1, ':') : NULL;
		taken = at && strtoul(at + 1, NULL, 16) == PORT;
	}
	if (f)
		fclose(f);
	return taken;
}

static void check_port(struct doctor *doctor)
{
	if (!is_port_in_use(doctor, "/proc/net/udp") && !is_port_in_use(doctor, "/proc/net/udp6"))
		return;
	if (doctor_has(doctor, "/sys/module/rdma_rxe"))
		doctor_report(doctor, DOCTOR_PROBLEM,
			      "'rdma link delete' its devices, or use a network namespace",
			      "UDP port %d is in use, probably by the kernel's Soft-RoCE", PORT);
	else
		doctor_report(doctor, DOCTOR_NOTE,
			      "only programs with the same VERBATIM_SOFT_FABRIC can share it",
			      "UDP port %d is in use", PORT);
}

/* The rules cannot be read without privileges; that there are tables can. */
static void check_firewall(struct doctor *doctor)
{
	char line[64];

	if (doctor_read_line(doctor, "/proc/net/ip_tables_names", line, sizeof(line)) ||
	    doctor_has(doctor, "/sys/module/nf_tables"))
		doctor_report(doctor, DOCTOR_NOTE,
			      "see 'nft list ruleset' and 'iptables -L' as root",
			      "a firewall may drop UDP port %d", PORT);
}

void doctor_check_wire(struct doctor *doctor)
{
	const char *value = getenv("VERBATIM_SOFT_WIRE");
	char name[IFNAMSIZ], wire[100], *all;

	if (!value || !*value)
		return;
	snprintf(wire, sizeof(wire), "%s", value);
	all = strstr(wire, ",all"); /* even within the fabric */
	if (all && !all[4])
		*all = '\0';
	if (!find_interface(wire, name, sizeof(name))) {
		doctor_report(
			doctor, DOCTOR_PROBLEM,
			"use an address or an interface that 'ip address' shows",
			"VERBATIM_SOFT_WIRE=%s is not an interface with an address, or an address "
			"of this machine",
			wire);
		return;
	}
	check_link(doctor, wire, name);
	check_port(doctor);
	check_firewall(doctor);
}
