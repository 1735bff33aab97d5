package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"farside/rdmasim"
)

func (t *tool) serve() *cobra.Command {
	var options rdmasim.ServeOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the regions of this host to peers on other hosts",
		Long: `Serves every region of this host that this user may use to peers on other hosts,
until it is interrupted. The first line on standard output is what peers need:

  farside --fabric tls://192.0.2.7:7471/ read ...
  rdmasim.Open(ctx, "tls://192.0.2.7:7471/")

Both sides need the same secret, or certificates of one authority, in a file that
nobody else may read: --secret-file, or ` + secretVariable + `.
Everything goes through TLS 1.3. Who has the secret may use every region, as far
as the region's rights go.`,
		Example: `  (umask 077; head -c 32 /dev/urandom > secret)
  farside serve --bind 192.0.2.7:7471 --secret-file secret`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.fabric != "" {
				return fmt.Errorf("serve is for the regions of this host: --fabric doesn't go with it")
			}
			if _, _, err := net.SplitHostPort(options.Listen); err != nil {
				options.Listen = net.JoinHostPort(strings.Trim(options.Listen, "[]"), "0")
			}
			ctx, stop := untilInterrupt(cmd)
			defer stop()
			return t.fail(serve(ctx, options))
		},
	}
	cmd.Flags().StringVar(&options.Listen, "bind", "127.0.0.1",
		"`ADDRESS[:PORT]` of one interface of this host; the kernel chooses a port if none is given")
	return cmd
}

func serve(ctx context.Context, options rdmasim.ServeOptions) error {
	b, err := rdmasim.Serve(options)
	if err != nil {
		return err
	}
	fmt.Println(b.Fabric())
	fmt.Fprintln(os.Stderr, "farside: serving the regions of this host until interrupted")
	<-ctx.Done()
	return b.Close()
}
