package local

import (
	"context"
	"fmt"
	"sync"

	"farside/internal/trust"
	"farside/rdmasim/internal/verbs"
)

// Fabric is this host's regions as a peer finds them. It implements verbs.Fabric.
type Fabric struct {
	table   *verbs.Table
	allowed trust.Users

	mu     sync.Mutex
	closed bool
	links  map[uint32]*link // by owner id
}

// Open makes a way to this host's regions, which puts what it resolves into a table. It does no input or
// output. Error: a list in FARSIDE_FABRIC_ALLOW_UIDS that can't be read.
func Open(table *verbs.Table) (*Fabric, error) {
	allowed, err := trust.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	return &Fabric{table: table, allowed: allowed, links: map[uint32]*link{}}, nil
}

// Resolve implements verbs.Fabric.
func (f *Fabric) Resolve(ctx context.Context, address, key uint64, need verbs.Access) (*verbs.Region, error) {
	id, _, ok := verbs.SplitAddress(address)
	if !ok {
		return nil, verbs.ErrUnknownAddress
	}
	l, err := f.link(id)
	if err != nil {
		return nil, err
	}
	defer f.leave(l)
	return l.resolve(ctx, address, key, need)
}

// leave forgets a link that nobody uses and that never met an owner, as there are more ids than memory.
func (f *Fabric) leave(l *link) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if l.users--; l.users == 0 && !f.closed && l.session.Load() == nil && l.ended.Load() == nil {
		delete(f.links, l.id)
	}
}

// link returns the link to an owner, which it makes the first time. It is to be left.
func (f *Fabric) link(id uint32) (*link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, verbs.ErrClosed
	}
	l := f.links[id]
	if l == nil {
		l = &link{table: f.table, allowed: f.allowed, id: id, turn: make(chan struct{}, 1)}
		f.links[id] = l
	}
	l.users++
	return l, nil
}

// Close implements verbs.Fabric.
func (f *Fabric) Close() {
	f.mu.Lock()
	f.closed = true
	links := f.links
	f.mu.Unlock()
	for _, l := range links {
		l.close()
	}
}

// viewOf is the view of a region in a table of this way, which holds no others.
func viewOf(r *verbs.Region) *View {
	if v, ok := r.View.(strictView); ok {
		return v.View
	}
	return r.View.(*View)
}
