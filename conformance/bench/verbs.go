package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

//go:embed native/verbs.c
var verbsSource []byte

// verbsTitle begins the items of these rows: what they say is no adapter's.
const verbsTitle = "verbs between two processes, no adapter's: "

// verbsRows are the rows of RDMA programs.
func verbsRows() []row {
	return append([]row{
		toReach(verbsTitle+"RC write of 8 B to device memory, post to completion", "verbs 8 device", "ns", 1, 1000),
		toReach(verbsTitle+"the same to ordinary memory of a process that polls", "verbs 8 ordinary", "ns", 1, 1000),
		compared(verbsTitle+"RC write of 1 MiB, both device memory", "verbs 1M device", "µs", 1e3, "memcpy",
			"verbs memcpy", 1/0.9),
		compared(verbsTitle+"RC write of 1 MiB, both ordinary memory", "verbs 1M ordinary", "µs", 1e3, "memcpy",
			"verbs memcpy", 1/0.45),
		compared(verbsTitle+"ib_write_lat, 8 B, average", "verbs write lat", "µs", 1e3,
			"UCX's shared memory, ucx_perftest -t tag_lat", "verbs ucx lat", 0),
		compared(verbsTitle+"the same, beside libfabric's", "verbs write lat", "µs", 1e3, "fi_pingpong -p shm",
			"verbs shm lat", 0),
	}, namespaceRows()...)
}

// latency is a program that measures how long 8 bytes take one way, on average, as a server and its client.
type latency struct {
	key, program, pkg string
	ports             [2]string // the flags for the server's port: the server's, the client's
	env, args         []string
	result            *regexp.Regexp // finds the figure, in microseconds
}

var latencies = []latency{
	{"verbs write lat", "ib_write_lat", "perftest", [2]string{"-p", "-p"}, nil, []string{"-F", "-s", "8", "-n", "5000"},
		regexp.MustCompile(`(?m)^ *8\s+5000\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+([\d.]+)`)},
	{"verbs ucx lat", "ucx_perftest", "ucx-utils", [2]string{"-p", "-p"},
		[]string{"UCX_TLS=shm", "UCX_WARN_UNUSED_ENV_VARS=n"},
		[]string{"-t", "tag_lat", "-s", "8", "-n", "5000", "-w", "100"},
		regexp.MustCompile(`(?m)^Final: +\d+ +[\d.]+ +[\d.]+ +([\d.]+)`)},
	{"verbs shm lat", "fi_pingpong", "libfabric-bin", [2]string{"-B", "-P"}, nil,
		[]string{"-p", "shm", "-e", "rdm", "-S", "8", "-I", "5000"},
		regexp.MustCompile(`(?m)^8 .* ([\d.]+) +[\d.]+\s*$`)},
}

// sampleVerbs measures RDMA programs on the libraries beside the driver.
func sampleVerbs(into *samples) error {
	manifest := os.Getenv("FARSIDE_BENCH_MANIFEST")
	env := append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(manifest), "verbs"),
		"VK_DRIVER_FILES="+manifest, "VK_ICD_FILENAMES="+manifest)
	among := func(rows []row) bool {
		return slices.ContainsFunc(rows, func(r row) bool { return into.needs(r.key) })
	}
	hosts := namespaceRows()
	if among(hosts) {
		if err := sampleNamespaces(env, into); err != nil {
			return err
		}
	}
	if all := verbsRows(); !among(all[:len(all)-len(hosts)]) {
		return nil
	}
	if err := sampleWrites(env, into); err != nil {
		return err
	}
	for range latencyRounds {
		for _, l := range latencies {
			text, err := l.run(env)
			if errors.Is(err, exec.ErrNotFound) {
				return fmt.Errorf("%w (Debian package %s)", err, l.pkg)
			}
			if err != nil {
				return err
			}
			m := l.result.FindSubmatch(text)
			if m == nil {
				return fmt.Errorf("%s printed no latency:\n%s", l.program, text)
			}
			us, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return err
			}
			into.note(l.key, us*1e3)
		}
	}
	return nil
}

// compileVerbs makes a program of C.
func compileVerbs(source []byte, program string) error {
	file := program + ".c"
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("gcc", "-O2", "-march=native", "-o", program, file, "-libverbs", "-lvulkan",
		"-pthread").CombinedOutput(); err != nil {
		return fmt.Errorf("gcc (Debian packages libibverbs-dev, libvulkan-dev): %w\n%s", err, out)
	}
	return nil
}

// sampleWrites runs native/verbs.c.
func sampleWrites(env []string, into *samples) error {
	dir, err := os.MkdirTemp("", "farside-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "verbs")
	if err := compileVerbs(verbsSource, program); err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("native/verbs.c: %w", err)
	}
	return into.read(out)
}

// latencyRounds is how often each of these programs runs, in turns.
const latencyRounds = 5

// run runs the program as a server on a port of loopback, and again as its client, and returns what the client says.
func (l *latency) run(env []string) ([]byte, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	_ = listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	command := func(flag string, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, l.program, append(append([]string{flag, port}, l.args...), more...)...)
		cmd.Env = append(env, l.env...)
		return cmd
	}
	server := command(l.ports[0])
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	for {
		client := command(l.ports[1], "127.0.0.1")
		out, err := client.CombinedOutput()
		if err == nil {
			return out, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%v: %w\n%s", client.Args, err, out)
		}
		time.Sleep(50 * time.Millisecond) // the server doesn't listen yet
	}
}
