package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/journal"
	"farside/internal/stderr"
)

const (
	// fullLog is the size in bytes beyond which a journal takes findings, faults and errors only: reports are read by
	// people, and a program that runs for days must not fill the disk.
	fullLog = 64 << 20
	// fullerLog ends those, too.
	fullerLog = fullLog + 4<<20
)

// Header is the first line of a journal: whose it is.
type Header struct {
	PID     int      `json:"pid"`
	Program string   `json:"program"`
	Command []string `json:"command"`
	Driver  string   `json:"driver"`
	Start   string   `json:"start"` // RFC 3339, of the journal
	Began   int64    `json:"began"` // the same in nanoseconds of CLOCK_MONOTONIC
}

// logFile is the sink that appends to a journal. One write(2) a line, so that nothing is lost by a crash.
type logFile struct {
	path, base string // base is path without its suffix
	file       *fd.FD
	line       bytes.Buffer
	size       int64
	dropped    uint64
}

func newLogFile(dir, driver string) (*logFile, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	h := header(driver)
	base := filepath.Join(dir, fmt.Sprintf("%d-%d", h.PID, h.Began/1000))
	l := &logFile{path: base + ".jsonl", base: base}
	var err error
	l.file, err = fd.Open(l.path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_APPEND, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.path, err)
	}
	return l, l.append(h)
}

func header(driver string) *Header {
	h := &Header{
		PID: os.Getpid(), Driver: driver, Start: time.Now().Format(time.RFC3339Nano), Began: journal.Now(),
	}
	// The process' own words: os.Args is empty in a library. What can't be read is left out.
	if f, err := openFile("/proc/self/cmdline"); err == nil {
		if b, err := io.ReadAll(f); err == nil {
			h.Command = strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
		}
		_ = f.Close()
	}
	if exe, err := os.Readlink("/proc/self/exe"); err == nil {
		h.Program = filepath.Base(exe)
	}
	return h
}

// Write appends an event. Errors are dropped with the event: the program goes on.
func (l *logFile) Write(e *journal.Event) {
	important := e.Kind == journal.Finding || e.Kind == journal.Fault || e.Kind == journal.Error
	if l.size > fullLog && (!important || l.size > fullerLog) {
		l.dropped++
		return
	}
	_ = l.append(e)
}

func (l *logFile) append(v any) error {
	l.line.Reset()
	if err := json.NewEncoder(&l.line).Encode(v); err != nil {
		return err
	}
	l.size += int64(l.line.Len())
	return write(l.file, l.path, l.line.Bytes())
}

// ending is the last line of a journal of a process that ended by exit(3).
type ending struct {
	Ended   int64  `json:"ended"` // nanoseconds of CLOCK_MONOTONIC
	Dropped uint64 `json:"dropped,omitempty"`
}

func (l *logFile) close() error {
	err := l.append(ending{journal.Now(), l.dropped})
	if e := l.file.Close(); err == nil {
		err = e
	}
	return err
}

// warn tells the person at the terminal; nothing of a report ends a program.
func warn(format string, args ...any) { fmt.Fprintf(stderr.Writer, "farside: "+format+"\n", args...) }
