// SPDX-License-Identifier: Apache-2.0
//
// loop KERNEL.ptx NAME DEVICE LAUNCHES AT_ONCE ROUNDS BYTES: what a launch, and a round of a copy to the device, a launch, a copy back and waiting take in C, the
// shortest of all, in nanoseconds: what package driver's calls are measured by. Build: cc -O2 -o loop loop.c -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *lib;

static void *function(const char *name) {
	void *f = dlsym(lib, name);
	if (!f) {
		fprintf(stderr, "loop: libcuda has no %s\n", name);
		exit(1);
	}
	return f;
}

static void must(int code, const char *call) {
	if (code) {
		fprintf(stderr, "loop: %s: error %d\n", call, code);
		exit(1);
	}
}

// A call of a function of libcuda by name, with the types of its parameters.
#define CALL(name, types, ...) must(((int(*) types)name##_)(__VA_ARGS__), #name)
#define NEED(name, symbol) void *name##_ = function(symbol)

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static char *text(const char *file) {
	FILE *f = fopen(file, "rb");
	char *b = calloc(1, 1 << 20);
	if (!f || !b || !fread(b, 1, (1 << 20) - 1, f)) {
		fprintf(stderr, "loop: cannot read %s\n", file);
		exit(1);
	}
	fclose(f);
	return b;
}

int main(int argc, char **argv) {
	if (argc != 8 || !(lib = dlopen("libcuda.so.1", RTLD_NOW))) {
		fprintf(stderr, "loop: seven arguments and libcuda.so.1 are needed\n");
		return 2;
	}
	int device, launches = atoi(argv[4]), at_once = atoi(argv[5]), rounds = atoi(argv[6]);
	size_t bytes = strtoul(argv[7], 0, 10);
	NEED(cuInit, "cuInit");
	NEED(cuDeviceGet, "cuDeviceGet");
	NEED(cuDevicePrimaryCtxSetFlags, "cuDevicePrimaryCtxSetFlags_v2");
	NEED(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
	NEED(cuCtxSetCurrent, "cuCtxSetCurrent");
	NEED(cuModuleLoadDataEx, "cuModuleLoadDataEx");
	NEED(cuModuleGetFunction, "cuModuleGetFunction");
	NEED(cuMemAlloc, "cuMemAlloc_v2");
	NEED(cuMemHostAlloc, "cuMemHostAlloc");
	NEED(cuStreamCreate, "cuStreamCreate");
	NEED(cuEventCreate, "cuEventCreate");
	NEED(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
	NEED(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
	NEED(cuLaunchKernel, "cuLaunchKernel");
	NEED(cuEventRecord, "cuEventRecord");
	NEED(cuEventSynchronize, "cuEventSynchronize");

	void *context, *module, *kernel, *stream, *event, *host;
	uint64_t far;
	CALL(cuInit, (unsigned), 0);
	CALL(cuDeviceGet, (int *, int), &device, atoi(argv[3]));
	CALL(cuDevicePrimaryCtxSetFlags, (int, unsigned), device, 4); // waiting sleeps, as in package driver
	CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
	CALL(cuCtxSetCurrent, (void *), context);
	CALL(cuModuleLoadDataEx, (void **, const void *, unsigned, void *, void *), &module, text(argv[1]), 0, 0, 0);
	CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, argv[2]);
	CALL(cuMemAlloc, (uint64_t *, size_t), &far, bytes);
	CALL(cuMemHostAlloc, (void **, size_t, unsigned), &host, bytes, 3); // portable and mapped, as ours is
	CALL(cuStreamCreate, (void **, unsigned), &stream, 1); // one that does not wait for the default stream
	CALL(cuEventCreate, (void **, unsigned), &event, 1);

	void *arguments[] = {&far};
	double launch = 1e18, round = 1e18;
#define LAUNCH() CALL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), \
		kernel, 1, 1, 1, 32, 1, 1, 0, stream, arguments, 0)
	for (int left = launches; left > 0; left -= at_once) {
		int n = left < at_once ? left : at_once;
		double start = now();
		for (int i = 0; i < n; i++) LAUNCH();
		double took = (now() - start) / n;
		launch = took < launch ? took : launch;
		CALL(cuEventRecord, (void *, void *), event, stream);
		CALL(cuEventSynchronize, (void *), event);
	}
	for (int i = 0; i < rounds; i++) {
		double start = now();
		CALL(cuMemcpyHtoDAsync, (uint64_t, const void *, size_t, void *), far, host, bytes, stream);
		LAUNCH();
		CALL(cuMemcpyDtoHAsync, (void *, uint64_t, size_t, void *), host, far, bytes, stream);
		CALL(cuEventRecord, (void *, void *), event, stream);
		CALL(cuEventSynchronize, (void *), event);
		double took = now() - start;
		round = took < round ? took : round;
	}
	printf("%.1f %.1f\n", launch, round);
	return 0;
}
