package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"testing"
	"time"
)

// trickle writes b in pieces of n bytes, with a pause before each.
func trickle(w io.Writer, b []byte, n int, pause time.Duration) {
	for len(b) > 0 {
		time.Sleep(pause)
		n = min(n, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
		b = b[n:]
	}
}

// A server that sends something again and again, but less than a portion within patience, is given up as one that
// sends nothing.
func TestTricklingServer(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	hello := (&message{kind: kindHello}).append(nil)
	head := (&message{kind: kindData, tag: 1, size: portion}).append(nil)
	for name, talk := range map[string]func(*tls.Conn){
		"the head of an answer": func(conn *tls.Conn) { trickle(conn, head, 1, patience/4) },
		"an answer": func(conn *tls.Conn) {
			_, _ = conn.Write(head)
			trickle(conn, make([]byte, portion), portion/100, patience/20)
		},
		"a record": func(conn *tls.Conn) { // its head, and less than it says
			trickle(conn.NetConn(), append([]byte{23, 3, 3, 0x40, 0}, make([]byte, 1000)...), 1, patience/20)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openHost(t, fakeServer(t, c.config(""), func(conn *tls.Conn) {
				_, _ = conn.Write(hello)
				if _, err := receive(bufio.NewReader(conn)); err == nil {
					talk(conn)
				}
			}), c)
			begin := time.Now()
			_, err := h.transfer(message{kind: kindRead}, make([]byte, portion))
			if took := time.Since(begin); !errors.Is(err, ErrGone) || took > 2*patience+patience/2 {
				t.Errorf("%v after %v", err, took)
			}
		})
	}
}

// A server that answers what comes later, and never what came before it, can't hold that for ever.
func TestAnswersOutOfTurn(t *testing.T) {
	c := secret(t, 1)
	h := openHost(t, fakeServer(t, c.config(""), func(conn *tls.Conn) {
		_, _ = conn.Write((&message{kind: kindHello}).append(nil))
		in := bufio.NewReader(conn)
		for first := true; ; first = false {
			m, err := receive(in)
			if err != nil {
				return
			}
			if !first {
				_, _ = conn.Write((&message{kind: kindDone, tag: m.tag}).append(nil))
			}
		}
	}), c)
	failed := make(chan error, 1)
	go func() {
		_, _, err := h.Atomic(Atomic{})
		failed <- err
	}()
	for {
		select {
		case err := <-failed:
			if !errors.Is(err, ErrProtocol) {
				t.Error(err)
			}
			return
		case <-time.After(10 * time.Millisecond):
			_, _, _ = h.Atomic(Atomic{})
		}
	}
}

// A client that trickles loses its place.
func TestTricklingClient(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	s := startServer(t, c, make(memory, MaxData))
	conn, err := tls.Dial("tcp", s.Address(), c.config("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begin := time.Now()
	go func() {
		_, _ = conn.Write((&message{kind: kindWrite, size: portion, place: Place{0, memoryKey}}).append(nil))
		trickle(conn, make([]byte, portion), portion/100, patience/20)
	}()
	_, _ = io.Copy(io.Discard, conn)
	if took := time.Since(begin); took > 2*patience {
		t.Errorf("the connection ends after %v", took)
	}
}

// A question ends with its context, also where the server takes nothing and others wait for room to send.
func TestQuestionBehindSenders(t *testing.T) {
	t.Parallel()
	c := secret(t, 1)
	stop := make(chan struct{})
	h := openHost(t, fakeServer(t, c.config(""), func(conn *tls.Conn) {
		_, _ = conn.Write((&message{kind: kindHello}).append(nil))
		<-stop
	}), c)
	var writing sync.WaitGroup
	for range 8 {
		writing.Go(func() { _, _ = h.Write(Place{}, make([]byte, 64*MaxData)) })
	}
	k, err := h.client(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	for k.sending.TryLock() { // until somebody is in the middle of sending
		k.sending.Unlock()
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, _, err := h.Resolve(ctx, Question{}); !errors.Is(err, context.DeadlineExceeded) ||
		time.Since(begin) > 3*patience/4 {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	close(stop)
	h.Close()
	writing.Wait()
}
