package rdmasim

import (
	"errors"
	"fmt"
	"sync"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/journal"
	"farside/rdmasim/internal/verbs"
)

// mostUsed is how many regions a peer remembers for findings.
const mostUsed = 1024

// usedRegions are the regions that a peer has reached, oldest first, with FARSIDE_STRICT=leaks.
type usedRegions struct {
	mu   sync.Mutex
	list []verbs.RegionInfo
}

// add notes a region that an operation has reached.
func (u *usedRegions) add(r *verbs.Region) {
	if !finding.On(config.StrictLeaks) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.list = append(u.list, r.Info); len(u.list) > mostUsed {
		u.list = u.list[1:]
	}
}

// failed tells of an operation that failed because the region, which the peer has reached before, has been freed.
func (u *usedRegions) failed(op Opcode, address uint64, err error) {
	if !finding.On(config.StrictLeaks) || !errors.Is(err, ErrFreed) && !errors.Is(err, ErrUnknownAddress) {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range u.list {
		if address >= r.Address && address-r.Address < r.Length {
			finding.Tell(&finding.Finding{ID: finding.FreedAddress, Place: address,
				Text: fmt.Sprintf("%v of remote address %#x, byte %d of memory of %d bytes that the peer has used before and "+
					"that has been freed", op, address, address-r.Address, r.Length),
				Objects: []journal.Object{{Type: "region", Handle: r.Address, Name: r.Name}}})
			return
		}
	}
}
