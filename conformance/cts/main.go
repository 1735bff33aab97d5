// Command cts runs the Khronos Vulkan CTS against a driver: the cases of lists/cases.txt, in shards of deqp-vk
// processes, and holds the results against the lists of expected failures, skips and flakes beside it.
//
// It exits with 0 if every result was as expected, with 1 if one wasn't, with 2 if the CTS could not be run, and
// with 130 after an interrupt, when it says what it has until then.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

var (
	errUnexpected  = errors.New("there were unexpected results")
	errInterrupted = errors.New("interrupted")
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command().ExecuteContext(ctx)
	stop()
	switch err {
	case nil:
		return
	case errUnexpected: // the summary has said so
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "cts: %v\n", err)
	if err == errInterrupted {
		os.Exit(130)
	}
	os.Exit(2)
}

func command() *cobra.Command {
	var (
		d          deqp
		lists, out string
		shards     int
		every      int
		strict     string
		graphics   bool
	)
	cmd := &cobra.Command{
		Use:   "cts --deqp-vk PATH [PATTERN...]",
		Short: "Run the Khronos Vulkan CTS in shards and compare with the expected results",
		Long: "Runs the cases of lists/cases.txt, or those among them that a pattern matches. The driver is the one that\n" +
			"the environment names to the Vulkan loader.",
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, patterns []string) error {
			var err error
			if d.path, err = filepath.Abs(d.path); err != nil {
				return err
			}
			if d.data == "" {
				d.data = filepath.Dir(d.path)
			}
			if d.data, err = filepath.Abs(d.data); err != nil {
				return err
			}
			if shards < 1 || every < 1 || d.timeout <= 0 {
				return errors.New("--shards, --every and --timeout must be positive")
			}
			d.dir = out
			if err := os.MkdirAll(out, 0o777); err != nil {
				return err
			}
			further := filepath.Join(lists, "compute")
			if graphics {
				further = filepath.Join(lists, "graphics")
			}
			d.withGraphics(graphics)
			// further is first: a case counts for the first pattern that matches.
			p, err := readPlan(cmd.Context(), []string{further, lists}, &d, patterns, every)
			if cmd.Context().Err() != nil {
				return errInterrupted
			}
			if err != nil {
				return err
			}
			return p.judge(cmd, &d, shards, strict)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&d.path, "deqp-vk", "", "the CTS' program")
	flags.StringVar(&d.data, "data", "", "where its data lies (default: beside it)")
	flags.StringArrayVar(&d.options, "deqp-option", nil, "a further option for it, such as --deqp-vk-device-id=2")
	flags.StringVar(&lists, "lists", "conformance/cts/lists", "our lists of cases and exceptions")
	flags.StringVar(&out, "out", "build/cts", "where results and logs go")
	flags.BoolVar(&graphics, "graphics", false,
		"run with graphics, and with the lists in LISTS/graphics instead of those in LISTS/compute")
	flags.IntVar(&shards, "shards", runtime.NumCPU(), "how many processes run at once")
	flags.IntVar(&every, "every", 1, "take a sample: the first case, the one so many behind it, and so on")
	flags.StringVar(&strict, "strict", "",
		"run each case without strictness and with it, FARSIDE_STRICT=`LIST`, and compare")
	flags.DurationVar(&d.timeout, "timeout", 5*time.Minute, "how long a case may take")
	if err := cmd.MarkFlagRequired("deqp-vk"); err != nil {
		panic(err)
	}
	return cmd
}

// judge runs the plan, reports and saves the results. With a list of strictness, the results are those with it, and
// what it costs is reported as well.
func (p *plan) judge(cmd *cobra.Command, d *deqp, shards int, strict string) error {
	if err := os.RemoveAll(failures(d.dir)); err != nil {
		return err
	}
	ways := []*deqp{d}
	if strict != "" {
		with, without := *d, *d
		with.env = append(slices.Clone(d.env), "FARSIDE_STRICT="+strict)
		without.env = append(slices.Clone(d.env), "FARSIDE_STRICT=")
		ways = []*deqp{&with, &without}
	}
	start := time.Now()
	bar := newProgress(os.Stderr, isTerminal(os.Stderr), len(p.cases)*len(ways), 10*time.Second)
	results, failure := p.run(cmd.Context(), ways, shards, bar)
	bar.close()
	if err := saveResults(d.dir, p, results[0]); err != nil {
		return err
	}
	r := p.newReport(results[0])
	if strict != "" {
		p.compare(r, results[0], results[1]).write(cmd.OutOrStdout(), p, strict)
	}
	if err := r.write(cmd.OutOrStdout(), p, d.dir, time.Since(start)); err != nil {
		return err
	}
	switch {
	case cmd.Context().Err() != nil:
		return errInterrupted
	case failure != nil:
		return failure
	case !r.ok():
		return errUnexpected
	}
	return nil
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
