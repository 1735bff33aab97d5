package rdmasim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RegionStatus is a region with what has been done to it.
type RegionStatus struct {
	RegionInfo
	Counters Counters
	Peers    int // that have it open
}

// listTimeout bounds what a list waits for the next answer of an owner.
const listTimeout = time.Second

// Regions lists the regions of every owner on this host whose user is trusted and trusts this one, by
// address. An owner that dies or hangs meanwhile is left out. Errors: the context's, ErrClosed, those of
// reading the kernel's list of sockets, and ErrPermission of a peer on another host, which tells of a region
// only who knows an address in it.
func (p *Peer) Regions(ctx context.Context) ([]RegionStatus, error) {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("rdmasim: regions: %w", ErrClosed)
	}
	if p.far != nil {
		return nil, fmt.Errorf("rdmasim: regions: %w: another host doesn't list them", ErrPermission)
	}
	sockets, err := os.ReadFile("/proc/self/net/unix")
	if err != nil {
		return nil, osError("list owners", err)
	}
	var (
		asking sync.WaitGroup
		mu     sync.Mutex
		all    []RegionStatus
	)
	for _, id := range ownerIDs(string(sockets)) {
		asking.Go(func() {
			list, err := p.regionsOf(ctx, id)
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, list...)
			mu.Unlock()
		})
	}
	asking.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b RegionStatus) int { return cmp.Compare(a.Address, b.Address) })
	return all, nil
}

// ownerIDs finds the listening sockets of owners in the kernel's table. Connections have the name of their
// listener, too.
func ownerIDs(table string) []uint32 {
	const listening = "00010000" // __SO_ACCEPTCON in the flags
	var ids []uint32
	for line := range strings.Lines(table) {
		f := strings.Fields(line) // Num RefCount Protocol Flags Type St Inode Path
		if len(f) != 8 || f[3] != listening {
			continue
		}
		digits, ok := strings.CutPrefix(f[7], socketPrefix)
		if id, err := strconv.ParseUint(digits, 16, idBits); ok && err == nil && socketName(uint32(id)) == f[7] {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// regionsOf asks one owner, on a connection of its own, for one region after the other.
func (p *Peer) regionsOf(ctx context.Context, id uint32) ([]RegionStatus, error) {
	first, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	conn, err := dial(first, socketName(id))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	who, err := p.allowed.check(conn)
	if err != nil {
		return nil, err
	}
	hello, err := receiveHello(first, conn)
	if err != nil {
		return nil, err
	}
	hello.drop()
	var list []RegionStatus
	for at := makeAddress(id, 0); ; {
		if err := errors.Join(ctx.Err(), conn.SetDeadline(time.Now().Add(listTimeout))); err != nil {
			return nil, err
		}
		if _, err := conn.Write(request{kind: kindNext, address: at}.encode()); err != nil {
			return nil, err
		}
		a, err := receive(conn)
		if err != nil {
			return nil, err
		}
		a.drop()
		switch err := wireErrors[a.status]; {
		case errors.Is(err, ErrUnknownAddress):
			return list, nil
		case err != nil:
			return nil, err
		case a.base < at:
			return nil, fmt.Errorf("%w: region %#x is not behind %#x", ErrProtocol, a.base, at)
		}
		if err := a.check(id, a.base, controlSlots); err != nil {
			return nil, err
		}
		list = append(list, RegionStatus{RegionInfo: a.info(int(who.Pid), who.Uid), Counters: a.counters, Peers: int(a.peers)})
		at = a.base + a.length
	}
}
