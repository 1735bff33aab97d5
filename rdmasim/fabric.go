package rdmasim

import (
	"fmt"
	"net"
	"os"
	"strings"
)

// readFabric reads FARSIDE_FABRIC, which says whether the process' own owner serves other hosts: unset or
// empty, it doesn't; "ofi[:provider][,bind=ADDRESS[:PORT]]", by libfabric, at 127.0.0.1 unless told
// otherwise and at a port of the kernel's choice.
func readFabric() (options ServeOptions, serve bool, err error) {
	const variable = "FARSIDE_FABRIC"
	setting := os.Getenv(variable)
	if setting == "" {
		return options, false, nil
	}
	kind, bind, bound := strings.Cut(setting, ",")
	address, isBind := strings.CutPrefix(bind, "bind=")
	name, provider, named := strings.Cut(kind, ":")
	if name != "ofi" || named && provider == "" || bound && (!isBind || address == "") {
		return options, false, fmt.Errorf("%w: %s=%q is not ofi[:provider][,bind=ADDRESS[:PORT]]", ErrUnknownFabric, variable, setting)
	}
	options.Provider, options.Listen = provider, address
	if address == "" {
		return options, true, nil
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		options.Listen = net.JoinHostPort(strings.Trim(address, "[]"), "0")
	}
	return options, true, nil
}

// serveHosts makes the process' own owner serve other hosts if FARSIDE_FABRIC says so.
func (o *Owner) serveHosts() error {
	options, serve, err := readFabric()
	if err != nil || !serve {
		return err
	}
	options.Owner = o
	o.bridge, err = Serve(options)
	return err
}

// FabricName is what peers on other hosts call the fabric on which this process' own regions are, "" if
// there is none, for lack of a region or of FARSIDE_FABRIC.
func FabricName() string {
	defaultMu.Lock()
	defer defaultMu.Unlock()
	if defaultOwner == nil || defaultOwner.bridge == nil {
		return ""
	}
	return "ofi://" + defaultOwner.bridge.Address() + "/"
}
