package verbs

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// pair runs a program as a server, which listens on a port of loopback, and again as its client, and returns what both
// said. Both must succeed.
func pair(t *testing.T, program string, args ...string) (server, client string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	args = append([]string{"-p", strconv.Itoa(port)}, args...)
	var out [2]bytes.Buffer
	start := func(i int, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...)
		grouped(cmd)
		cmd.Env = environment(t)
		cmd.Stdout, cmd.Stderr = &out[i], &out[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	s := start(0, args...)
	for !listening(port) {
		if ctx.Err() != nil {
			t.Fatalf("%s %v does not listen: %s", program, args, out[0].String())
		}
		time.Sleep(10 * time.Millisecond)
	}
	c := start(1, append(args, "127.0.0.1")...)
	failedClient, failedServer := c.Wait(), s.Wait()
	if failedClient != nil || failedServer != nil {
		t.Fatalf("%s %s: client %v, server %v\n%s\n%s", program, strings.Join(args, " "), failedClient, failedServer,
			out[1].String(), out[0].String())
	}
	return out[0].String(), out[1].String()
}

// listening looks at the kernel's table: a connection would be taken for the client's.
func listening(port int) bool {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(table)
		if err == nil && regexp.MustCompile(fmt.Sprintf(`:%04X [0-9A-F]+:0000 0A `, port)).Match(b) {
			return true
		}
	}
	return false
}

// TestPingpong runs rdma-core's examples, which exchange what they need by TCP and check what arrives with -c.
func TestPingpong(t *testing.T) {
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	for _, c := range []struct{ program, args string }{
		{"ibv_rc_pingpong", "-c"},
		{"ibv_rc_pingpong", "-e -c"},
		{"ibv_rc_pingpong", "-t"},
		{"ibv_rc_pingpong", "-N -c"},
		{"ibv_rc_pingpong", "-N -t"}, // with -e, it fails where a completion is polled before its event is got
		{"ibv_rc_pingpong", "-s 1000000 -n 20 -c"},
		{"ibv_rc_pingpong", "-m 256 -r 10 -c"},
		{"ibv_uc_pingpong", "-c"},
		{"ibv_uc_pingpong", "-e -c"},
		{"ibv_ud_pingpong", "-c"},
		{"ibv_ud_pingpong", "-e -c"},
		{"ibv_srq_pingpong", "-c"},
		{"ibv_srq_pingpong", "-e -q 16 -c"},
	} {
		t.Run(c.program+" "+c.args, func(t *testing.T) {
			args := append([]string{"-g", "0"}, strings.Fields(c.args)...)
			if !strings.Contains(c.args, "-n ") {
				args = append(args, "-n", "200")
			}
			_, client := pair(t, c.program, args...)
			if !regexp.MustCompile(`(?m)^\d+ iters in `).MatchString(client) {
				t.Errorf("it didn't count: %s", client)
			}
			if strings.Contains(client, "invalid data") {
				t.Errorf("wrong data: %s", client)
			}
		})
	}
}

// TestPerftest runs perftest's programs. Their figures are not looked at: they are no adapter's, and on a busy machine,
// whose clock perftest can't measure, all of them are inf.
func TestPerftest(t *testing.T) {
	need(t, "perftest", "ib_write_bw")
	for _, c := range []struct{ program, args string }{
		{"ib_write_bw", "-a"},
		{"ib_write_bw", "-q 4 -s 4096"},
		{"ib_write_bw", "-c UC -s 4096"},
		{"ib_write_bw", "-b -s 65536"},
		{"ib_write_bw", "-I 64 -s 64"},
		{"ib_read_bw", "-a"},
		{"ib_read_bw", "-q 4 -s 8192"},
		{"ib_send_bw", "-a"},
		{"ib_send_bw", "-c UD -s 1024"},
		{"ib_send_bw", "-c UC -s 4096"},
		{"ib_send_bw", "-e -s 4096"},
		{"ib_send_bw", "-r 64 -q 4 --use-srq -s 1024"},
		{"ib_send_bw", "-c XRC -s 4096"},
		{"ib_write_bw", "-c XRC -q 2 -s 4096"},
		{"ib_atomic_bw", "-A FETCH_AND_ADD"},
		{"ib_atomic_bw", "-A CMP_AND_SWAP -q 2"},
		{"ib_write_lat", "-s 8"},
		{"ib_read_lat", "-s 8"},
		{"ib_send_lat", "-s 8"},
		{"ib_send_lat", "-c UD -s 64"},
		{"ib_send_lat", "-e -s 64"},
		{"ib_atomic_lat", ""},
	} {
		t.Run(c.program+" "+c.args, func(t *testing.T) {
			args := append([]string{"-F", "-n", "100"}, strings.Fields(c.args)...)
			_, client := pair(t, c.program, args...)
			rows := regexp.MustCompile(`(?m)^ \d+ +\d+ +(?:[\d.]+|inf)`).FindAllString(client, -1)
			want := 1
			if strings.Contains(c.args, "-a") && !strings.Contains(c.args, "-A") {
				want = 23 // 2 bytes to 8 MiB
			}
			if len(rows) < want {
				t.Errorf("%d rows of %d: %s", len(rows), want, client)
			}
		})
	}
}

// TestDataOfPerftest looks at what perftest's programs move, which they don't themselves: their memory is a file here.
// Both fill it with the same random bytes, in two parts that differ; the client's first part and the server's second
// one are what work reads and writes.
func TestDataOfPerftest(t *testing.T) {
	need(t, "perftest", "ib_write_bw")
	if out, _ := exec.Command("ib_write_bw", "--help").CombinedOutput(); !strings.Contains(string(out), "--mmap=") {
		t.Skip("this ib_write_bw has no --mmap")
	}
	h := newHosts(t)
	for _, program := range []string{"ib_write_bw", "ib_read_bw", "ib_send_bw"} {
		for where, both := range map[string]func(server, client []string){
			"host": func(server, client []string) {
				port := freePort(t)
				both(t, append(server, "-p", port), append(client, "-p", port, "127.0.0.1"), listensAt(port))
			},
			"hosts": func(server, client []string) { h.both(t, server, append(client, "10.9.0.2")) },
		} {
			t.Run(program+"/"+where, func(t *testing.T) {
				const size = 65536
				dir := t.TempDir()
				var files [2]string
				var lines [2][]string
				for i, name := range []string{"server", "client"} {
					files[i] = filepath.Join(dir, name)
					if err := os.WriteFile(files[i], make([]byte, 8*size), 0o600); err != nil {
						t.Fatal(err)
					}
					lines[i] = []string{program, "-F", "-n", "5", "-s", strconv.Itoa(size), "--mmap=" + files[i]}
				}
				both(lines[0], lines[1])
				server, client := halves(t, files[0], size), halves(t, files[1], size)
				untouched := client
				if program == "ib_read_bw" {
					untouched = server
				}
				if bytes.Equal(untouched[0], untouched[1]) {
					t.Fatal("the program fills both parts with the same, so that nothing shows")
				}
				if !bytes.Equal(client[0], server[1]) {
					t.Error("other data came than was there")
				}
			})
		}
	}
}

// halves are the two parts of a file with perftest's memory.
func halves(t *testing.T, file string, size int) [2][]byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return [2][]byte{b[:size], b[size : 2*size]}
}
