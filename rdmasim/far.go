package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"

	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/ofi"
)

// host is a peer's connection to a Bridge on another host.
type host struct {
	peer        *Peer
	address     string // of the bridge's exchange
	credentials *exchange.Credentials

	turn    chan struct{} // held by the one resolve that is under way; it guards session
	session *farSession   // nil when there is none
	ctx     context.Context
	cancel  context.CancelFunc
}

// farSession is as long as a connection to the exchange, since without one nobody says that a region has
// ended.
type farSession struct {
	host   *host
	client *exchange.Client
	data   *ofi.Conn

	mu    sync.Mutex
	early map[uint64]error // regions that ended before the peer's table had them
}

// farView is a view's way to a region of another host. The owner can't look at it: a region that ends is
// revoked, which the peer acknowledges when nobody is inside.
type farView struct {
	session *farSession
	number  uint64
	remote  ofi.Remote

	mu     sync.Mutex
	inside int
	closed bool
}

// loadCredentials reads the file that FARSIDE_FABRIC_SECRET_FILE names.
func loadCredentials() (*exchange.Credentials, error) {
	const variable = "FARSIDE_FABRIC_SECRET_FILE"
	file := os.Getenv(variable)
	if file == "" {
		return nil, fmt.Errorf("%w: other hosts need %s, a file with a secret", ErrPermission, variable)
	}
	c, err := exchange.LoadCredentials(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPermission, variable, err)
	}
	return c, nil
}

// openFar connects a peer to the host that a fabric's name tells, "ofi://host:port/".
func (p *Peer) openFar(ctx context.Context, fabric string) error {
	u, err := url.Parse(fabric)
	if err != nil || u.Scheme != "ofi" || u.Port() == "" || u.Path != "" && u.Path != "/" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%w: %q is not ofi://host:port/", ErrUnknownFabric, fabric)
	}
	credentials, err := loadCredentials()
	if err != nil {
		return err
	}
	if err := ofi.Load(); err != nil {
		return fmt.Errorf("rdmasim: open %s: %w", fabric, farError(err))
	}
	h := &host{peer: p, address: u.Host, credentials: credentials, turn: make(chan struct{}, 1)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, ErrTimeout)
	defer cancel()
	if _, err := h.connect(ctx); err != nil {
		h.cancel()
		return fmt.Errorf("rdmasim: open %s: %w", fabric, err)
	}
	p.far = h
	return nil
}

// connect returns the session, making one if there is none. With the turn.
func (h *host) connect(ctx context.Context) (*farSession, error) {
	if s := h.session; s != nil {
		select {
		case <-s.client.Done():
			h.session = nil
		default:
			return s, nil
		}
	}
	s := &farSession{host: h, early: map[uint64]error{}}
	var err error
	if s.client, err = exchange.Dial(ctx, h.address, h.credentials, s.revoked); err != nil {
		return nil, farError(err)
	}
	if s.data, err = ofi.Connect(ctx, s.client.Target(), ofi.Options{}); err != nil {
		_ = s.client.Close()
		return nil, farError(err)
	}
	h.session = s
	go s.watch()
	return s, nil
}

// watch ends the session with its connection.
func (s *farSession) watch() {
	<-s.client.Done()
	s.host.peer.dropIf(ErrUnreachable, func(r *RemoteRegion) bool { return r.view.far.session == s })
	_ = s.data.Close()
}

// revoked is called when a region has ended.
func (s *farSession) revoked(number uint64, why exchange.Outcome) {
	reason := outcomeError(why)
	s.mu.Lock()
	s.early[number] = reason
	s.mu.Unlock()
	known := false
	s.host.peer.dropIf(reason, func(r *RemoteRegion) bool {
		match := r.view.far.session == s && r.view.far.number == number
		known = known || match
		return match
	})
	if !known {
		go s.client.Acknowledge(number)
	}
}

// resolve asks the bridge for the region around an address.
func (h *host) resolve(ctx context.Context, address, key uint64, need Access) (*RemoteRegion, error) {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	// Another goroutine may have had the same question.
	if r := h.peer.lookup(address); r != nil && r.view.alive() {
		return r, r.info.checkKey(key)
	}
	s, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	clear(s.early)
	s.mu.Unlock()
	d, outcome, err := s.client.Resolve(ctx, exchange.Question{Address: address, Key: key, Access: uint32(need)})
	if err != nil {
		return nil, farError(err)
	}
	if err := outcomeError(outcome); err != nil {
		return nil, err
	}
	if address < d.Address || address-d.Address >= d.Length || Access(d.Access)&^AccessAll != 0 {
		return nil, fmt.Errorf("%w: impossible region %#x+%#x", ErrProtocol, d.Address, d.Length)
	}
	v := &view{base: d.Address, length: d.Length, access: Access(d.Access),
		far: &farView{session: s, number: d.Number, remote: d.Remote}}
	r := &RemoteRegion{view: v, info: RegionInfo{Address: d.Address, Length: d.Length, Key: d.Key, Access: v.access,
		PID: int(d.PID), UID: d.UID, DeviceUUID: d.DeviceUUID, Name: d.Name}}
	if err := h.peer.add(r); err != nil {
		v.close(err)
		return nil, err
	}
	// The region or the connection may have ended before the table knew of the region.
	s.mu.Lock()
	reason := s.early[d.Number]
	s.mu.Unlock()
	select {
	case <-s.client.Done():
		reason = ErrUnreachable
	default:
	}
	if reason != nil {
		h.peer.drop(r, reason)
		return nil, reason
	}
	return r, nil
}

func (h *host) closing() context.Context { return h.ctx }

// close ends the connection once the resolve under way has noticed; nobody gets a turn afterwards.
func (h *host) close() {
	h.cancel()
	h.turn <- struct{}{}
	if h.session != nil {
		_ = h.session.client.Close()
		_ = h.session.data.Close()
	}
}

// begin counts an operation and checks it.
func (f *farView) begin(v *view, off, n uint64, need Access) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return errStale
	case off > v.length || n > v.length-off || v.access&need == 0:
		return v.refusal(off, n, need)
	}
	f.inside++
	return nil
}

// end is the answer of an operation. If the region is still there, the operation was complete before it
// ended.
func (f *farView) end(v *view, err error) error {
	f.mu.Lock()
	f.inside--
	closed := f.closed
	last := closed && f.inside == 0
	f.mu.Unlock()
	if last {
		f.session.client.Acknowledge(f.number)
	}
	switch {
	case closed:
		return v.failure()
	case errors.Is(err, ofi.ErrRemoteAccess):
		// Range and rights are as the owner said, so it is the key: the notice is on the way.
		return fmt.Errorf("%w: %w", ErrFreed, err)
	}
	return farError(err)
}

// close lets nobody in any more. It is called once.
func (f *farView) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.inside == 0 {
		go f.session.client.Acknowledge(f.number)
	}
}

// pageStep is the distance of two bytes of which one lies in each page.
const pageStep = 4096

// touch lets memory that isn't there, or can't be written, fault here, where that becomes an error, and not
// in libfabric, which it would kill. Inlined, it would read nothing, as nobody looks at the sum.
//
//go:noinline
func touch(p []byte, write bool) (sum byte) {
	for i := 0; i < len(p); i += pageStep {
		if sum ^= p[i]; write {
			p[i] = 0
		}
	}
	if last := len(p) - 1; last >= 0 {
		if sum ^= p[last]; write {
			p[last] = 0
		}
	}
	return sum
}

func (f *farView) read(v *view, off uint64, p []byte) error {
	touch(p, true)
	if err := f.begin(v, off, uint64(len(p)), AccessRead); err != nil {
		return err
	}
	return f.end(v, f.session.data.Read(context.Background(), f.remote, off, p))
}

func (f *farView) write(v *view, off uint64, p []byte) error {
	touch(p, false)
	if err := f.begin(v, off, uint64(len(p)), AccessWrite); err != nil {
		return err
	}
	return f.end(v, f.session.data.Write(context.Background(), f.remote, off, p))
}

func (f *farView) atomic(v *view, op Opcode, off, width, operand, compare uint64) (old uint64, err error) {
	if err := f.begin(v, off, width, AccessAtomic); err != nil {
		return 0, err
	}
	if width == 8 {
		old, err = farAtomic(f, op, off, operand, compare)
	} else {
		var half uint32
		half, err = farAtomic(f, op, off, uint32(operand), uint32(compare))
		old = uint64(half)
	}
	return old, f.end(v, err)
}

func farAtomic[T ofi.Word](f *farView, op Opcode, off uint64, operand, compare T) (T, error) {
	ctx, c := context.Background(), f.session.data
	switch op {
	case OpFetchAdd:
		return ofi.Add(ctx, c, f.remote, off, operand)
	case OpSwap:
		return ofi.Swap(ctx, c, f.remote, off, operand)
	case OpFetchAnd:
		return ofi.And(ctx, c, f.remote, off, operand)
	case OpFetchOr:
		return ofi.Or(ctx, c, f.remote, off, operand)
	case OpFetchXor:
		return ofi.Xor(ctx, c, f.remote, off, operand)
	}
	return ofi.CompareSwap(ctx, c, f.remote, off, compare, operand)
}

// farErrors says what the errors of the packages below are here.
var farErrors = []struct{ below, here error }{
	{exchange.ErrAuthentication, ErrPermission},
	{exchange.ErrProtocol, ErrProtocol},
	{exchange.ErrGone, ErrUnreachable},
	{ofi.ErrUnreachable, ErrUnreachable},
	{ofi.ErrRemoteAccess, ErrAccess},
	{ofi.ErrFlushed, ErrFlushed},
	{ofi.ErrClosed, ErrUnreachable},
	{ofi.ErrInvalid, ErrProtocol},
}

func farError(err error) error {
	for _, e := range farErrors {
		if errors.Is(err, e.below) {
			return fmt.Errorf("%w: %w", e.here, err)
		}
	}
	return err
}

// outcomes are the errors that a bridge answers with; the number of one is its place.
var outcomes = []error{nil, ErrUnknownAddress, ErrFreed, ErrOwnerDied, ErrPermission, ErrAccess, ErrKey, ErrTimeout,
	ErrClosed, ErrProtocol, ErrResources}

func outcomeError(o exchange.Outcome) error {
	if int(o) >= len(outcomes) {
		return fmt.Errorf("%w: outcome %d", ErrProtocol, o)
	}
	return outcomes[o]
}

func outcomeOf(err error) exchange.Outcome {
	for i, known := range outcomes {
		if errors.Is(err, known) {
			return exchange.Outcome(i)
		}
	}
	return exchange.Outcome(len(outcomes) - 1)
}
