package socket

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
)

// pair is two connected sockets of TCP.
func pair(t *testing.T, ip string) (client, server *Conn) {
	t.Helper()
	l, err := ListenTCP(netip.AddrPortFrom(netip.MustParseAddr(ip), 0))
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Skipf("SKIPPED: this host lacks the address %s", ip)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = DialTCP(t.Context(), l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = l.AcceptConn(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	if diff := cmp.Diff([]string{l.Addr().String(), client.LocalAddr().String()},
		[]string{client.RemoteAddr().String(), server.RemoteAddr().String()}); diff != "" {
		t.Errorf("addresses of both sides differ: %s", diff)
	}
	return client, server
}

// A stream brings every byte, also those for which the kernel has no room at first, and then its end.
func TestStream(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1"} {
		t.Run(ip, func(t *testing.T) {
			fdtest.NoLeaks(t)
			client, server := pair(t, ip)
			want := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
			go func() {
				_, _ = client.Write(want)
				_ = client.Close()
			}()
			got, err := io.ReadAll(server)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d came, or others: %v", len(got), len(want), err)
			}
		})
	}
}

// Sockets send small messages at once and look after the other host, on both sides.
func TestOptions(t *testing.T) {
	client, server := pair(t, "127.0.0.1")
	for _, c := range []*Conn{client, server} {
		var got [4]int
		for i, o := range [4][2]int{{unix.IPPROTO_TCP, unix.TCP_NODELAY}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE},
			{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT}} {
			_ = c.Control(func(raw int) { got[i], _ = unix.GetsockoptInt(raw, o[0], o[1]) })
		}
		if want := [4]int{1, 1, 5, 5}; got != want {
			t.Errorf("options are %v, want %v", got, want)
		}
	}
}

// Deadlines and Close end what waits, with the errors of package net.
func TestWaitsEnd(t *testing.T) {
	fdtest.NoLeaks(t)
	_, server := pair(t, "127.0.0.1")
	_ = server.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || !os.IsTimeout(err) {
		t.Errorf("a read beyond its deadline: %v", err)
	}
	much := make([]byte, 64<<20)
	_ = server.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := server.Write(much); !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 {
		t.Errorf("a write beyond its deadline: %d, %v", n, err)
	}
	l, err := ListenTCP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = server.SetDeadline(time.Time{})
	for name, c := range map[string]struct {
		wait  func() error
		close func() error
	}{
		"read":   {func() error { _, err := server.Read(make([]byte, 1)); return err }, server.Close},
		"accept": {func() error { _, err := l.Accept(); return err }, l.Close},
	} {
		waited := make(chan error)
		go func() { waited <- c.wait() }()
		time.Sleep(10 * time.Millisecond)
		if err := c.close(); err != nil {
			t.Error(err)
		}
		if err := <-waited; !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s of a socket that is closed: %v", name, err)
		}
		if err := c.close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a second close: %v", err)
		}
	}
}

// Nobody listens, or nobody takes the connection while the context lasts.
func TestDialFails(t *testing.T) {
	fdtest.NoLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	if _, err := DialTCP(t.Context(), address); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("nobody listens: %v", err)
	}
	for _, wrong := range []string{"127.0.0.1", "127.0.0.1:http", "127.0.0.1:65536", "[fe80::1%nowhere]:1"} {
		if _, err := DialTCP(t.Context(), wrong); err == nil {
			t.Errorf("%q is an address", wrong)
		}
	}
	if _, err := DialPacket(t.Context(), "@farside-nobody"); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("nobody has the name: %v", err)
	}
	// A queue of one place: the kernel lets those behind it wait.
	full, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(full)
	if err := errors.Join(unix.Bind(full, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
		unix.Listen(full, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(full)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		var c *Conn
		if c, err = DialTCP(ctx, tcpAddr(name, "").String()); err == nil {
			defer c.Close()
		}
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody accepts: %v", err)
	}
}

// A write to who has gone raises no SIGPIPE, whatever the application does with that signal.
func TestNoSignal(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGPIPE)
	defer signal.Stop(signals)
	client, server := pair(t, "127.0.0.1")
	_ = server.Close()
	var err error
	for range 100 {
		if _, err = client.Write([]byte{1}); errors.Is(err, unix.EPIPE) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if !errors.Is(err, unix.EPIPE) {
		t.Fatal(err)
	}
	select {
	case s := <-signals:
		t.Errorf("a write raises %v", s)
	case <-time.After(20 * time.Millisecond):
	}
}

// Packets keep their borders and bring descriptors.
func TestPackets(t *testing.T) {
	fdtest.NoLeaks(t)
	name := fmt.Sprintf("@farside-socket-test-%d", os.Getpid())
	l, err := ListenPacket(name)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := ListenPacket(name); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("a name that is taken: %v", err)
	}
	client, err := DialPacket(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.AcceptConn()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	var passed int
	_ = client.Control(func(raw int) {
		_, err = client.WriteMsg([]byte("first"), unix.UnixRights(raw))
		passed = raw
	})
	if _, second := client.Write([]byte("second")); err != nil || second != nil {
		t.Fatal(err, second)
	}
	b, oob := make([]byte, 64), make([]byte, 64)
	n, oobn, _, err := server.ReadMsg(b, oob)
	if err != nil || string(b[:n]) != "first" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	rights, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(rights) != 1 || rights[0] == passed {
		t.Fatal(rights, err)
	}
	_ = unix.Close(rights[0])
	if n, _, _, err = server.ReadMsg(b, oob); err != nil || string(b[:n]) != "second" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	_ = client.Close()
	if n, _, _, err = server.ReadMsg(b, oob); n != 0 || err != nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// A server of DNS is asked by a socket of this package.
func TestNameByDNS(t *testing.T) {
	fdtest.NoLeaks(t)
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for b := make([]byte, 4096); ; {
			n, from, err := server.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answer(b[:n]), from)
		}
	}()
	asked := 0
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		asked++
		return resolver.Dial(ctx, network, server.LocalAddr().String())
	}, StrictErrors: true}
	got, err := r.LookupNetIP(t.Context(), "ip4", "memory.farside.test.")
	if diff := cmp.Diff([]string{"192.0.2.77"}, words(got)); err != nil || diff != "" || asked == 0 {
		t.Errorf("asked %d times: %v %s", asked, err, diff)
	}
}

func words(ips []netip.Addr) (all []string) {
	for _, ip := range ips {
		all = append(all, ip.String())
	}
	return all
}

// answer is what a server of DNS says to a question for an IPv4 address (RFC 1035, section 4).
func answer(question []byte) []byte {
	end := 12 + bytes.IndexByte(question[12:], 0) + 5
	b := bytes.Clone(question[:end])
	binary.BigEndian.PutUint16(b[2:], 0x8180)
	copy(b[4:], []byte{0, 1, 0, 1, 0, 0, 0, 0})
	return append(b, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 77)
}
