package local

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

	"farside/internal/fd"
	"farside/rdmasim/internal/verbs"
)

// listTimeout bounds what a list waits for the next answer of an owner.
const listTimeout = time.Second

// listAtOnce bounds how many owners are asked at a time, each on a descriptor. Anybody can bind names of owners, and as
// many of them as he likes.
const listAtOnce = 128

// Regions implements verbs.Fabric. An owner that dies meanwhile is left out. With the list of the others there is
// ErrTimeout if owners hang, speak nonsense, or can't be asked for lack of descriptors.
func (f *Fabric) Regions(ctx context.Context) ([]verbs.RegionStatus, error) {
	sockets, err := fd.ReadFile("/proc/self/net/unix")
	if err != nil {
		return nil, verbs.OSError("list owners", err)
	}
	var (
		asking sync.WaitGroup
		turns  = make(chan struct{}, listAtOnce)
		mu     sync.Mutex
		all    []verbs.RegionStatus
		silent int
		why    error
	)
	ids := ownerIDs(string(sockets))
	for _, id := range ids {
		turns <- struct{}{}
		asking.Go(func() {
			defer func() { <-turns }()
			list, err := f.regionsOf(ctx, id)
			mu.Lock()
			defer mu.Unlock()
			if isSilence(err) {
				silent, why = silent+1, err
			}
			if err == nil {
				all = append(all, list...)
			}
		})
	}
	asking.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b verbs.RegionStatus) int { return cmp.Compare(a.Address, b.Address) })
	if silent > 0 {
		return all, fmt.Errorf("%w: %d of %d on this host, one because of %w", verbs.ErrTimeout, silent, len(ids), why)
	}
	return all, nil
}

// isSilence says whether an error is that of an owner that is there and should answer us.
func isSilence(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, verbs.ErrProtocol) || errors.Is(err, verbs.ErrResources)
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
		if id, err := strconv.ParseUint(digits, 16, verbs.IDBits); ok && err == nil && socketName(uint32(id)) == f[7] {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

// regionsOf asks one owner, on a connection of its own, for one region after the other.
func (f *Fabric) regionsOf(ctx context.Context, id uint32) ([]verbs.RegionStatus, error) {
	first, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	conn, err := dial(first, socketName(id))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	who, err := meet(f.allowed, conn)
	if err != nil {
		return nil, err
	}
	hello, err := receiveHello(first, conn)
	if err != nil {
		return nil, err
	}
	hello.drop()
	var list []verbs.RegionStatus
	for at := verbs.MakeAddress(id, 0); ; {
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
		case errors.Is(err, verbs.ErrUnknownAddress):
			return list, nil
		case err != nil:
			return nil, err
		case a.base < at:
			return nil, fmt.Errorf("%w: region %#x is not behind %#x", verbs.ErrProtocol, a.base, at)
		}
		if err := a.check(id, a.base, controlSlots); err != nil {
			return nil, err
		}
		list = append(list, verbs.RegionStatus{RegionInfo: a.info(int(who.Pid), who.Uid), Counters: a.counters,
			Peers: int(a.peers)})
		at = a.base + a.length
	}
}
