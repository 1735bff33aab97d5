package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"farside/internal/socket"
)

var (
	// ErrGone says that there is no server, or that the connection has ended. A write or an atomic may have
	// taken effect.
	ErrGone = errors.New("exchange: no connection")
	// ErrBusy says that the server has no place for another client.
	ErrBusy = errors.New("exchange: the server has too many clients")
)

// client is one connection to a server. Its methods may be called from any goroutine.
type client struct {
	*channel
	done chan struct{} // closed when the connection has ended
	err  error         // valid then
	// resolving has a token of each question that the server is answering, whether or not somebody waits.
	resolving chan struct{}

	mu        sync.Mutex
	tag       uint32
	waiting   map[uint32]*call
	order     []uint32 // the requests without an answer, but for questions, as they were sent
	forgotten int      // requests that have no answer yet, and nobody who waits for one
}

// call is a request that waits for its answer.
type call struct {
	tag   uint32
	want  kind
	size  uint32 // of the data that is to come
	reply chan answer
}

// answer is a message with the bytes that came along, nil without. The buffer is the receiver's.
type answer struct {
	*message
	data *buffer
}

func (a answer) free() {
	if a.data != nil {
		buffers.Put(a.data)
	}
}

// dial connects to a server. Errors: ErrGone, ErrBusy, ErrAuthentication, ErrProtocol.
func dial(ctx context.Context, address string, c *Credentials) (*client, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	raw, err := socket.DialTCP(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	}
	k := &client{channel: newChannel(raw), done: make(chan struct{}), waiting: map[uint32]*call{},
		resolving: make(chan struct{}, maxResolves)}
	k.secure(tls.Client(k.stream, c.config(host)))
	if err := k.greet(ctx); err != nil {
		k.close()
		if err = explain(err); errors.Is(err, ErrGone) {
			err = fmt.Errorf("%w: %w", errInterrupted, err)
		}
		return nil, err
	}
	go k.read()
	return k, nil
}

// greet does the handshake and takes the hello. In TLS 1.3, a server's refusal comes in the place of that.
func (k *client) greet(ctx context.Context) error {
	if err := k.conn.HandshakeContext(ctx); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = k.stream.SetReadDeadline(time.Unix(1, 0)) })()
	m, err := receive(k.in)
	switch {
	case err != nil:
		return err
	case m.kind != kindHello:
		return fmt.Errorf("%w: greeting of kind %d", ErrProtocol, m.kind)
	case m.outcome != 0:
		return ErrBusy
	}
	return nil
}

// explain sorts the errors of a connection. If the other side refused the handshake, it has sent an alert; crypto/tls
// doesn't export the alert's type.
func explain(err error) error {
	var remote *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrProtocol), errors.Is(err, ErrAuthentication), errors.Is(err, ErrBusy):
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

// errInterrupted says that there is a server, and that the connection ended before it was ready.
var errInterrupted = errors.New("exchange: the connection ended in the handshake")

// errUnsent says that nothing was sent, as the connection had ended before.
var errUnsent = errors.New("exchange: not sent")

// begin sends a request, with the first m.size bytes in b if there is one. A question waits for its turn: a
// server ends the connection of who has more than maxResolves. Only a question has a caller whose context may end
// before the connection's. So it is sent beside its caller, who waits in finish.
//
// Errors: the context's, and errUnsent, ErrGone, ErrProtocol, where the connection has ended.
func (k *client) begin(ctx context.Context, m *message, b *buffer, want kind) (*call, error) {
	if m.kind == kindResolve {
		select {
		case k.resolving <- struct{}{}:
		case <-k.done:
			return nil, errUnsent
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	c := &call{want: want, reply: make(chan answer, 1)}
	if m.kind == kindRead || m.kind == kindReadOf {
		c.size = m.size
	}
	if m.kind == kindResolve {
		if !k.enter(c, m) {
			return nil, errUnsent
		}
		go func() {
			if k.send(m, nil) != nil {
				k.close()
			}
		}()
		return c, nil
	}
	k.sending.Lock()
	known := k.enter(c, m)
	var err error
	if known {
		err = k.sendLocked(m, b)
	}
	k.sending.Unlock()
	switch {
	case !known:
		return nil, errUnsent
	case err != nil:
		k.end()
		return nil, k.err
	}
	return c, nil
}

// enter gives a request its tag. It says no once the connection has ended: alive says so from then on. The answers to
// all but questions come in the order of the requests; for these it is called under k.sending.
func (k *client) enter(c *call, m *message) bool {
	k.mu.Lock()
	if k.waiting == nil {
		k.mu.Unlock()
		<-k.done
		return false
	}
	defer k.mu.Unlock()
	k.tag++
	c.tag, m.tag = k.tag, k.tag
	k.waiting[c.tag] = c
	if m.kind != kindResolve {
		k.order = append(k.order, c.tag)
	}
	return true
}

// finish waits for the answer to a request. Its error is that of the connection or the context's. Where neither an
// answer nor a portion of one comes for patience the connection ends. Since answers come in order, that bounds the
// wait by what was asked before. The answer is to be freed.
func (k *client) finish(ctx context.Context, c *call) (answer, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for begun := sinceStart(); ; {
		select {
		case a := <-c.reply:
			return a, nil
		case <-k.done:
			return answer{}, k.err
		case <-ctx.Done():
			k.forget(c)
			return answer{}, context.Cause(ctx)
		case <-timer.C:
			idle := time.Duration(sinceStart() - max(begun, k.moved.Load()))
			if idle >= patience {
				k.end()
				return answer{}, fmt.Errorf("%w: no answer, nor %d bytes of one, for %v", ErrGone, portion, patience)
			}
			timer.Reset(patience - idle)
		}
	}
}

// forget gives up on a request; what comes for it is thrown away.
func (k *client) forget(c *call) {
	k.mu.Lock()
	if k.waiting[c.tag] == c {
		delete(k.waiting, c.tag)
		k.forgotten++
	}
	k.mu.Unlock()
	select {
	case a := <-c.reply:
		a.free()
	default:
	}
}

func (k *client) read() {
	var err error
	for err == nil {
		var m *message
		if m, err = receive(k.in); err == nil {
			err = k.take(m)
		}
	}
	k.close()
	k.mu.Lock()
	k.waiting, k.err = nil, explain(err)
	k.mu.Unlock()
	close(k.done)
}

// take hands an answer to who waits for it. There is one to each request: a server can't keep a client busy with
// more.
func (k *client) take(m *message) error {
	k.mu.Lock()
	c := k.waiting[m.tag]
	delete(k.waiting, m.tag)
	if c == nil {
		k.forgotten--
	}
	unasked := k.forgotten < 0
	turn := true
	if m.kind != kindReply && len(k.order) > 0 {
		turn = k.order[0] == m.tag
		k.order = k.order[1:]
	}
	k.mu.Unlock()
	if m.kind == kindReply {
		select {
		case <-k.resolving:
		default:
		}
	}
	switch {
	case unasked:
		return fmt.Errorf("%w: more answers than requests", ErrProtocol)
	case !turn:
		return fmt.Errorf("%w: an answer out of turn", ErrProtocol)
	case m.kind != kindReply && m.kind != kindData && m.kind != kindDone,
		c != nil && (m.kind != c.want || m.kind == kindData && m.outcome == 0 && m.size != c.size):
		return fmt.Errorf("%w: message of kind %d and %d bytes from a server", ErrProtocol, m.kind, m.size)
	}
	a := answer{message: m}
	if m.kind == kindData {
		if c != nil && m.size > 0 {
			a.data = buffers.Get().(*buffer)
		}
		if err := k.receiveData(a.data, m.size); err != nil {
			a.free()
			return err
		}
	}
	k.moved.Store(sinceStart())
	if c != nil {
		c.reply <- a // has room for the one
	}
	return nil
}

// alive says whether the connection is known to have ended.
func (k *client) alive() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// end ends the connection.
func (k *client) end() {
	k.close()
	<-k.done
}
