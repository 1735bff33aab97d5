package udp

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"farside/internal/fd/fdtest"
	"farside/verbs/internal/fabric"
	"farside/verbs/internal/netnstest"
	"farside/verbs/internal/packet"
)

// childVariable makes this program a process that receives until its standard input ends.
const childVariable = "FARSIDE_TEST_PORT"

// TestChild is what the other process of TestStopped does: it prints a line when it has begun, and one for each packet.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return // there is nothing to test but in the other process
	}
	p, err := OpenPort(func(*fabric.Source, []byte, []byte) { fmt.Println("packet") })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fmt.Println("begun")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// startChild starts a process that receives. Each packet that it gets makes a token.
func startChild(t *testing.T) (*os.Process, chan struct{}) {
	t.Helper()
	child := exec.Command("/proc/self/exe", "-test.run=^TestChild$", "-test.timeout=5m")
	child.Env = append(os.Environ(), childVariable+"=1")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines, packets, ended := bufio.NewScanner(stdout), make(chan struct{}, 100000), make(chan struct{})
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = child.Process.Kill()
		<-ended
		_ = child.Wait()
	})
	if !lines.Scan() || lines.Text() != "begun" {
		close(ended)
		t.Fatalf("the child says %q", lines.Text())
	}
	go func() {
		defer close(ended)
		for lines.Scan() {
			packets <- struct{}{}
		}
	}()
	return child.Process, packets
}

// sendUntil sends packets until done.
func sendUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	way, err := n.Path(here, netip.MustParseAddr("127.0.0.77"))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
		if err := way.Send(header(packet.Header{Opcode: packet.RC | packet.SendOnly}), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStopped has the process that receives be stopped: another one takes its turn, also one that comes later. Once it
// goes on it waits, and receives again when the other ones have gone.
func TestStopped(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	child, packets := startChild(t)
	follower, c := openPatient(t, answerWithin, napping)
	sendUntil(t, "the first process does not receive", func() bool {
		return len(packets) > 0 || len(c) > 0 // it had no processor for so long that the other one took its turn
	})
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	sendUntil(t, "nobody took the turn of the process that is stopped", func() bool { return len(c) > 0 })
	follower.Close()
	newcomer, d := openPatient(t, answerWithin, napping)
	sendUntil(t, "nobody receives beside the process that is stopped", func() bool { return len(d) > 0 })
	if err := child.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); lastTurn() == 1 || turns(t) != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes have a turn, the last one %d", turns(t), lastTurn())
		}
	}
	newcomer.Close()
	for len(packets) > 0 {
		<-packets
	}
	sendUntil(t, "the process that was stopped does not receive again", func() bool { return len(packets) > 0 })
}

// turns counts the names of processes that receive.
func turns(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		t.Fatal(err)
	}
	// An address that is listened at has these flags; connections of it have others.
	return len(regexp.MustCompile(`(?m) 00010000 .*@`+portPrefix+`\d+$`).FindAll(text, -1))
}

// TestHung has a process whose receiver hangs lose its turn.
func TestHung(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	hangs, goOn := make(chan struct{}, 1), make(chan struct{})
	p, err := OpenPort(func(*fabric.Source, []byte, []byte) {
		select {
		case hangs <- struct{}{}:
		default:
		}
		<-goOn
	})
	if err != nil {
		t.Fatal(err)
	}
	second, c := openPatient(t, answerWithin, napping)
	sendUntil(t, "nobody took the turn", func() bool { return len(c) > 0 })
	select {
	case <-hangs:
	default:
		t.Error("the first process had no packet")
	}
	close(goOn)
	second.Close()
	p.Close()
}

// TestTakeOver has a process that receives be stopped, so that packets lie in its sockets' buffers, and killed. The
// next one hands all of them out, and all that come meanwhile.
func TestTakeOver(t *testing.T) {
	netnstest.Need(t)
	fdtest.NoLeaks(t)
	child, _ := startChild(t)
	p, c := open(t)
	q, d := open(t) // either is the next one
	<-p.claimed
	<-q.claimed
	n := NewNet(func(fabric.Path) {})
	defer n.Close()
	const count = 50 // of each, which fit into any socket's buffer
	send := func() {
		for _, r := range [][2]netip.Addr{{here, there}, {netip.IPv6Loopback(), netip.IPv6Loopback()}} {
			way, err := n.Path(r[0], r[1])
			if err != nil {
				t.Fatal(err)
			}
			for psn := range uint32(count) {
				if err := numbered(t, way, psn, 10); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(child.Pid, nil, syscall.WUNTRACED, nil); err != nil {
		t.Fatal(err)
	}
	send()
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	send()
	for end := time.Now().Add(10 * time.Second); len(c)+len(d) < 4*count; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d packets of %d", len(c)+len(d), 4*count)
		}
	}
	p.Close()
	q.Close()
}
