package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// deqp is how to start deqp-vk.
type deqp struct {
	path    string // absolute
	data    string // where its data lies, which its build puts beside it; absolute
	dir     string // where it runs: it may leave files there
	options []string
	env     []string      // beside the environment
	timeout time.Duration // for one case, and for the process to start and to end
}

// baseOptions are those that the CTS' README requires or allows for a run, and how it talks to us. The log goes
// through a pipe: it ends with the process, so a case that began in it and has no end is the one that crashed.
var baseOptions = []string{"--deqp-stdin-caselist", "--deqp-log-filename=/proc/self/fd/3",
	"--deqp-shadercache=disable", "--deqp-log-images=disable", "--deqp-log-shader-sources=disable",
	"--deqp-log-decompiled-spirv=disable", "--deqp-log-empty-loginfo=disable"}

// withGraphics asks the driver for graphics, or says that it has none. In the latter case no queue family would do
// without --deqp-compute-only, and no case would run.
func (d *deqp) withGraphics(on bool) {
	if on {
		d.env = append(d.env, "FARSIDE_GRAPHICS=on")
		return
	}
	d.env = append(d.env, "FARSIDE_GRAPHICS=off")
	d.options = append([]string{"--deqp-compute-only=enable"}, d.options...)
}

// list calls f with each case that one of the patterns matches, in the order in which deqp-vk would run them. It
// takes no driver.
func (d *deqp) list(ctx context.Context, patterns []string, f func(name string)) error {
	cmd := exec.CommandContext(ctx, d.path, "--deqp-runmode=stdout-caselist", "--deqp-log-filename=/dev/null",
		"--deqp-archive-dir="+d.data, "--deqp-case="+strings.Join(patterns, ","))
	cmd.Dir = d.dir
	var console tail
	cmd.Stderr = &console
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "TEST: "); ok {
			f(strings.TrimSpace(name))
		}
	}
	// The pipe is at its end or holds a line longer than any case's.
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s doesn't list its cases: %s", d.path,
			cmp.Or(abnormal(cmd.ProcessState, console.String()), err.Error()))
	}
	return nil
}

// graceful is for how long pipes are read that outlive the process, as some other process holds them.
const graceful = 3 * time.Second

// outcome is what became of one process.
type outcome struct {
	results  []result // in the order in which the cases ended
	open     string   // the case that had begun and not ended
	console  string
	abnormal string // how the process ended, if not by itself with status 0 or 1
	timedOut bool
}

// command is the program that runs the cases of these names. It writes its log to w, the rest to console.
func (d *deqp) command(names []string, w *os.File, console *console) *exec.Cmd {
	cmd := exec.Command(d.path, append(append([]string{"--deqp-archive-dir=" + d.data}, baseOptions...), d.options...)...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), d.env...)
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	cmd.Stdout, cmd.Stderr = console, console
	cmd.ExtraFiles = []*os.File{w}
	// A group of its own: an interrupt from the terminal is ours to handle, and children of it die with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = graceful
	return cmd
}

// run runs the cases in one process and calls tick when one has ended. The error says that the process could not
// be started, or is the context's; in the latter case the outcome holds for the results that are there.
func (d *deqp) run(ctx context.Context, names []string, tick func()) (outcome, error) {
	var o outcome
	if err := ctx.Err(); err != nil {
		return o, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return o, err
	}
	defer r.Close()
	var console console
	cmd := d.command(names, w, &console)
	err = cmd.Start()
	w.Close()
	if err != nil {
		return o, err
	}
	events := make(chan event)
	go func() {
		defer close(events)
		readLog(r, events)
	}()
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		cmd.Wait() // how it ended is in ProcessState
		r.SetReadDeadline(time.Now().Add(graceful))
	}()
	timer := time.NewTimer(d.timeout)
	defer timer.Stop()
	begun := time.Now()
	done := ctx.Done()
	// The number may belong to another process once this one has been waited for.
	kill := func() {
		if exited != nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}
	for events != nil || exited != nil {
		select {
		case e, ok := <-events:
			switch {
			case !ok:
				events = nil
			case e.begun != "":
				o.open, begun = e.begun, time.Now()
			default:
				o.open = ""
				e.ended.took = time.Since(begun)
				if e.ended.status.bad() {
					e.ended.console = about(console.String(), e.ended.name)
				}
				o.results = append(o.results, *e.ended)
				tick()
			}
			timer.Reset(d.timeout)
		case <-exited:
			exited = nil
		case <-timer.C:
			o.timedOut = true
			kill()
		case <-done:
			done = nil
			kill()
		}
	}
	o.console = console.String()
	for i := range o.results {
		o.results[i].findings = console.of(o.results[i].name)
	}
	o.abnormal = abnormal(cmd.ProcessState, o.console)
	if o.timedOut {
		o.abnormal = fmt.Sprintf("nothing happened for %v", d.timeout)
	}
	return o, ctx.Err()
}

// abnormal says how a process ended, or nothing if it ended by itself and says 0 or 1, with which deqp-vk tells
// whether all cases passed. After an error outside of a case it says 255 and the reason.
func abnormal(state *os.ProcessState, console string) string {
	if code := state.ExitCode(); code == 0 || code == 1 {
		return ""
	}
	if _, reason, ok := strings.Cut(console, "FATAL ERROR: "); ok {
		reason, _, _ = strings.Cut(reason, "\n")
		return state.String() + ": " + reason
	}
	return state.String()
}

// about cuts what belongs to a case out of a process' output: deqp-vk announces each.
func about(console, name string) string {
	i := strings.LastIndex(console, announcement+name+"'")
	if i < 0 {
		return console
	}
	text := console[i:]
	if next := strings.Index(text[len(announcement):], announcement); next >= 0 {
		text = text[:len(announcement)+next]
	}
	return text
}
