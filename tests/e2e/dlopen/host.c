/*
 * A host of plug-ins: opens one (argv[1]), calls its call_plug(), closes it; or does that with
 * librdmacm itself, after other mappings have taken the addresses. argv[2]: with RTLD_GLOBAL.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;
	char line[1000];

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	if (maps)
		fclose(maps);
	return found;
}

/* Without a plug-in. */
static int use_channel(void *lib)
{
	void *(*create)(void) = (void *(*)(void))dlsym(lib, "rdma_create_event_channel");
	void (*destroy)(void *) = (void (*)(void *))dlsym(lib, "rdma_destroy_event_channel");
	void *channel = create();

	if (channel)
		destroy(channel);
	return !!channel;
}

int main(int argc, char **argv)
{
	int mode = RTLD_NOW | (argc > 2 ? RTLD_GLOBAL : RTLD_LOCAL);

	for (int i = 0; i < 4; i++) {
		void *lib = dlopen(argv[1], mode);
		int (*plug)(void) = lib ? (int (*)(void))dlsym(lib, "call_plug") : NULL;

		if (!lib)
			return puts(dlerror()), 1;
		printf("%d: %d", i, plug ? plug() : use_channel(lib));
		printf(", closed: %d", dlclose(lib));
		printf(", mapped: %d %d\n", is_mapped("librdmacm"), is_mapped(argv[1]));
		fflush(stdout);
		dlopen(i % 2 ? "libcrypt.so.1" : "libz.so.1", RTLD_NOW);
	}
	return 0;
}
