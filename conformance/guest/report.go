package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"farside/conformance/internal/soaking"
)

// verdict is what is known of a step.
type verdict struct {
	step
	passed  int
	running string   // the test that began or went on last
	skipped []string // names of tests
	failed  []string
	output  strings.Builder
	exit    int
	done    bool
	took    time.Duration
}

// why says why the step did not pass; it is empty if it did.
func (v *verdict) why() string {
	switch {
	case !v.done:
		return "did not end"
	case v.exit != 0:
		return strings.TrimSpace(fmt.Sprintf("exit status %d %s", v.exit, strings.Join(v.failed, " ")))
	case len(v.skipped) > 0:
		return "skipped, in the place where nothing may: " + strings.Join(v.skipped, " ")
	case v.Tests != "" && v.passed == 0:
		return "ran no test"
	}
	return ""
}

// What a test binary prints with -test.v when a test begins or goes on, and when it ends.
var (
	running = regexp.MustCompile(`^=== (?:RUN|CONT) +(\S+)`)
	result  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) `)
)

func (v *verdict) line(text string) {
	v.output.WriteString(text + "\n")
	if m := running.FindStringSubmatch(text); m != nil {
		v.running = m[1]
	}
	switch m := result.FindStringSubmatch(text); {
	case m == nil:
	case m[1] == "PASS":
		v.passed++
	case m[1] == "FAIL":
		v.failed = append(v.failed, m[2])
	case m[1] == "SKIP":
		v.skipped = append(v.skipped, m[2])
	}
}

// report collects what the guest says.
type report struct {
	steps    []*verdict
	out      string // where each step's output goes
	progress *soaking.Progress
	start    time.Time // of the step under way
	ready    bool
	ended    bool
	failure  string
}

func newReport(steps []step, out string, progress *soaking.Progress) *report {
	r := &report{out: out, progress: progress}
	for _, s := range steps {
		r.steps = append(r.steps, &verdict{step: s})
	}
	return r
}

// current is the step under way.
func (r *report) current() *verdict {
	for _, v := range r.steps {
		if !v.done {
			return v
		}
	}
	return r.steps[len(r.steps)-1]
}

func (r *report) add(e event) {
	v := r.current()
	switch e.Kind {
	case eventReady:
		r.ready, r.start = true, time.Now()
	case eventLine:
		v.line(e.Text)
		r.progress.Show(strings.TrimSpace("guest: " + v.Name + " " + v.running))
	case eventDone:
		v.done, v.exit, v.took = true, e.Exit, time.Since(r.start)
		r.start = time.Now()
	case eventError:
		r.failure = e.Text
	case eventEnd:
		r.ended = true
	}
}

// judge prints how each step went, with the output of those that did not pass. It fails with errFailed if there is one.
func (r *report) judge() error {
	var verdict error
	for _, v := range r.steps {
		log := filepath.Join(r.out, v.Name+".log")
		if err := os.WriteFile(log, []byte(v.output.String()), 0o666); err != nil {
			return err
		}
		why := v.why()
		if why == "" {
			if v.Program != "" { // its output is what it has found
				fmt.Print(v.output.String())
			}
			fmt.Printf("guest: %-12s ok %4d tests passed in %.1f s\n", v.Name, v.passed, v.took.Seconds())
			continue
		}
		verdict = errFailed
		fmt.Printf("%sguest: %-12s FAILED %s (%s)\n", v.output.String(), v.Name, why, log)
	}
	return verdict
}
