package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed node/*
var source embed.FS

// compile makes the program of the nodes in dir, and returns its path.
func compile(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "node")
	args := []string{"-O2", "-Wall", "-Wextra", "-Werror", "-o", program}
	files, err := source.ReadDir("node")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := source.ReadFile("node/" + f.Name())
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, f.Name())
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
		if filepath.Ext(path) == ".c" {
			args = append(args, path)
		}
	}
	args = append(args, "-libverbs", "-lrdmacm", "-lvulkan", "-pthread")
	if out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc (Debian packages gcc, libibverbs-dev, librdmacm-dev, libvulkan-dev): %w\n%s", err, out)
	}
	return program, nil
}

// node is a process, as the supervisor sees it.
type node struct {
	slot    int
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stderr  bytes.Buffer
	address string
	port    uint16 // 0 until it is ready
	tally   tally
	moved   time.Time // when it last did something
	killed  bool
	quiet   bool // it makes no links any more
	ended   bool
}

// tally is what a node has done.
type tally struct{ operations, compared, links, lost uint64 }

func (n *node) pid() int { return n.cmd.Process.Pid }

// tell sends a line. A node that is about to die doesn't read it.
func (n *node) tell(format string, args ...any) { _, _ = fmt.Fprintf(n.stdin, format+"\n", args...) }

// event is a line of a node, or its end.
type event struct {
	from  *node
	line  string
	ended bool
	err   error // of the end
}

// start starts a node whose lines come as events.
func (s *supervisor) start(slot int) (*node, error) {
	device := "0"
	if s.rng.IntN(2) == 0 {
		device = "1"
	}
	line := []string{s.program, fmt.Sprint(s.rng.Uint64() >> 1), device}
	n := &node{slot: slot, moved: time.Now(), address: "127.0.0.1"}
	if s.hosts != nil {
		host := slot % len(s.hosts)
		n.address = s.hosts.address(host)
		line = append(append([]string{"nsenter"}, s.hosts.enter(host)...), append(line, n.address)...)
	}
	n.cmd = exec.Command(line[0], line[1:]...)
	n.cmd.Stderr = &n.stderr
	stdin, err := n.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	n.stdin = stdin
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, err
	}
	s.running++
	go func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			s.events <- event{from: n, line: in.Text()}
		}
		err := n.cmd.Wait()
		s.events <- event{from: n, ended: true, err: err}
	}()
	return n, nil
}
