// Package remote is the way to regions of other hosts: a [Bridge] serves those of its host, a [Fabric] reaches
// them. Package exchange carries the operations between the two.
package remote

import (
	"fmt"
	"net/url"

	"farside/internal/config"
	"farside/rdmasim/internal/exchange"
	"farside/rdmasim/internal/verbs"
)

// scheme is this kind of fabric, in names. Its former name is from when libfabric carried the data, and is
// still understood.
const (
	scheme       = "tls"
	schemeBefore = "ofi"
)

// hostOf is the host and port in the name of a fabric, "tls://host:port/".
func hostOf(fabric string) (string, error) {
	u, err := url.Parse(fabric)
	if err != nil || u.Scheme != scheme && u.Scheme != schemeBefore || u.Hostname() == "" || u.Port() == "" ||
		u.Path != "" && u.Path != "/" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("%w: %q is not %s://host:port/", verbs.ErrUnknownFabric, fabric, scheme)
	}
	return u.Host, nil
}

// nameOf is the name of the fabric that a host and port serve, which hostOf reads. The zone of an IPv6 address,
// "[fe80::1%eth0]:7471", is escaped in it (RFC 6874).
func nameOf(address string) string {
	return (&url.URL{Scheme: scheme, Host: address, Path: "/"}).String()
}

// loadCredentials reads the file that FARSIDE_FABRIC_SECRET_FILE names.
func loadCredentials() (*exchange.Credentials, error) {
	settings, err := config.Read()
	if err != nil {
		return nil, fmt.Errorf("rdmasim: %w", err)
	}
	if settings.FabricSecretFile == "" {
		return nil, fmt.Errorf("%w: other hosts need %s, a file with a secret", verbs.ErrCredentials, config.SecretFile)
	}
	c, err := exchange.LoadCredentials(settings.FabricSecretFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", verbs.ErrCredentials, config.SecretFile, err)
	}
	return c, nil
}
