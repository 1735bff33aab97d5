// Command guest boots a Debian kernel in QEMU that has what most machines for CI lack, and runs there the tests that
// skip elsewhere. The kernel has /dev/udmabuf, /dev/dma_heap/system, vgem's /dev/dri/card0 and an RDMA device, rxe0.
//
// The test binaries are built here. The guest sees this machine's files read-only by 9p, at the same paths. Its init
// is this program as well (init.go); it loads modules, mounts, and runs the steps of plan.go. It says what happens
// by events (event.go) over a serial port.
//
// It exits with 0 if each step passed and no test skipped, with 1 if not, with 2 if the guest could not be run, and
// with 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

var errFailed = errors.New("the guest's tests did not pass")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case err == nil:
		return
	case errors.Is(err, errFailed): // the summary has said so
		os.Exit(1)
	case interrupted:
		fmt.Fprintln(os.Stderr, "guest: interrupted")
		os.Exit(130)
	}
	fmt.Fprintf(os.Stderr, "guest: %v\n", err)
	os.Exit(2)
}

func command() *cobra.Command {
	var (
		m   machine
		out string
		c   cts
	)
	cmd := &cobra.Command{
		Use:   "guest [STEP...]",
		Short: "Boot a kernel with dma-buf and RDMA in QEMU and run the tests that need them",
		Long: "Runs all steps, or those named. The kernel is downloaded once, from the Debian mirror that this machine's\n" +
			"apt uses, into the user's cache.",
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), m.limit)
			defer cancel()
			steps := plan
			if c.deqp != "" {
				s, err := c.step()
				if err != nil {
					return err
				}
				steps = append(slices.Clone(plan), s)
			}
			steps, err := chosen(steps, names)
			if err != nil {
				return err
			}
			return run(ctx, &m, out, steps)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&out, "out", "build/guest", "where test binaries and logs go")
	flags.DurationVar(&m.limit, "timeout", 10*time.Minute, "how long everything may take")
	flags.StringVar(&m.accelerator, "accel", "", "kvm or tcg (default: kvm where a guest boots with it)")
	flags.IntVar(&m.cores, "cores", 2, "processors of the guest")
	flags.StringVar(&m.memory, "memory", "2G", "memory of the guest")
	flags.StringVar(&c.deqp, "deqp-vk", "", "the CTS' program, which adds the step cts: its cases that use dma-bufs")
	flags.StringArrayVar(&c.cases, "cases", dmaBufCases, "cases of the CTS, by `PATTERN`")
	cmd.AddCommand(initCommand(), runnerCommand())
	return cmd
}
