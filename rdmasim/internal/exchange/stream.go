package exchange

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// patience is how long a side waits for the next portion of something that has begun, and for room to send one.
	patience = 5 * time.Second
	// portion is how many bytes have to come within patience, or all that are missing: the minimal rate.
	portion = 64 << 10
	// joined is how many bytes go to the kernel in one call, if there are as many. crypto/tls makes a call for
	// each record of 16 KiB.
	joined = portion
)

// stream is a connection below TLS. A side that takes less than a portion within patience is an error.
type stream struct {
	net.Conn
	spoken atomic.Bool // something has come

	mu   sync.Mutex
	hold bool
	out  *[]byte // what is held back, from outBuffers
}

var (
	start      = time.Now()
	outBuffers = sync.Pool{New: func() any { b := make([]byte, 0, joined); return &b }}
)

func sinceStart() int64 { return int64(time.Since(start)) }

// Read implements net.Conn.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if n > 0 && !s.spoken.Load() {
		s.spoken.Store(true)
	}
	return n, err
}

// Write implements net.Conn.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hold {
		return s.send(p)
	}
	if s.out == nil {
		s.out = outBuffers.Get().(*[]byte)
	}
	if len(*s.out)+len(p) > cap(*s.out) {
		if err := s.flush(); err != nil {
			return 0, err
		}
	}
	if len(p) > cap(*s.out) {
		return s.send(p)
	}
	*s.out = append(*s.out, p...)
	return len(p), nil
}

// silent says whether nothing has come yet.
func (s *stream) silent() bool { return !s.spoken.Load() }

// join collects what is written until part.
func (s *stream) join() {
	s.mu.Lock()
	s.hold = true
	s.mu.Unlock()
}

// part sends what was collected.
func (s *stream) part() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = false
	if s.out == nil {
		return nil
	}
	err := s.flush()
	outBuffers.Put(s.out)
	s.out = nil
	return err
}

// flush empties the buffer. Under s.mu.
func (s *stream) flush() error {
	b := *s.out
	*s.out = b[:0]
	if len(b) == 0 {
		return nil
	}
	_, err := s.send(b)
	return err
}

// send gives bytes to the kernel, a portion at most. Under s.mu, since a deadline is the connection's.
func (s *stream) send(p []byte) (int, error) {
	_ = s.Conn.SetWriteDeadline(time.Now().Add(patience))
	return s.Conn.Write(p)
}
