package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"farside/rdmasim/internal/ofi"
)

// ErrGone says that the connection has ended, or that there is no server.
var ErrGone = errors.New("exchange: no connection")

// Client asks a server. Its methods may be called from any goroutine.
type Client struct {
	conn    *tls.Conn
	target  ofi.Address
	revoked func(uint64, Outcome)
	turn    chan struct{} // held by the one question under way
	done    chan struct{}
	err     error // valid when done is closed

	send sync.Mutex

	mu      sync.Mutex
	tag     uint32
	waiting chan *message // of the question with tag, nil when none is
}

// Dial connects to a server. When a region is revoked that this client was told of, revoked is called, on a
// goroutine that must not be held up; Acknowledge is due when no operation uses the region. Errors: ErrGone,
// ErrAuthentication, ErrProtocol, the context's.
func Dial(ctx context.Context, address string, c *Credentials, revoked func(number uint64, why Outcome)) (*Client, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	client := &Client{conn: tls.Client(raw, c.config(host)), revoked: revoked,
		turn: make(chan struct{}, 1), done: make(chan struct{})}
	if err := client.greet(ctx); err != nil {
		_ = raw.Close()
		return nil, explain(err)
	}
	go client.read()
	return client, nil
}

// greet does the handshake and takes the hello. In TLS 1.3, a server's refusal comes in the place of that.
func (c *Client) greet(ctx context.Context) error {
	if err := c.conn.HandshakeContext(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetReadDeadline(time.Unix(1, 0)) })()
	m, err := receive(c.conn)
	if err != nil {
		return err
	}
	if m.kind != kindHello {
		return fmt.Errorf("%w: greeting of kind %d", ErrProtocol, m.kind)
	}
	c.target = m.target
	return nil
}

// explain sorts the errors of a connection. What the other side found wrong in a handshake is an alert,
// whose type crypto/tls keeps to itself.
func explain(err error) error {
	var remote *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrAuthentication):
		return err
	case errors.As(err, &certificate):
		return fmt.Errorf("%w: %w", ErrAuthentication, err)
	case errors.As(err, &remote) && remote.Op == "remote error":
		if strings.HasSuffix(err.Error(), "no application protocol") { // RFC 7301, section 3.2
			return fmt.Errorf("%w: %w", ErrProtocol, err)
		}
		return fmt.Errorf("%w: %w", ErrAuthentication, err)
	}
	return fmt.Errorf("%w: %w", ErrGone, err)
}

// Target is what the server's regions are reached by.
func (c *Client) Target() ofi.Address { return c.target }

// Resolve asks a question. Errors: ErrGone, ErrProtocol, the context's. An outcome other than 0 has no
// description.
func (c *Client) Resolve(ctx context.Context, q Question) (Description, Outcome, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Description{}, 0, context.Cause(ctx)
	case <-c.done:
		return Description{}, 0, c.err
	}
	reply := make(chan *message, 1)
	c.mu.Lock()
	c.tag++
	tag := c.tag
	c.waiting = reply
	c.mu.Unlock()
	c.write(&message{kind: kindResolve, tag: tag, question: q})
	select {
	case m := <-reply:
		return m.description, m.outcome, nil
	case <-c.done:
		return Description{}, 0, c.err
	case <-ctx.Done():
		c.mu.Lock()
		c.waiting = nil
		c.mu.Unlock()
		return Description{}, 0, context.Cause(ctx)
	}
}

// Acknowledge tells the server that no operation uses a revoked region.
func (c *Client) Acknowledge(number uint64) {
	c.write(&message{kind: kindAcknowledge, number: number})
}

// write sends a message. What fails is the connection, and the reader says how.
func (c *Client) write(m *message) {
	c.send.Lock()
	defer c.send.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := c.conn.Write(m.encode()); err != nil {
		_ = c.conn.NetConn().Close()
	}
}

func (c *Client) read() {
	in := bufio.NewReaderSize(c.conn, maxMessage+headSize)
	var err error
	for err == nil {
		var m *message
		if m, err = receive(in); err != nil {
			break
		}
		switch m.kind {
		case kindReply:
			c.mu.Lock()
			if c.waiting != nil && m.tag == c.tag {
				c.waiting <- m // has room for the one reply
				c.waiting = nil
			}
			c.mu.Unlock()
		case kindRevoke:
			c.revoked(m.number, m.outcome)
		default:
			err = fmt.Errorf("%w: message of kind %d from a server", ErrProtocol, m.kind)
		}
	}
	_ = c.conn.NetConn().Close()
	c.err = explain(err)
	close(c.done)
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection.
func (c *Client) Close() error {
	_ = c.conn.NetConn().Close()
	<-c.done
	return nil
}
