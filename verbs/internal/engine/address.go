package engine

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/ibv"
	"farside/verbs/internal/fabric"
)

// route is where packets go: what an address vector says.
type route struct {
	local, remote netip.Addr
	attr          ibv.AHAttr
}

// newRoute checks an address vector. Error: EINVAL, also for one without a global route, which RoCE needs, and for a
// source GID that the port doesn't have.
func (d *Device) newRoute(a *ibv.AHAttr) (route, error) {
	local, ok := d.address(int(a.GRH.SGIDIndex))
	if a.PortNum != 1 || a.IsGlobal == 0 || !ok || a.GRH.DGID == (ibv.GID{}) {
		return route{}, unix.EINVAL
	}
	return route{local: local, remote: AddressOf(a.GRH.DGID), attr: *a}, nil
}

// open finds the way to a queue pair. Nobody there now is no error: the path is nil, and may be asked for again.
func (d *Device) open(r *route, number uint32) (fabric.Path, error) {
	p, err := d.network.Open(r.local, r.remote, number)
	if errors.Is(err, fabric.ErrUnreachable) || errors.Is(err, fabric.ErrDown) {
		return nil, nil
	}
	return p, err
}

// AH is an address handle: where datagrams go.
type AH struct {
	PD    *PD
	route route
	way   atomic.Pointer[way] // the last one
}

// way is the way to a queue pair.
type way struct {
	number uint32
	path   fabric.Path
}

// CreateAH makes an address handle. Errors: EINVAL, ENOMEM.
func (p *PD) CreateAH(a *ibv.AHAttr) (*AH, error) {
	r, err := p.Context.Device.newRoute(a)
	if err != nil {
		return nil, err
	}
	if err := take(&p.Context.Device.used.ahs, maxAH); err != nil {
		return nil, err
	}
	p.users.Add(1)
	return &AH{PD: p, route: r}, nil
}

// Destroy ends a handle.
func (a *AH) Destroy() error {
	a.PD.users.Add(-1)
	a.PD.Context.Device.used.ahs.Add(-1)
	return nil
}

// to is the way to a queue pair, or nil if nobody is there.
func (a *AH) to(number uint32) fabric.Path {
	if w := a.way.Load(); w != nil && w.number == number {
		return w.path
	}
	p, err := a.PD.Context.Device.open(&a.route, number)
	if err != nil || p == nil {
		return nil
	}
	a.way.Store(&way{number, p})
	return p
}

// groups are the multicast groups that queue pairs of the device have joined.
type groups struct {
	mu      sync.Mutex
	members map[netip.Addr][]*QP
}

// AttachMcast makes a UD queue pair receive what is sent to a group. Errors: EINVAL for another kind of queue pair or
// GID, ENOMEM, the operating system's. To attach twice is to attach once.
func (q *QP) AttachMcast(gid ibv.GID) error {
	a := AddressOf(gid)
	if q.kind != ibv.QPT_UD || !a.IsMulticast() {
		return unix.EINVAL
	}
	g := &q.device.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	switch all := g.members[a]; {
	case slices.Contains(all, q):
		return nil
	case len(all) >= maxGroupQPs, len(all) == 0 && len(g.members) >= maxGroups:
		return unix.ENOMEM
	}
	if err := q.device.network.Join(a); err != nil {
		return err
	}
	if g.members == nil {
		g.members = map[netip.Addr][]*QP{}
	}
	g.members[a] = append(slices.Clip(g.members[a]), q)
	q.joined.Add(1)
	return nil
}

// DetachMcast ends that. Error: EINVAL if the queue pair isn't attached.
func (q *QP) DetachMcast(gid ibv.GID) error {
	a := AddressOf(gid)
	g := &q.device.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.members[a], q)
	if i < 0 {
		return unix.EINVAL
	}
	g.members[a] = slices.Delete(slices.Clone(g.members[a]), i, i+1)
	if len(g.members[a]) == 0 {
		delete(g.members, a)
	}
	q.device.network.Leave(a)
	q.joined.Add(-1)
	return nil
}

// of lists the queue pairs of a group. The list doesn't change.
func (g *groups) of(a netip.Addr) []*QP {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[a]
}
