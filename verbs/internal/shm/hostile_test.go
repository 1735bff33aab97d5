package shm

import (
	"encoding/binary"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
	"farside/internal/memfd"
	"farside/internal/socket"
)

// stranger connects to a host and says what a test wants.
func stranger(t *testing.T, h *Host, hello []byte, files ...int) *socket.Conn {
	t.Helper()
	conn, err := socket.DialPacket(t.Context(), socketName(h.number))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.WriteMsg(hello, unix.UnixRights(files...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func greeting(number uint32) (hello []byte) {
	for _, w := range []uint32{magic, version, number, 0} {
		hello = binary.LittleEndian.AppendUint32(hello, w)
	}
	return hello
}

// refused waits for the host to hang up.
func refused(t *testing.T, conn *socket.Conn) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	var buf [64]byte
	for {
		if _, _, _, err := conn.ReadFiles(buf[:], helloFiles); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Error("the host keeps a connection that makes no sense")
			}
			return
		}
	}
}

// TestGreetings has a host refuse greetings that make no sense, and serve others after them.
func TestGreetings(t *testing.T) {
	in := newInbox()
	h := open(t, in)
	file := func(size uint64, seals bool) int {
		f, err := memfd.Create(memfd.Spec{Name: "test", Size: size, Mode: memfd.Private, Open: !seals})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f.Int()
	}
	plain, err := fd.Fresh(unix.MemfdCreate("plain", unix.MFD_CLOEXEC))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if err := unix.Ftruncate(plain.Int(), pageSize); err != nil {
		t.Fatal(err)
	}
	page, ring, small := file(pageSize, true), file(fileSize, true), file(4096, true)
	read, write, err := fd.Pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	_ = read.Close() // to write there raises a signal
	event, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
	if err != nil {
		t.Fatal(err)
	}
	defer event.Close()
	good := greeting(5)
	for name, c := range map[string]struct {
		hello []byte
		files []int
	}{
		"no descriptors":  {good, nil},
		"two descriptors": {good, []int{page, ring}},
		"four":            {good, []int{page, ring, page, ring}},
		"short":           {good[:12], []int{page, ring, page}},
		"long":            {append(good, 0), []int{page, ring, page}},
		"magic":           {make([]byte, helloSize), []int{page, ring, page}},
		"number":          {greeting(1 << numberBits), []int{page, ring, event.Int()}},
		"no number":       {greeting(0), []int{page, ring, event.Int()}},
		"small page":      {good, []int{small, ring, event.Int()}},
		"small ring":      {good, []int{page, small, event.Int()}},
		"not sealed":      {good, []int{plain.Int(), ring, event.Int()}},
		"no eventfd":      {good, []int{page, ring, plain.Int()}},
		"a broken pipe":   {good, []int{page, ring, write.Int()}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, stranger(t, h, c.hello, c.files...)) })
	}
	qpn, _ := h.QPN()
	p, err := h.Path(home, home, qpn)
	if err != nil {
		t.Fatal(err)
	}
	send(t, p, []byte("x"))
	within(t, in.arrived, "packet")
}

// TestHostileRing has whatever another process writes into its file harm nobody: either packets come, or the session
// ends.
func TestHostileRing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	h := open(t, newInbox())
	for round := range 200 {
		page, pageMap, err := memfd.CreateMapped("page", pageSize)
		if err != nil {
			t.Fatal(err)
		}
		p, ring, err := newProducer()
		if err != nil {
			t.Fatal(err)
		}
		event, err := fd.Fresh(unix.Eventfd(0, unix.EFD_CLOEXEC))
		if err != nil {
			t.Fatal(err)
		}
		conn := stranger(t, h, greeting(uint32(1+rng.IntN(4000))), page.Int(), ring.Int(), event.Int())
		var buf [64]byte
		_, files, _, err := conn.ReadFiles(buf[:], helloFiles)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			at := uint64(rng.IntN(2048)) &^ 7
			if rng.IntN(2) == 0 {
				at = headSize + at
			}
			value := rng.Uint64() >> rng.IntN(64)
			if rng.IntN(2) == 0 {
				value &^= line - 1
			}
			p.word(at).Store(value)
			if round%2 == 0 {
				p.packet(0).Store(uint64(rng.IntN(128)) | uint64(rng.IntN(64))<<32 | uint64(rng.IntN(2))<<63)
			}
			wake(files[2].Int())
		}
		_ = conn.Close()
		for _, f := range append(files, page, ring, event) {
			_ = f.Close()
		}
		unmap(pageMap)
		unmapTwice(p.mapping)
	}
	for end := time.Now().Add(10 * time.Second); len(h.current()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sessions are left", len(h.current()))
		}
	}
}

// TestStrangers bounds the connections that say nothing, and serves others meanwhile once there is room.
func TestStrangers(t *testing.T) {
	h := open(t, newInbox())
	var idle []*socket.Conn
	for range 3 * maxStrangers {
		conn, err := socket.DialPacket(t.Context(), socketName(h.number))
		if err != nil {
			break // its queue is full
		}
		idle = append(idle, conn)
		if n := len(h.strangers); n > maxStrangers {
			t.Errorf("%d connections wait", n)
		}
	}
	for _, conn := range idle {
		_ = conn.Close()
	}
	session(t, open(t, newInbox()), h)
}
