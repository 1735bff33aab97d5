package ofi

import (
	"context"
	"testing"
	"time"
	"unsafe"
)

// bare moves memory outside of Go's heap in pieces, window at a time, with nothing around the library.
func bare(b *testing.B, c *Conn, op opKind, remote Remote, buffer []byte) {
	b.Helper()
	e := c.endpoint
	entries := c.page.address(0)
	f := e.write
	if op == opRead {
		f = e.read
	}
	posted, done, n := 0, 0, len(buffer)/chunk
	for done < n {
		for posted < n && posted-done < window {
			at := posted * chunk
			r := call(f, uintptr(unsafe.Pointer(e.ep)), uintptr(unsafe.Pointer(&buffer[at])), chunk, 0, uintptr(c.peer),
				uintptr(remote.Base)+uintptr(at), uintptr(remote.Key), c.slots[posted%window].context)
			if r != 0 {
				break
			}
			posted++
		}
		got, err := e.wait(entries, tick)
		if err != nil || got < 0 {
			b.Fatal(got, err)
		}
		done += got
	}
}

// BenchmarkPipelined moves 64 MiB over loopback in pieces of 1 MiB, in turns with a loop of library calls
// and with a Conn. Its metrics are the bandwidths of both, in bytes a second, and the second's share of the
// first.
func BenchmarkPipelined(b *testing.B) {
	const size = 64 << 20
	h := newHostOf(b, size)
	c := h.connect(0)
	remote, _ := h.register(0, size, both)
	outside, err := newPage(size)
	if err != nil {
		b.Fatal(err)
	}
	defer outside.free()
	large := make([]byte, size)
	for i := range size { // real pages in both
		outside.bytes[i], large[i] = 1, 1
	}
	for _, op := range []opKind{opWrite, opRead} {
		b.Run(op.String(), func(b *testing.B) {
			bare(b, c, op, remote, outside.bytes)
			var lone, conn time.Duration
			for b.Loop() {
				begin := time.Now()
				bare(b, c, op, remote, outside.bytes)
				middle := time.Now()
				if err := c.transfer(context.Background(), work{op: op, remote: remote}, large); err != nil {
					b.Fatal(err)
				}
				lone += middle.Sub(begin)
				conn += time.Since(middle)
			}
			moved := float64(b.N) * size
			b.ReportMetric(moved/lone.Seconds()/1e6, "bare-MB/s")
			b.ReportMetric(moved/conn.Seconds()/1e6, "conn-MB/s")
			b.ReportMetric(100*lone.Seconds()/conn.Seconds(), "%-of-bare")
		})
	}
}

// BenchmarkWord is a word there and back.
func BenchmarkWord(b *testing.B) {
	h := newHost(b)
	c := h.connect(0)
	ctx := context.Background()
	remote, _ := h.register(0, hostSize, both)
	word := make([]byte, 8)
	for _, o := range []struct {
		name      string
		operation func() error
	}{
		{"read", func() error { return c.Read(ctx, remote, 0, word) }},
		{"write", func() error { return c.Write(ctx, remote, 0, word) }},
		{"add", func() error { _, err := Add[uint64](ctx, c, remote, 0, 1); return err }},
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
