package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"farside/internal/fault"
)

// sweep runs a program once for each of its calls that can fail.
type sweep struct {
	args    []string
	env     []string
	jobs    int
	limit   int // calls of each command; 0: all
	only    string
	noLeaks bool // what is left is not looked at
	timeout time.Duration
}

// The ways in which a run ends badly.
const (
	verdictCrash  = "crash"
	verdictHang   = "hang"
	verdictLeak   = "leak"
	verdictHidden = "hidden"
)

// sweepResult is what a sweep found.
type sweepResult struct {
	Program []string   `json:"program"`
	Calls   uint64     `json:"calls"`  // of the good run, that can fail
	Runs    int        `json:"runs"`   // beside the good ones
	Missed  int        `json:"missed"` // runs that did not come to the call that was to fail
	Seconds float64    `json:"seconds"`
	Bad     []sweepBad `json:"bad"`
}

// sweepBad is a run that ended badly. With FARSIDE_FAULTS set to Fault it does so again.
type sweepBad struct {
	Fault    string   `json:"fault"`
	Command  string   `json:"command"`
	Verdicts []string `json:"verdicts"`
	Detail   string   `json:"detail"`
}

func (r *sweepResult) count(verdict string) (n int) {
	for _, b := range r.Bad {
		if slices.Contains(b.Verdicts, verdict) {
			n++
		}
	}
	return n
}

// outcome is how a process ended.
type sweepOutcome struct {
	counts fault.Counts
	output []byte
	err    error // of waiting for it: nil for an exit with 0
	hung   bool
	took   time.Duration
}

// signal is what ended the process, also where a shell in between made an exit status of it; 0 for none.
func (o *sweepOutcome) signal() syscall.Signal {
	exit, ok := errors.AsType[*exec.ExitError](o.err)
	if !ok {
		return 0
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}
	if s := syscall.Signal(exit.ExitCode() - 128); slices.Contains([]syscall.Signal{unix.SIGILL, unix.SIGABRT, unix.SIGBUS,
		unix.SIGFPE, unix.SIGSEGV, unix.SIGTRAP}, s) {
		return s
	}
	return 0
}

// outputLimit is how much of a run's output is kept and compared.
const outputLimit = 4 << 20

// limited is a buffer that takes everything and keeps the beginning.
type limited struct{ kept []byte }

func (b *limited) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), outputLimit-len(b.kept))]...)
	return len(p), nil
}

// once runs the program with a fault, or without one. Error: it can't be started or recorded.
func (s *sweep) once(ctx context.Context, plan string, timeout time.Duration) (*sweepOutcome, error) {
	dir, err := os.MkdirTemp("", "farside-sweep-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	limit, cancel := ctx, func() {}
	if timeout > 0 {
		limit, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	cmd := exec.CommandContext(limit, s.args[0], s.args[1:]...)
	cmd.Env = append(slices.Clone(s.env), "FARSIDE_FAULTS="+plan, "FARSIDE_FAULTS_RECORD="+dir)
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) } // with its children
	cmd.Cancel, cmd.WaitDelay = kill, time.Second
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	o := &sweepOutcome{err: cmd.Wait(), took: time.Since(began)}
	_ = kill() // children that it left
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.hung, o.output = limit.Err() != nil, out.kept
	if errors.Is(o.err, exec.ErrWaitDelay) { // a child of it kept its output open
		o.err = nil
	}
	o.counts, err = fault.ReadRecords(dir)
	return o, err
}

// job is one run: a call that fails.
type sweepJob struct {
	command *fault.Command
	plan    string
}

// ofLoader are commands that the Vulkan loader calls by itself. What it makes of their errors says nothing about the
// program; some versions crash. --only can ask for them.
var ofLoader = []string{"vkEnumerateDeviceExtensionProperties"}

// jobsOf are the runs for the calls of the good run.
func (s *sweep) jobsOf(good *sweepOutcome) (jobs []sweepJob, calls uint64) {
	for i := range fault.Commands {
		c := &fault.Commands[i]
		n := good.counts.Calls[c.Name()]
		if ok, _ := path.Match(s.only, c.Name()); !ok || s.only == "*" && slices.Contains(ofLoader, c.Name()) {
			continue
		}
		calls += n
		if s.limit > 0 {
			n = min(n, uint64(s.limit))
		}
		for number := range n {
			for _, r := range c.Interesting() {
				jobs = append(jobs, sweepJob{c, fmt.Sprintf("%s=%v@%d", c.Name(), r, number+1)})
			}
		}
	}
	return jobs, calls
}

var (
	errNoCalls = errors.New("the program made no calls of the driver that can fail")
	errUnfit   = errors.New("the program fails without faults")
)

// run does the whole sweep. Errors: the program can't be run, fails by itself, or makes no calls.
func (s *sweep) run(ctx context.Context) (*sweepResult, error) {
	began := time.Now()
	good, err := s.once(ctx, "", s.timeout)
	if err != nil {
		return nil, err
	}
	if good.err != nil || good.hung {
		_, _ = os.Stderr.Write(good.output)
		return nil, fmt.Errorf("%w: %w", errUnfit, good.err)
	}
	again, err := s.once(ctx, "", s.timeout)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(good.output, again.output) {
		good.output = nil // it says something else each time
	}
	timeout := s.timeout
	if timeout == 0 {
		timeout = 10*max(good.took, again.took) + 5*time.Second
	}
	jobs, calls := s.jobsOf(good)
	if calls == 0 {
		return nil, errNoCalls
	}
	r := &sweepResult{Program: s.args, Calls: calls, Runs: len(jobs), Bad: []sweepBad{}}
	bad := make([]*sweepBad, len(jobs))
	var bar *progressbar.ProgressBar
	if isTerminal(os.Stderr) {
		bar = progressbar.NewOptions(len(jobs), progressbar.OptionSetWriter(os.Stderr),
			progressbar.OptionSetDescription("runs"), progressbar.OptionShowCount(), progressbar.OptionClearOnFinish(),
			progressbar.OptionThrottle(100*time.Millisecond))
	}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(s.jobs, 1))
	for i, job := range jobs {
		group.Go(func() error {
			o, err := s.once(ctx, job.plan, timeout)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if o.counts.Injected == 0 {
				r.Missed++
			} else {
				bad[i] = s.judge(job, o, good)
			}
			if bar != nil {
				_ = bar.Add(1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, b := range bad {
		if b != nil {
			r.Bad = append(r.Bad, *b)
		}
	}
	r.Seconds = time.Since(began).Seconds()
	return r, nil
}

// harmless are commands whose failure changes nothing that a program computes: a program may ignore it.
var harmless = []string{
	"vkSetDebugUtils*", "vkCreateDebugUtilsMessengerEXT", // names and messages for people
	"vkCreatePipelineCache", "vkGetPipelineCacheData", "vkMergePipelineCaches", // what only saves time
	"vkGetPipelineExecutable*", "vkGetPhysicalDevice*", "vkEnumerate*", // questions: the program may have another way
}

// judge says what is bad about a run, nil for nothing.
func (s *sweep) judge(job sweepJob, o, good *sweepOutcome) *sweepBad {
	b := &sweepBad{Fault: job.plan, Command: job.command.Name()}
	add := func(verdict, detail string) {
		b.Verdicts = append(b.Verdicts, verdict)
		if b.Detail != "" {
			b.Detail += "; "
		}
		b.Detail += detail
	}
	if o.hung {
		add(verdictHang, fmt.Sprintf("killed after %v", o.took.Round(time.Millisecond)))
		return b
	}
	if signal := o.signal(); signal != 0 {
		add(verdictCrash, unix.SignalName(signal))
		return b
	}
	var left []string
	for _, kind := range slices.Sorted(maps.Keys(o.counts.Left)) {
		if n, usual := o.counts.Left[kind], good.counts.Left[kind]; n > usual {
			left = append(left, fmt.Sprintf("%d %s", n-usual, kind))
		}
	}
	if left != nil && !s.noLeaks {
		add(verdictLeak, strings.Join(left, ", "))
	}
	ignorable := slices.ContainsFunc(harmless, func(pattern string) bool {
		ok, _ := path.Match(pattern, job.command.Name())
		return ok
	})
	retried := o.counts.Calls[job.command.Name()] > good.counts.Calls[job.command.Name()]
	same := good.output == nil || bytes.Equal(o.output, good.output)
	if o.err == nil && same && !retried && !ignorable {
		add(verdictHidden, "exited with 0 as if nothing had failed")
	}
	if b.Verdicts == nil {
		return nil
	}
	return b
}
