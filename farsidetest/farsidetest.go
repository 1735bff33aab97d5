// Package farsidetest runs tests on Farside: it finds the driver or builds it, gives a test an environment of its own,
// and fails the test for what strictness finds.
//
//	d := farsidetest.New(t, farsidetest.Strict(), farsidetest.Profile("tiny"))
//	if out, err := d.Command("./my-vulkan-program").CombinedOutput(); err != nil {
//		t.Fatalf("%v\n%s", err, out)
//	}
//
// When the test ends, the reports of all processes that ran in the environment are read. Each finding is an error of
// the test, with its text and its stack. With [Strict], so is each error that breaks a rule of the specification. A
// command that ran without using the driver is an error, too: its test would pass whatever it did.
package farsidetest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"farside/internal/config"
	"farside/internal/journal"
	"farside/internal/report"
)

// Option is a setting of a Driver.
type Option func(*Driver)

// Strict makes the driver look for misuse of the API: for all that FARSIDE_STRICT has, or for the words given, such as
// "guard" and "leaks". docs/strict.md explains them.
func Strict(words ...string) Option {
	if len(words) == 0 {
		words = []string{"all"}
	}
	return Setting(strictVariable, strings.Join(words, ","))
}

// Profile makes the physical devices claim to be others: the name of a built-in profile, or a file. See
// docs/profiles.md.
func Profile(name string) Option { return Setting(config.Profile, name) }

// Faults makes what a plan says fail, such as "vkAllocateMemory=VK_ERROR_OUT_OF_DEVICE_MEMORY@3". See docs/faults.md.
func Faults(plan string) Option { return Setting(config.Faults, plan) }

// Report keeps the reports in a directory, which is made if need be; `farside report` makes a page of them. Without it
// they are removed with the test. Reports of earlier tests in the directory count, so each test needs its own.
func Report(dir string) Option { return Setting(reportVariable, dir) }

// Manifest names the driver's manifest, in place of the one that would be found.
func Manifest(path string) Option { return func(d *Driver) { d.manifest = path } }

// Setting sets another variable of docs/environment.md, such as FARSIDE_HEAP_DEVICE.
func Setting(name, value string) Option { return func(d *Driver) { d.settings[name] = value } }

const (
	strictVariable = "FARSIDE_STRICT"
	reportVariable = "FARSIDE_REPORT"
)

// Driver is the driver with the settings of one test.
type Driver struct {
	t        testing.TB
	manifest string
	settings map[string]string
	kept     bool // the reports are, after the test
	commands []*exec.Cmd
	known    map[string]int // how many findings of each process Findings has returned
}

// New finds the driver and makes an environment for the test. What it looks for, in this order: build/ of the source
// that the test is built from, an installed manifest, and what an earlier call has built of that source. In the end it
// builds the driver into the user's cache (go and gcc are needed then). It fails the test if there is no driver.
func New(t testing.TB, options ...Option) *Driver {
	t.Helper()
	d := &Driver{t: t, settings: map[string]string{}, known: map[string]int{}}
	for _, o := range options {
		o(d)
	}
	path, err := find(d.manifest)
	if err != nil {
		t.Fatalf("farsidetest: %v", err)
	}
	d.manifest = path
	if d.kept = d.settings[reportVariable] != ""; !d.kept {
		d.settings[reportVariable] = t.TempDir()
	}
	t.Cleanup(d.check)
	return d
}

// Manifest is the absolute path of the driver's manifest.
func (d *Driver) Manifest() string { return d.manifest }

// Environ is the environment of this process, with the loader pointed at the driver, and with the test's settings in
// the place of all other variables FARSIDE_*.
func (d *Driver) Environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(name, "FARSIDE_") || slices.Contains(loaderVariables, name) || name == "VK_ADD_DRIVER_FILES"
	})
	for name, value := range d.variables() {
		env = append(env, name+"="+value)
	}
	return env
}

// loaderVariables point the Vulkan loader at a driver: the first from 1.3.207 on, the second before.
var loaderVariables = []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"}

func (d *Driver) variables() map[string]string {
	all := map[string]string{}
	for _, name := range loaderVariables {
		all[name] = d.manifest
	}
	for name, value := range d.settings {
		all[name] = value
	}
	return all
}

// Command is exec.CommandContext with the test's context and environment.
func (d *Driver) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), name, args...)
	cmd.Env = d.Environ()
	d.commands = append(d.commands, cmd)
	return cmd
}

// Setenv gives this process the environment until the test ends, for a test that uses Vulkan itself. It is called
// before vkCreateInstance, which is where loader and driver read their environment. Its limits:
//   - A process has one environment: such tests can't be parallel (testing.T.Setenv).
//   - A process has one report. All such tests of a process share a directory: that of Report where the first of them
//     has it, else one in os.TempDir, which stays there.
//   - What is found when a process exits, such as instances that were never destroyed, comes after the test.
func (d *Driver) Setenv() {
	d.t.Helper()
	if err := d.shareReport(); err != nil {
		d.t.Fatalf("farsidetest: %v", err)
	}
	d.Findings() // those of tests before
	for name, value := range d.variables() {
		d.t.Setenv(name, value)
	}
}

// own is where this process reports.
var own struct {
	mu  sync.Mutex
	dir string
}

func (d *Driver) shareReport() (err error) {
	own.mu.Lock()
	defer own.mu.Unlock()
	if own.dir == "" {
		own.dir = d.settings[reportVariable]
		if !d.kept {
			own.dir, err = os.MkdirTemp("", "farsidetest-")
		}
	}
	d.settings[reportVariable] = own.dir
	return err
}

// Finding is something that strictness has found, or an error that breaks a rule of the specification.
type Finding struct {
	Process int      // its id
	Program string   // as the process was called
	ID      string   // such as FARSIDE-leaks-object, or a VUID
	Command string   // of an error, such as vkAllocateMemory
	Text    string   // in a sentence
	Stack   []string // where the application was, innermost first; may be empty
}

// String is the finding as a test prints it.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s", f.ID, f.Text)
	if f.Command != "" {
		text = f.Command + ": " + text
	}
	return fmt.Sprintf("%s (process %d of %s)%s", text, f.Process, f.Program,
		strings.Join(append([]string{""}, f.Stack...), "\n\t"))
}

// Findings returns what was found since New or the last call. A test that provokes a finding takes it in this way: it
// is no error of the test then.
func (d *Driver) Findings() (fresh []Finding) {
	d.t.Helper()
	if !hasJournal(d.settings[reportVariable]) {
		return nil
	}
	r, err := report.Read(d.settings[reportVariable])
	if err != nil {
		d.t.Errorf("farsidetest: %v", err)
	}
	if r == nil {
		return nil
	}
	for _, p := range r.Summaries() {
		take := func(kind string, events []journal.Event) {
			key := fmt.Sprint(kind, p.PID, p.Start)
			for _, e := range events[d.known[key]:] {
				fresh = append(fresh, Finding{Process: p.PID, Program: p.Program, ID: e.ID, Command: e.Command,
					Text: e.Text, Stack: e.Stack})
			}
			d.known[key] = len(events)
		}
		take("finding", p.Findings)
		if d.settings[strictVariable] != "" {
			take("error", slices.DeleteFunc(p.Errors, func(e journal.Event) bool { return !strings.HasPrefix(e.ID, "VUID-") }))
		}
	}
	return fresh
}

// check is what ends a test.
func (d *Driver) check() {
	d.t.Helper()
	for _, f := range d.Findings() {
		d.t.Errorf("farsidetest: %v", f)
	}
	ran := slices.ContainsFunc(d.commands, func(c *exec.Cmd) bool { return c.ProcessState != nil })
	if ran && !hasJournal(d.settings[reportVariable]) {
		d.t.Errorf("farsidetest: no command made an instance on the driver of %s", d.manifest)
	}
}
