package report

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

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

// The form of JUnit's reports that CI systems read.
type (
	suites struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	suite struct {
		Name      string `xml:"name,attr"`
		Tests     int    `xml:"tests,attr"`
		Failures  int    `xml:"failures,attr"`
		Time      string `xml:"time,attr"`
		Timestamp string `xml:"timestamp,attr"`
		Cases     []test `xml:"testcase"`
		Out       string `xml:"system-out,omitempty"`
	}
	test struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Time    string   `xml:"time,attr"`
		Failure *failure `xml:"failure,omitempty"`
	}
	failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit has a suite for each process. A finding is a test that failed; a process without one is a test that passed.
func (r *Report) junit() *suites {
	all := &suites{}
	for _, p := range r.Processes {
		seconds := fmt.Sprintf("%.3f", p.lasted().Seconds())
		start, _, _ := strings.Cut(p.Start, ".")
		s := suite{Name: fmt.Sprintf("%s (%d)", p.Program, p.PID), Time: seconds, Timestamp: start}
		for _, f := range p.Findings {
			s.Cases = append(s.Cases, test{Name: f.ID, Class: p.Program, Time: "0", Failure: &failure{
				Message: f.Text, Type: f.ID, Text: strings.Join(append([]string{f.Text}, f.Stack...), "\n"),
			}})
		}
		s.Failures = len(s.Cases)
		if len(s.Cases) == 0 {
			s.Cases = []test{{Name: "no findings", Class: p.Program, Time: seconds}}
		}
		s.Tests = len(s.Cases)
		var out strings.Builder
		for _, e := range p.Faults {
			fmt.Fprintf(&out, "fault: %s%s: %s\n", e.Command, e.Operation, e.Text)
		}
		for _, e := range p.Errors {
			fmt.Fprintf(&out, "error: %s: %s\n", e.Command, e.Text)
		}
		s.Out = out.String()
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Suites = append(all.Suites, s)
	}
	return all
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
	tests, err := xml.MarshalIndent(r.junit(), "", "  ")
	if err != nil {
		return err
	}
	for path, data := range map[string][]byte{page: html, summary: append(text, '\n'),
		junit: append([]byte(xml.Header), append(tests, '\n')...)} {
		if err := writeFile(path, data); err != nil {
			return err
		}
	}
	return nil
}
