package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// hosts are two network namespaces, 10.9.0.1 and 10.9.0.2, which a veth pair joins. Each is held by a process.
type hosts []*holder

// holder is a process that does nothing until its input ends.
type holder struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

// newHosts makes both, which takes root or user namespaces that are open to all users, nsenter, and ip (iproute2).
func newHosts() (h hosts, err error) {
	defer func() {
		if err != nil {
			h.close()
			h, err = nil, fmt.Errorf("two network namespaces: %w", err)
		}
	}()
	if err := h.hold("unshare", "--map-root-user", "--net"); err != nil {
		return h, err
	}
	if err := h.hold("nsenter", append(h.enter(0), "unshare", "--net")...); err != nil {
		return h, err
	}
	err = h.system(0, "ip link add v0 type veth peer name v1 netns %d", h[1].cmd.Process.Pid)
	for i := range h {
		err = errors.Join(err, h.system(i, "ip link set lo up"), h.system(i, "ip address add %s/24 dev v%d", h.address(i), i),
			h.system(i, "ip link set v%d up", i))
	}
	return h, err
}

// hold adds the namespace that a program and its arguments make.
func (h *hosts) hold(program string, args ...string) error {
	p := &holder{cmd: exec.Command(program, append(args, "sh", "-c", "echo; exec cat")...)}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	*h = append(*h, p)
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return fmt.Errorf("%s: %w", program, err)
	}
	return nil
}

// enter are nsenter's arguments for a host.
func (h hosts) enter(i int) []string {
	return []string{"--target", strconv.Itoa(h[i].cmd.Process.Pid), "--user", "--preserve-credentials", "--net"}
}

// address is a host's.
func (h hosts) address(i int) string { return fmt.Sprintf("10.9.0.%d", i+1) }

// system runs a command of the system on a host.
func (h hosts) system(i int, format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	out, err := exec.Command("nsenter", append(h.enter(i), strings.Fields(line)...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", line, err, out)
	}
	return nil
}

func (h hosts) close() {
	for _, p := range h {
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
	}
}
