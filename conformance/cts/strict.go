package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// comparison says what strictness costs and finds, for each group and, last, for all.
type comparison []cost

// cost is that of the cases of a group that passed both times.
type cost struct {
	cases         int
	without, with time.Duration // from the begin to the end of each case, summed up
	found         int           // cases with findings
}

// compare holds results with strictness against those without. Unexpected, beside what already is, are a result that
// differs and a finding in a case that the list of findings doesn't have.
func (p *plan) compare(r *report, with, without map[string]result) comparison {
	list := make(comparison, len(p.groups)+1)
	bad := map[string]bool{}
	for _, u := range r.unexpected {
		bad[u.name] = true
	}
	for _, c := range p.cases {
		a, ok := with[c.name]
		b, also := without[c.name]
		if !ok || !also {
			continue
		}
		for _, g := range []*cost{&list[c.group], &list[len(p.groups)]} {
			if a.status == passed && b.status == passed {
				g.cases++
				g.with += a.took
				g.without += b.took
			}
			if len(a.findings) > 0 {
				g.found++
			}
		}
		switch {
		case bad[c.name]:
		case a.status != b.status:
			a.detail = fmt.Sprintf("unexpected: without strictness the result is %q: %s", b.status, a.detail)
			r.unexpected = append(r.unexpected, a)
		case len(a.findings) > 0 && c.finding < 0:
			a.detail = "unexpected: " + strings.Join(a.findings, ", ")
			r.unexpected = append(r.unexpected, a)
		}
	}
	return list
}

// write prints a table with a row for each group of which something ran.
func (list comparison) write(w io.Writer, p *plan, strict string) {
	width := len("FARSIDE_STRICT=") + len(strict)
	for _, g := range p.groups {
		width = max(width, len(g.pattern))
	}
	fmt.Fprintf(w, "%-*s  %6s  %9s  %9s  %6s  %13s\n", width, "FARSIDE_STRICT="+strict, "passed", "off", "on", "ratio",
		"with findings")
	for i, g := range list {
		name := "all"
		if i < len(p.groups) {
			name = p.groups[i].pattern
		}
		if g == (cost{}) {
			continue
		}
		ratio := "-"
		if g.without > 0 {
			ratio = fmt.Sprintf("%.1f", g.with.Seconds()/g.without.Seconds())
		}
		fmt.Fprintf(w, "%-*s  %6d  %8.1fs  %8.1fs  %6s  %13d\n", width, name, g.cases, g.without.Seconds(), g.with.Seconds(),
			ratio, g.found)
	}
	fmt.Fprintln(w)
}
