package engine

import (
	"sync"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
)

// MW is a memory window: a part of a region with remote rights of its own.
type MW struct {
	PD   *PD
	Type ibv.MWType

	mu    sync.Mutex
	key   uint32
	mr    *MR    // that it is bound to, or nil
	grant *grant // while it is bound and valid
}

// WindowBind says what a window is to show: struct ibv_mw_bind_info. Length 0 unbinds a window of type 1.
type WindowBind struct {
	MR      *MR
	Address uint64
	Length  uint64
	Access  ibv.AccessFlags
}

// AllocMW makes a window, which is bound to nothing. Errors: EINVAL, ENOMEM.
func (p *PD) AllocMW(t ibv.MWType) (*MW, error) {
	if t != ibv.MW_TYPE_1 && t != ibv.MW_TYPE_2 {
		return nil, unix.EINVAL
	}
	key, err := p.Context.Device.keys.reserve()
	if err != nil {
		return nil, err
	}
	p.users.Add(1)
	return &MW{PD: p, Type: t, key: key}, nil
}

// Key is the remote key. A bind changes it.
func (w *MW) Key() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.key
}

// Dealloc ends a window, bound or not.
func (w *MW) Dealloc() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unbind()
	w.PD.Context.Device.keys.release(w.key)
	w.key = 0 // a bind that is still posted finds no window
	w.PD.users.Add(-1)
	return nil
}

// unbind ends what peers may do. Under w.mu.
func (w *MW) unbind() {
	if w.grant == nil {
		return
	}
	w.PD.Context.Device.keys.slot(w.key).Store(nil)
	w.grant.end()
	w.grant = nil
	w.mr.windows.Add(-1)
	w.mr = nil
}

// checkBind says what ibv_bind_mw and posting refuse at once. Error: EINVAL.
func (w *MW) checkBind(q *QP, b *WindowBind, t ibv.MWType) error {
	if w.Type != t || w.PD != q.pd || b.MR != nil && b.MR.PD != w.PD {
		return unix.EINVAL
	}
	if t == ibv.MW_TYPE_1 && b.Length == 0 {
		return nil
	}
	// A window has no local rights; programs ask for them, and adapters don't mind.
	const rights = remoteRights | ibv.ACCESS_LOCAL_WRITE | ibv.ACCESS_ZERO_BASED
	if b.MR == nil || b.Access&^rights != 0 || b.Length == 0 {
		return unix.EINVAL
	}
	return nil
}

// bind makes the window show a part of a region under a new key, and says whether it could. A window of type 2 belongs
// to the queue pair of the bind (type 2B), and must not be bound.
func (w *MW) bind(q *QP, b *WindowBind, key uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key>>tagBits != w.key>>tagBits || w.Type == ibv.MW_TYPE_2 && w.grant != nil {
		return false
	}
	w.unbind()
	if b.Length == 0 {
		w.key = key
		return true
	}
	m := b.MR
	m.mu.Lock()
	defer m.mu.Unlock()
	needsWrite := b.Access&(ibv.ACCESS_REMOTE_WRITE|ibv.ACCESS_REMOTE_ATOMIC) != 0
	switch {
	case m.windows.Load() < 0, m.PD != w.PD, m.init.Access&ibv.ACCESS_MW_BIND == 0, !m.grant.covers(b.Address, b.Length),
		needsWrite && m.init.Access&ibv.ACCESS_LOCAL_WRITE == 0:
		return false
	}
	m.windows.Add(1)
	g := &grant{key: key, pd: w.PD, window: true, start: b.Address, length: b.Length, at: b.Address - m.grant.start,
		access: b.Access, bytes: m.grant.bytes, memory: m.grant.memory, watched: m.grant.watched,
		made: m.grant.made}
	if b.Access&ibv.ACCESS_ZERO_BASED != 0 {
		g.start = 0
	}
	if w.Type == ibv.MW_TYPE_2 {
		g.qp = q
	}
	w.mr, w.grant, w.key = m, g, key
	g.owner = w
	w.PD.Context.Device.keys.slot(key).Store(g)
	return true
}

// invalidate ends the window of type 2 that has a key, for q. It says whether there was one that q may end.
func (d *Device) invalidate(q *QP, key uint32) bool {
	g := d.keys.find(key)
	if g == nil || g.owner == nil || g.owner.Type != ibv.MW_TYPE_2 || g.pd != q.pd || g.qp != q {
		return false
	}
	w := g.owner
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grant != g {
		return false
	}
	w.unbind()
	return true
}
