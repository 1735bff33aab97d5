package rdmasim

import (
	"farside/rdmasim/internal/local"
)

// Owner is the serving side: it gives remote addresses to ranges of memfds and hands these to peers. Its
// methods may be called from any goroutine.
type Owner struct{ local *local.Owner }

// Attributes is what an owner says about a region: Access is what peers may do, Name is for people and cut to
// 128 bytes, DeviceUUID is the device's whose memory it is.
type Attributes = local.Attributes

// Region is a registered range of a payload.
type Region struct{ local *local.Region }

// NewOwner claims an id on this host and serves it until Close. It holds two descriptors and a thread, and
// one more descriptor for each connected peer. Errors: the operating system's, and ErrResources when the
// process has no descriptors left.
func NewOwner() (*Owner, error) {
	o, err := local.NewOwner()
	if err != nil {
		return nil, err
	}
	return &Owner{o}, nil
}

// Register makes length bytes of a payload, from offset on, a region with a remote address and a random key.
// fd is a memfd with F_SEAL_SHRINK, writable if the rights are more than reading, and borrowed: it stays the
// caller's and stays open until the region is closed. The address keeps offset's place in its page. Errors:
// ErrBadPayload, ErrAccess for rights that are empty or unknown, ErrResources when the owner has no address
// or slot left, ErrClosed.
func (o *Owner) Register(fd int, offset, length uint64, a Attributes) (*Region, error) {
	r, err := o.local.Register(fd, offset, length, a)
	if err != nil {
		return nil, err
	}
	return &Region{r}, nil
}

// Close deregisters every region, stops serving and gives back every descriptor. A second Close does
// nothing. It returns no error today.
func (o *Owner) Close() error {
	o.local.Close()
	return nil
}

// Address is the remote address of the region's first byte; it never changes.
func (r *Region) Address() uint64 { return r.local.Address() }

// Length is the region's size in bytes.
func (r *Region) Length() uint64 { return r.local.Length() }

// Access is what peers may do.
func (r *Region) Access() Access { return r.local.Access() }

// Key is the region's key, 64 random bits.
func (r *Region) Key() uint64 { return r.local.Key() }

// Counters is what peers have done to the region so far.
func (r *Region) Counters() Counters { return r.local.Counters() }

// Close deregisters the region. Operations of peers that began before have ended when it returns, save where
// a peer was stopped in the middle for more than a second; later ones fail with ErrFreed. A second Close does
// nothing. It returns no error today.
func (r *Region) Close() error {
	r.local.Close()
	return nil
}
