// Protection domains that are left: by a method of a template, and by what looks like Rust and D.
#include <infiniband/verbs.h>

extern "C" {
void in_rust(ibv_context *context) __asm__("_RNvNtCs1234_7mycrate6client4open");
void in_old_rust(ibv_context *context) __asm__("_ZN8rdma_app6client4open17h0123456789abcdefE");
void in_d(ibv_context *context) __asm__("_D3app4openFiZv");
}

#define APART __attribute__((noinline))

APART void in_rust(ibv_context *context)
{
	ibv_alloc_pd(context);
	asm volatile("");
}

APART void in_old_rust(ibv_context *context)
{
	ibv_alloc_pd(context);
	asm volatile("");
}

APART void in_d(ibv_context *context)
{
	ibv_alloc_pd(context);
	asm volatile("");
}

namespace net {
template <int N> struct Server {
	ibv_context *context;
	APART void start(const char *)
	{
		ibv_alloc_pd(context);
		asm volatile("");
	}
};
}

int main()
{
	ibv_device **list = ibv_get_device_list(nullptr);
	ibv_context *context = ibv_open_device(list[0]);
	net::Server<4> server{ context };

	server.start("now");
	in_rust(context);
	in_old_rust(context);
	in_d(context);
	ibv_close_device(context);
	return 0;
}
