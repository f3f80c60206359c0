#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
int main(void)
{
	void *plug = (ibv_get_device_list(NULL), dlopen("./open_plug.so", RTLD_NOW));
	int (*run_plug)(void *) = plug ? (int (*)(void *))dlsym(plug, "run_plug") : NULL;
	printf("%d\n", run_plug ? run_plug(plug) : -1);
	return 0;
}
