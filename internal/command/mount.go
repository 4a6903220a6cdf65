// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/host"
	"github.com/zramfs/zramfs/internal/idlework"
	"github.com/zramfs/zramfs/internal/imageio"
	"github.com/zramfs/zramfs/internal/notify"
	"github.com/zramfs/zramfs/internal/pmqos"
	"github.com/zramfs/zramfs/internal/settings"
	"github.com/zramfs/zramfs/internal/status"
	"github.com/zramfs/zramfs/internal/swapdev"
	"github.com/zramfs/zramfs/internal/term"
	"github.com/zramfs/zramfs/internal/zramfsd"
	"github.com/zramfs/zramfs/store"
)

// Names of flags used by more than one function.
const (
	flagSize       = "size"
	flagAlgorithm  = "algorithm"
	flagMemLimit   = "mem-limit"
	flagLatency    = "latency"
	flagCold       = "cold"
	flagScrub      = "scrub"
	flagSpill      = "spill"
	flagSpillDaily = "spill-daily"
	flagOnFull     = "on-full"
	flagMemory     = "memory" // hidden: tests kernels without noswap
	flagForeground = "foreground"
)

// deviceFlags are the flags of a device, for mount and up.
func deviceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: flagSize, Aliases: []string{"s"}, Value: "auto",
			Usage: "`SIZE` of the device: auto (by the class of the machine), as 4G, or as 50% of RAM"},
		&cli.StringFlag{Name: flagAlgorithm, Aliases: []string{"a"}, Value: "adaptive",
			Usage: "compression `ALGORITHM`: adaptive, page, page:dense, lz4, zstd(level=3), raw"},
		limitFlag(),
		&cli.StringFlag{Name: flagLatency, Value: string(pmqos.Auto),
			Usage: "keep idle processors awake for page faults: a `POLICY`, auto, low or off"},
		&cli.StringFlag{Name: flagCold, Value: idlework.Default.String(),
			Usage: "pack pages that are not used for long, in a `SHARE` of one processor; or off"},
		&cli.StringFlag{Name: flagScrub, Value: "24h",
			Usage: "prove the checksums of all pages again after a `TIME`; or off"},
		&cli.StringFlag{Name: flagSpill,
			Usage: "overwrite the file or block device at `PATH` with pages that are written back, encrypted"},
		&cli.StringFlag{Name: flagSpillDaily, Value: "1G",
			Usage: "most that goes to --spill in 24 hours once the memory limit is near: a `SIZE`, or 0"},
		&cli.StringFlag{Name: flagOnFull, Value: string(store.FullSpill),
			Usage: "`WHAT` writes do at the memory limit: spill, stall or error"},
		&cli.StringFlag{Name: flagMemory, Value: string(store.MemoryAuto), Hidden: true},
	}
}

func limitFlag() *cli.StringFlag {
	return &cli.StringFlag{Name: flagMemLimit, Aliases: []string{"m"}, Value: "0",
		Usage: "most memory the device may take: a `LIMIT` as 2G, or as 50% of RAM; 0 for none"}
}

func mountCommand() *cli.Command {
	return &cli.Command{
		Name:      "mount",
		Usage:     "serve a device at DIR",
		ArgsUsage: "DIR",
		Description: "Makes DIR if only its parent exists; umount then removes it. The device is the file DIR/dev/zram0, ready for " +
			"losetup, mkswap and swapon, or any other use. Once it can be opened, its path is printed on standard output, and " +
			"its cost and warnings on standard error. Two processes stay in the background to serve it.",
		Flags: append(append(deviceFlags(), narrationFlags()...),
			&cli.BoolFlag{Name: flagForeground, Usage: "serve in this process, until DIR is unmounted or it is interrupted"},
		),
		Action: mountAction,
	}
}

func mountAction(c *cli.Context) error {
	cfg, err := deviceConfig(c)
	if err != nil {
		return err
	}
	if c.Bool(flagForeground) {
		return mountHere(c, cfg)
	}
	said, err := newNarration(c, c.App.ErrWriter)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal kills the program
	report, err := swapdev.StartDevice(cfg)
	if err != nil {
		return err
	}
	if err := announceMount(ctx, c, said, cfg, report); err != nil {
		return undoMount(report, err) // the user must know of each running device
	}
	return nil
}

// announceMount tells the user and the service manager of a device, unless a signal has come.
func announceMount(ctx context.Context, c *cli.Context, said *swapdev.Narration, cfg zramfsd.Config, report *status.Report) error {
	status, _ := swapdev.ReadStatus(report.Dir) // without it the summary has no memory line
	if ctx.Err() != nil {
		return imageio.ErrInterrupted
	}
	if err := announceDevice(c, said, cfg, report, status); err != nil {
		return err
	}
	return notify.Ready(report.PID, deviceStatus(report))
}

// undoMount ends a device after err, and returns that.
func undoMount(report *status.Report, err error) error {
	undone := swapdev.StopDevice(report)
	if undone == nil && errors.Is(err, imageio.ErrInterrupted) {
		return fmt.Errorf("%w; everything was undone", err)
	}
	return errors.Join(err, undone)
}

// deviceStatus is one line about a device without swap, for a service manager.
func deviceStatus(report *status.Report) string {
	return fmt.Sprintf("%s at %s", term.Size(report.Disksize), swapdev.Device{Dir: report.Dir}.Data())
}

// announceDevice prints the path of the device on standard output, and the rest on standard error.
// For a nil status it leaves out the memory line.
func announceDevice(c *cli.Context, said *swapdev.Narration, cfg zramfsd.Config, report *status.Report, status *status.Status) error {
	if err := swapdev.PrintProtections(said, report.Protections); err != nil {
		return err
	}
	s := newSummary(cfg, report, swapdev.Device{Status: status}, said)
	switch said.How {
	case flagQuiet:
		return nil
	case flagJSON:
		return printJSON(c.App.Writer, map[string]summary{"mount": s})
	}
	out, data := c.App.Writer, term.Printable(s.Data)
	if term.WidthOf(out) == 0 { // a program reads it
		out, data = term.Raw(out), s.Data
	}
	if _, err := fmt.Fprintln(out, data); err != nil {
		return err
	}
	_, err := fmt.Fprint(c.App.ErrWriter, s.memoryText(), s.warningText(), s.nextText("umount"))
	return err
}

// deviceConfig reads the flags and the argument DIR. All its errors are usage errors.
func deviceConfig(c *cli.Context) (zramfsd.Config, error) {
	if c.NArg() != 1 || c.Args().First() == "" {
		return zramfsd.Config{}, usageError("mount: name one DIR, as zramfs mount /run/zram")
	}
	dir, _, err := dirNamed(c, c.Args().First())
	if err != nil {
		return zramfsd.Config{}, err
	}
	cfg, err := configFor(c, dir)
	if err == nil {
		err = checkSize(c.String(flagSize), cfg.Disksize, pageSize)
	}
	return cfg, err
}

// configFor reads the flags of a device at dir.
func configFor(c *cli.Context, dir string) (zramfsd.Config, error) {
	ram, err := host.Local.MemTotal()
	if err != nil {
		ram = 0 // a size in per cent is then refused with that reason
	}
	cfg := zramfsd.Config{Dir: dir, Memory: store.MemoryKind(c.String(flagMemory))}
	if cfg.Disksize, err = parseSize(c.String(flagSize), ram); err != nil {
		return cfg, err
	}
	if cfg.MemLimit, err = parseLimit(c.String(flagMemLimit), ram); err != nil {
		return cfg, err
	}
	if err := checkLimit(cfg.MemLimit, cfg.Disksize); err != nil {
		return cfg, err
	}
	if cfg.Latency, err = pmqos.ParsePolicy(c.String(flagLatency)); err != nil {
		return cfg, usageError("%v", err)
	}
	if cfg.Cold, err = idlework.ParseShare(c.String(flagCold)); err != nil {
		return cfg, usageError("--cold: %v", err)
	}
	if cfg.Scrub, err = idlework.ParseEvery(c.String(flagScrub)); err != nil {
		return cfg, usageError("--scrub: %v", err)
	}
	if cfg.SpillDaily, err = term.ParseBytes(c.String(flagSpillDaily), ram); err != nil {
		return cfg, usageError("--spill-daily %q: %v", c.String(flagSpillDaily), err)
	}
	if cfg.OnFull, err = store.ParseOnFull(c.String(flagOnFull)); err != nil {
		return cfg, usageError("--on-full: %v", err)
	}
	if path := c.String(flagSpill); path != "" {
		if cfg.Backing, err = filepath.Abs(path); err != nil {
			return cfg, usageError("--spill: %v", err)
		}
	}
	if cfg.Algorithm, err = parseAlgorithm(c.String(flagAlgorithm)); err != nil {
		return cfg, err
	}
	return cfg, nil
}

// checkLimit refuses a memory limit that a device of that size cannot keep.
func checkLimit(limit, disksize uint64) error {
	if err := settings.CheckLimit(limit, disksize); err != nil {
		return usageError("%w", err)
	}
	return nil
}

// mountHere becomes the server of cfg, which prints the path of the device when that is ready.
func mountHere(c *cli.Context, cfg zramfsd.Config) error {
	for _, name := range []string{flagJSON, flagVerbose} {
		if c.Bool(name) {
			return usageError("mount: --%s and --%s exclude each other: the server prints the path and its log", flagForeground, name)
		}
	}
	return swapdev.ServeHere(cfg, c.Bool(flagQuiet))
}
