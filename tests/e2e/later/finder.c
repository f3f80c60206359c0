#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
void program_finds(void), library_finds(void);
int main(int argc, char **argv)
{
	void *plug;
	void (*finds)(void);
	(void)argc;
	(ibv_get_device_list)(NULL);
	program_finds();
	library_finds();
	plug = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	finds = plug ? (void (*)(void))dlsym(plug, "plug_finds") : NULL;
	if (finds)
		finds();
	return !finds;
}
