package exchange

import (
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// limits bound the connections of a server.
type limits struct {
	strangers int // that have not proved who they are
	clients   int // that have
}

// limitsFor takes a fair part of the descriptors that the process may have, so that its own use of them isn't
// touched by who connects.
func limitsFor(descriptors uint64) limits {
	part := func(divisor uint64, most int) int { return int(min(max(descriptors/divisor, 8), uint64(most))) }
	return limits{strangers: part(16, 256), clients: part(4, 1024)}
}

func currentLimits() limits {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		l.Cur = 1024
	}
	return limitsFor(l.Cur)
}

// share is how many connections of one kind a single address may have: half, so that another one always finds
// a place.
func share(limit int) int { return max(limit/2, 1) }

// places is who is connected. Its user has a lock.
type places struct {
	limits    limits
	strangers []*connection // in the order in which they came
	clients   map[*connection]struct{}
}

// admit gives a newcomer a place among the strangers, and returns who has to go for it, nil for nobody: one of
// the same address if that has its share, otherwise one of the address that has most. Of these it is the
// oldest that has sent nothing, or else the oldest.
func (p *places) admit(c *connection) (out *connection) {
	count := map[netip.Prefix]int{}
	for _, s := range p.strangers {
		count[s.from]++
	}
	from := c.from
	if count[from] < share(p.limits.strangers) && len(p.strangers) >= p.limits.strangers {
		for a, n := range count {
			if n > count[from] {
				from = a
			}
		}
	}
	if count[from] >= share(p.limits.strangers) || len(p.strangers) >= p.limits.strangers {
		i := slices.IndexFunc(p.strangers, func(s *connection) bool { return s.from == from && s.stream.silent() })
		if i < 0 {
			i = slices.IndexFunc(p.strangers, func(s *connection) bool { return s.from == from })
		}
		out = p.strangers[i]
		p.strangers = slices.Delete(p.strangers, i, i+1)
	}
	p.strangers = append(p.strangers, c)
	return out
}

// promote makes a stranger a client. It says no if there are too many, or if the stranger had to go.
func (p *places) promote(c *connection) (known, room bool) {
	i := slices.Index(p.strangers, c)
	if i < 0 {
		return false, false
	}
	p.strangers = slices.Delete(p.strangers, i, i+1)
	same := 0
	for o := range p.clients {
		if o.from == c.from {
			same++
		}
	}
	if len(p.clients) >= p.limits.clients || same >= share(p.limits.clients) {
		return true, false
	}
	p.clients[c] = struct{}{}
	return true, true
}

func (p *places) leave(c *connection) {
	if i := slices.Index(p.strangers, c); i >= 0 {
		p.strangers = slices.Delete(p.strangers, i, i+1)
	}
	delete(p.clients, c)
}

// all returns everybody.
func (p *places) all() []*connection {
	list := slices.Clone(p.strangers)
	for c := range p.clients {
		list = append(list, c)
	}
	return list
}

// sourceOf is what counts as one address: a host's IPv4 address, or the /64 network of an IPv6 address, of
// which a host may have any number.
func sourceOf(a net.Addr) netip.Prefix {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	p, _ := ip.Prefix(bits)
	return p
}
