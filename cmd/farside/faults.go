package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"path"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"farside/internal/fault"
)

func (t *tool) faults() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "List and check faults, and test all error paths of a program",
		Long: `FARSIDE_FAULTS lets Vulkan commands, queues and the fabric fail on command.
docs/faults.md has its language.`,
	}
	cmd.AddCommand(t.faultsList(), t.faultsCheck(), t.faultsSweep())
	return cmd
}

func (t *tool) faultsList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [PATTERN]",
		Short: "List what can fail, and with which results",
		Long: `Lists the commands, with the results that the registry allows for each beside
VK_SUCCESS, and the points where queues and the fabric can fail. PATTERN is one of
names, such as 'vkCreate*'. A command without results can be delayed.`,
		Example: "  farside faults list 'vk*Memory*'\n  farside faults list 'rdma*'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pattern := "*"
			if len(args) > 0 {
				pattern = args[0]
			}
			if _, err := path.Match(pattern, ""); err != nil {
				return err
			}
			n := listFaults(cmd.OutOrStdout(), pattern)
			if n == 0 {
				return t.fail(fmt.Errorf("nothing that can fail is named %s; the nearest is %s", pattern,
					fault.Nearest(pattern)))
			}
			return nil
		},
	}
}

// listFaults prints what matches a pattern and returns how much that is.
func listFaults(w io.Writer, pattern string) (n int) {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	defer table.Flush()
	row := func(name string, effects []string) {
		if ok, _ := path.Match(pattern, name); ok {
			fmt.Fprintf(table, "%s\t%s\n", name, strings.Join(effects, " "))
			n++
		}
	}
	for _, c := range fault.Commands {
		var results []string
		for _, r := range c.Results() {
			results = append(results, r.String())
		}
		row(c.Name(), append(results, "delay:TIME"))
	}
	for _, p := range fault.Points() {
		var effects []string
		for _, e := range p.Effects {
			switch e {
			case "delay":
				e = "delay:TIME"
			case "partial":
				e = "partial:BYTES"
			case "IBV_WC_…":
				e = strings.Join(fault.StatusNames[1:], " ")
			}
			effects = append(effects, e)
		}
		row(p.Name, effects)
	}
	return n
}

func (t *tool) faultsCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check TEXT|FILE",
		Short: "Read a plan as the driver would, and print its rules",
		Long: `Reads a plan of faults, or the file of one, and prints its rules as the driver
understands them. A mistake is told with the nearest right word.

Exit status: 0, 1 for a plan with a mistake.`,
		Example: "  farside faults check 'vkCreateDevice=VK_ERROR_DEVICE_LOST@3; queue=lost@7'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := fault.Read(args[0])
			if err != nil {
				return t.fail(err)
			}
			for _, r := range plan.Rules {
				fmt.Fprintln(cmd.OutOrStdout(), r)
			}
			if plan.Seeded {
				fmt.Fprintf(cmd.OutOrStdout(), "seed=%d\n", plan.Seed)
			}
			return nil
		},
	}
}

func (t *tool) faultsSweep() *cobra.Command {
	s := &sweep{}
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "sweep [FLAG...] -- PROGRAM [ARGUMENT...]", DisableFlagsInUseLine: true,
		Short: "Run a program once for each call that can fail, and fail it",
		Long: `Runs a program on Farside to count its calls that can fail, then once for each of
them and each error that it can have there, each time in a process of its own.
It lists the runs that end badly:

  crash   a signal ended the program
  hang    it took longer than --timeout, and was killed with its children
  leak    objects or exported descriptors were left that the good run
          doesn't leave
  hidden  it exited with 0 and the good run's output, did not call the command
          once more, and so said nothing of the error

Exit status: 0, 1 if the program can't be run or fails by itself, 3 if runs ended badly.`,
		Example: "  farside faults sweep -- ./your-vulkan-tests\n" +
			"  farside faults sweep -j 4 --only 'vk*Memory*' --json -- ./your-vulkan-tests",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			manifest, _, err := findManifest(file)
			if err != nil {
				return t.fail(err)
			}
			if _, err := path.Match(s.only, ""); err != nil {
				return err
			}
			s.env, s.args = onDriver(manifest), args
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGINT, unix.SIGTERM)
			defer stop()
			r, err := s.run(ctx)
			if err != nil {
				return t.fail(err)
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				err = e.Encode(r)
			} else {
				err = r.print(cmd.OutOrStdout())
			}
			if err != nil {
				return t.fail(err)
			}
			if len(r.Bad) > 0 {
				return &failure{err: errors.New("runs ended badly"), status: 3}
			}
			return nil
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows PROGRAM is its own
	cmd.Flags().IntVarP(&s.jobs, "jobs", "j", runtime.NumCPU(), "`N` runs at once")
	cmd.Flags().DurationVar(&s.timeout, "timeout", 0, "`TIME` that a run may take (default: 10 good runs and 5s)")
	cmd.Flags().StringVar(&s.only, "only", "*", "commands with names of this pattern only, `GLOB`")
	cmd.Flags().IntVar(&s.limit, "limit", 0, "the first `N` calls of each command only (0: all)")
	cmd.Flags().BoolVar(&s.noLeaks, "no-leaks", false, "don't list leaks, for programs that exit when anything fails")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	cmd.Flags().StringVar(&file, "manifest", "", "`FILE` that tells the loader of the driver")
	return cmd
}

// print lists the runs that ended badly.
func (r *sweepResult) print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, b := range r.Bad {
		fmt.Fprintf(table, "%s\t%s\t%s\n", strings.Join(b.Verdicts, ","), b.Fault, b.Detail)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d runs of %d calls in %v: %d ended badly (%d crashes, %d hangs, %d leaks, %d hidden)",
		r.Runs, r.Calls, time.Duration(r.Seconds*float64(time.Second)).Round(time.Millisecond), len(r.Bad),
		r.count(verdictCrash), r.count(verdictHang), r.count(verdictLeak), r.count(verdictHidden))
	if err == nil && r.Missed > 0 {
		_, err = fmt.Fprintf(w, "; %d did not come to their call", r.Missed)
	}
	if err == nil {
		_, err = fmt.Fprintln(w)
	}
	return err
}
