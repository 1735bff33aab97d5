package local

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/memfd"
	"farside/rdmasim/internal/verbs"
)

// Attributes is what an owner says about a region.
type Attributes struct {
	Access     verbs.Access // what peers may do
	Name       string       // for people; cut to 128 bytes
	DeviceUUID [16]byte     // of the device whose memory it is
	// Holds says that devices see what peers write after a Synchronize, with FARSIDE_STRICT=rdma.
	Holds bool
}

// Region is a registered range of a payload.
type Region struct {
	owner      *Owner
	fd         int
	base       uint64
	length     uint64
	offset     uint64
	attributes Attributes
	key        uint64
	slot       uint32
	generation uint64

	// Under owner.mu.
	holders  map[holder]struct{}
	mappings map[*Mapping]struct{} // of this process' own users
	past     verbs.Counters        // of peers that have gone
	freed    time.Time             // zero while the region lives
	dropped  bool                  // on its way out of owner.regions
	traffic  *traffic              // nil unless the region is strict
}

// holder is a peer's view of a region.
type holder struct {
	client *client
	entry  uint32 // in its ledger
}

// Register makes length bytes of a payload, from offset on, a region with a remote address and a random key.
// fd is a memfd with F_SEAL_SHRINK, writable if the rights are more than reading, and borrowed: it stays the
// caller's and stays open until the region is closed. The address keeps offset's place in its page. Errors:
// ErrBadPayload, ErrAccess for rights that are empty or unknown, ErrResources when the owner has no address
// or slot left, ErrClosed.
func (o *Owner) Register(fd int, offset, length uint64, a Attributes) (*Region, error) {
	if a.Access == 0 || a.Access&^verbs.AccessAll != 0 {
		return nil, fmt.Errorf("rdmasim: register with rights %v: %w", a.Access, verbs.ErrAccess)
	}
	if err := checkPayload(fd, offset, length, a.Access); err != nil {
		return nil, err
	}
	if a.Access&(verbs.AccessWrite|verbs.AccessAtomic) == 0 {
		// A file of another user can't be changed: then descriptors alone keep peers from writing.
		_ = memfd.DenyOthers(fd)
	}
	a.Name = cutName(a.Name)
	r := &Region{owner: o, fd: fd, length: length, offset: offset, attributes: a, key: newKey()}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, fmt.Errorf("rdmasim: register: %w", verbs.ErrClosed)
	}
	o.forget(rememberFreed)
	at, index, ok := o.place(offset&(verbs.PageSize-1), length)
	if !ok && o.forget(0) {
		at, index, ok = o.place(offset&(verbs.PageSize-1), length)
	}
	if !ok {
		return nil, fmt.Errorf("rdmasim: register %d bytes: no address range left: %w", length, verbs.ErrResources)
	}
	switch n := len(o.freeSlots); {
	case o.nextSlot < controlSlots:
		r.slot = o.nextSlot
		o.nextSlot++
	case n > 0:
		r.slot = o.freeSlots[0]
		o.freeSlots = o.freeSlots[1:]
	default:
		return nil, fmt.Errorf("rdmasim: register: more than %d regions: %w", controlSlots-1, verbs.ErrResources)
	}
	r.base = verbs.MakeAddress(o.id, at)
	if finding.On(config.StrictRDMA) {
		if err := r.watchTraffic(a.Holds); err != nil {
			o.freeSlots = append(o.freeSlots, r.slot)
			return nil, err
		}
	}
	o.cursor = roundUp(at+length) + verbs.PageSize
	o.regions = slices.Insert(o.regions, index, r)
	o.live++
	w := word(o.control, uint64(r.slot)*8)
	r.generation = w.Load() + 1
	w.Store(r.generation)
	return r, nil
}

// newKey makes a key; 0 means any.
func newKey() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		if k := binary.NativeEndian.Uint64(b[:]); k != 0 {
			return k
		}
	}
}

// cutName makes a name fit into a message.
func cutName(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	if len(name) <= nameSize {
		return name
	}
	end := nameSize
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// forget lets the addresses of freed regions be used again, once they have rested, save for the last ones,
// which an owner remembers a little longer. It says whether there were any. Under o.mu.
func (o *Owner) forget(keep int) bool {
	// Half of the list at least, since taking regions out costs a walk over all of them.
	if len(o.resting) < 2*keep || len(o.resting) == 0 {
		return false
	}
	n := 0
	for n < len(o.resting)-keep && time.Since(o.resting[n].freed) >= o.Rest {
		o.resting[n].dropped = true
		n++
	}
	if n == 0 {
		return false
	}
	o.resting = slices.Delete(o.resting, 0, n)
	o.regions = slices.DeleteFunc(o.regions, func(r *Region) bool { return r.dropped })
	return true
}

// place finds room behind the cursor, and from the start of the range only when its end is reached, so
// that an address comes back as late as possible. index is the place in o.regions.
func (o *Owner) place(inPage, length uint64) (at uint64, index int, ok bool) {
	if length > verbs.OffsetMask-4*verbs.PageSize {
		return 0, 0, false
	}
	need := roundUp(inPage+length) + verbs.PageSize // one page that belongs to no region follows each
	for pass, from := 0, o.cursor; pass < 2; pass, from = pass+1, verbs.PageSize {
		start := from
		i, _ := slices.BinarySearchFunc(o.regions, verbs.MakeAddress(o.id, start), byBase)
		if i > 0 {
			if _, end := o.regions[i-1].pages(); end > start {
				start = end
			}
		}
		for ; start+need <= 1<<verbs.OffsetBits; i++ {
			if i == len(o.regions) {
				return start + inPage, i, true
			}
			first, end := o.regions[i].pages()
			if start+need <= first {
				return start + inPage, i, true
			}
			start = end
		}
	}
	return 0, 0, false
}

// pages is the page range of the region with its guard, as offsets in the owner's range.
func (r *Region) pages() (first, end uint64) {
	at := r.base & verbs.OffsetMask
	return at &^ (verbs.PageSize - 1), roundUp(at+r.length) + verbs.PageSize
}

func byBase(r *Region, base uint64) int {
	switch {
	case r.base < base:
		return -1
	case r.base > base:
		return 1
	}
	return 0
}

func roundUp(n uint64) uint64 { return (n + verbs.PageSize - 1) &^ (verbs.PageSize - 1) }

// find returns the region around an address, or why there is none. Under o.mu.
func (o *Owner) find(address uint64) (*Region, wireStatus) {
	i, exact := slices.BinarySearchFunc(o.regions, address, byBase)
	if !exact {
		i--
	}
	switch {
	case i < 0 || address-o.regions[i].base >= o.regions[i].length:
		return nil, wireUnknown
	case !o.regions[i].freed.IsZero():
		return nil, wireFreed
	}
	return o.regions[i], wireOK
}

// Address is the remote address of the region's first byte; it never changes.
func (r *Region) Address() uint64 { return r.base }

// Length is the region's size in bytes.
func (r *Region) Length() uint64 { return r.length }

// Access is what peers may do.
func (r *Region) Access() verbs.Access { return r.attributes.Access }

// Key is the region's key, 64 random bits.
func (r *Region) Key() uint64 { return r.key }

// Counters is what peers have done to the region so far.
func (r *Region) Counters() verbs.Counters {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	return r.counters()
}

// counters is Counters under owner.mu.
func (r *Region) counters() verbs.Counters {
	sum := r.past
	for h := range r.holders {
		e := entryAt(h.client.ledger, h.entry)
		e.addTo(&sum)
	}
	return sum
}

// Close deregisters the region. Operations of peers that began before have ended when it returns, save where
// a peer was stopped in the middle for more than a second; later ones fail with ErrFreed. A second Close does
// nothing.
func (r *Region) Close() {
	o := r.owner
	o.mu.Lock()
	tell := map[*client]struct{}{}
	if o.closeRegion(r) {
		defer o.tell()
		for h := range r.holders {
			tell[h.client] = struct{}{}
		}
	}
	mappings := r.takeMappings()
	o.mu.Unlock()
	for _, m := range mappings {
		m.finish()
	}
	// The word decides; the notice only lets idle peers give the memory back.
	notice := message{kind: kindRevoked, base: r.base, length: r.length, slot: r.slot, generation: r.generation}
	for c := range tell {
		c.notify(notice)
	}
	if len(tell) > 0 {
		o.drain(r)
	}
}

// closeRegion flips the region's word and lets its address rest; it says whether the region was still there.
// Under o.mu.
func (o *Owner) closeRegion(r *Region) bool {
	if !r.freed.IsZero() {
		return false
	}
	r.endTraffic()
	r.freed = time.Now()
	word(o.control, uint64(r.slot)*8).Store(r.generation + 1)
	o.live--
	o.resting = append(o.resting, r)
	o.freeSlots = append(o.freeSlots, r.slot)
	return true
}
