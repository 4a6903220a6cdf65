module github.com/zramfs/zramfs/tools/codecbench

go 1.26.0

require (
	github.com/klauspost/compress v1.20.3
	github.com/minio/minlz v1.2.3
	github.com/pierrec/lz4/v4 v4.1.33
	github.com/zramfs/zramfs v0.0.0
	golang.org/x/sys v0.49.0
)

require github.com/klauspost/cpuid/v2 v2.4.2 // indirect

replace github.com/zramfs/zramfs => ../..
