package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A step is what the guest runs: tests of a package, or a shell script.
type step struct {
	Name    string
	Tests   string   // the package whose tests run; empty for anything else
	Program string   // the package of a program; empty for anything else
	Args    []string // of the test binary or the program
	Sees    string   // a folder of this machine that it needs, beside the tree
	Script  string   // for sh -ec
	Clock   bool     // the clock of the day jumps to and fro meanwhile
}

// devices fails unless the guest has what it is made for.
const devices = `
for device in /dev/udmabuf /dev/dma_heap/system /dev/dri/card0 /dev/infiniband/rdma_cm; do
	[ -c $device ] || { echo "$device is missing"; exit 1; }
done
ip link set lo up
ip link set eth0 up
ip address add 10.0.2.15/24 dev eth0
rdma link add rxe0 type rxe netdev eth0
state=/sys/class/infiniband/rxe0/ports/1/state
for try in 1 2 3 4 5 6 7 8 9 10; do
	grep ACTIVE $state && exit
	sleep 0.2
done
echo "rxe0 is not active: $(cat $state)"
exit 1
`

// onFarside are the flags of the conformance suite on the driver that was built before the guest was booted.
var onFarside = []string{"-drivers=farside", "-build=false"}

// plan is all that runs in the guest. A test that skips there makes its step fail.
var plan = []step{
	{Name: "devices", Script: devices},
	{Name: "export", Tests: "export"},
	{Name: "memfd", Tests: "internal/memfd", Args: []string{"-test.run=^TestSealWrites"}},
	{Name: "syncobj", Tests: "internal/syncobj", Args: []string{"-test.run=SyncFile"}},
	{Name: "conformance", Tests: "conformance", Args: append(onFarside, "-test.run=^TestConformance$/^farside$/dma_buf")},
	{Name: "validation", Tests: "conformance", Args: append(onFarside, "-test.run=^TestValidation$/dma_buf")},
	// It needs root, which a developer's machine or a container may not give.
	{Name: "rxe", Tests: "conformance/verbs", Args: []string{"-build=false", "-test.run=^TestRXE$"}},
	{Name: "regions", Tests: "conformance/verbs",
		Args: []string{"-build=false", "-test.run=^TestDescriptorMemory$/^dma_buf$/^one_host$"}},
	{Name: "users", Tests: "rdmasim", Args: []string{"-test.run=^TestOtherUser$"}},
	// Only who may set the clock can try what that does to timeouts, certificates and turns.
	{Name: "clock-waits", Tests: "internal/syncobj", Args: []string{"-test.skip=^TestWithoutProc$"}, Clock: true},
	{Name: "clock-hosts", Tests: "rdmasim/internal/remote", Clock: true},
	{Name: "clock-packets", Tests: "verbs/internal/udp", Clock: true},
}

// chosen are the steps of these names, all if there are none.
func chosen(plan []step, names []string) ([]step, error) {
	if len(names) == 0 {
		return plan, nil
	}
	var steps []step
	for _, name := range names {
		i := slices.IndexFunc(plan, func(s step) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no step %q", name)
		}
		steps = append(steps, plan[i])
	}
	return steps, nil
}

// job is a step as the guest's init gets it.
type job struct {
	Name   string
	Dir    string
	Binary string // is copied into the guest, so that other users can run it too; empty for a script
	Argv   []string
	Clock  bool // the clock jumps meanwhile
}

// build compiles what the steps run into out, and returns the steps as jobs. tree is the module's folder.
func build(ctx context.Context, tree, out string, steps []step) ([]job, error) {
	var jobs []job
	for _, s := range steps {
		if s.Program != "" {
			binary := filepath.Join(out, filepath.Base(s.Program))
			if err := execute(ctx, tree, nil, "go", "build", "-o", binary, "./"+s.Program); err != nil {
				return nil, err
			}
			jobs = append(jobs, job{Name: s.Name, Dir: tree, Binary: binary, Argv: append([]string{binary}, s.Args...)})
			continue
		}
		if s.Tests == "" {
			jobs = append(jobs, job{Name: s.Name, Dir: tree, Argv: []string{"/bin/sh", "-ec", s.Script}})
			continue
		}
		binary := filepath.Join(out, strings.ReplaceAll(s.Tests, "/", "-")+".test")
		if !slices.ContainsFunc(jobs, func(j job) bool { return j.Binary == binary }) {
			if err := execute(ctx, tree, nil, "go", "test", "-c", "-o", binary, "./"+s.Tests); err != nil {
				return nil, err
			}
		}
		argv := append([]string{binary, "-test.v", "-test.timeout=5m"}, s.Args...)
		jobs = append(jobs, job{Name: s.Name, Dir: filepath.Join(tree, s.Tests), Binary: binary, Argv: argv, Clock: s.Clock})
	}
	return jobs, nil
}

// execute runs a program in dir; what it printed is part of the error.
func execute(ctx context.Context, dir string, env []string, argv ...string) error {
	_, err := output(ctx, dir, env, argv...)
	return err
}

// output is what a program wrote to its standard output. env is added to the environment.
func output(ctx context.Context, dir string, env []string, argv ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, complaints.Bytes())
	}
	return out.String(), nil
}
