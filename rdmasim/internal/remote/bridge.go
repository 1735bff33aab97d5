package remote

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"farside/internal/fault"
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// resolveTimeout bounds what a question waits for an owner that doesn't answer.
const resolveTimeout = 5 * time.Second

// Options say how a Bridge serves.
type Options struct {
	Address netip.AddrPort       // of one interface
	Serves  func(id uint32) bool // says whether regions of this owner are served
	// Open joins the fabric of the bridge's own host.
	Open func(*verbs.Table) (verbs.Fabric, error)
	// Faults is what fails on command, nil for nothing.
	Faults *fault.Plan
}

// Bridge serves regions of this host to peers on others. It uses regions like any other peer of this host,
// and only while it carries out an operation. It implements exchange.Handler, and trusts nothing that other
// hosts say.
type Bridge struct {
	serves func(id uint32) bool
	table  verbs.Table
	fabric verbs.Fabric
	server *exchange.Server
	faults *fault.Plan // nil: nothing fails on command
}

// Serve starts a Bridge. Errors: ErrCredentials if the file with the secret can't be used; those of listening.
func Serve(options Options) (*Bridge, error) {
	credentials, err := loadCredentials()
	if err != nil {
		return nil, err
	}
	b := &Bridge{serves: options.Serves, faults: options.Faults}
	if b.fabric, err = options.Open(&b.table); err != nil {
		return nil, err
	}
	if b.server, err = exchange.Serve(options.Address, credentials, handler{b}); err != nil {
		b.fabric.Close()
		return nil, fmt.Errorf("rdmasim: serve: %w", err)
	}
	return b, nil
}

// Address is the host and port where the bridge listens.
func (b *Bridge) Address() string { return b.server.Address() }

// Name is the fabric that peers on other hosts open.
func (b *Bridge) Name() string { return nameOf(b.Address()) }

// Close ends every connection. A second Close does nothing.
func (b *Bridge) Close() {
	_ = b.server.Close()
	if b.table.Close() {
		b.fabric.Close()
	}
}

// find is the region around an address.
func (b *Bridge) find(ctx context.Context, q exchange.Question) (*verbs.Region, error) {
	if id, _, ok := verbs.SplitAddress(q.Address); !ok || !b.serves(id) {
		return nil, verbs.ErrUnknownAddress
	}
	r := b.table.Lookup(q.Address)
	if r == nil || !r.View.Alive() {
		ctx, cancel := context.WithTimeoutCause(ctx, resolveTimeout, verbs.ErrTimeout)
		defer cancel()
		var err error
		if r, err = b.fabric.Resolve(ctx, q.Address, q.Key, 0); err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else if err != nil {
			return nil, err
		}
	}
	if need := verbs.Access(q.Access); r.Info.Access&need != need {
		return nil, verbs.ErrAccess
	}
	return r, r.CheckKey(q.Key)
}

// handler is the methods of a Bridge for other hosts.
type handler struct{ *Bridge }

// Resolve implements exchange.Handler. After it, operations find the region.
func (h handler) Resolve(ctx context.Context, q exchange.Question) (exchange.Description, exchange.Outcome) {
	if h.faults != nil {
		if i, _ := h.onCommand("rdma.serve", nil); i.Sever {
			return exchange.Description{}, outcomeOf(verbs.ErrClosed)
		}
	}
	r, err := h.find(ctx, q)
	if err != nil {
		return exchange.Description{}, outcomeOf(err)
	}
	i := &r.Info
	return exchange.Description{Address: i.Address, Length: i.Length, Key: i.Key, Access: uint32(i.Access),
		PID: uint32(i.PID), UID: i.UID, DeviceUUID: i.DeviceUUID, Name: i.Name, Strict: i.Strict}, 0
}

// do carries out an operation on a region that was asked for before. It asks no owner, which may take its
// time: a peer whose region isn't known any more, ErrStale, asks again.
func (h handler) do(at exchange.Place, operation func(v verbs.View, off uint64) error) exchange.Outcome {
	r := h.table.Lookup(at.Address)
	if r == nil || r.Info.Key != at.Key {
		return outcomeOf(verbs.ErrStale)
	}
	err := operation(r.View, at.Address-r.Info.Address)
	if err == verbs.ErrStale {
		h.table.Drop(r, r.View.Failure())
	}
	return outcomeOf(err)
}

// Read implements exchange.Handler.
func (h handler) Read(at exchange.Place, p []byte) exchange.Outcome {
	read := func(p []byte) exchange.Outcome {
		return h.do(at, func(v verbs.View, off uint64) error { return v.Read(off, p) })
	}
	if h.faults != nil {
		return h.transferOnCommand("rdma.read", at, p, read)
	}
	return read(p)
}

// Write implements exchange.Handler.
func (h handler) Write(at exchange.Place, p []byte) exchange.Outcome {
	write := func(p []byte) exchange.Outcome {
		return h.do(at, func(v verbs.View, off uint64) error { return v.Write(off, p) })
	}
	if h.faults != nil {
		return h.transferOnCommand("rdma.write", at, p, write)
	}
	return write(p)
}

// Atomic implements exchange.Handler.
func (h handler) Atomic(a exchange.Atomic) (old uint64, o exchange.Outcome) {
	op, width := verbs.Opcode(a.Opcode), uint64(a.Width)
	switch {
	case op < verbs.OpFetchAdd || op > verbs.OpFetchXor || width != 4 && width != 8:
		return 0, outcomeOf(verbs.ErrBadWork)
	case a.Address&(width-1) != 0:
		return 0, outcomeOf(verbs.ErrMisaligned)
	}
	apply := func([]byte) exchange.Outcome {
		return h.do(a.Place, func(v verbs.View, off uint64) (err error) {
			old, err = v.Atomic(op, off, width, a.Operand, a.Compare)
			return err
		})
	}
	if h.faults != nil {
		o = h.transferOnCommand("rdma.atomic", a.Place, nil, apply)
		return old, o
	}
	o = apply(nil)
	return old, o
}
