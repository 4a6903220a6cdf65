// SPDX-License-Identifier: Apache-2.0
//
// A libcuda for tests: it has the functions that package driver calls, with the types that cuda.h gives them, on one device whose memory is the
// heap. What it is called with it checks: contexts must be current on the thread, addresses must be those that it gave out or was told of.
// Work of a stream is done at once. The kernels that it can run are "increment", of an array and how long it is, and "add", of a word. It prints how many contexts are left
// whenever one is given back.
//
// FAKE_VERSION is the version to tell of, FAKE_MIG makes the device a part of one, FAKE_INIT what cuInit answers, FAKE_HANG makes cuEventSynchronize
// never return, FAKE_WAIT makes it take so many milliseconds, FAKE_LAUNCH is what cuLaunchKernel answers. With FAKE_SPEED, in bytes a second, copies
// move nothing, and events come to pass when they would be over: that is to compare what calls cost while a device is at work. Compiled with -DOLD it lacks a function.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct object { int kind; struct timespec at; double until; char name[64]; } *handle;
enum { CONTEXT = 0x1111, STREAM, EVENT, MODULE, FUNCTION };

static struct object context = { .kind = CONTEXT };
static int retained, flags_set, waiting;
static __thread handle current;
static struct { char *at; size_t n; int kind; } spans[64];

static int setting(const char *name, int otherwise) {
	const char *v = getenv(name);
	return v ? atoi(v) : otherwise;
}
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static double speed(void) { // 0: as fast as memory
	static double known = -1;
	if (known < 0) known = getenv("FAKE_SPEED") ? atof(getenv("FAKE_SPEED")) : 0;
	return known;
}
#define NEED_CONTEXT do { if (current != &context || !retained) return 201; } while (0)
#define NEED(h, k) do { NEED_CONTEXT; if (!(h) || (h)->kind != (k)) return 400; } while (0)

static int span_of(const void *p, size_t n) {
	for (int i = 0; i < 64; i++)
		if (spans[i].at && (char *)p >= spans[i].at && (char *)p + n <= spans[i].at + spans[i].n) return i;
	return -1;
}
static CUresult add_span(void *p, size_t n, int kind) {
	for (int i = 0; i < 64; i++)
		if (!spans[i].at) { spans[i].at = p; spans[i].n = n; spans[i].kind = kind; return 0; }
	return 2;
}
static CUresult end_span(void *p, int kind) {
	for (int i = 0; i < 64; i++)
		if (spans[i].at == p && spans[i].kind == kind) { spans[i].at = 0; return 0; }
	return 1;
}
static CUresult make(handle *h, int kind) {
	*h = calloc(1, sizeof **h);
	(*h)->kind = kind;
	return 0;
}

CUresult cuInit(unsigned flags) { return flags ? 1 : setting("FAKE_INIT", 0); }
CUresult cuDriverGetVersion(int *v) { *v = setting("FAKE_VERSION", 12020); return 0; }
CUresult cuGetErrorName(CUresult e, const char **s) { *s = e == 910 ? "CUDA_ERROR_OF_THE_FUTURE" : 0; return e == 910 ? 0 : 1; }
CUresult cuDeviceGetCount(int *n) { *n = 1; return 0; }
CUresult cuDeviceGet(CUdevice *d, int i) { *d = 7; return i ? 101 : 0; }
CUresult cuDeviceGetName(char *s, int n, CUdevice d) { snprintf(s, n, "Fake GPU"); return d == 7 ? 0 : 101; }
CUresult cuDeviceGetUuid_v2(unsigned char *u, CUdevice d) { for (int i = 0; i < 16; i++) u[i] = i; return d == 7 ? 0 : 101; }
CUresult cuDeviceGetUuid(unsigned char *u, CUdevice d) { CUresult r = cuDeviceGetUuid_v2(u, d); u[15] += setting("FAKE_MIG", 0); return r; }
CUresult cuDeviceGetPCIBusId(char *s, int n, CUdevice d) { snprintf(s, n, "0000:3B:00.0"); return d == 7 ? 0 : 101; }
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) { *n = 80ull << 30; return d == 7 ? 0 : 101; }
CUresult cuDeviceGetAttribute(int *v, int a, CUdevice d) {
	switch (a) {
	case 1: *v = 1024; break;
	case 8: *v = 49152; break;
	case 13: *v = 1980000; break;
	case 16: *v = 132; break;
	case 38: *v = 52428800; break;
	case 40: *v = 3; break;
	case 75: *v = 9; break;
	case 76: *v = 0; break;
	case 19: case 113: *v = 1; break;
	default: return 1;
	}
	return d == 7 ? 0 : 101;
}
#ifndef OLD
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned f) { flags_set = f; return d == 7 ? 0 : 101; }
#endif
CUresult cuDevicePrimaryCtxRetain(handle *c, CUdevice d) {
	if (flags_set != 4) return 1;
	retained++;
	*c = &context;
	return d == 7 ? 0 : 101;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
	if (waiting) abort();
	if (d != 7 || retained-- <= 0) return 201;
	dprintf(1, "contexts left: %d\n", retained);
	return 0;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned *f, int *active) { *f = flags_set; *active = retained > 0; return d == 7 ? 0 : 101; }
CUresult cuCtxSetCurrent(handle c) { current = c; return c == &context && retained ? 0 : 201; }

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) { NEED_CONTEXT; *free = 79ull << 30; *total = 80ull << 30; return 0; }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	NEED_CONTEXT;
	if (n > 1ull << 30) return 2;
	void *m = aligned_alloc(256, (n + 255) / 256 * 256);
	*p = (CUdeviceptr)m;
	return add_span(m, n, 1);
}
CUresult cuMemFree_v2(CUdeviceptr p) { NEED_CONTEXT; CUresult r = end_span((void *)p, 1); if (!r) free((void *)p); return r; }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned f) {
	NEED_CONTEXT;
	if (f != 3) return 1;
	*p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
	return add_span(*p, n, 2);
}
CUresult cuMemFreeHost(void *p) { NEED_CONTEXT; CUresult r = end_span(p, 2); if (!r) free(p); return r; }
static int writable(void *p) {
	char byte;
	struct iovec here = { &byte, 1 }, there = { p, 1 };
	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1 && process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
}
CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned f) {
	NEED_CONTEXT;
	if (f != 3 && f != 11) return 1;
	if (span_of(p, 1) >= 0) return 712;
	// Linux locks for writing only what the program may write to; and locking the rest for reading alone is fit only for what nobody will write to.
	return (f == 3) != writable(p) ? 1 : add_span(p, n, 3);
}
CUresult cuMemHostUnregister(void *p) { NEED_CONTEXT; return end_span(p, 3) ? 713 : 0; }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned f) {
	NEED_CONTEXT;
	if (f || span_of(p, 1) < 0) return 1;
	*d = (CUdeviceptr)p;
	return 0;
}
static CUresult move(void *to, const void *from, size_t n, handle s, const void *device, const void *host) {
	NEED(s, STREAM);
	int d = span_of(device, n), h = span_of(host, n);
	if (d < 0 || h < 0 || spans[d].kind != 1 || spans[h].kind == 1) return 1;
	if (speed() > 0) {
		double start = now();
		s->until = (s->until > start ? s->until : start) + n / speed();
	} else {
		memcpy(to, from, n);
	}
	return 0;
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, handle s) { return move((void *)d, h, n, s, (void *)d, h); }
CUresult cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, handle s) { return move(h, (void *)d, n, s, (void *)d, h); }
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, handle s) {
	NEED(s, STREAM);
	if (span_of((void *)d, n) < 0) return 1;
	memset((void *)d, v, n);
	return 0;
}

CUresult cuStreamCreate(handle *s, unsigned f) { NEED_CONTEXT; return f == 1 ? make(s, STREAM) : 1; }
CUresult cuStreamDestroy_v2(handle s) { NEED(s, STREAM); s->kind = 0; return 0; }
CUresult cuStreamWaitEvent(handle s, handle e, unsigned f) { NEED(s, STREAM); NEED(e, EVENT); return f ? 1 : 0; }
CUresult cuEventCreate(handle *e, unsigned f) { NEED_CONTEXT; return f == 1 ? make(e, EVENT) : 1; }
CUresult cuEventDestroy_v2(handle e) { NEED(e, EVENT); e->kind = 0; return 0; }
CUresult cuEventRecord(handle e, handle s) { NEED(e, EVENT); NEED(s, STREAM); clock_gettime(CLOCK_MONOTONIC, &e->at); e->until = s->until; return 0; }
CUresult cuEventSynchronize(handle e) {
	NEED(e, EVENT);
	__atomic_add_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	while (setting("FAKE_HANG", 0)) sleep(1);
	while (speed() > 0 && now() < e->until) {}
	// So that it takes no less where the program stands still meanwhile.
	for (int i = 0; i < setting("FAKE_WAIT", 0); i++) usleep(1000);
	__atomic_sub_fetch(&waiting, 1, __ATOMIC_SEQ_CST);
	return 0;
}
CUresult cuEventElapsedTime(float *ms, handle a, handle b) {
	NEED(a, EVENT);
	NEED(b, EVENT);
	*ms = 12.5f;
	return 0;
}

CUresult cuModuleLoadDataEx(handle *m, const char *text, unsigned n, const int *options, void **values) {
	NEED_CONTEXT;
	if (n && (n != 4 || options[0] != 3 || options[1] != 4 || options[2] != 5 || options[3] != 6)) return 1;
	const char *entry = strstr(text, ".entry ");
	if (strncmp(text, ".version", 8) || !entry) return 200;
	if (n && strstr(entry, "entry stray")) {
		snprintf(values[2], (size_t)values[3], "ptxas application ptx input, line 2; error   : a planned one\nptxas fatal   : Ptx assembly aborted due to errors\n");
		return 218;
	}
	if (n) snprintf(values[0], (size_t)values[1], "translated %zu bytes", strlen(text));
	make(m, MODULE);
	sscanf(entry, ".entry %63[a-z_0-9]", (*m)->name);
	return 0;
}
CUresult cuModuleGetFunction(handle *f, handle m, const char *name) {
	NEED(m, MODULE);
	if (strcmp(name, m->name)) return 500;
	make(f, FUNCTION);
	strcpy((*f)->name, name);
	return 0;
}
CUresult cuModuleUnload(handle m) { NEED(m, MODULE); m->kind = 0; return 0; }
CUresult cuFuncGetAttribute(int *v, int a, handle f) {
	NEED(f, FUNCTION);
	*v = a == 1 ? 1000 : a == 3 ? 0 : a == 4 ? 40 : -1;
	return 0;
}
CUresult cuLaunchKernel(handle f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, handle s, void **params, void **extra) {
	NEED(f, FUNCTION);
	NEED(s, STREAM);
	int refused = setting("FAKE_LAUNCH", 0);
	if (refused) return refused;
	int add = !strcmp(f->name, "add");
	if (gy != 1 || gz != 1 || by != 1 || bz != 1 || shared || extra || (!add && strcmp(f->name, "increment"))) return 1;
	uint32_t *words = *(uint32_t **)params[0], count = add ? 1 : *(uint32_t *)params[1];
	if (bx != (add ? 32 : 64)) return 1;
	if (span_of(words, 4ul * count) < 0) return 700;
	for (uint32_t i = 0; i < count && i < gx * bx; i++) words[i]++;
	return 0;
}
