package verbs

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// freePort is a TCP port of loopback that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// listensAt asks for a listener at a TCP port.
func listensAt(port string) func() bool {
	n, _ := strconv.Atoi(port)
	return func() bool { return listening(n) }
}

// farside is a line for a program on Farside's libraries that sees the files of RDMA devices. Where it can't, the test
// skips.
func farside(t *testing.T, program ...string) []string {
	t.Helper()
	line := []string{built(t, "farside"), "verbs", "--device-files", "--"}
	if out, err := exec.CommandContext(t.Context(), line[0], append(line[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no mount namespace: %s", out)
	}
	return append(line, program...)
}

// wants checks what a program has said.
func wants(t *testing.T, said, want string) {
	t.Helper()
	if !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("it didn't say %q: %s", want, said)
	}
}

// TestDeviceFiles looks at the files of devices from inside and outside.
func TestDeviceFiles(t *testing.T) {
	line := farside(t, "sh", "-c", `test -c /dev/infiniband/uverbs1 -a -w /dev/infiniband/uverbs1 -a -w /dev/null || exit 3
		test -d /sys/class/net/lo -a -d /dev/shm || exit 4
		cd /sys/class/infiniband/farside1/ports/1/gid_attrs || exit 5
		cat types/0 ../link_layer /sys/class/infiniband_verbs/uverbs1/ibdev; grep -l ^lo$ ndevs/*; id -u; exit 7`)
	outside := func() string {
		out, _ := exec.Command("ls", "/sys/class/infiniband", "/dev/infiniband").CombinedOutput()
		return string(out)
	}
	before := outside()
	cmd := command(t, line[0], line[1:]...)
	cmd.Env = append(cmd.Env, "FARSIDE_VERBS_DEVICES=2")
	out, _ := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Fatalf("status %d: %s", code, out)
	}
	wants(t, string(out), `^RoCE v2\nEthernet\nfarside1\n(ndevs/\d+\n)+`+strconv.Itoa(os.Getuid())+`\n$`)
	if after := outside(); after != before {
		t.Errorf("other programs see it: %s", after)
	}
}

// TestQperf runs qperf's tests of RC, two of which check what atomics return. Its other way to connect, without -cm 1,
// takes LIDs, which no port of RoCE has. Version 0.4.11 tells its port before it listens there, so that a client that
// is faster is rejected, and tries again.
func TestQperf(t *testing.T) {
	need(t, "qperf", "qperf")
	for _, test := range []string{"rc_lat", "rc_bi_bw", "rc_rdma_read_bw", "rc_rdma_write_lat", "rc_fetch_add_mr",
		"ver_rc_compare_swap", "ver_rc_fetch_add"} {
		t.Run(test, func(t *testing.T) {
			t.Parallel() // each takes a second, by the clock
			port := freePort(t)
			server, client := qperf(port, "127.0.0.1", test)
			wants(t, both(t, server, client, listensAt(port))[1], qperfResult)
		})
	}
}

// qperfResult is what qperf's client says that has measured something.
const qperfResult = `(?m)^ +(latency|bw|msg_rate) += +[\d.]+ `

// qperf are the lines of a test of qperf, whose server is at a port of an address.
func qperf(port, at, test string) (server, client []string) {
	// The last test, quit, ends the server.
	line := "qperf -lp " + port + " " + at + " -t 1 -cm 1 " + test + " quit"
	return []string{"qperf", "-lp", port}, []string{"sh", "-c", "for try in $(seq 20); do said=$(" + line +
		" 2>&1); status=$?\ncase $said in *'Event rejected'*) ;; *) break ;; esac; done; echo \"$said\"; exit $status"}
}

// TestFio runs fio's engine for RDMA. Its sends are not among the cases: they fail where the server is slow to post
// receives, and both ends of fio then wait for ever (docs/verbs.md).
func TestFio(t *testing.T) {
	need(t, "fio", "fio")
	for _, verb := range []string{"write", "read"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel() // they mostly sleep
			port := freePort(t)
			server, client := fio(port, "127.0.0.1", verb)
			fioDone(t, both(t, server, client, func() bool { return serving(t, port) }))
		})
	}
}

// fio are the lines of fio's server at a port of an address, and of its client, which writes or reads.
func fio(port, at, verb string) (server, client []string) {
	line := []string{"fio", "--name=job", "--ioengine=rdma", "--port=" + port, "--bs=64k", "--size=2m"}
	return append(line[:len(line):len(line)], "--rw=read", "--iodepth=16"), append(line[:len(line):len(line)],
		"--rw=write", "--iodepth=8", "--hostname="+at, "--verb="+verb, "--iodepth_batch_complete_max=8")
}

// fioDone checks what the two said.
func fioDone(t *testing.T, said [2]string) {
	t.Helper()
	wants(t, said[0], `err= 0:`)
	wants(t, said[1], `(?s)err= 0:.* WRITE: .*io=2048KiB`)
}

// TestUCX runs UCX's benchmark by RC and by UD. UCX connects RC by UD.
func TestUCX(t *testing.T) {
	need(t, "ucx-utils", "ucx_perftest")
	for _, c := range []struct{ transports, args string }{
		{"rc_verbs,ud_verbs", "-t tag_lat -s 8"},
		{"rc_verbs,ud_verbs", "-t tag_bw -s 100000"}, // by RDMA reads of the receiver
		{"rc_verbs,ud_verbs", "-t ucp_put_bw -s 65536"},
		{"rc_verbs,ud_verbs", "-t ucp_get -s 65536"},
		{"rc_verbs,ud_verbs", "-t ucp_fadd -s 8"},
		{"ud_verbs", "-t tag_lat -s 8"},
		{"ud_verbs", "-t tag_bw -s 100000"},
	} {
		t.Run(c.transports+" "+c.args, func(t *testing.T) {
			port := freePort(t)
			server := farside(t, "env", "UCX_TLS=self,"+c.transports, "ucx_perftest", "-p", port)
			client := append(append(server[:len(server):len(server)], strings.Fields(c.args)...), "-n", "100", "127.0.0.1")
			wants(t, both(t, server, client, listensAt(port))[1], ucxResult)
		})
	}
}

// ucxResult is what ucx_perftest's client says at its end.
const ucxResult = `(?m)^Final: +100 +[\d.]+ `

// ring makes a program of Open MPI that checks what it gets.
func ring(t *testing.T) (program string) {
	t.Helper()
	need(t, "libopenmpi-dev", "mpicc")
	need(t, "openmpi-bin", "mpirun")
	program = filepath.Join(t.TempDir(), "ring")
	compile := exec.Command("mpicc", "-O1", "-Wall", "-Werror", "-o", program, "testdata/ring.c")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	return program
}

// mpis are mpirun's arguments for UCX and for libfabric.
var mpis = map[string]string{
	"ucx": "--mca pml ucx -x UCX_TLS=self,rc_verbs,ud_verbs",
	"ofi": "--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include verbs;ofi_rxm",
}

// mpi runs three ranks of a program, with more arguments of mpirun.
func mpi(t *testing.T, name, program string, command func(line []string) *exec.Cmd, more ...string) {
	t.Helper()
	// mpirun ends its ranks when it is told to end, not when it is killed.
	line := append([]string{"timeout", "-k", "5", "100", "mpirun", "-n", "3", "--mca", "btl", "^openib"}, more...)
	line = append(append(line, strings.Fields(mpis[name])...), program)
	if name == "ucx" {
		line = farside(t, line...)
	}
	cmd := command(line)
	cmd.Env = append(cmd.Env, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", line, err, out)
	}
	wants(t, string(out), `(?m)^3 ranks agree$`)
}

// TestMPI runs a program of Open MPI by UCX and by libfabric.
func TestMPI(t *testing.T) {
	program := ring(t)
	for name := range mpis {
		t.Run(name, func(t *testing.T) {
			mpi(t, name, program, func(line []string) *exec.Cmd { return command(t, line[0], line[1:]...) }, "--oversubscribe")
		})
	}
}

// lines collects what a program says, for others to look at meanwhile.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// libfabrics are the ways by which fi_pingpong runs: connections and datagrams as they are, and ofi_rxm, which makes
// connections by itself.
var libfabrics = []string{"-p verbs -e msg", "-p verbs -e dgram", "-p verbs;ofi_rxm -e rdm"}

// TestLibfabric runs libfabric's benchmark, which checks what comes.
func TestLibfabric(t *testing.T) {
	need(t, "libfabric-bin", "fi_pingpong")
	for _, args := range libfabrics {
		t.Run(args, func(t *testing.T) {
			port := freePort(t)
			libfabric(t, args, port, "127.0.0.1", listensAt(port), func(_ int, line []string) *exec.Cmd {
				return command(t, line[0], line[1:]...)
			})
		})
	}
}

// libfabric runs fi_pingpong, a server (0) at a port of an address and its client (1). The last row of each end counts,
// not how the programs end: where one has ended, ofi_rxm destroys the other's queue pair before it has looked at all of
// its completions, which go with it then. The other end fails, or waits for ever.
//
// Both run again if fi_pingpong gave up since a signal had interrupted it: it takes EINTR of fi_eq_sread for an error.
// That signal is SIGURG of Go's runtime (docs/surroundings.md).
func libfabric(t *testing.T, args, port, at string, listens func() bool, command func(i int, line []string) *exec.Cmd) {
	t.Helper()
	for range 3 {
		if !libfabricOnce(t, args, port, at, listens, command) {
			return
		}
		t.Log("again: fi_pingpong was interrupted by a signal")
	}
	t.Error("fi_pingpong was interrupted by signals three times")
}

// libfabricOnce is a run. It says whether a signal interrupted it.
func libfabricOnce(t *testing.T, args, port, at string, listens func() bool,
	command func(i int, line []string) *exec.Cmd) (interrupted bool) {
	t.Helper()
	size, row := "65536", `(?m)^64k +20 +=20 `
	if strings.Contains(args, "dgram") {
		size, row = "1024", `(?m)^1k +20 +=20 `
	}
	// stdbuf has each row come when it is there.
	line := append([]string{"stdbuf", "-oL", "fi_pingpong", "-c", "-I", "20", "-S", size}, strings.Fields(args)...)
	var said [2]lines
	var ends [2]chan struct{}
	for i, more := range [][]string{{"-B", port}, {"-P", port, at}} {
		cmd := command(i, append(line[:len(line):len(line)], more...))
		cmd.Stdout, cmd.Stderr = &said[i], &said[i]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ends[i] = make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ends[i])
		}()
		defer func() { // os/exec writes until it has ended
			_ = cmd.Cancel()
			<-ends[i]
		}()
		for end := time.Now().Add(timeout); i == 0 && !listens() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
	}
	pattern := regexp.MustCompile(row)
	for i := range said {
		for !pattern.MatchString(said[i].String()) {
			select {
			case <-ends[0]:
			case <-ends[1]:
			case <-time.After(10 * time.Millisecond):
				continue
			}
			// One has ended. Why the other one has no row may come a little later.
			for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				for j := range said {
					if eqInterrupted.MatchString(said[j].String()) {
						return true
					}
				}
			}
			select {
			case <-ends[i]:
				wants(t, said[i].String(), row)
				return false
			default:
			}
		}
	}
	return false
}

var eqInterrupted = regexp.MustCompile(`fi_eq_sread\(\): .*ret=-4 \(Interrupted system call\)`)
