// SPDX-License-Identifier: Apache-2.0

package driver

import "fmt"

// A Code is a CUresult other than success. It is an error, so that errors.Is
// finds it in an [Error].
type Code uint32

// The codes that this package or its users test for.
const (
	InvalidValue          Code = 1
	OutOfMemory           Code = 2
	NotInitialized        Code = 3
	Deinitialized         Code = 4
	StubLibrary           Code = 34
	NoDevice              Code = 100
	InvalidDevice         Code = 101
	InvalidImage          Code = 200
	InvalidContext        Code = 201
	UncorrectableECC      Code = 214
	InvalidPTX            Code = 218
	NVLinkUncorrectable   Code = 220
	UnsupportedPTXVersion Code = 222
	Contained             Code = 226
	SymbolNotFound        Code = 500
	InvalidHandle         Code = 400
	NotReady              Code = 600
	IllegalAddress        Code = 700
	OutOfResources        Code = 701
	LaunchTimeout         Code = 702
	ContextDestroyed      Code = 709
	Assert                Code = 710
	RegisteredAlready     Code = 712
	NotRegistered         Code = 713
	HardwareStackError    Code = 714
	IllegalInstruction    Code = 715
	MisalignedAddress     Code = 716
	InvalidAddressSpace   Code = 717
	InvalidPC             Code = 718
	LaunchFailed          Code = 719
	TensorMemoryLeak      Code = 721
	NotPermitted          Code = 800
	NotSupported          Code = 801
	SystemNotReady        Code = 802
	DriverMismatch        Code = 803
	CompatNotSupported    Code = 804
	MPSClientTerminated   Code = 810
	Unknown               Code = 999
)

var codeNames = map[Code]string{
	InvalidValue:          "CUDA_ERROR_INVALID_VALUE",
	OutOfMemory:           "CUDA_ERROR_OUT_OF_MEMORY",
	NotInitialized:        "CUDA_ERROR_NOT_INITIALIZED",
	Deinitialized:         "CUDA_ERROR_DEINITIALIZED",
	StubLibrary:           "CUDA_ERROR_STUB_LIBRARY",
	NoDevice:              "CUDA_ERROR_NO_DEVICE",
	InvalidDevice:         "CUDA_ERROR_INVALID_DEVICE",
	InvalidImage:          "CUDA_ERROR_INVALID_IMAGE",
	InvalidContext:        "CUDA_ERROR_INVALID_CONTEXT",
	UncorrectableECC:      "CUDA_ERROR_ECC_UNCORRECTABLE",
	InvalidPTX:            "CUDA_ERROR_INVALID_PTX",
	NVLinkUncorrectable:   "CUDA_ERROR_NVLINK_UNCORRECTABLE",
	UnsupportedPTXVersion: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
	Contained:             "CUDA_ERROR_CONTAINED",
	SymbolNotFound:        "CUDA_ERROR_NOT_FOUND",
	InvalidHandle:         "CUDA_ERROR_INVALID_HANDLE",
	NotReady:              "CUDA_ERROR_NOT_READY",
	IllegalAddress:        "CUDA_ERROR_ILLEGAL_ADDRESS",
	OutOfResources:        "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
	LaunchTimeout:         "CUDA_ERROR_LAUNCH_TIMEOUT",
	ContextDestroyed:      "CUDA_ERROR_CONTEXT_IS_DESTROYED",
	Assert:                "CUDA_ERROR_ASSERT",
	RegisteredAlready:     "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
	NotRegistered:         "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
	HardwareStackError:    "CUDA_ERROR_HARDWARE_STACK_ERROR",
	IllegalInstruction:    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
	MisalignedAddress:     "CUDA_ERROR_MISALIGNED_ADDRESS",
	InvalidAddressSpace:   "CUDA_ERROR_INVALID_ADDRESS_SPACE",
	InvalidPC:             "CUDA_ERROR_INVALID_PC",
	LaunchFailed:          "CUDA_ERROR_LAUNCH_FAILED",
	TensorMemoryLeak:      "CUDA_ERROR_TENSOR_MEMORY_LEAK",
	NotPermitted:          "CUDA_ERROR_NOT_PERMITTED",
	NotSupported:          "CUDA_ERROR_NOT_SUPPORTED",
	SystemNotReady:        "CUDA_ERROR_SYSTEM_NOT_READY",
	DriverMismatch:        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
	CompatNotSupported:    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
	MPSClientTerminated:   "CUDA_ERROR_MPS_CLIENT_TERMINATED",
	Unknown:               "CUDA_ERROR_UNKNOWN",
}

// Error returns the code's name as CUDA writes it.
func (c Code) Error() string {
	if name := codeNames[c]; name != "" {
		return name
	}
	return fmt.Sprintf("CUDA error %d", uint32(c))
}

// Sticky reports whether CUDA refuses all further work in a context after this code.
func (c Code) Sticky() bool {
	switch c {
	case Deinitialized, UncorrectableECC, NVLinkUncorrectable, Contained, IllegalAddress, LaunchTimeout, ContextDestroyed, Assert, HardwareStackError, IllegalInstruction,
		MisalignedAddress, InvalidAddressSpace, InvalidPC, LaunchFailed, TensorMemoryLeak, MPSClientTerminated:
		return true
	}
	return false
}
