// SPDX-License-Identifier: Apache-2.0

// Package settings changes what may be changed of a device while it is in use, by its attributes
// below block/zram0. They are kernel zram's, and docs/attributes.md describes them.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zramfs/zramfs/codec"
	"github.com/zramfs/zramfs/internal/helper"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/store"
)

// ErrAtWork means that a device carries such a change out already; later it can be tried again.
var ErrAtWork = errors.New("try again later")

// ErrUsage means that a change cannot be read; the message says what is accepted.
var ErrUsage = errors.New("cannot be set")

// A Key is what can be set.
type Key struct {
	// Name stands before the equals sign.
	Name string
	// Zram is kernel zram's name of it, which may stand there too; empty where zram has none.
	Zram string
	// Values says in a few words what stands behind it.
	Values string
	// Effect says what it changes.
	Effect string

	// orders returns what is written to attributes for a value, in this order. ram is in bytes.
	orders func(value string, ram uint64) ([]order, error)
	now    func(d swapdev.Device) (string, error)
}

// An order is a text for an attribute.
type order struct{ attribute, text string }

// to makes orders of what is written to one attribute.
func to(attribute string, text func(value string, ram uint64) (string, error)) func(string, uint64) ([]order, error) {
	return func(value string, ram uint64) ([]order, error) {
		t, err := text(value, ram)
		return []order{{attribute, t}}, err
	}
}

// Keys lists all that can be set.
func Keys() []Key {
	return []Key{
		{"algorithm", "comp_algorithm", "a name, as page:dense or zstd(level=3)", "of pages written from now on", to("comp_algorithm", algorithmText),
			shown(func(d swapdev.Device) string { return d.Status.Algorithm })},
		{"level", "", "1 to 19, for zstd", "of pages written from now on", to("algorithm_params", levelText),
			shown(func(d swapdev.Device) string { return levelOf(d.Status.Algorithm) })},
		{"recomp-algorithm", "recomp_algorithm", "a name, as zstd(level=9)", "what zramfs recompress makes objects smaller by", to("recomp_algorithm", recompressionText), recompressionNow},
		{"mem-limit", "mem_limit", "a size, as 2G, or as 50% of RAM; 0 for none", "the most memory that the device may take", to("mem_limit", limitText),
			shown(func(d swapdev.Device) string { return limitOf(d.Status.MemLimit) })},
		{"peak", "mem_used_max", "0", "the most memory that was in use counts from now on", to("mem_used_max", peakText),
			shown(func(d swapdev.Device) string { return term.Size(d.Status.Memory.MemUsedMax) })},
		{"spill", "backing_dev", "a path", "the backing device of a device without a size", to("backing_dev", pathText),
			shown(func(d swapdev.Device) string { return backingOf(d.Status.Backing.Path) })},
		{"writeback-limit", "writeback_limit", "a size, as 1G; none for no limit", "the most that may yet be written to the backing device", writebackOrders,
			shown(func(d swapdev.Device) string { return writebackOf(d.Status.Backing) })},
		{zswapKey, "", "auto, on, off, or a share of RAM, as 30%", "whether zswap keeps hot pages in front of the device", zswapOrders, zswapNow},
	}
}

// IsKey reports whether a word is the name of a key.
func IsKey(word string) bool {
	return slices.ContainsFunc(Keys(), func(k Key) bool { return word != "" && (word == k.Name || word == k.Zram) })
}

// Now returns the present value for people, of a device that has answered. One that the status does
// not have is read, and the error is that of the read.
func (k Key) Now(d swapdev.Device) (string, error) { return k.now(d) }

// shown makes now of a value that the status has.
func shown(value func(d swapdev.Device) string) func(d swapdev.Device) (string, error) {
	return func(d swapdev.Device) (string, error) { return value(d), nil }
}

// A Change is a value for an attribute.
type Change struct {
	key    Key
	value  string
	orders []order
}

// Parse reads a change, KEY=VALUE. Its errors wrap ErrUsage.
func Parse(argument string, ram uint64) (Change, error) {
	name, value, ok := strings.Cut(argument, "=")
	if !ok {
		return Change{}, fmt.Errorf("%w: %q: write KEY=VALUE, as mem-limit=2G", ErrUsage, argument)
	}
	var names []string
	for _, k := range Keys() {
		if name != k.Name && (name == "" || name != k.Zram) {
			names = append(names, k.Name)
			continue
		}
		orders, err := k.orders(value, ram)
		if err != nil {
			return Change{}, fmt.Errorf("%w: %s: %w", ErrUsage, argument, err)
		}
		return Change{k, value, orders}, nil
	}
	hint := ""
	if near := term.Nearest(name, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return Change{}, fmt.Errorf("%w: there is no %q%s Available: %s", ErrUsage, name, cmp.Or(hint, "."), strings.Join(names, ", "))
}

// Check returns an error that wraps ErrUsage for a change that d cannot have.
func (c Change) Check(d swapdev.Device) error {
	if limit, ok := c.limit(); ok {
		if err := CheckLimit(limit, d.Status.Disksize); err != nil {
			return fmt.Errorf("%w: %w", ErrUsage, err)
		}
	}
	return nil
}

// CheckLimit refuses a memory limit that a device of that size cannot keep.
func CheckLimit(limit, disksize uint64) error {
	if least := store.LeastLimit(store.Config{Disksize: disksize, MemLimit: limit}); limit != 0 && limit < least {
		return fmt.Errorf("memory limit %s is too small: a %s device needs %s before it stores anything",
			term.Size(limit), term.Size(disksize), term.Size(least))
	}
	return nil
}

// limit returns the memory limit in bytes, if the change is one.
func (c Change) limit() (uint64, bool) {
	if c.key.Zram != "mem_limit" {
		return 0, false
	}
	n, err := strconv.ParseUint(c.orders[0].text, 10, 64)
	return n, err == nil
}

// Remark says what else follows from a change of d, which is as it was before; empty for nothing.
func (c Change) Remark(d swapdev.Device) string {
	var words []string
	if term.ByThousands(c.value) {
		if n, err := term.ParseBytes(c.value, 0); err == nil {
			words = append(words, fmt.Sprintf("%s=%s is %s: KB, MB and GB count by 1000, K, M and G by 1024", c.key.Name, c.value, term.Size(n)))
		}
	}
	if limit, ok := c.limit(); ok && limit != 0 && d.Status.Memory.MemUsedTotal > limit {
		words = append(words, fmt.Sprintf("the store takes %s, more than the limit of %s: the device packs its pages until they fit; until then writes fail, and their pages stay in memory",
			term.Size(d.Status.Memory.MemUsedTotal), term.Size(limit)))
	}
	return strings.Join(words, "; ")
}

// setTime bounds the wait for a device that makes compressors for another algorithm.
const setTime = 10 * time.Second

// Apply makes the change on a device. It returns once that has taken effect.
func (c Change) Apply(d swapdev.Device) error {
	if c.key.Name == zswapKey {
		return setZswap(d, c.value)
	}
	for _, o := range c.orders {
		_, err := helper.CallTimeout(setTime, helper.Write, attributePath(d, o.attribute), o.text)
		if err := explain(d, fmt.Sprintf("set %s=%s of %s", c.key.Name, c.value, d.Word()), o, err); err != nil {
			return err
		}
	}
	return nil
}

// attributePath is the path of an attribute of a device.
func attributePath(d swapdev.Device, attribute string) string {
	return filepath.Join(d.Dir, "block", "zram0", attribute)
}

// explain says what the error number of an attribute of d means; nil for nil.
func explain(d swapdev.Device, what string, o order, err error) error {
	if err == nil {
		return nil
	}
	if gone := d.Gone(); gone != nil {
		return fmt.Errorf("%s: %w", what, gone)
	}
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%s: permission denied: run as root", what)
	case o.attribute == "backing_dev" && errors.Is(err, syscall.EBUSY):
		return fmt.Errorf("%s: the device has a size, or something uses the path, which its log says: name another, or name it by up or mount --spill PATH when the device is made", what)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%s: the device does not take it; its log says why", what)
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%s: the device is at work for another command: %w", what, ErrAtWork)
	case errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("%s: the memory limit leaves no room for that: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

func algorithmText(value string, _ uint64) (string, error) {
	a, err := codec.Parse(value)
	if err != nil {
		return "", err
	}
	if engine, _ := a.Engine(); engine != "" {
		return "", errors.New("engines are for export, import and bench")
	}
	return a.String(), nil
}

func levelText(value string, _ uint64) (string, error) {
	if _, err := codec.Parse("zstd(level=" + value + ")"); err != nil {
		return "", errors.New("levels are 1 to 19")
	}
	return "algo=zstd level=" + value, nil
}

// levelOf returns the level of zstd, or a dash.
func levelOf(algorithm string) string {
	_, rest, ok := strings.Cut(algorithm, "level=")
	if ok {
		return rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	}
	if strings.HasPrefix(algorithm, "zstd") {
		return "3"
	}
	return "-"
}

func recompressionText(value string, ram uint64) (string, error) {
	name, err := algorithmText(value, ram)
	return "algo=" + name + " priority=1", err
}

// recompressionNow returns the algorithm, or a dash where none is set.
func recompressionNow(d swapdev.Device) (string, error) {
	name, err := RecompressionBy(d)
	if err == nil && name == "" {
		name = "-"
	}
	return name, err
}

func limitText(value string, ram uint64) (string, error) {
	n, err := term.ParseBytes(value, ram)
	return strconv.FormatUint(n, 10), err
}

func limitOf(limit uint64) string {
	if limit == 0 {
		return "0"
	}
	return term.Size(limit)
}

func peakText(value string, _ uint64) (string, error) {
	if value != "0" {
		return "", errors.New("the peak can only be set to 0")
	}
	return value, nil
}
