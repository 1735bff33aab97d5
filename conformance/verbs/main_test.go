package verbs

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var build = flag.Bool("build", true, "build the libraries first")

// timeout is how long a program may take that works; on a loaded machine, some take a while.
const timeout = 2 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	if *build {
		make := exec.Command("make", "build")
		make.Dir = "../.."
		if out, err := make.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "make build: %v\n%s", err, out)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// built is a path below build/.
func built(t *testing.T, path string) string {
	t.Helper()
	p, err := filepath.Abs(filepath.Join("../../build", path))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// need skips the test where a package is missing that has a program or a file.
func need(t *testing.T, pkg, what string) {
	t.Helper()
	if strings.Contains(what, "/") {
		if _, err := os.Stat(what); err == nil {
			return
		}
	} else if _, err := exec.LookPath(what); err == nil {
		return
	}
	t.Skipf("package %s is missing", pkg)
}

// environment is this process' with Farside's libraries before those of the system, and more variables.
func environment(t *testing.T, more ...string) []string {
	t.Helper()
	return append(append(os.Environ(), "LD_LIBRARY_PATH="+built(t, "verbs"), "FARSIDE_LOG=warn"), more...)
}

// command is a program on Farside's libraries, which is killed when it hangs.
func command(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = environment(t)
	grouped(cmd)
	timer := time.AfterFunc(timeout, func() {
		if cmd.Process != nil {
			_ = cmd.Cancel()
		}
	})
	t.Cleanup(func() { timer.Stop() })
	return cmd
}

// grouped lets a program be killed together with its children, which keep open what it says: nobody waits for them for
// ever.
func grouped(cmd *exec.Cmd) {
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
}

// failure is why a program failed that has ended with err and has said this.
//
// That rping fails so is no failure, on any device, in rdma-core before 59: its main thread destroys the channel of
// events while the thread that reads it is between two reads. rdma-core's commit f3ae6534a mends it. Tests look for the
// last ping, which rping tells with -v once it has checked it.
func failure(err error, said *bytes.Buffer) error {
	const race = "rdma_get_cm_event: Bad file descriptor\n"
	ended, ok := errors.AsType[*exec.ExitError](err)
	if ok && ended.ExitCode() == 255 && bytes.Contains(said.Bytes(), []byte(race)) {
		return nil
	}
	return err
}

// output runs a program on Farside's libraries, which must succeed.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := command(t, program, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// compile makes a program of a file of testdata, linked with both libraries as any program of rdma-core's users is, and
// with others.
func compile(t *testing.T, source string, libraries ...string) string {
	t.Helper()
	need(t, "libibverbs-dev", "/usr/include/infiniband/verbs.h")
	need(t, "librdmacm-dev", "/usr/include/rdma/rdma_cma.h")
	program := filepath.Join(t.TempDir(), strings.TrimSuffix(source, ".c"))
	args := append([]string{"-O1", "-Wall", "-Werror", "-o", program, filepath.Join("testdata", source),
		"-libverbs", "-lrdmacm", "-ldl", "-pthread"}, libraries...)
	cmd := exec.Command("gcc", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return program
}
