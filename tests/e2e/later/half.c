#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static atomic_int turn, looker;
static int give_back(int n)
{
	return n;
}
static int is_waiting(void)
{
	char path[64], text[512] = "";
	FILE *f;
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", looker);
	f = fopen(path, "r");
	if (f) {
		text[fread(text, 1, sizeof(text) - 1, f)] = 0;
		fclose(f);
	}
	return strstr(text, ") S ") != NULL;
}
typedef int has_fn(int);

static has_fn *resolve_program_has(void)
{
	turn = 1;
	for (int i = 0; i < 5000 && !is_waiting(); i++)
		usleep(1000);
	return give_back;
}
int program_has(int n) __attribute__((ifunc("resolve_program_has")));
static void *look_around(void *unused)
{
	looker = gettid();
	while (!turn)
		;
	dlsym(RTLD_DEFAULT,
	      "no_such_thing"); /* scans the loaded objects, then waits for the loader */
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	void *plug;
	int (*run_plug)(void *);
	ibv_get_device_list(NULL);
	pthread_create(&thread, NULL, look_around, NULL);
	plug = dlopen(argv[1], RTLD_NOW);
	pthread_join(thread, NULL);
	run_plug = plug ? (int (*)(void *))dlsym(plug, "run_plug") : NULL;
	printf("%d %d\n", run_plug ? run_plug(plug) : -1, argc);
	return 0;
}
