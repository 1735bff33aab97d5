package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// tableLimit is how many regions of another host a table holds. They can be asked for again.
const tableLimit = 4096

// Fabric is the regions of another host, where a Bridge serves them. It implements verbs.Fabric.
type Fabric struct {
	table *verbs.Table
	host  *exchange.Host
}

// view is a peer's way to one region. It implements verbs.View. The bridge checks everything again, and knows
// when the region ends; the view learns of it with the next operation.
type view struct {
	info   verbs.RegionInfo
	host   *exchange.Host
	reason atomic.Pointer[error] // why it is closed
}

// Open connects to the host that a fabric's name tells, "tls://host:port/". What is resolved goes into a
// table.
func Open(ctx context.Context, fabric string, table *verbs.Table) (*Fabric, error) {
	address, err := hostOf(fabric)
	if err != nil {
		return nil, err
	}
	credentials, err := loadCredentials()
	if err != nil {
		return nil, err
	}
	host, err := exchange.Open(ctx, address, credentials)
	if err != nil {
		return nil, fmt.Errorf("rdmasim: open %s: %w", fabric, farError(err))
	}
	return &Fabric{table, host}, nil
}

// Resolve implements verbs.Fabric: it asks the bridge.
func (f *Fabric) Resolve(ctx context.Context, address, key uint64, need verbs.Access) (*verbs.Region, error) {
	d, err := ask(ctx, f.host, exchange.Question{Address: address, Key: key, Access: uint32(need)})
	if err != nil {
		return nil, err
	}
	info := infoOf(&d)
	v := &view{info: *info, host: f.host}
	r := &verbs.Region{Info: *info, View: v}
	if info.Strict {
		r.View = strictView{v}
	}
	f.table.Forget(tableLimit)
	return f.table.FindOrAdd(r)
}

// infoOf is a bridge's description of a region.
func infoOf(d *exchange.Description) *verbs.RegionInfo {
	return &verbs.RegionInfo{Address: d.Address, Length: d.Length, Key: d.Key, Access: verbs.Access(d.Access),
		PID: int(d.PID), UID: d.UID, DeviceUUID: d.DeviceUUID, Name: d.Name, Strict: d.Strict}
}

// ask asks a bridge for a region and holds the answer against what it can be.
func ask(ctx context.Context, host *exchange.Host, q exchange.Question) (exchange.Description, error) {
	d, outcome, err := host.Resolve(ctx, q)
	switch {
	case err != nil:
		return d, farError(err)
	case outcome != 0:
		return d, outcomeError(outcome)
	case !infoOf(&d).Possible(q.Address), q.Key != 0 && q.Key != d.Key, d.Key == 0:
		return d, fmt.Errorf("%w: impossible region %#x+%#x", verbs.ErrProtocol, d.Address, d.Length)
	}
	return d, nil
}

// Regions implements verbs.Fabric: a bridge tells of a region only who knows an address in it.
func (f *Fabric) Regions(context.Context) ([]verbs.RegionStatus, error) {
	return nil, fmt.Errorf("%w: another host doesn't list them", verbs.ErrPermission)
}

// Close implements verbs.Fabric.
func (f *Fabric) Close() { _ = f.host.Close() }

// Alive implements verbs.View. It doesn't ask the bridge.
func (v *view) Alive() bool { return v.reason.Load() == nil }

// Failure implements verbs.View.
func (v *view) Failure() error {
	if reason := v.reason.Load(); reason != nil {
		return *reason
	}
	return nil
}

// Close implements verbs.View.
func (v *view) Close(reason error) { v.reason.CompareAndSwap(nil, &reason) }

// do carries out an operation. A bridge that doesn't know the region, since it was started anew or since the
// region has ended, is asked for it, and then knows it, or why not.
func (v *view) do(off, n uint64, need verbs.Access,
	operation func(exchange.Place) (exchange.Outcome, error)) error {
	switch {
	case !v.Alive():
		return verbs.ErrStale
	case !v.info.Covers(off, n, need):
		return v.info.Refusal(off, n, need)
	}
	at := exchange.Place{Address: v.info.Address + off, Key: v.info.Key}
	for try := 1; ; try++ {
		o, err := operation(at)
		if err != nil {
			return farError(err)
		}
		if err = outcomeError(o); err != verbs.ErrStale {
			return err
		}
		if try == 2 {
			return fmt.Errorf("%w: the bridge forgets the region", verbs.ErrFreed)
		}
		ctx, cancel := context.WithTimeoutCause(context.Background(), resolveTimeout, verbs.ErrTimeout)
		_, err = ask(ctx, v.host, exchange.Question{Address: v.info.Address, Key: v.info.Key})
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, verbs.ErrKey): // another region has the address now
			v.Close(verbs.ErrFreed)
			return verbs.ErrStale
		case errors.Is(err, verbs.ErrFreed), errors.Is(err, verbs.ErrOwnerDied), errors.Is(err, verbs.ErrUnknownAddress):
			v.Close(err)
			return verbs.ErrStale
		default:
			return err
		}
	}
}

// Read implements verbs.View.
func (v *view) Read(off uint64, p []byte) error {
	return v.do(off, uint64(len(p)), verbs.AccessRead, func(at exchange.Place) (exchange.Outcome, error) {
		return v.host.Read(at, p)
	})
}

// Write implements verbs.View.
func (v *view) Write(off uint64, p []byte) error {
	return v.do(off, uint64(len(p)), verbs.AccessWrite, func(at exchange.Place) (exchange.Outcome, error) {
		return v.host.Write(at, p)
	})
}

// Atomic implements verbs.View.
func (v *view) Atomic(op verbs.Opcode, off, width, operand, compare uint64) (old uint64, err error) {
	err = v.do(off, width, verbs.AccessAtomic, func(at exchange.Place) (o exchange.Outcome, err error) {
		old, o, err = v.host.Atomic(exchange.Atomic{Place: at, Opcode: uint8(op), Width: uint8(width),
			Operand: operand, Compare: compare})
		return o, err
	})
	return old, err
}
