package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"farside/internal/report"
)

func (t *tool) report() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIRECTORY",
		Short: "Merge the reports of all processes into one page",
		Long: `Reads the journals that processes with FARSIDE_REPORT=DIRECTORY left there, also those
that a signal ended, and writes three files beside them: index.html, a page that needs
nothing else; summary.json; and junit.xml, in which each finding is a test that failed.

Exit status: 0, 1 if a journal could not be read, 3 if there were findings.`,
		Example: "  FARSIDE_REPORT=out farside run -- ./program\n  farside report out",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := report.Merge(args[0])
			if r != nil {
				listProcesses(cmd.OutOrStdout(), args[0], r)
			}
			if err != nil {
				return t.fail(err)
			}
			for _, s := range r.Summaries() {
				if len(s.Findings) > 0 {
					return &failure{err: errors.New("there are findings"), status: 3}
				}
			}
			return nil
		},
	}
}

// listProcesses prints a line for each process, and where the page is.
func listProcesses(w io.Writer, dir string, r *report.Report) {
	for _, s := range r.Summaries() {
		fmt.Fprintf(w, "%-24s %7d  %9v  %s: %d allocations, %d never freed, %d findings, %d faults, %d errors\n",
			printable(s.Program), s.PID, time.Duration(s.Seconds*float64(time.Second)).Round(time.Millisecond), s.Outcome,
			s.Events["allocate"], s.Leaked, len(s.Findings), len(s.Faults), len(s.Errors))
	}
	fmt.Fprintf(w, "%s/index.html\n", dir)
}
