/*
 * Recorded addresses, and their replacements in the replay
 *
 * A recorded IP address is replaced by an address of the replay's device: by itself, if the device
 * has it, else by the first address of this machine by which librdmacm finds the device. A recorded
 * port is replaced by a free one: other programs may use the recorded port, and must not connect to
 * the replay's listeners.
 *
 *	10.0.0.1:7471  ->  192.0.2.7:40017	bound, or reserved for connections to it
 *	0.0.0.0:7471   ->  0.0.0.0:40018
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "replay/cm/cm_priv.h"

enum { ADDRESSES_SHOWN = 4 };

bool cm_address_parse(const char *text, struct sockaddr_storage *ret_address)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char ip[SOCKADDR_TEXT], *scope;
	const char *colon = text ? strrchr(text, ':') : NULL;

	if (!colon)
		return false;
	memset(ret_address, 0, sizeof(*ret_address));
	snprintf(ip, sizeof(ip), "%.*s", (int)(colon - text), text);
	in.sin_port = in6.sin6_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	if (inet_pton(AF_INET, ip, &in.sin_addr) == 1) {
		memcpy(ret_address, &in, sizeof(in));
		return true;
	}
	if (*ip != '[' || ip[strlen(ip) - 1] != ']')
		return false;
	ip[strlen(ip) - 1] = 0;
	scope = strchr(ip, '%');
	if (scope) {
		in6.sin6_scope_id = (uint32_t)strtoul(scope + 1, NULL, 10);
		*scope = 0;
	}
	if (inet_pton(AF_INET6, ip + 1, &in6.sin6_addr) != 1)
		return false;
	memcpy(ret_address, &in6, sizeof(in6));
	return true;
}

uint16_t *cm_address_port(struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET ? &((struct sockaddr_in *)address)->sin_port
					     : &((struct sockaddr_in6 *)address)->sin6_port;
}

bool cm_address_is_general(const struct sockaddr_storage *address)
{
	const struct in6_addr *ip6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
	in_addr_t ip = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);

	if (address->ss_family == AF_INET)
		return ip == INADDR_ANY || IN_MULTICAST(ip);
	return IN6_IS_ADDR_UNSPECIFIED(ip6) || IN6_IS_ADDR_MULTICAST(ip6);
}

static bool is_loopback(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
}

/* Has @context's device the name @name? If that is NULL: does it replace a recorded device? */
static bool is_replay_device(const struct replay *r, const struct ibv_context *context,
			     const char *name)
{
	const struct device *device;

	if (context && name)
		return !strcmp(ibv_get_device_name(context->device), name);
	for (unsigned int i = 0; (device = devices_nth_used(r->devices, i)); i++)
		if (context && !strcmp(ibv_get_device_name(context->device), device->name))
			return true;
	return false;
}

/* Does librdmacm find @device by @address? */
static bool finds_device(struct replay *r, const struct sockaddr_storage *address,
			 const char *device)
{
	const struct cm_lib *lib = &r->cm->lib;
	struct sockaddr_storage copy = *address;
	struct rdma_cm_id *id;
	bool found;

	*cm_address_port(&copy) = 0;
	if (lib->create_id(cm_channel_of(r, 0), &id, NULL, RDMA_PS_TCP))
		return false;
	found = !lib->bind_addr(id, (struct sockaddr *)&copy) &&
		is_replay_device(r, id->verbs, device);
	lib->destroy_id(id);
	return found;
}

/* Find an address of this machine, of @family, by which librdmacm finds @device. */
static bool find_own_address(struct replay *r, const char *device, int family, bool loopback,
			     struct sockaddr_storage *ret_own)
{
	struct ifaddrs *list, *at;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (at = list; at && !found; at = at->ifa_next) {
		struct sockaddr_storage own = { 0 };

		if (!at->ifa_addr || at->ifa_addr->sa_family != family)
			continue;
		memcpy(&own, at->ifa_addr,
		       family == AF_INET ? sizeof(struct sockaddr_in)
					 : sizeof(struct sockaddr_in6));
		found = is_loopback(&own) == loopback && finds_device(r, &own, device);
		if (found)
			*ret_own = own;
	}
	freeifaddrs(list);
	return found;
}

static bool find_any_address(struct replay *r, const char *device, int family,
			     struct sockaddr_storage *ret_own)
{
	return find_own_address(r, device, family, false, ret_own) ||
	       find_own_address(r, device, family, true, ret_own);
}

bool cm_address_find_own(struct replay *r, const char *device, struct sockaddr_storage *ret_own)
{
	return find_any_address(r, device, AF_INET, ret_own) ||
	       find_any_address(r, device, AF_INET6, ret_own);
}

bool cm_address_probe(struct replay *r)
{
	struct sockaddr_storage own;

	return cm_address_find_own(r, NULL, &own);
}

static bool is_same_ip(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	struct sockaddr_storage x = *a, y = *b;

	*cm_address_port(&x) = *cm_address_port(&y) = 0;
	return !memcmp(&x, &y, sizeof(x));
}

/* The replayed address of a recorded one; hosts are stored in pairs: recorded, replayed. */
static const struct sockaddr_storage *find_host(const struct cm *cm,
						const struct sockaddr_storage *there)
{
	for (size_t i = 0; i + 1 < cm->nhosts; i += 2)
		if (is_same_ip(&cm->hosts[i], there))
			return &cm->hosts[i + 1];
	return NULL;
}

void cm_address_translate(struct replay *r, struct sockaddr_storage *address)
{
	const struct sockaddr_storage *known = find_host(r->cm, address);
	struct sockaddr_storage here = *address, *add;
	uint16_t port = *cm_address_port(address);

	if (cm_address_is_general(address))
		return;
	if (known) {
		here = *known;
	} else {
		if (!finds_device(r, address, NULL))
			find_any_address(r, NULL, address->ss_family, &here);
		for (int i = 0; i < 2; i++) {
			add = vec_push(r->cm->hosts, r->cm->nhosts);
			if (add)
				*add = i ? here : *address;
		}
	}
	*address = here;
	*cm_address_port(address) = port;
}

/* The port in the text of an address. */
static const char *port_text(const char *address)
{
	const char *colon = strrchr(address, ':');

	return colon ? colon : address;
}

/* Do messages to @there reach an identifier that is bound to @place? */
static bool is_reached(const char *place, const char *there)
{
	if (!strcmp(place, there))
		return true;
	return (!strncmp(place, "0.0.0.0:", 8) || !strncmp(place, "[::]:", 5)) &&
	       !strcmp(port_text(place), port_text(there));
}

struct cm_place *cm_place_find(struct replay *r, const char *there, bool datagrams, bool refused)
{
	struct cm *cm = r->cm;

	for (size_t i = cm->nplaces; i-- > 0;)
		if (cm->places[i].datagrams == datagrams && cm->places[i].refused == refused &&
		    (is_reached(cm->places[i].there, there) ||
		     is_reached(there, cm->places[i].there)))
			return &cm->places[i];
	return NULL;
}

int cm_place_note(struct replay *r, const char *there, bool datagrams, bool refused, uint16_t port,
		  struct cm_end *keeper)
{
	struct cm_place *place = NULL;

	for (size_t i = 0; i < r->cm->nplaces; i++)
		if (!strcmp(r->cm->places[i].there, there) &&
		    r->cm->places[i].datagrams == datagrams && r->cm->places[i].refused == refused)
			place = &r->cm->places[i];
	if (!place)
		place = vec_push(r->cm->places, r->cm->nplaces);
	if (!place)
		return -ENOMEM;
	snprintf(place->there, sizeof(place->there), "%s", there);
	place->datagrams = datagrams;
	place->refused = refused;
	place->port = port;
	place->keeper = keeper;
	place->listened = false;
	return 0;
}

void cm_place_report(struct replay *r)
{
	char text[ADDRESSES_SHOWN * 2 * SOCKADDR_TEXT] = "", here[SOCKADDR_TEXT];
	struct sockaddr_storage address;
	size_t n = 0, used = 0;

	for (size_t i = 0; i < r->cm->nplaces; i++) {
		const struct cm_place *place = &r->cm->places[i];

		if (!cm_address_parse(place->there, &address))
			continue;
		cm_address_translate(r, &address);
		*cm_address_port(&address) = place->port;
		sockaddr_text(&address, sizeof(address), here);
		if (n++ < ADDRESSES_SHOWN)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s is %s",
						 used ? ", " : "", place->there, here);
	}
	if (n)
		outcome_note(r->outcome, "addresses of librdmacm: %s%s", text,
			     n > ADDRESSES_SHOWN ? ", and more" : "");
}
