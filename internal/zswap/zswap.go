// SPDX-License-Identifier: Apache-2.0

// Package zswap has what a command needs of the kernel's zswap as the hot tier of a device: whether
// it can be one on this machine, the parameters that make it one, and what it holds.
//
// zswap keeps pages that the kernel swaps out compressed in memory of the kernel, and answers
// faults on them without a request to the device (Documentation/admin-guide/mm/zswap.rst). It
// writes back pages that were not used for long, and the device stores these. Its parameters are
// those of the machine: every swap device has zswap in front of it, or none.
//
// Functions are safe for concurrent use. No state is kept.
package zswap

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/tune"
)

// parameters are the files of zswap's parameters.
const parameters = "/sys/module/zswap/parameters/"

// The parameters (mm/zswap.c of the kernel).
const (
	Enabled    tune.Parameter = parameters + "enabled" // Y or N
	compressor tune.Parameter = parameters + "compressor"
	maxPool    tune.Parameter = parameters + "max_pool_percent"
	accept     tune.Parameter = parameters + "accept_threshold_percent"
	shrinker   tune.Parameter = parameters + "shrinker_enabled"
	allocator  tune.Parameter = parameters + "zpool" // gone in Linux 6.18
	// PageCluster is the parameter of readahead (Documentation/admin-guide/sysctl/vm.rst).
	PageCluster tune.Parameter = "vm.page-cluster"
)

// Parameters returns those that Settings set.
func Parameters() (all []tune.Parameter) {
	for _, s := range Settings(DefaultShare) {
		all = append(all, s.Parameter)
	}
	return all
}

// zsmalloc is the allocator that packs pages densely. The others hold two or three pages in a page
// of memory at most.
const zsmalloc = "zsmalloc"

// compressors are the compressors to take, the best first: which of them the kernel has shows when
// they are set.
var compressors = []string{"lz4", "lzo-rle", "lzo", "zstd"}

// The first kernel whose zswap frees its copy of a page when that is read. Before it a page in use
// takes memory twice.
const (
	firstMajor = 6
	firstMinor = 9
)

// ErrUnfit is wrapped by errors that say why zswap cannot be a hot tier here.
var ErrUnfit = errors.New("zswap cannot hold the hot pages here")

// Unfit returns why zswap cannot be the hot tier of a device on m; nil if it can. The error is of
// one line and wraps ErrUnfit.
func Unfit(m host.Root) error {
	release, major, minor, err := m.KernelRelease()
	if err == nil && (major < firstMajor || major == firstMajor && minor < firstMinor) {
		return fmt.Errorf("%w: Linux %s keeps a copy of each page that is read back; it needs %d.%d", ErrUnfit, release, firstMajor, firstMinor)
	}
	if _, err := Enabled.Read(m); err != nil {
		return fmt.Errorf("%w: the kernel has none (CONFIG_ZSWAP)", ErrUnfit)
	}
	if name, err := allocator.Read(m); err == nil && name != zsmalloc {
		return fmt.Errorf("%w: its allocator is %s, which wastes memory: echo %s > %s", ErrUnfit, name, zsmalloc, allocator)
	}
	if !Running(m) && readOnly(m) {
		return fmt.Errorf("%w: it is off, and %s is on a read-only mount, as in most containers", ErrUnfit, Enabled)
	}
	return nil
}

// readOnly reports whether no process can turn zswap on by the mount of /sys that is here.
func readOnly(m host.Root) bool {
	file, err := os.OpenFile(m.Path(string(Enabled)), os.O_WRONLY, 0)
	if err == nil {
		_ = file.Close() // nothing was written
	}
	return errors.Is(err, syscall.EROFS)
}

// Running reports whether zswap compresses pages now.
func Running(m host.Root) bool {
	value, err := Enabled.Read(m)
	return err == nil && value == "Y"
}

// Settings make zswap hold up to share per cent of the memory. The first one turns it on: before
// zswap was on once, the kernel takes any name of a compressor, and when it turns zswap on, it
// replaces a name that it does not have by another (zswap_setup in mm/zswap.c).
func Settings(share int) []tune.Setting {
	return []tune.Setting{
		{Parameter: Enabled, Value: "Y"},
		{Parameter: compressor, Value: compressors[0], Or: compressors[1:]},
		{Parameter: maxPool, Value: strconv.Itoa(share)},
		// A pool that is full takes pages again as soon as there is room. With less it would send
		// hot pages to the device until so much of it is free.
		{Parameter: accept, Value: "100"},
		// Under pressure it writes back what is cold, in cgroup v2.
		{Parameter: shrinker, Value: "Y"},
		// A page of zswap costs no request, and each page that is read ahead in vain evicts
		// another. Two at a time halve the requests for pages that the device has.
		{Parameter: PageCluster, Value: "1"},
	}
}

// Describe returns the limit and the compressor of zswap as they are now.
func Describe(m host.Root) string {
	share, err := maxPool.Read(m)
	if err != nil {
		return err.Error()
	}
	by, err := compressor.Read(m)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("up to %s%% of RAM, by %s", share, by)
}

// A Policy says whether a device gets zswap in front of it.
type Policy struct {
	Mode  string // Auto, On or Off
	Share int    // per cent of the memory that zswap may take; of Auto and On
}

// The modes of a Policy.
const (
	Auto = "auto" // where zswap is fit, and as it is where an administrator has it on
	On   = "on"
	Off  = "off"
)

// DefaultShare is the share of the memory that zswap may take where none is given, in per cent.
const DefaultShare = 30

// Parse reads a policy: auto, on, off, or a share of the memory as 30%, which is on.
func Parse(text string) (Policy, error) {
	switch text {
	case Auto, On:
		return Policy{Mode: text, Share: DefaultShare}, nil
	case Off:
		return Policy{Mode: Off}, nil
	}
	number, ok := strings.CutSuffix(text, "%")
	share, err := strconv.Atoi(number)
	if !ok || err != nil || share < 1 || share > 100 {
		return Policy{}, fmt.Errorf("zswap %q: use auto, on, off, or a share of RAM from 1%% to 100%%", text)
	}
	return Policy{Mode: On, Share: share}, nil
}

// String returns what Parse reads.
func (p Policy) String() string {
	if p.Mode == On && p.Share != DefaultShare {
		return strconv.Itoa(p.Share) + "%"
	}
	return p.Mode
}
