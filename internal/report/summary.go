package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"farside/internal/journal"
)

// Summary is what summary.json holds of a process.
type Summary struct {
	PID      int             `json:"pid"`
	Program  string          `json:"program"`
	Command  []string        `json:"command"`
	Driver   string          `json:"driver"`
	Start    string          `json:"start"`
	Seconds  float64         `json:"seconds"`
	Outcome  string          `json:"outcome"`
	Dropped  uint64          `json:"dropped"`
	Events   map[string]int  `json:"events"`
	Peak     []uint64        `json:"peak"` // bytes, for each heap
	Leaked   int             `json:"leaked"`
	LeakedIn uint64          `json:"leakedBytes"`
	Findings []journal.Event `json:"findings"`
	Faults   []journal.Event `json:"faults"`
	Errors   []journal.Event `json:"errors"`
}

func (p *Process) summary() Summary {
	n, bytes := p.leaked()
	return Summary{
		PID: p.PID, Program: p.Program, Command: p.Command, Driver: p.Driver, Start: p.Start,
		Seconds: p.lasted().Seconds(), Outcome: p.Outcome, Dropped: p.Dropped, Events: p.Counts, Peak: p.peaks(),
		Leaked: n, LeakedIn: bytes, Findings: p.Findings, Faults: p.Faults, Errors: p.Errors,
	}
}

// Summaries are those of all processes.
func (r *Report) Summaries() []Summary {
	list := make([]Summary, len(r.Processes))
	for i, p := range r.Processes {
		list[i] = p.summary()
	}
	return list
}

// xmlText is text as it stands in an attribute or an element of XML.
func xmlText(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '<' || r == '>' || r == '&' || r == '"' || r == '\t' || r == '\n' || r == '\r':
			fmt.Fprintf(&b, "&#%d;", r)
		case r < ' ' || r == 0xFFFE || r == 0xFFFF: // no character of XML 1.0
			b.WriteRune(unicode.ReplacementChar)
		default:
			b.WriteRune(r) // of what is no UTF-8, the replacement
		}
	}
	return b.String()
}

// junit is the report in the form of JUnit that CI systems read. It has a suite for each process. A finding is a test
// that failed; a process without one is a test that passed. Encoding/xml would be loaded with every driver.
func (r *Report) junit() []byte {
	var suites bytes.Buffer
	tests, failures := 0, 0
	for _, p := range r.Processes {
		seconds := fmt.Sprintf("%.3f", p.lasted().Seconds())
		start, _, _ := strings.Cut(p.Start, ".")
		count := max(1, len(p.Findings))
		tests += count
		failures += len(p.Findings)
		program := xmlText(p.Program)
		fmt.Fprintf(&suites, "  <testsuite name=\"%s (%d)\" tests=\"%d\" failures=\"%d\" time=\"%s\" timestamp=\"%s\">\n",
			program, p.PID, count, len(p.Findings), seconds, xmlText(start))
		for _, f := range p.Findings {
			fmt.Fprintf(&suites, "    <testcase name=\"%s\" classname=\"%s\" time=\"0\">\n"+
				"      <failure message=\"%s\" type=\"%s\">%s</failure>\n    </testcase>\n", xmlText(f.ID), program,
				xmlText(f.Text), xmlText(f.ID), xmlText(strings.Join(append([]string{f.Text}, f.Stack...), "\n")))
		}
		if len(p.Findings) == 0 {
			fmt.Fprintf(&suites, "    <testcase name=\"no findings\" classname=\"%s\" time=\"%s\"></testcase>\n", program,
				seconds)
		}
		var out strings.Builder
		for _, e := range p.Faults {
			fmt.Fprintf(&out, "fault: %s%s: %s\n", e.Command, e.Operation, e.Text)
		}
		for _, e := range p.Errors {
			fmt.Fprintf(&out, "error: %s: %s\n", e.Command, e.Text)
		}
		if out.Len() > 0 {
			fmt.Fprintf(&suites, "    <system-out>%s</system-out>\n", xmlText(out.String()))
		}
		suites.WriteString("  </testsuite>\n")
	}
	return fmt.Appendf(nil, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%d\" failures=\"%d\">\n%s"+
		"</testsuites>\n", tests, failures, suites.Bytes())
}

// write writes page, summary and JUnit's report.
func (r *Report) write(page, summary, junit string) error {
	html, err := r.page()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(r.Summaries(), "", "  ")
	if err != nil {
		return err
	}
	for path, data := range map[string][]byte{page: html, summary: append(text, '\n'), junit: r.junit()} {
		if err := writeFile(path, data); err != nil {
			return err
		}
	}
	return nil
}
