package exchange

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"
)

// bare is connections as a Host has them, with nothing but crypto/tls on both sides: bytes for the asking in
// one direction or the other.
type bare []*tls.Conn

const (
	bareSize  = 64 << 20
	barePiece = 1 << 20
)

func newBare(b *testing.B, c *Credentials, n int) (conns bare) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	page := make([]byte, barePiece)
	go func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer raw.Close()
				conn := tls.Server(raw, c.config(""))
				in := bufio.NewReader(conn)
				for {
					what, err := in.ReadByte()
					if err != nil {
						return
					}
					if what == 'r' {
						_, _ = conn.Write(page)
					} else if _, err := io.ReadFull(in, page); err == nil {
						_, _ = conn.Write([]byte{1})
					}
				}
			}()
		}
	}()
	for range n {
		conn, err := tls.Dial("tcp", l.Addr().String(), c.config("127.0.0.1"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		conns = append(conns, conn)
	}
	return conns
}

// move moves bareSize bytes, with everything asked for at once.
func (c bare) move(b *testing.B, write bool, p []byte) {
	share := bareSize / barePiece / len(c)
	done := make(chan error)
	for i, conn := range c {
		mine := p[i*share*barePiece:][:share*barePiece]
		go func() {
			for k := range share {
				if write {
					_, _ = conn.Write([]byte{'w'})
					_, _ = conn.Write(mine[k*barePiece:][:barePiece])
				} else {
					_, _ = conn.Write([]byte{'r'})
				}
			}
		}()
		go func() {
			into := mine
			if write {
				into = make([]byte, share) // answers
			}
			_, err := io.ReadFull(conn, into)
			done <- err
		}()
	}
	for range c {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPipelined moves 64 MiB over loopback in turns with crypto/tls alone and with a Host. Its metrics are
// the bandwidths of both and the second's share of the first.
func BenchmarkPipelined(b *testing.B) {
	c := secret(b, 1)
	there, here := make(memory, bareSize), make([]byte, bareSize)
	for i := range there { // real pages in both
		there[i], here[i] = 1, 1
	}
	s, err := Serve(loopback, c, there)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	h := openHost(b, s.Address(), c)
	lone := newBare(b, c, len(h.lanes))
	for _, write := range []bool{false, true} {
		name := map[bool]string{false: "read", true: "write"}[write]
		b.Run(name, func(b *testing.B) {
			lone.move(b, write, here)
			var bareTime, hostTime time.Duration
			for b.Loop() {
				begin := time.Now()
				lone.move(b, write, here)
				middle := time.Now()
				if write {
					_, err = h.Write(Place{0, memoryKey}, here)
				} else {
					_, err = h.Read(Place{0, memoryKey}, here)
				}
				if err != nil {
					b.Fatal(err)
				}
				bareTime += middle.Sub(begin)
				hostTime += time.Since(middle)
			}
			moved := float64(b.N) * bareSize
			b.ReportMetric(moved/bareTime.Seconds()/1e6, "bare-MB/s")
			b.ReportMetric(moved/hostTime.Seconds()/1e6, "host-MB/s")
			b.ReportMetric(100*bareTime.Seconds()/hostTime.Seconds(), "%-of-bare")
		})
	}
}

// BenchmarkWord is a word there and back.
func BenchmarkWord(b *testing.B) {
	c := secret(b, 1)
	s, err := Serve(loopback, c, make(memory, 4096))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	h := openHost(b, s.Address(), c)
	word := make([]byte, 8)
	for _, o := range []struct {
		name      string
		operation func() error
	}{
		{"read", func() error { _, err := h.Read(Place{0, memoryKey}, word); return err }},
		{"write", func() error { _, err := h.Write(Place{0, memoryKey}, word); return err }},
		{"atomic", func() error {
			_, _, err := h.Atomic(Atomic{Place: Place{0, memoryKey}, Operand: 1, Width: 8})
			return err
		}},
	} {
		b.Run(o.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := o.operation(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
