package rdmasim

import (
	"fmt"
	"sync"

	"farside/internal/config"
	"farside/internal/gate"
	"farside/internal/report"
	"farside/rdmasim/internal/local"
	"farside/rdmasim/internal/verbs"
)

// process is the fabric of this process: the owner of all that is registered with Register, and the bridge
// that serves it to other hosts if FARSIDE_FABRIC says so. Once made they stay until the process ends, so that
// the fabric keeps its name and a bridge its port when the last region goes and another one comes.
var process struct {
	mu     sync.Mutex
	owner  *Owner
	bridge *Bridge
}

// Register registers with the process' own owner, which is made for the first region and stays. If
// FARSIDE_FABRIC says so, a [Bridge] serves it; errors of that are errors of the registration, and the next
// one tries again. Otherwise as [Owner.Register].
func Register(fd int, offset, length uint64, a Attributes) (*Region, error) {
	o, err := processOwner()
	if err != nil {
		return nil, err
	}
	return o.Register(fd, offset, length, a)
}

// processOwner returns the process' own owner, and makes it and its bridge the first time.
func processOwner() (*Owner, error) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.owner != nil {
		return process.owner, nil
	}
	settings, err := config.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	if err := report.Start(settings, "farside's fabric", gate.AtExit); err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	o, err := NewOwner()
	if err != nil {
		return nil, err
	}
	if f := settings.Fabric; f != nil {
		if process.bridge, err = Serve(ServeOptions{Owner: o, Listen: f.Listen}); err != nil {
			_ = o.Close()
			return nil, err
		}
	}
	process.owner = o
	return o, nil
}

// FabricName is what peers on other hosts call the fabric on which this process' own regions are. It is ""
// before the first region and without FARSIDE_FABRIC, and never changes afterwards.
func FabricName() string {
	process.mu.Lock()
	defer process.mu.Unlock()
	if process.bridge == nil {
		return ""
	}
	return process.bridge.Fabric()
}

// IsRemote says whether a number is a remote address: none is an address that a process could have mapped.
func IsRemote(address uint64) bool {
	_, _, ok := verbs.SplitAddress(address)
	return ok
}

// Mapping is a part of a region, for users in the owner's own process. Enter gives its bytes and keeps them in place
// until Leave; it gives nil once the region has been closed. Close gives the mapping back.
type Mapping = local.Mapping

// Map maps n bytes at an address of a region of this process (Register). It is for those who work on the memory by its
// remote address without being peers. Errors: ErrUnknownAddress, also for other processes' addresses, ErrFreed,
// ErrOutOfRange for bytes that aren't all in one region, ErrAccess for a need that goes beyond what peers may do, the
// operating system's.
func Map(address, n uint64, need Access) (*Mapping, error) {
	process.mu.Lock()
	o := process.owner
	process.mu.Unlock()
	if o == nil {
		return nil, ErrUnknownAddress
	}
	return o.local.Map(address, n, need)
}
