package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxListed is how many unexpected results are printed; results.txt has them all.
const maxListed = 50

// report says how a run went, as a whole and by group.
type report struct {
	counts     [][statusCount]int // by group; the last row is the sum
	expected   int                // failures that our list expects
	flaked     int
	missing    int      // cases without a result, after an interrupt
	unexpected []result // in the plan's order
}

// newReport judges the results. Unexpected are a failure that isn't listed, a listed one that passes, and every
// crash and timeout: what crashes is fixed or skipped, as each costs a new process.
func (p *plan) newReport(results map[string]result) *report {
	r := &report{counts: make([][statusCount]int, len(p.groups)+1)}
	for _, c := range p.cases {
		got, ok := results[c.name]
		if !ok {
			r.missing++
			continue
		}
		r.counts[c.group][got.status]++
		r.counts[len(p.groups)][got.status]++
		if got.flaked {
			r.flaked++
		}
		switch {
		case c.expected >= 0 && got.status == failed:
			r.expected++
		case c.expected >= 0 && (got.status == passed || got.status == warned):
			e := &p.expected[c.expected]
			got.detail = fmt.Sprintf("unexpected: %s:%d says it fails: %s", e.file, e.line, e.reason)
			r.unexpected = append(r.unexpected, got)
		case got.status.bad():
			r.unexpected = append(r.unexpected, got)
		}
	}
	return r
}

// ok reports whether every case has run and none was unexpected.
func (r *report) ok() bool { return r.missing == 0 && len(r.unexpected) == 0 }

// write prints the table of the groups, the unexpected results, and the summary in one line.
func (r *report) write(w io.Writer, p *plan, out string, spent time.Duration) error {
	columns := []status{passed, failed, notSupported, crashed, timedOut, warned, skipped}
	width := len("group")
	for _, g := range p.groups {
		width = max(width, len(g.pattern))
	}
	fmt.Fprintf(w, "%-*s", width, "group")
	for _, s := range columns {
		fmt.Fprintf(w, "  %7s", s)
	}
	fmt.Fprintln(w)
	for i, counts := range r.counts {
		name := "all"
		if i < len(p.groups) {
			name = p.groups[i].pattern
		}
		if counts == [statusCount]int{} && i < len(p.groups) {
			continue
		}
		fmt.Fprintf(w, "%-*s", width, name)
		for _, s := range columns {
			fmt.Fprintf(w, "  %*d", max(7, len(s.String())), counts[s])
		}
		fmt.Fprintln(w)
	}
	for i, s := range r.unexpected {
		if i == maxListed {
			fmt.Fprintf(w, "and %d more: %s\n", len(r.unexpected)-i, filepath.Join(out, "results.txt"))
			break
		}
		fmt.Fprintf(w, "%s: %s: %s\n", s.status, s.name, s.detail)
	}
	_, err := fmt.Fprintln(w, r.summary(spent))
	return err
}

func (r *report) summary(spent time.Duration) string {
	all := r.counts[len(r.counts)-1]
	run := -all[skipped]
	for _, n := range all {
		run += n
	}
	verdict := "ok"
	if !r.ok() {
		verdict = "FAILED"
	}
	parts := []string{fmt.Sprintf("%d passed", all[passed]+all[warned])}
	for _, part := range []struct {
		n    int
		text string
	}{{all[notSupported], "not supported"}, {r.expected, "failed as expected"}, {len(r.unexpected), "unexpected"},
		{r.flaked, "flaked"}, {all[skipped], "skipped"}, {r.missing, "not run"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
		}
	}
	return fmt.Sprintf("cts: %s: %d cases in %v: %s", verdict, run, spent.Round(time.Second/10), strings.Join(parts, ", "))
}

// saveResults writes results.txt, a line for each case.
func saveResults(out string, p *plan, results map[string]result) error {
	file, err := os.Create(filepath.Join(out, "results.txt"))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewWriter(file)
	for _, c := range p.cases {
		if r, ok := results[c.name]; ok {
			fmt.Fprintf(lines, "%s\t%s\t%s", r.status, r.name, r.detail)
			if len(r.findings) > 0 {
				fmt.Fprintf(lines, "\t%s", strings.Join(r.findings, ","))
			}
			fmt.Fprintln(lines)
		}
	}
	if err := lines.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// failures is the directory of the logs of bad cases.
func failures(out string) string { return filepath.Join(out, "failures") }

// saveLog writes what was logged of a case, if it's a bad one. Each group of the case is a directory, as a case's
// whole name can be longer than a file's may.
func saveLog(out string, r result) error {
	if !r.status.bad() {
		return nil
	}
	path := filepath.Join(failures(out), filepath.Join(strings.Split(r.name, ".")...)) + ".txt"
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	text := slices.Concat([]string{fmt.Sprintf("%s: %s: %s", r.status, r.name, r.detail)},
		section("standard output and error", r.console), section("log", r.log))
	return os.WriteFile(path, []byte(strings.Join(text, "\n")+"\n"), 0o666)
}

func section(title, text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return []string{"", "--- " + title, text}
}
