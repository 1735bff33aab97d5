package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"farside/internal/socket"
)

const (
	// handshakeTime is what a stranger has to prove who he is.
	handshakeTime = 3 * time.Second
	// maxResolves bounds the questions of one client that are being answered.
	maxResolves = 4
)

// Handler does what clients ask for. It is called from several goroutines. Only Resolve may take its time.
type Handler interface {
	Resolve(context.Context, Question) (Description, Outcome)
	// Read fills p.
	Read(at Place, p []byte) Outcome
	Write(at Place, p []byte) Outcome
	Atomic(Atomic) (old uint64, o Outcome)
}

// StrictHandler is a Handler of regions that are strict.
type StrictHandler interface {
	Handler
	// Announce says that an operation is under way. It is not known to have ended until Known says so.
	Announce(at Place, o *Operation) Outcome
	// Perform does all of what was announced, or a piece that begins at a place, with the client's memory p.
	Perform(at Place, o *Operation, p []byte, operand, compare uint64) (old uint64, _ Outcome)
	// Known says that the client knows that all of a flow has ended, up to a number. The place is that of one of its
	// operations.
	Known(at Place, flow, number uint64)
}

// mostFlows bounds the flows of one connection.
const mostFlows = 4096

// Server carries out what clients ask for.
type Server struct {
	listener net.Listener
	config   *tls.Config
	handler  Handler
	ctx      context.Context
	cancel   context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	places places
}

// connection is a client as the server sees it.
type connection struct {
	*channel
	server  *Server
	from    netip.Prefix
	resolve chan struct{}    // has room for one token of each question that is being answered
	strict  StrictHandler    // nil if the handler is none
	flows   map[uint64]Place // that have been announced, with the place of their last operation
}

// Serve listens at an address of this host (127.0.0.1:0) and answers until Close.
func Serve(address netip.AddrPort, c *Credentials, handler Handler) (*Server, error) {
	return serve(address, c, handler, currentLimits())
}

func serve(address netip.AddrPort, c *Credentials, handler Handler, l limits) (*Server, error) {
	listener, err := socket.ListenTCP(address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, config: c.config(""), handler: handler,
		places: places{limits: l, clients: map[*connection]struct{}{}}}
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
		c := &connection{channel: newChannel(raw), server: s, from: sourceOf(raw.RemoteAddr()),
			resolve: make(chan struct{}, maxResolves)}
		c.strict, _ = s.handler.(StrictHandler)
		c.secure(tls.Server(c.stream, s.config))
		s.mu.Lock()
		out := s.places.admit(c)
		s.mu.Unlock()
		if out != nil {
			out.close()
		}
		s.running.Go(c.serve)
	}
}

func (c *connection) serve() {
	defer c.leave()
	if !c.greet() {
		return
	}
	for c.server.ctx.Err() == nil { // what is buffered when the server is severed is not done any more
		if c.in.Buffered() == 0 && c.push() != nil {
			return
		}
		m, err := receive(c.in)
		if err != nil || c.answer(m) != nil {
			return
		}
	}
}

// greet does the handshake and tells the client whether there is a place for it.
func (c *connection) greet() bool {
	s := c.server
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTime)
	defer cancel()
	if c.conn.HandshakeContext(ctx) != nil {
		return false
	}
	s.mu.Lock()
	known, room := s.places.promote(c)
	s.mu.Unlock()
	if !known {
		return false
	}
	hello := message{kind: kindHello}
	if !room {
		hello.outcome = helloFull
	}
	return c.send(&hello, nil) == nil && room
}

// helloFull is a hello's outcome where the server has no place.
const helloFull Outcome = 1

// announced answers announce and known. What a connection has announced is over when it ends.
func (c *connection) announced(m *message) Outcome {
	switch _, known := c.flows[m.operation.Flow]; {
	case c.strict == nil:
		return 0
	case m.kind == kindKnown:
		c.strict.Known(m.place, m.operation.Flow, m.operation.Number)
		return 0
	case !known && len(c.flows) >= mostFlows:
		return 0
	}
	if c.flows == nil {
		c.flows = map[uint64]Place{}
	}
	c.flows[m.operation.Flow] = m.place
	return c.strict.Announce(m.place, &m.operation)
}

// perform does what was announced. A handler that isn't strict has announced nothing.
func (c *connection) perform(m *message, p []byte) (old uint64, o Outcome) {
	if c.strict == nil {
		return 0, ^Outcome(0)
	}
	return c.strict.Perform(m.place, &m.operation, p, m.atomic.Operand, m.atomic.Compare)
}

// answer does what a message asks for. An error ends the connection.
func (c *connection) answer(m *message) error {
	h := c.server.handler
	switch m.kind {
	case kindResolve:
		select {
		case c.resolve <- struct{}{}:
		default:
			return ErrProtocol
		}
		c.server.running.Go(func() {
			d, outcome := h.Resolve(c.server.ctx, m.question)
			if c.reply(&message{kind: kindReply, tag: m.tag, outcome: outcome, description: d}) != nil {
				c.close()
			}
		})
		return nil
	case kindAnnounce, kindKnown:
		return c.post(&message{kind: kindDone, tag: m.tag, outcome: c.announced(m)})
	case kindRead, kindReadOf:
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		reply := message{kind: kindData, tag: m.tag, size: m.size}
		if m.kind == kindRead {
			reply.outcome = h.Read(m.place, b.data()[:m.size])
		} else {
			_, reply.outcome = c.perform(m, b.data()[:m.size])
		}
		if reply.outcome != 0 {
			reply.size = 0
		}
		return c.send(&reply, b)
	case kindWrite, kindWriteOf:
		b := buffers.Get().(*buffer)
		defer buffers.Put(b)
		if c.in.Buffered() < int(m.size) {
			if err := c.push(); err != nil {
				return err
			}
		}
		if err := c.receiveData(b, m.size); err != nil {
			return err
		}
		reply := message{kind: kindDone, tag: m.tag}
		if m.kind == kindWrite {
			reply.outcome = h.Write(m.place, b.data()[:m.size])
		} else {
			_, reply.outcome = c.perform(m, b.data()[:m.size])
		}
		return c.post(&reply)
	case kindAtomic:
		reply := message{kind: kindDone, tag: m.tag}
		reply.old, reply.outcome = h.Atomic(m.atomic)
		return c.post(&reply)
	case kindAtomicOf:
		reply := message{kind: kindDone, tag: m.tag}
		m.place = m.atomic.Place
		reply.old, reply.outcome = c.perform(m, make([]byte, m.atomic.Width))
		return c.post(&reply)
	}
	return ErrProtocol
}

// reply sends the answer to a question, which is over when it is its turn: before the client has the answer, and
// not before one that doesn't read has made room, as its questions would pile up here.
func (c *connection) reply(m *message) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	<-c.resolve
	c.small = m.append(c.small)
	return c.flush()
}

func (c *connection) leave() {
	c.close()
	for f, at := range c.flows {
		c.strict.Known(at, f, ^uint64(0))
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.places.leave(c)
}

// Sever ends all connections, and lets no more in. It doesn't wait: a handler may call it, and its own answer is then
// lost, as is all that a client asks for after it.
func (s *Server) Sever() error {
	s.cancel()
	err := s.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.places.all() {
		c.close()
	}
	return err
}

// Close ends all connections, and waits for what they do. A second Close does nothing.
func (s *Server) Close() error {
	err := s.Sever()
	s.running.Wait()
	return err
}
