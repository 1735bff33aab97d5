package main

import (
	"bufio"
	"errors"
	"html"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// status is how a case went.
type status int

const (
	passed status = iota
	warned        // the CTS' three kinds of warning, and its own waivers
	notSupported
	skipped // by our list
	failed  // also device lost, and errors of resources or of the CTS itself
	crashed
	timedOut
	statusCount
)

func (s status) String() string {
	return [statusCount]string{"pass", "warning", "not supported", "skipped", "fail", "crash", "timeout"}[s]
}

// bad reports whether the status asks for an explanation.
func (s status) bad() bool { return s >= failed }

// statuses are the CTS' names of results. Any other is a failure.
var statuses = map[string]status{"Pass": passed, "NotSupported": notSupported, "QualityWarning": warned,
	"CompatibilityWarning": warned, "CapabilityWarning": warned, "Waiver": warned, "Crash": crashed, "Timeout": timedOut}

func statusOf(code string) status {
	if s, ok := statuses[code]; ok {
		return s
	}
	return failed
}

// result is the outcome of one case.
type result struct {
	name    string
	status  status
	detail  string // in one line
	log     string // what deqp-vk logged of a bad case: the end, if it's long
	console string // what the process last wrote to standard output and error, for a bad case
	flaked  bool   // it passed only when it was repeated

	took     time.Duration
	findings []string // the ids that the driver told, each once
}

// event is one line of deqp-vk's log that matters: a case begins, or ended.
type event struct {
	begun string
	ended *result
}

// readLog reads a log as deqp-vk writes it (framework/qphelper/qpTestLog.c, format 0.3.4) and sends its events. It
// returns at the log's end, wherever that is. The lines
//
//	#beginTestCaseResult dEQP-VK.group.case
//	<Result StatusCode="Pass">detail</Result>
//	#endTestCaseResult
//	#terminateTestCaseResult Crash
//
// are the only ones that matter; anything may stand between them.
func readLog(r io.Reader, events chan<- event) {
	var (
		in   = bufio.NewReaderSize(r, 64<<10)
		name string
		body tail
		part bool // the line before had no end: it was longer than the buffer
	)
	end := func(s status, detail string) {
		ended := &result{name: name, status: s, detail: oneLine(detail)}
		if s.bad() {
			ended.log = body.String()
		}
		events <- event{ended: ended}
		name = ""
	}
	for {
		raw, err := in.ReadSlice('\n')
		whole := !part && err == nil
		part = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !part {
			return
		}
		line := strings.TrimSpace(string(raw))
		word, argument, _ := strings.Cut(line, " ")
		switch {
		case whole && word == "#beginTestCaseResult" && argument != "":
			if name != "" {
				end(crashed, "its log has no end")
			}
			name = argument
			body.Reset()
			events <- event{begun: name}
		case whole && word == "#endTestCaseResult" && name != "":
			end(parseResult(body.String()))
		case whole && word == "#terminateTestCaseResult" && name != "":
			end(statusOf(argument), "deqp-vk ended the case by itself: "+argument)
		case name != "":
			body.Write(raw)
		}
	}
}

var resultElement = regexp.MustCompile(`(?s)<Result StatusCode="(\w+)"(?: />|>(.*?)</Result>)`)

func parseResult(body string) (s status, detail string) {
	all := resultElement.FindAllStringSubmatch(body, -1)
	if len(all) == 0 {
		return crashed, "its log has no result"
	}
	last := all[len(all)-1]
	detail = html.UnescapeString(last[2])
	s = statusOf(last[1])
	if s == failed && last[1] != "Fail" {
		detail = last[1] + ": " + detail
	}
	return s, detail
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// tailSize is how much a tail keeps at least.
const tailSize = 64 << 10

// tail keeps the end of what is written to it. It may be used by several goroutines.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailSize; extra > tailSize {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

func (t *tail) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = t.data[:0]
}

// announcement begins the line in which deqp-vk says on standard output which case it begins.
const announcement = "Test case '"

// console keeps the end of what a process prints, and which findings of the driver's (FARSIDE_STRICT) each case has:
//
//	farside: error: FARSIDE-async-unordered: …
type console struct {
	tail
	line     []byte // that has not ended yet
	name     string
	findings map[string][]string // by case
}

var findingLine = regexp.MustCompile(`^farside: \w+: (FARSIDE-[\w-]+): `)

func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	for _, b := range p {
		if b == '\n' {
			c.look(string(c.line))
			c.line = c.line[:0]
		} else if len(c.line) < 1<<10 {
			c.line = append(c.line, b)
		}
	}
	c.mu.Unlock()
	return c.tail.Write(p)
}

// of returns the ids of a case's findings.
func (c *console) of(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findings[name]
}

func (c *console) look(line string) {
	if rest, ok := strings.CutPrefix(line, announcement); ok {
		c.name, _, _ = strings.Cut(rest, "'")
		return
	}
	match := findingLine.FindStringSubmatch(line)
	if match == nil {
		return
	}
	id := match[1]
	if c.findings == nil {
		c.findings = map[string][]string{}
	}
	if !slices.Contains(c.findings[c.name], id) {
		c.findings[c.name] = append(c.findings[c.name], id)
	}
}
