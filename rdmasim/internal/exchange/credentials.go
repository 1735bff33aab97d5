package exchange

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/fd"
)

// ErrCredentials says that the file with the secret or the certificates can't be used.
var ErrCredentials = errors.New("exchange: unusable credentials")

// ErrAuthentication says that the other side couldn't prove that it has the same secret, or a certificate of
// the same authority, or that it says so of this side.
var ErrAuthentication = errors.New("exchange: authentication failed")

const (
	minSecret = 32 // bytes: who meets a side can try secrets at home, so there must be too many
	maxFile   = 1 << 20
)

// Credentials is what a side proves its identity with, and holds the other's proof against.
type Credentials struct {
	certificate tls.Certificate
	// With a secret, both sides have the same key, and nothing else of a certificate counts.
	shared ed25519.PublicKey
	// With certificates: who signs them.
	authorities *x509.CertPool
}

// LoadCredentials reads a file that only its user may read. It has either a secret, at least 32 bytes that
// nobody can guess (head -c 32 /dev/urandom), the same on both sides, or, in PEM, a private key, its
// certificate and those of the authorities that sign the other sides'. A server's certificate must name the
// host as clients do. Errors: ErrCredentials.
func LoadCredentials(file string) (*Credentials, error) {
	// Not os.Open, which waits for a writer where the file is a FIFO, and would wait for ever.
	opened, err := fd.Open(file, unix.O_RDONLY|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, &os.PathError{Op: "open", Path: file, Err: err})
	}
	_ = unix.SetNonblock(opened.Int(), false) // or os would start the runtime's poller
	f := os.NewFile(uintptr(opened.Disown()), file)
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%w: %s must be a file that only its user may read (chmod 600), it is %v",
			ErrCredentials, file, info.Mode())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCredentials, err)
	}
	var c *Credentials
	if bytes.Contains(b, []byte("-----BEGIN ")) {
		c, err = fromPEM(b)
	} else {
		c, err = fromSecret(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrCredentials, file, err)
	}
	return c, nil
}

// fromSecret derives the key of a certificate, as crypto/tls has no external pre-shared keys.
func fromSecret(secret []byte) (*Credentials, error) {
	if len(secret) < minSecret {
		return nil, fmt.Errorf("a secret of %d bytes, at least %d are needed", len(secret), minSecret)
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, "farside fabric exchange 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0),
		NotAfter: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	if err != nil {
		return nil, err
	}
	return &Credentials{certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, shared: public}, nil
}

func fromPEM(b []byte) (*Credentials, error) {
	pair, err := tls.X509KeyPair(b, b)
	if err != nil {
		return nil, err
	}
	c := &Credentials{certificate: pair, authorities: x509.NewCertPool()}
	found := false
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		if certificate.IsCA {
			c.authorities.AddCert(certificate)
			found = true
		}
	}
	if !found {
		return nil, errors.New("no certificate of an authority")
	}
	return c, nil
}

// config is for both sides. host is the server's name, for clients.
func (c *Credentials) config(host string) *tls.Config {
	config := &tls.Config{
		MinVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		Certificates:           []tls.Certificate{c.certificate},
		SessionTicketsDisabled: true,
		// Whole records from the start: what comes is large, or one small message.
		DynamicRecordSizingDisabled: true,
		ServerName:                  host,
		ClientAuth:                  tls.RequireAndVerifyClientCert,
		RootCAs:                     c.authorities,
		ClientCAs:                   c.authorities,
	}
	if c.shared != nil {
		// The certificates say nothing, their key is everything; VerifyConnection looks at that.
		config.InsecureSkipVerify = true
		config.ClientAuth = tls.RequireAnyClientCert
	}
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if s.NegotiatedProtocol != protocol {
			return fmt.Errorf("%w: the other side speaks %q", ErrProtocol, s.NegotiatedProtocol)
		}
		if c.shared == nil {
			return nil
		}
		if len(s.PeerCertificates) == 0 || !c.shared.Equal(s.PeerCertificates[0].PublicKey) {
			return fmt.Errorf("%w: the other side has another secret", ErrAuthentication)
		}
		return nil
	}
	return config
}
