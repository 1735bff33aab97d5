package verbs

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rxe is a kernel's RoCEv2 in this network namespace, and Farside in another one. A veth pair joins them.
type rxe struct {
	other *exec.Cmd // its namespace is Farside's
	gid   string    // index of the address that the other end knows
	lossy bool      // packets get lost
}

const (
	rxeDevice      = "rxe_farside"
	rxeAddress     = "10.9.1.1"
	farsideAddress = "10.9.1.2"
)

func newRXE(t *testing.T) *rxe {
	t.Helper()
	need(t, "ibverbs-utils", "ibv_rc_pingpong")
	need(t, "rdmacm-utils", "rping")
	need(t, "perftest", "ib_write_bw")
	need(t, "iproute2", "rdma")
	need(t, "ibverbs-providers", "/etc/libibverbs.d/rxe.driver")
	need(t, "linux-image-amd64 (its module rdma_rxe; make guest has it)", "/sys/module/rdma_rxe")
	r := &rxe{other: exec.Command("sleep", "1000")}
	r.other.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := r.other.Start(); err != nil {
		t.Skipf("no network namespace, which takes root: %v", err)
	}
	t.Cleanup(func() {
		_ = r.other.Process.Kill()
		_ = r.other.Wait()
	})
	r.here(t, "ip link add farside-v0 type veth peer name farside-v1 netns %d", r.other.Process.Pid)
	t.Cleanup(func() { r.here(t, "ip link delete farside-v0") })
	r.here(t, "ip address add %s/24 dev farside-v0", rxeAddress)
	r.here(t, "ip link set farside-v0 up")
	r.there(t, "ip link set lo up")
	r.there(t, "ip address add %s/24 dev farside-v1", farsideAddress)
	r.there(t, "ip link set farside-v1 up")
	r.here(t, "rdma link add %s type rxe netdev farside-v0", rxeDevice)
	t.Cleanup(func() { r.here(t, "rdma link delete %s", rxeDevice) })
	want := netip.AddrFrom16(netip.MustParseAddr(rxeAddress).As16()).StringExpanded()
	for end := time.Now().Add(timeout); r.gid == ""; time.Sleep(10 * time.Millisecond) {
		files, _ := filepath.Glob("/sys/class/infiniband/" + rxeDevice + "/ports/1/gids/*")
		for _, f := range files {
			if gid, err := os.ReadFile(f); err == nil && strings.TrimSpace(string(gid)) == want {
				r.gid = filepath.Base(f)
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no GID %s", rxeDevice, want)
		}
	}
	return r
}

// here and there run a command of the system in the kernel's and in Farside's namespace.
func (r *rxe) here(t *testing.T, format string, args ...any) string {
	t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	out, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

func (r *rxe) there(t *testing.T, format string, args ...any) string {
	t.Helper()
	return r.here(t, "nsenter "+strings.Join(r.enter(), " ")+" "+format, args...)
}

func (r *rxe) enter() []string {
	return []string{"--target", strconv.Itoa(r.other.Process.Pid), "--net"}
}

// program is a program on the kernel's adapter or on Farside, with what it said.
func (r *rxe) program(t *testing.T, farside bool, said *bytes.Buffer, args []string) *exec.Cmd {
	t.Helper()
	var cmd *exec.Cmd
	device, gid := rxeDevice, r.gid
	if farside {
		device, gid = "farside0", "0"
	}
	switch {
	case strings.HasSuffix(args[0], "pingpong"):
		args = append(args, "-d", device, "-g", gid)
	case strings.HasPrefix(args[0], "ib_"):
		args = append(args, "-F", "-d", device, "-x", gid)
	}
	if farside {
		cmd = command(t, "nsenter", append(r.enter(), args...)...)
	} else {
		cmd = command(t, args[0], args[1:]...)
		cmd.Env = os.Environ()
	}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd
}

// listens says whether the server has come so far that a client may begin.
func (r *rxe) listens(t *testing.T, farside bool, program string) bool {
	t.Helper()
	pid := "self"
	if farside {
		pid = strconv.Itoa(r.other.Process.Pid)
	}
	if program != "rping" {
		for _, table := range []string{"tcp", "tcp6"} {
			b, err := os.ReadFile("/proc/" + pid + "/net/" + table)
			if err == nil && bytes.Contains(b, []byte(" 0A ")) {
				return true
			}
		}
		return false
	}
	if farside {
		b, err := os.ReadFile("/proc/" + pid + "/net/unix")
		return err == nil && cmListens.Match(b)
	}
	return strings.Contains(r.here(t, "rdma resource show cm_id"), "LISTEN")
}

// run runs a program's server on one of the two and its client on the other one. Where an end missed the last
// acknowledgement of one that is gone, its own end tells nothing, and both run again. By chance that happens in one of
// thirty runs or so; three times in a row it is a defect.
func (r *rxe) run(t *testing.T, farsideServes bool, line, want string) {
	t.Helper()
	for range 3 {
		missed := r.once(t, farsideServes, line, want)
		if missed == "" {
			return
		}
		t.Logf("again: %s", missed)
	}
	t.Error("an end missed the last acknowledgement three times")
}

// once is a run. It says how it saw that an end missed the last acknowledgement, if so.
func (r *rxe) once(t *testing.T, farsideServes bool, line, want string) (missed string) {
	t.Helper()
	server, client := strings.Fields(line), strings.Fields(line)
	at := rxeAddress
	if farsideServes {
		at = farsideAddress
	}
	if server[0] == "rping" {
		server, client = append(server, "-s", "-a", at), append(client, "-c", "-a", at)
	} else {
		client = append(client, at)
	}
	var said [2]bytes.Buffer
	programs := [2]*exec.Cmd{r.program(t, farsideServes, &said[0], server), r.program(t, !farsideServes, &said[1], client)}
	if err := programs[0].Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(timeout); !r.listens(t, farsideServes, server[0]); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%v does not listen: %s", server, said[0].String())
		}
	}
	if err := programs[1].Start(); err != nil {
		t.Fatal(err)
	}
	var failed [2]error
	ended := make(chan int, 2)
	for i, cmd := range programs {
		go func() {
			failed[i] = failure(cmd.Wait(), &said[i])
			ended <- i
		}()
	}
	state := "" // of a run that hangs
	for alive, first := 2, -1; alive > 0; {
		select {
		case first = <-ended:
			alive--
		case <-time.After(5 * time.Second):
			switch {
			case r.lossy && server[0] == "rping" && first == 1 && failed[1] == nil:
				// rping destroys its identifier as soon as it has disconnected, and then neither the kernel nor Farside
				// sends the message again that says so. A server whose client's message got lost waits for ever.
				_ = programs[0].Cancel()
				<-ended
				alive, failed[0] = 0, nil
			case r.lossy && server[0] == "ibv_rc_pingpong" && first >= 0 && failed[first] == nil:
				if missed = r.sendsForEver(); missed != "" {
					_ = programs[1-first].Cancel()
					<-ended
					return missed
				}
			}
			if alive > 0 {
				state = r.state(programs[:])
			}
		}
	}
	for i := range programs {
		if r.lossy && failed[1-i] == nil && failed[i] != nil &&
			strings.Contains(said[i].String(), "Failed status transport retry counter exceeded (12) for wr_id 2") {
			return said[i].String()
		}
	}
	if failed[0] != nil || failed[1] != nil || !regexp.MustCompile(want).MatchString(said[1].String()) {
		t.Errorf("client %v, server %v, and the client should say %q\n%s\n%s\n%s", failed[1], failed[0], want,
			said[1].String(), said[0].String(), state)
	}
	return ""
}

// sendsForEver says whether rxe sends packets for the other end of a program, which ended seconds ago.
//
// ibv_rc_pingpong ends as soon as it has the last message and all of its own are acknowledged. Its queue pair goes with
// it, on an adapter as well. If its acknowledgement of the last message got lost, the other end sends that message
// again, to nobody. Farside ends with IBV_WC_RETRY_EXC_ERR after seven times, as InfiniBand's specification has it.
// rxe takes the number 7 for no limit (COMPST_ERROR_RETRY in its rxe_comp.c counts all but 7 down), which InfiniBand
// has for RNR retries alone: on a link that lost 5 %, two of 60 runs ended so. The queue pair of rxe stood in RTS, and
// sent for as long as one looked. perftest's ends tell each other by TCP that they are done, before they destroy
// anything.
func (r *rxe) sendsForEver() string {
	before := r.sent()
	time.Sleep(2 * time.Second)
	if n := r.sent() - before; n >= 20 {
		return fmt.Sprintf("rxe has sent %d packets in two seconds to a program that is gone", n)
	}
	return ""
}

// sent is how many packets have left rxe's end of the link.
func (r *rxe) sent() int {
	b, _ := os.ReadFile("/sys/class/net/farside-v0/statistics/tx_packets")
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

// state is what a hang's cause may be seen from: queue pairs, whether packets still go, and where the programs are.
func (r *rxe) state(programs []*exec.Cmd) string {
	qps, _ := exec.Command("rdma", "resource", "show", "qp").CombinedOutput()
	before := r.sent()
	time.Sleep(time.Second)
	text := fmt.Sprintf("rxe's end sent %d packets in a second\n%s", r.sent()-before, qps)
	for _, cmd := range programs {
		text += strings.Join(cmd.Args, " ") + "\n"
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", cmd.Process.Pid))
		for _, task := range tasks {
			stat, _ := os.ReadFile(task + "/stat")
			stack, _ := os.ReadFile(task + "/stack")
			text += string(stat) + string(stack)
		}
	}
	return text
}

// TestRXE has a kernel's adapter talk to Farside by unmodified programs, both ways: those of unreliable queue pairs on
// a link that is whole, all others on one that loses packets, and rping on both.
func TestRXE(t *testing.T) {
	r := newRXE(t)
	whole := [][2]string{
		{"ibv_uc_pingpong -n 20", `(?m)^20 iters in `},
		{"ibv_ud_pingpong -n 20 -s 1000", `(?m)^20 iters in `},
		{"rping -C 5 -vV -S 20000", `(?m)^ping data: rdma-ping-4: `},
	}
	lossy := [][2]string{
		{"ibv_rc_pingpong -n 20 -s 20000 -c", `(?m)^20 iters in `},
		{"ib_write_bw -n 10 -u 15", `(?m)^ 65536 +10`},
		{"ib_read_bw -n 10 -u 15", `(?m)^ 65536 +10`},
		{"ib_send_bw -n 10 -u 15", `(?m)^ 65536 +10`},
		{"ib_atomic_bw -n 100 -u 15", `(?m)^ 8 +100`},
		{"rping -C 5 -vV -S 20000", `(?m)^ping data: rdma-ping-4: `},
	}
	t.Run("whole", func(t *testing.T) { r.both(t, whole) })
	need(t, "linux-image-amd64 (its module sch_netem; make guest has it)", "/sys/module/sch_netem")
	r.here(t, "tc qdisc add dev farside-v0 root netem loss 2%%")
	r.there(t, "tc qdisc add dev farside-v1 root netem loss 2%%")
	r.lossy = true
	t.Run("lossy", func(t *testing.T) { r.both(t, lossy) })
	const show = "tc -s qdisc show dev "
	for _, statistics := range []string{r.here(t, show+"farside-v0"), r.there(t, show+"farside-v1")} {
		if m := regexp.MustCompile(`dropped (\d+)`).FindStringSubmatch(statistics); m == nil || m[1] == "0" {
			t.Errorf("nothing was lost: %s", statistics)
		}
	}
}

// both runs programs with either end as the server. Each line has a command line and what the client says.
func (r *rxe) both(t *testing.T, lines [][2]string) {
	t.Helper()
	for _, line := range lines {
		t.Run(line[0]+"/to farside", func(t *testing.T) { r.run(t, true, line[0], line[1]) })
		t.Run(line[0]+"/to rxe", func(t *testing.T) { r.run(t, false, line[0], line[1]) })
	}
}
