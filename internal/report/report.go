// Package report writes down what the journal tells, and shows it: FARSIDE_REPORT and FARSIDE_TRACE.
//
// A process with FARSIDE_REPORT=DIR appends every event to DIR/PID-START.jsonl as it happens. That file is the truth:
// it is there after a signal, _exit(2) or a crash. From it come DIR/PID-START.html, .json and .xml, which the process
// writes itself when it ends by exit(3), and DIR/index.html, summary.json and junit.xml, which `farside report DIR`
// writes for all processes together.
package report

import (
	"fmt"
	"sync"

	"farside/internal/config"
	"farside/internal/journal"
	"farside/internal/vk"
)

var process struct {
	mu    sync.Mutex
	log   *logFile
	trace *traceFile
}

// Start begins what the settings ask for, once for each process; later calls add nothing. driver is name and version
// of what writes. atExit is called with what must be done when the process ends. Errors: of the files, with a VkResult.
func Start(s *config.Settings, driver string, atExit func(func())) error {
	if s.Report == "" && s.Trace == "" {
		return nil
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	if s.Report != "" && process.log == nil {
		l, err := newLogFile(s.Report, driver)
		if err != nil {
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.NoVUID, "FARSIDE_REPORT: %w", err)
		}
		process.log = l
		journal.Attach(l)
		atExit(l.end)
	}
	if s.Trace != "" && process.trace == nil {
		t, err := newTraceFile(s.Trace, driver)
		if err != nil {
			return vk.Errorf(vk.ERROR_INITIALIZATION_FAILED, vk.NoVUID, "FARSIDE_TRACE: %w", err)
		}
		process.trace = t
		journal.Attach(t)
		atExit(func() { journal.Detach(t) })
	}
	return nil
}

// Finish ends the journal of this process and writes its pages, for programs in Go, which have no destructors.
func Finish() {
	process.mu.Lock()
	l := process.log
	process.mu.Unlock()
	if l != nil {
		l.end()
	}
}

// end writes the last line and the pages.
func (l *logFile) end() {
	journal.Detach(l)
	if err := l.close(); err != nil {
		warn("report: %v", err)
		return
	}
	p, err := readLog(l.path)
	if err == nil {
		err = p.write(l.base)
	}
	if err != nil {
		warn("report: %v", err)
	}
}

// write writes the process' own page and summaries to base.html, base.json and base.xml.
func (p *Process) write(base string) error {
	r := &Report{Processes: []*Process{p}}
	r.connect()
	return r.write(base+".html", base+".json", base+".xml")
}

// Merge reads the journals of all processes in a directory, and writes index.html, summary.json and junit.xml there.
// A journal that can't be read is an error, but not before the others have been merged.
func Merge(dir string) (*Report, error) {
	r, err := Read(dir)
	if r == nil {
		return nil, err
	}
	if e := r.write(dir+"/index.html", dir+"/summary.json", dir+"/junit.xml"); e != nil {
		return r, fmt.Errorf("report: %w", e)
	}
	return r, err
}
