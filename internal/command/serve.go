// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/zramfs/zramfs/internal/web"
)

// defaultListen is the address of the dashboard.
const defaultListen = "127.0.0.1:9633"

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:  "serve",
		Usage: "serve a dashboard, metrics and health of all devices over HTTP",
		Description: "The dashboard is at /, metrics for Prometheus at /metrics, and /healthz answers 200 where status would end with 0, else " +
			"503. It runs until SIGTERM or Ctrl-C. No device needs it: it may be swapped out, and it may end.\n\n" +
			"An address that other machines reach needs --token-file; browsers ask for the token as a password, with any user name.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: defaultListen, Usage: "serve on `HOST:PORT`"},
			&cli.StringFlag{Name: "token-file", Usage: "ask for the token in `FILE`, which only its owner may read"},
			&cli.StringFlag{Name: "tls-cert", Usage: "serve HTTPS with the certificate in `FILE`"},
			&cli.StringFlag{Name: "tls-key", Usage: "the certificate's key is in `FILE`"},
		},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return usageError("serve: takes no arguments")
			}
			ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
			defer stop()
			return webError(web.Serve(ctx, web.Config{Listen: c.String("listen"), TokenFile: c.String("token-file"), TLSCert: c.String("tls-cert"),
				TLSKey: c.String("tls-key"), Build: ownBuild()}, c.App.ErrWriter))
		},
	}
}

// webError is err with the exit code of a wrong call where it is one.
func webError(err error) error {
	if errors.Is(err, web.ErrUsage) {
		return usageError("%w", err)
	}
	return err
}
