package exchange

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// channel is an end of a connection, of either side: messages, and the bytes behind them.
type channel struct {
	stream *stream
	conn   *tls.Conn
	in     *bufio.Reader // of one goroutine

	moved   atomic.Int64 // when the last answer or portion had come, in nanoseconds of sinceStart
	sending sync.Mutex
	small   []byte // messages that wait for the next send
}

// buffer holds a message with the bytes behind it, so that both leave in one piece.
type buffer [headSize + maxFields + MaxData]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// data is where the bytes behind a message are.
func (b *buffer) data() []byte { return b[headSize+maxFields:] }

// inSize is the buffer of what comes. Bytes behind messages go around it.
const inSize = 8 << 10

func newChannel(raw net.Conn) *channel { return &channel{stream: &stream{Conn: raw}} }

func (c *channel) secure(conn *tls.Conn) {
	c.conn, c.in = conn, bufio.NewReaderSize(conn, inSize)
}

// send sends a message with the first m.size bytes in b, nil for none, and with it what post has kept.
func (c *channel) send(m *message, b *buffer) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.sendLocked(m, b)
}

// sendLocked is send under c.sending.
func (c *channel) sendLocked(m *message, b *buffer) error {
	if b == nil {
		c.small = m.append(c.small)
		return c.flush()
	}
	if len(c.small) > 0 {
		if err := c.flush(); err != nil {
			return err
		}
	}
	// The message ends where the data begins.
	fields := m.append(b[:0])
	all := b[headSize+maxFields-len(fields) : headSize+maxFields+int(m.size)]
	copy(all, fields)
	c.stream.join()
	_, err := c.conn.Write(all)
	if parted := c.stream.part(); err == nil {
		err = parted
	}
	return err
}

// post keeps a message until the next send or push.
func (c *channel) post(m *message) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	c.small = m.append(c.small)
	if len(c.small) < inSize {
		return nil
	}
	return c.flush()
}

// push sends what post has kept.
func (c *channel) push() error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.flush()
}

// flush sends what post has kept. Under c.sending.
func (c *channel) flush() error {
	if len(c.small) == 0 {
		return nil
	}
	_, err := c.conn.Write(c.small)
	c.small = c.small[:0]
	return err
}

// receiveData takes the n bytes behind a message into b, or throws them away if b is nil. Each portion has to come
// within patience.
func (c *channel) receiveData(b *buffer, n uint32) (err error) {
	defer c.stream.SetReadDeadline(time.Time{})
	for first := uint32(0); first < n && err == nil; first += portion {
		last := min(n, first+portion)
		_ = c.stream.SetReadDeadline(time.Now().Add(patience))
		if b == nil {
			_, err = c.in.Discard(int(last - first))
		} else {
			_, err = io.ReadFull(c.in, b.data()[first:last])
		}
		c.moved.Store(sinceStart())
	}
	return err
}

// close ends the connection at once; TLS' own way to do it may wait for the other side.
func (c *channel) close() { _ = c.stream.Conn.Close() }
