package exchange

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"farside/rdmasim/internal/ofi"
)

const (
	patience   = 5 * time.Second // for a handshake, a hello, a message to go out
	maxClients = 1024
)

// keepAlive finds out within ten seconds that the other host is gone.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: time.Second, Count: 5}

// Resolver answers questions. It is called from several goroutines.
type Resolver func(context.Context, Question) (Description, Outcome)

// Server answers clients' questions about one target's regions.
type Server struct {
	listener net.Listener
	config   *tls.Config
	target   ofi.Address
	resolve  Resolver
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu      sync.Mutex
	clients map[*connection]struct{}
}

// connection is a client as the server sees it.
type connection struct {
	server *Server
	raw    net.Conn
	conn   *tls.Conn
	send   sync.Mutex

	// Under server.mu.
	told   map[uint64]chan struct{} // regions by number; closed when the client has let go
	asking bool                     // a question is being answered
	missed []uint64                 // regions that were revoked meanwhile
}

// Serve listens at an address of this host ("127.0.0.1:0") and answers until Close.
func Serve(address string, c *Credentials, target ofi.Address, resolve Resolver) (*Server, error) {
	listen := net.ListenConfig{KeepAliveConfig: keepAlive}
	l, err := listen.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: l, config: c.config(""), target: target, resolve: resolve, clients: map[*connection]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.running.Go(s.accept)
	return s, nil
}

// Address is where clients connect.
func (s *Server) Address() string { return s.listener.Addr().String() }

func (s *Server) accept() {
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			// No descriptors left, most likely. Others may give some back.
			select {
			case <-s.ctx.Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		c := &connection{server: s, raw: raw, conn: tls.Server(raw, s.config), told: map[uint64]chan struct{}{}}
		s.mu.Lock()
		full := s.ctx.Err() != nil || len(s.clients) >= maxClients
		if !full {
			s.clients[c] = struct{}{}
		}
		s.mu.Unlock()
		if full {
			_ = raw.Close()
			continue
		}
		s.running.Go(c.serve)
	}
}

func (c *connection) serve() {
	defer c.leave()
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	if c.conn.HandshakeContext(c.server.ctx) != nil {
		return
	}
	if c.write(&message{kind: kindHello, target: c.server.target}) != nil {
		return
	}
	_ = c.conn.SetReadDeadline(time.Time{})
	in := bufio.NewReaderSize(c.conn, maxMessage+headSize)
	for {
		m, err := receive(in)
		if err != nil {
			return
		}
		switch m.kind {
		case kindResolve:
			if !c.answer(m) {
				return
			}
		case kindAcknowledge:
			c.server.mu.Lock()
			c.letGo(m.number)
			c.server.mu.Unlock()
		default:
			return
		}
	}
}

// answer replies to a question. The region is on the client's list before the client knows of it, so that no
// revocation is missed; one that comes before it is on the list makes the answer void.
func (c *connection) answer(m *message) bool {
	for {
		c.server.mu.Lock()
		c.asking, c.missed = true, nil
		c.server.mu.Unlock()
		d, outcome := c.server.resolve(c.server.ctx, m.question)
		c.server.mu.Lock()
		void := slices.Contains(c.missed, d.Number)
		if outcome == 0 && !void && c.told[d.Number] == nil {
			c.told[d.Number] = make(chan struct{})
		}
		c.asking = false
		c.server.mu.Unlock()
		if outcome != 0 || !void {
			return c.write(&message{kind: kindReply, tag: m.tag, outcome: outcome, description: d}) == nil
		}
	}
}

// write sends a message, or ends the connection.
func (c *connection) write(m *message) error {
	c.send.Lock()
	defer c.send.Unlock()
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience))
	_, err := c.conn.Write(m.encode())
	if err != nil {
		_ = c.raw.Close()
	}
	return err
}

// letGo notes that the client doesn't use a region any more. Under server.mu.
func (c *connection) letGo(number uint64) {
	if done := c.told[number]; done != nil {
		close(done)
		delete(c.told, number)
	}
}

func (c *connection) leave() {
	_ = c.raw.Close()
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	for number := range c.told {
		c.letGo(number)
	}
}

// Revoke tells the clients that know a region that it is gone, and waits until their operations on it have
// ended, or ctx. The resolver must not describe the region any more.
func (s *Server) Revoke(ctx context.Context, number uint64, why Outcome) {
	s.mu.Lock()
	using := map[*connection]chan struct{}{}
	for c := range s.clients {
		if done := c.told[number]; done != nil {
			using[c] = done
		}
		if c.asking {
			c.missed = append(c.missed, number)
		}
	}
	s.mu.Unlock()
	for c := range using {
		// One that takes nothing must not keep the others from knowing.
		go c.write(&message{kind: kindRevoke, number: number, outcome: why})
	}
	for _, done := range using {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// Close ends all connections.
func (s *Server) Close() error {
	s.cancel()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	s.mu.Lock()
	for c := range s.clients {
		_ = c.raw.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}
