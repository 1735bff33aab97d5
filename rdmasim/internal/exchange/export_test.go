package exchange

import "crypto/tls"

// Config is what both sides give crypto/tls, for tests that speak in the place of one.
func (c *Credentials) Config(host string) *tls.Config { return c.config(host) }
