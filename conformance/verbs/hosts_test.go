package verbs

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hosts are two network namespaces that a veth pair joins: 10.9.0.1 and fd00::1, and 10.9.0.2 and fd00::2. They go with
// the processes that hold them, which go with the test.
type hosts [2]*exec.Cmd

func newHosts(t *testing.T) *hosts {
	t.Helper()
	need(t, "iproute2", "ip")
	if out, err := exec.Command("unshare", "--map-root-user", "--net", "true").CombinedOutput(); err != nil {
		t.Skipf("no network namespace, which takes root or user namespaces that are open to all users: %s", out)
	}
	h := &hosts{}
	h[0] = hold(t, "unshare", "--map-root-user", "--net")
	h[1] = hold(t, "nsenter", append(h.enter(0), "unshare", "--net")...)
	h.system(t, 0, "ip link add v0 type veth peer name v1 netns %d", h[1].Process.Pid)
	for i := range h {
		h.system(t, i, "ip link set lo up")
		h.system(t, i, "ip address add 10.9.0.%d/24 dev v%d", i+1, i)
		h.system(t, i, "ip address add fd00::%d/64 dev v%d nodad", i+1, i)
		h.system(t, i, "ip link set v%d up", i)
	}
	return h
}

// hold starts a process that does nothing until the test ends or dies.
func hold(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program, append(args, "sh", "-c", "echo; exec cat")...)
	end, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = end.Close()
		_ = cmd.Wait()
	})
	if _, err := bufio.NewReader(begun).ReadString('\n'); err != nil {
		t.Fatalf("%s %v: %v", program, args, err)
	}
	return cmd
}

// enter are nsenter's arguments for a host.
func (h *hosts) enter(i int) []string {
	return []string{"--target", strconv.Itoa(h[i].Process.Pid), "--user", "--preserve-credentials", "--net"}
}

// system runs a command of the system on a host.
func (h *hosts) system(t *testing.T, i int, format string, args ...any) string {
	t.Helper()
	line := append(h.enter(i), strings.Fields(fmt.Sprintf(format, args...))...)
	out, err := exec.Command("nsenter", line...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", line, err, out)
	}
	return string(out)
}

// command is a program on Farside's libraries on a host.
func (h *hosts) command(t *testing.T, i int, args ...string) *exec.Cmd {
	t.Helper()
	return command(t, "nsenter", append(h.enter(i), args...)...)
}

// cmListens finds the abstract address of a port at which a process of Farside's listens.
var cmListens = regexp.MustCompile(`@farside-verbs-service-[0-9a-f]{4}-\d+-.*-[0-9a-f]{3}\n`)

// listeners counts the ports that clients can know in the network namespace of a host.
func (h *hosts) listeners(t *testing.T, i int) int {
	t.Helper()
	table := func(name string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", h[i].Process.Pid, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return strings.Count(table("tcp")+table("tcp6"), " 0A ") + len(cmListens.FindAllString(table("unix"), -1))
}

// run runs a server on the second host and its client on the first one, and returns what the client said.
func (h *hosts) run(t *testing.T, server, client string) string {
	t.Helper()
	return h.both(t, strings.Fields(server), strings.Fields(client))[1]
}

// both runs a server on the second host and its client on the first one, and returns what they said. Both must succeed.
func (h *hosts) both(t *testing.T, server, client []string) [2]string {
	t.Helper()
	var said [2]bytes.Buffer
	s, c := h.command(t, 1, server...), h.command(t, 0, client...)
	s.Stdout, s.Stderr, c.Stdout, c.Stderr = &said[0], &said[0], &said[1], &said[1]
	h.serve(t, 1, s)
	failedClient := failure(c.Run(), &said[1])
	if failedClient != nil || endless(server) {
		_ = s.Process.Kill()
	}
	failedServer := failure(s.Wait(), &said[0])
	if endless(server) {
		failedServer = nil
	}
	if failedClient != nil || failedServer != nil {
		t.Fatalf("%v: client %v, server %v\n%s\n%s", client, failedClient, failedServer, said[1].String(), said[0].String())
	}
	return [2]string{said[0].String(), said[1].String()}
}

// serve starts a server, and waits until its clients can come.
func (h *hosts) serve(t *testing.T, i int, s *exec.Cmd) {
	t.Helper()
	before := h.listeners(t, i)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(timeout); h.listeners(t, i) <= before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			_ = s.Process.Kill()
			_ = s.Wait()
			t.Fatalf("%v does not listen: %s", s.Args, s.Stdout)
		}
	}
}

// TestHosts runs programs between two network namespaces, by RoCEv2 over UDP.
func TestHosts(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "rdmacm-utils", "rping")
	need(t, "perftest", "ib_write_bw")
	h := newHosts(t)
	for _, c := range []struct{ line, want string }{
		{"ibv_rc_pingpong -g 0 -n 200 -c", `(?m)^200 iters in `},
		{"ibv_uc_pingpong -g 0 -n 200", `(?m)^200 iters in `},
		{"ibv_ud_pingpong -g 0 -n 200", `(?m)^200 iters in `},
		{"ibv_srq_pingpong -g 0 -n 200", `(?m)^200 iters in `},
		{"ib_write_bw -F -n 100", `(?m)^ 65536 +100`},
		{"ib_read_bw -F -n 100", `(?m)^ 65536 +100`},
		{"ib_send_bw -F -n 100", `(?m)^ 65536 +100`},
		{"ib_atomic_bw -F -n 100", `(?m)^ 8 +100`},
		{"ib_write_bw -R -F -n 100", `(?m)^ 65536 +100`},
	} {
		t.Run(c.line, func(t *testing.T) {
			if said := h.run(t, c.line, c.line+" 10.9.0.2"); !regexp.MustCompile(c.want).MatchString(said) {
				t.Errorf("it didn't say %q: %s", c.want, said)
			}
		})
	}
	t.Run("beside a process that is stopped", func(t *testing.T) {
		var stopped [2]*exec.Cmd
		for i := range h { // each is the first process of its host, which receives
			stopped[i] = h.command(t, i, "ibv_rc_pingpong", "-g", "0", "-p", "18600")
			h.serve(t, i, stopped[i])
			if err := stopped[i].Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		const line = "ibv_rc_pingpong -g 0 -n 200 -c"
		h.run(t, line, line+" 10.9.0.2")
		for _, s := range stopped {
			if err := s.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
		}
		h.run(t, line, line+" 10.9.0.2")
		if client := h.command(t, 0, "ibv_rc_pingpong", "-g", "0", "-p", "18600", "10.9.0.2"); client.Run() != nil {
			t.Error("a process that was stopped does not go on")
		}
		_ = stopped[0].Process.Kill()
		_ = stopped[0].Wait()
		if err := stopped[1].Wait(); err != nil {
			t.Errorf("the process that was stopped: %v", err)
		}
	})
	t.Run("rping", func(t *testing.T) {
		const line = "rping -a 10.9.0.2 -C 10 -vV "
		if said := h.run(t, line+"-s", line+"-c"); !strings.Contains(said, "\nping data: rdma-ping-9: ") {
			t.Errorf("it doesn't tell the last ping: %s", said)
		}
	})
}
