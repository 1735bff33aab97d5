package rdmasim

import (
	"fmt"
	"net/netip"

	"farside/internal/config"
	"farside/internal/fault"
	"farside/rdmasim/internal/local"
	"farside/rdmasim/internal/remote"
	"farside/rdmasim/internal/verbs"
)

// ServeOptions say how a Bridge serves.
type ServeOptions struct {
	// Listen is the IP address and port of this host where peers connect, "127.0.0.1:0" if empty. It is one
	// interface's, and no name: nothing is looked up.
	Listen string
	// Owner is whose regions are served, nil for those of every owner of this host that this process may use.
	Owner *Owner
}

// Bridge serves regions of this host to peers on others, which open the fabric "tls://host:port/". It is a
// peer of the regions' owners, and carries out what other hosts' peers ask for, so that an owner's free waits
// for their operations as for those of this host.
//
// Peers prove by TLS that they have the secret, or a certificate of the authority, that the file named in
// FARSIDE_FABRIC_SECRET_FILE has; each may use every region, as far as the region's rights go.
type Bridge struct{ remote *remote.Bridge }

// Serve starts a Bridge. Errors: ErrUnknownFabric for an address that isn't one interface's; ErrCredentials if
// the file with the secret can't be used; those of listening.
func Serve(options ServeOptions) (*Bridge, error) {
	if options.Listen == "" {
		options.Listen = "127.0.0.1:0"
	}
	address, err := netip.ParseAddrPort(options.Listen)
	if err != nil || address.Addr().IsUnspecified() {
		return nil, fmt.Errorf("rdmasim: serve at %q: not the IP address and port of one interface: %w",
			options.Listen, ErrUnknownFabric)
	}
	settings, err := config.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	faults, err := fault.For(settings, "rdma.")
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	b, err := remote.Serve(remote.Options{
		Faults:  faults,
		Address: address,
		Serves:  func(id uint32) bool { return options.Owner == nil || id == options.Owner.local.ID() },
		Open:    func(t *verbs.Table) (verbs.Fabric, error) { return local.Open(t) },
	})
	if err != nil {
		return nil, err
	}
	return &Bridge{b}, nil
}

// Address is the host and port that peers need.
func (b *Bridge) Address() string { return b.remote.Address() }

// Fabric is the name that peers on other hosts open, "tls://host:port/".
func (b *Bridge) Fabric() string { return b.remote.Name() }

// Close ends every connection. A second Close does nothing. It returns no error today.
func (b *Bridge) Close() error {
	b.remote.Close()
	return nil
}
