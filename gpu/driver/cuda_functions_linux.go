// SPDX-License-Identifier: Apache-2.0

//go:build cuda && (amd64 || arm64)

package driver

// A function is one of libcuda's functions used here.
type function int

const (
	cuInit function = iota
	cuDriverGetVersion
	cuGetErrorName
	cuDeviceGetCount
	cuDeviceGet
	cuDeviceGetName
	cuDeviceGetUuid
	cuDeviceGetWholeUuid
	cuDeviceGetPCIBusID
	cuDeviceTotalMem
	cuDeviceGetAttribute
	cuDevicePrimaryCtxSetFlags
	cuDevicePrimaryCtxRetain
	cuDevicePrimaryCtxRelease
	cuDevicePrimaryCtxGetState
	cuCtxSetCurrent
	cuMemGetInfo
	cuMemAlloc
	cuMemFree
	cuMemHostAlloc
	cuMemFreeHost
	cuMemHostRegister
	cuMemHostUnregister
	cuMemHostGetDevicePointer
	cuMemcpyHtoDAsync
	cuMemcpyDtoHAsync
	cuMemsetD8Async
	cuStreamCreate
	cuStreamDestroy
	cuStreamWaitEvent
	cuEventCreate
	cuEventDestroy
	cuEventRecord
	cuEventSynchronize
	cuEventElapsedTime
	cuModuleLoadDataEx
	cuModuleGetFunction
	cuModuleUnload
	cuFuncGetAttribute
	cuLaunchKernel
	functionCount
)

// functionNames has the name in CUDA's manual, which errors show, and the symbol: the header cuda.h
// renames functions to the version whose types it declares, in particular sizes of 64 bits; the
// plain names are those of CUDA 3.1. A third name is used if the second is missing.
var functionNames = [functionCount][]string{
	cuInit:                     {"cuInit", "cuInit"},
	cuDriverGetVersion:         {"cuDriverGetVersion", "cuDriverGetVersion"},
	cuGetErrorName:             {"cuGetErrorName", "cuGetErrorName"},
	cuDeviceGetCount:           {"cuDeviceGetCount", "cuDeviceGetCount"},
	cuDeviceGet:                {"cuDeviceGet", "cuDeviceGet"},
	cuDeviceGetName:            {"cuDeviceGetName", "cuDeviceGetName"},
	cuDeviceGetUuid:            {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", "cuDeviceGetUuid"},
	cuDeviceGetWholeUuid:       {"cuDeviceGetUuid", "cuDeviceGetUuid", "cuDeviceGetUuid_v2"}, // knows no parts
	cuDeviceGetPCIBusID:        {"cuDeviceGetPCIBusId", "cuDeviceGetPCIBusId"},
	cuDeviceTotalMem:           {"cuDeviceTotalMem", "cuDeviceTotalMem_v2"},
	cuDeviceGetAttribute:       {"cuDeviceGetAttribute", "cuDeviceGetAttribute"},
	cuDevicePrimaryCtxSetFlags: {"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2"},
	cuDevicePrimaryCtxRetain:   {"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRetain"},
	cuDevicePrimaryCtxRelease:  {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2"},
	cuDevicePrimaryCtxGetState: {"cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxGetState"},
	cuCtxSetCurrent:            {"cuCtxSetCurrent", "cuCtxSetCurrent"},
	cuMemGetInfo:               {"cuMemGetInfo", "cuMemGetInfo_v2"},
	cuMemAlloc:                 {"cuMemAlloc", "cuMemAlloc_v2"},
	cuMemFree:                  {"cuMemFree", "cuMemFree_v2"},
	cuMemHostAlloc:             {"cuMemHostAlloc", "cuMemHostAlloc"},
	cuMemFreeHost:              {"cuMemFreeHost", "cuMemFreeHost"},
	cuMemHostRegister:          {"cuMemHostRegister", "cuMemHostRegister_v2"},
	cuMemHostUnregister:        {"cuMemHostUnregister", "cuMemHostUnregister"},
	cuMemHostGetDevicePointer:  {"cuMemHostGetDevicePointer", "cuMemHostGetDevicePointer_v2"},
	cuMemcpyHtoDAsync:          {"cuMemcpyHtoDAsync", "cuMemcpyHtoDAsync_v2"},
	cuMemcpyDtoHAsync:          {"cuMemcpyDtoHAsync", "cuMemcpyDtoHAsync_v2"},
	cuMemsetD8Async:            {"cuMemsetD8Async", "cuMemsetD8Async"},
	cuStreamCreate:             {"cuStreamCreate", "cuStreamCreate"},
	cuStreamDestroy:            {"cuStreamDestroy", "cuStreamDestroy_v2"},
	cuStreamWaitEvent:          {"cuStreamWaitEvent", "cuStreamWaitEvent"},
	cuEventCreate:              {"cuEventCreate", "cuEventCreate"},
	cuEventDestroy:             {"cuEventDestroy", "cuEventDestroy_v2"},
	cuEventRecord:              {"cuEventRecord", "cuEventRecord"},
	cuEventSynchronize:         {"cuEventSynchronize", "cuEventSynchronize"},
	cuEventElapsedTime:         {"cuEventElapsedTime", "cuEventElapsedTime"},
	cuModuleLoadDataEx:         {"cuModuleLoadDataEx", "cuModuleLoadDataEx"},
	cuModuleGetFunction:        {"cuModuleGetFunction", "cuModuleGetFunction"},
	cuModuleUnload:             {"cuModuleUnload", "cuModuleUnload"},
	cuFuncGetAttribute:         {"cuFuncGetAttribute", "cuFuncGetAttribute"},
	cuLaunchKernel:             {"cuLaunchKernel", "cuLaunchKernel"},
}

// Flags, attributes and options, by CUDA's numbers.
const (
	ctxSchedBlockingSync = 4

	hostPortable  = 1
	hostDeviceMap = 2
	hostReadOnly  = 8

	streamNonBlocking = 1
	eventBlockingSync = 1

	attributeThreadsPerBlock   = 1
	attributeSharedPerBlock    = 8
	attributeClockRate         = 13
	attributeMultiprocessors   = 16
	attributeCanMapHost        = 19
	attributeL2                = 38
	attributeAsyncEngines      = 40
	attributeMajor             = 75
	attributeMinor             = 76
	attributeReadOnlyRegister  = 113
	functionAttributeShared    = 1
	functionAttributeLocal     = 3
	functionAttributeRegisters = 4

	jitInfoLog      = 3
	jitInfoLogSize  = 4
	jitErrorLog     = 5
	jitErrorLogSize = 6
)
