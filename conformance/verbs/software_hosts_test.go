package verbs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestSoftwareBetweenHosts runs between two hosts what the tests of software run on one.
func TestSoftwareBetweenHosts(t *testing.T) {
	need(t, "rdmacm-utils", "rping")
	need(t, "libfabric-bin", "fi_pingpong")
	need(t, "ucx-utils", "ucx_perftest")
	need(t, "qperf", "qperf")
	need(t, "fio", "fio")
	const server, port = "10.9.0.2", "18700"
	program := ring(t)
	h := newHosts(t)
	for _, c := range []struct{ server, client, want string }{
		{"ucmatose -c 4", "ucmatose -c 4 -s " + server, `return status 0`},
		{"udaddy -c 2", "udaddy -c 2 -s " + server, `return status 0`},
		{"cmtime -c 20 -b " + server, "cmtime -c 20 -s " + server, `(?m)^connect +: +[\d.]+`},
	} {
		t.Run(c.client, func(t *testing.T) { wants(t, h.run(t, c.server, c.client), c.want) })
	}
	for _, test := range []string{"rc_bi_bw", "ver_rc_fetch_add"} {
		t.Run("qperf "+test, func(t *testing.T) {
			s, c := qperf(port, server, test)
			wants(t, h.both(t, s, c)[1], qperfResult)
		})
	}
	for _, verb := range []string{"write", "read"} {
		t.Run("fio "+verb, func(t *testing.T) {
			s, c := fio(port, server, verb)
			fioDone(t, h.both(t, s, c))
		})
	}
	for _, c := range []struct{ transports, args string }{
		{"rc_verbs,ud_verbs", "-t tag_bw -s 100000"},
		{"rc_verbs,ud_verbs", "-t ucp_fadd -s 8"},
		{"ud_verbs", "-t tag_lat -s 8"},
	} {
		t.Run("ucx_perftest "+c.transports+" "+c.args, func(t *testing.T) {
			s := farside(t, "env", "UCX_TLS=self,"+c.transports, "ucx_perftest", "-p", port)
			client := append(append(s[:len(s):len(s)], strings.Fields(c.args)...), "-n", "100", server)
			wants(t, h.both(t, s, client)[1], ucxResult)
		})
	}
	for name := range mpis {
		t.Run("mpirun "+name, func(t *testing.T) {
			// What mpirun starts its program on the other host with, which must see the files of devices there.
			start := []string{"exec", "nsenter", "--net", "--target", strconv.Itoa(h[1].Process.Pid)}
			if name == "ucx" {
				start = append(start, farside(t)...)
			}
			agent := filepath.Join(t.TempDir(), "agent")
			text := "#!/bin/sh\nshift\n" + strings.Join(start, " ") + ` sh -c "$*"` + "\n"
			if err := os.WriteFile(agent, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
			mpi(t, name, program, func(line []string) *exec.Cmd { return h.command(t, 0, line...) },
				"--host", "10.9.0.1:1,"+server+":2", "--mca", "plm_rsh_agent", agent)
		})
	}
	for _, args := range libfabrics {
		t.Run("fi_pingpong "+args, func(t *testing.T) {
			before := h.listeners(t, 1)
			listens := func() bool { return h.listeners(t, 1) > before }
			libfabric(t, args, port, server, listens, func(i int, line []string) *exec.Cmd {
				return h.command(t, 1-i, line...)
			})
		})
	}
}
