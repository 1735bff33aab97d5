package rdmasim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/ofi"
)

const (
	// revokeTimeout bounds what a bridge waits for peers that have been told of a region's end. It is shorter
	// than an owner's patience with the bridge.
	revokeTimeout = drainTimeout * 8 / 10
	// watchInterval is how often a bridge looks whether its regions are valid, as a notice may be lost.
	watchInterval = 50 * time.Millisecond
)

// ServeOptions say how a Bridge serves.
type ServeOptions struct {
	// Listen is the address and port of this host where peers ask for regions, "127.0.0.1:0" if empty. The
	// data comes to other ports of the same address. It names one interface.
	Listen string
	// Provider is libfabric's name of what carries the data, "tcp" if empty.
	Provider string
	// Owner is whose regions are served, nil for those of every owner of this host that this process may use.
	Owner *Owner
}

// Bridge serves regions of this host to peers on others, which open the fabric "ofi://host:port/". It is
// itself a peer of the regions' owners: it enters a region when somebody first asks for it, and stays inside
// until the region has ended and the other hosts' operations on it have. An owner's free waits for that.
//
// Peers prove by TLS that they have the secret, or a certificate of the authority, that the file named in
// FARSIDE_FABRIC_SECRET_FILE has; each may use every region. The data isn't encrypted and carries the keys of
// libfabric with it: whoever sees the traffic can read it, change it, and use these keys. An atomic right
// implies reading and writing for who leaves out the checks of this package.
type Bridge struct {
	peer   *Peer
	owner  *Owner
	target *ofi.Target
	server *exchange.Server
	wake   chan struct{} // holds a token when a region may have ended
	stop   chan struct{}
	ending sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   uint64 // number that was given to a region
	served map[*RemoteRegion]*served
}

// served is a region that other hosts have been told of.
type served struct {
	region      *RemoteRegion
	memory      *ofi.Region
	description exchange.Description
}

// Serve starts a Bridge. Errors: ErrPermission if the file with the secret can't be used; those of
// libfabric, which say what to install if it is missing; those of listening.
func Serve(options ServeOptions) (*Bridge, error) {
	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	credentials, err := loadCredentials()
	if err != nil {
		return nil, err
	}
	address, err := net.ResolveTCPAddr("tcp", options.Listen)
	if err != nil || address.IP == nil || address.IP.IsUnspecified() {
		return nil, fmt.Errorf("rdmasim: serve at %q: not the address and port of one interface: %w",
			options.Listen, ErrUnknownFabric)
	}
	b := &Bridge{owner: options.Owner, wake: make(chan struct{}, 1), stop: make(chan struct{}),
		served: map[*RemoteRegion]*served{}}
	if b.peer, err = Open(context.Background(), ""); err != nil {
		return nil, err
	}
	b.peer.retired = b.look
	if b.target, err = ofi.NewTarget(options.Provider, address.AddrPort().Addr().Unmap().String()); err != nil {
		return nil, fmt.Errorf("rdmasim: serve: %w", err)
	}
	if b.server, err = exchange.Serve(address.String(), credentials, b.target.Address(), b.answer); err != nil {
		_ = b.target.Close()
		return nil, fmt.Errorf("rdmasim: serve: %w", err)
	}
	b.ending.Go(b.watch)
	return b, nil
}

// Address is the host and port that peers need.
func (b *Bridge) Address() string { return b.server.Address() }

// look makes the bridge see which regions have ended.
func (b *Bridge) look() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *Bridge) answer(ctx context.Context, q exchange.Question) (exchange.Description, exchange.Outcome) {
	d, err := b.describe(ctx, q)
	return d, outcomeOf(err)
}

// describe finds a region and registers its memory with libfabric, the first time.
func (b *Bridge) describe(ctx context.Context, q exchange.Question) (d exchange.Description, err error) {
	if id, _, ok := splitAddress(q.Address); !ok || b.owner != nil && id != b.owner.id {
		return d, ErrUnknownAddress
	}
	r, err := b.peer.ResolveKey(ctx, q.Address, q.Key)
	if err != nil {
		return d, err
	}
	if Access(q.Access)&^r.info.Access != 0 {
		return d, ErrAccess
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return d, ErrClosed
	}
	if s := b.served[r]; s != nil {
		return s.description, nil
	}
	if !r.view.enter(classRead) {
		return d, r.view.failure()
	}
	if !r.view.valid() {
		r.view.abandon(classRead)
		return d, r.view.ending()
	}
	var access ofi.Access
	if r.info.Access&(AccessRead|AccessAtomic) != 0 {
		access |= ofi.AccessRead
	}
	if r.info.Access&(AccessWrite|AccessAtomic) != 0 {
		access |= ofi.AccessWrite
	}
	memory, err := b.target.Register(r.view.data, access)
	if err != nil {
		r.view.abandon(classRead)
		return d, osError("register with libfabric", err)
	}
	b.last++
	i := &r.info
	d = exchange.Description{Number: b.last, Address: i.Address, Length: i.Length, Key: i.Key, Access: uint32(i.Access),
		PID: uint32(i.PID), UID: i.UID, DeviceUUID: i.DeviceUUID, Name: i.Name, Remote: memory.Remote()}
	b.served[r] = &served{region: r, memory: memory, description: d}
	return d, nil
}

// watch ends what is served of regions that have ended.
func (b *Bridge) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-b.wake:
		case <-tick.C:
		}
		b.mu.Lock()
		for r, s := range b.served {
			if !r.view.alive() {
				delete(b.served, r)
				b.ending.Go(func() { b.end(s) })
			}
		}
		b.mu.Unlock()
	}
}

// end takes a region away from the other hosts, and then lets its owner have it.
func (b *Bridge) end(s *served) {
	_ = s.memory.Close()
	ctx, cancel := context.WithTimeout(context.Background(), revokeTimeout)
	defer cancel()
	reason := s.region.view.failure()
	b.peer.drop(s.region, reason)
	b.server.Revoke(ctx, s.description.Number, outcomeOf(reason))
	s.region.view.abandon(classRead)
}

// Close ends every connection. A second Close does nothing. It returns no error today.
func (b *Bridge) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	close(b.stop)
	_ = b.server.Close()
	b.ending.Wait()
	for _, s := range b.served {
		_ = s.memory.Close()
		s.region.view.abandon(classRead)
	}
	_ = b.target.Close()
	return b.peer.Close()
}
