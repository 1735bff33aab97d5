package rdmasim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"farside/internal/config"
	"farside/internal/fault"
	"farside/internal/finding"
	"farside/internal/gate"
	"farside/internal/journal"
	"farside/internal/report"
	"farside/rdmasim/internal/local"
	"farside/rdmasim/internal/remote"
	"farside/rdmasim/internal/verbs"
)

// resolveTimeout bounds what an operation without a context waits for an owner that doesn't answer.
const resolveTimeout = 5 * time.Second

// Peer is the initiating side: it reads and writes regions of other processes by their remote addresses.
// Its methods may be called from any goroutine.
type Peer struct {
	table  verbs.Table  // the regions that operations find
	fabric verbs.Fabric // where others are asked for

	ctx    context.Context // ends when the peer is closed
	cancel context.CancelFunc

	faults  *fault.Plan // nil: nothing fails on command
	severed atomic.Bool // on command

	used   usedRegions
	strict atomic.Bool // the process asks for FARSIDE_STRICT=rdma, or the owner of a region that the peer has found
	pairs  pairs
}

// Open joins a fabric: this host, named "", or another one where a [Bridge] serves, named
// "tls://host:port/". For this host it does no input or output: owners are found when addresses are
// resolved. To another one it connects, and needs a secret or a certificate in the file that
// FARSIDE_FABRIC_SECRET_FILE names. Errors: ErrUnknownFabric, a variable FARSIDE_* that can't be read; with
// another host ErrCredentials, ErrPermission, ErrUnreachable, ErrProtocol, ErrTimeout, and ErrResources if the
// bridge has too many peers.
func Open(ctx context.Context, fabric string) (*Peer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	settings, err := config.Read()
	if err == nil {
		err = report.Start(settings, "farside's fabric", gate.AtExit)
	}
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	finding.Begin(settings)
	p := &Peer{}
	p.strict.Store(finding.On(config.StrictRDMA))
	if p.faults, err = fault.For(settings, "rdma."); err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	if fabric == "" {
		p.fabric, err = local.Open(&p.table)
	} else {
		ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, ErrTimeout)
		defer cancel()
		p.fabric, err = remote.Open(ctx, fabric, &p.table)
	}
	if err != nil {
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// OpenUnharmed is Open for this host and for who injects faults by itself: none of FARSIDE_FAULTS meets the peer.
func OpenUnharmed() (*Peer, error) {
	p, err := Open(context.Background(), "")
	if err == nil {
		p.faults = nil
	}
	return p, err
}

// Resolve finds the region around an address: in the cache, or by asking the owner and mapping the payload.
// Errors: ErrUnknownAddress, ErrFreed, ErrOwnerDied, ErrPermission, ErrTimeout, ErrProtocol, ErrResources,
// ErrClosed, and the context's.
func (p *Peer) Resolve(ctx context.Context, address uint64) (*RemoteRegion, error) {
	return p.ResolveKey(ctx, address, 0)
}

// ResolveKey is Resolve for a region that is known to have this key, or 0 for any. Another one is ErrKey.
func (p *Peer) ResolveKey(ctx context.Context, address, key uint64) (*RemoteRegion, error) {
	r, err := p.find(ctx, address, key)
	if err != nil {
		return nil, fmt.Errorf("rdmasim: resolve %#x: %w", address, err)
	}
	return &RemoteRegion{r}, nil
}

// find is ResolveKey without words around the error.
func (p *Peer) find(ctx context.Context, address, key uint64) (*verbs.Region, error) {
	if r := p.table.Lookup(address); r != nil && r.View.Alive() {
		return r, r.CheckKey(key)
	}
	return p.resolve(ctx, address, key, 0)
}

// resolve asks the fabric, for as long as the peer is open.
func (p *Peer) resolve(ctx context.Context, address, key uint64, need Access) (*verbs.Region, error) {
	if _, _, ok := verbs.SplitAddress(address); !ok {
		return nil, ErrUnknownAddress
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if p.faults != nil {
		if err := p.resolveOnCommand(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, ErrTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(p.ctx, func() { end(ErrClosed) })()
	r, err := p.fabric.Resolve(ctx, address, key, need)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = context.Cause(ctx)
	}
	if err == nil && r.Info.Strict {
		p.strict.Store(true)
	}
	return r, err
}

// again is the second try of an operation, with a region that was asked for. stale is a region that has just
// proved to be gone, or nil.
func (p *Peer) again(op Opcode, address uint64, stale *verbs.Region,
	do func(v verbs.View, off uint64) error) error {
	if stale != nil {
		p.table.Drop(stale, stale.View.Failure())
	}
	r, err := p.resolve(context.Background(), address, 0, op.Need())
	if err == nil {
		p.used.add(r)
		err = r.Because(do(r.View, address-r.Info.Address))
	}
	if err != nil {
		p.used.failed(op, address, err)
		return p.refused(op, address, err)
	}
	return nil
}

// Read copies len(b) bytes at a remote address to b. Errors: those of Resolve, ErrOutOfRange, ErrAccess.
func (p *Peer) Read(address uint64, b []byte) error {
	if journal.On() || p.faults != nil {
		return p.watched(OpRead, address, b, p.read)
	}
	return p.read(address, b)
}

func (p *Peer) read(address uint64, b []byte) error {
	r := p.table.Lookup(address)
	if r != nil {
		err := r.View.Read(address-r.Info.Address, b)
		if err == nil {
			return nil
		}
		if err != verbs.ErrStale {
			return p.refused(OpRead, address, err)
		}
	}
	return p.again(OpRead, address, r, func(v verbs.View, off uint64) error { return v.Read(off, b) })
}

// Write copies b to a remote address. Errors: those of Resolve, ErrOutOfRange, ErrAccess. After ErrFreed
// some bytes may have been written.
func (p *Peer) Write(address uint64, b []byte) error {
	if journal.On() || p.faults != nil {
		return p.watched(OpWrite, address, b, p.write)
	}
	return p.write(address, b)
}

func (p *Peer) write(address uint64, b []byte) error {
	r := p.table.Lookup(address)
	if r != nil {
		err := r.View.Write(address-r.Info.Address, b)
		if err == nil {
			return nil
		}
		if err != verbs.ErrStale {
			return p.refused(OpWrite, address, err)
		}
	}
	return p.again(OpWrite, address, r, func(v verbs.View, off uint64) error { return v.Write(off, b) })
}

// watched is a transfer that somebody looks at, or that may fail on command.
func (p *Peer) watched(op Opcode, address uint64, b []byte, do func(uint64, []byte) error) error {
	run := func() error { return do(address, b) }
	if p.faults != nil {
		run = func() error { return p.transferOnCommand(op, address, b, do) }
	}
	if journal.On() {
		return journaled(op, address, len(b), run)
	}
	return run()
}

// journaled tells the journal of an operation on n bytes.
func journaled(op Opcode, address uint64, n int, do func() error) error {
	began := journal.Now()
	err := do()
	e := journal.Event{Kind: journal.Transfer, Operation: op.String(), Address: address, Size: uint64(n), Time: began,
		Duration: journal.Now() - began}
	if err != nil {
		e.Text = err.Error()
	}
	journal.Emit(e)
	return err
}

// Segment is one part of a vector: local memory and the remote address that it stands for.
type Segment struct {
	Address uint64
	Bytes   []byte
}

// ReadV reads the segments in their order, from any regions. It returns how many were read; the error is
// that of the next.
func (p *Peer) ReadV(segments []Segment) (int, error) {
	for i := range segments {
		if err := p.Read(segments[i].Address, segments[i].Bytes); err != nil {
			return i, err
		}
	}
	return len(segments), nil
}

// WriteV writes the segments in their order, to any regions. It returns how many were written; the error is
// that of the next.
func (p *Peer) WriteV(segments []Segment) (int, error) {
	for i := range segments {
		if err := p.Write(segments[i].Address, segments[i].Bytes); err != nil {
			return i, err
		}
	}
	return len(segments), nil
}

// Regions lists the regions of every owner on this host whose user is trusted and trusts this one, by
// address. An owner that dies meanwhile is left out. Errors: ErrTimeout, with the regions of the other owners, if
// owners do not answer; the context's, ErrClosed, those of reading the kernel's list of sockets, and ErrPermission
// of a peer on another host, which tells of a region only who knows an address in it.
func (p *Peer) Regions(ctx context.Context) ([]RegionStatus, error) {
	err := ctx.Err()
	if p.ctx.Err() != nil {
		err = ErrClosed
	}
	var list []RegionStatus
	if err == nil {
		list, err = p.fabric.Regions(ctx)
	}
	if err != nil {
		err = fmt.Errorf("rdmasim: regions: %w", err)
	}
	return list, err
}

// Close ends the peer: later operations fail with ErrClosed. Those under way finish, and the memory is unmapped when
// the last of them has; with another host they fail with ErrUnreachable. A second Close does nothing. It returns no
// error today.
func (p *Peer) Close() error {
	if p.strict.Load() {
		p.pairs.leave()
	}
	if p.table.Close() {
		p.cancel()
		p.fabric.Close()
	}
	return nil
}
