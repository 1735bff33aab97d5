package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func secret(t testing.TB, b byte) *Credentials {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, bytes.Repeat([]byte{b}, minSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCredentials(file)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Without the secret nobody learns anything, neither of the server nor of the client.
func TestAuthentication(t *testing.T) {
	s := startServer(t, secret(t, 1), refuser{t})
	if _, err := Open(context.Background(), s.Address(), secret(t, 2)); !errors.Is(err, ErrAuthentication) {
		t.Errorf("another secret: %v", err)
	}
	// A client that doesn't look at the server's certificate.
	for name, certificates := range map[string][]tls.Certificate{
		"no certificate": nil, "another secret's certificate": {secret(t, 2).certificate},
	} {
		conn, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol},
			Certificates: certificates})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write((&message{kind: kindResolve}).append(nil))
		if _, err := receive(bufio.NewReader(conn)); !errors.Is(explain(err), ErrAuthentication) {
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}
	// TLS 1.2, and no TLS at all.
	if _, err := tls.Dial("tcp", s.Address(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol},
		MaxVersion: tls.VersionTLS12}); err == nil {
		t.Error("the server speaks TLS 1.2")
	}
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write((&message{kind: kindResolve}).append(nil))
	if b, _ := io.ReadAll(conn); bytes.Contains(b, (&message{kind: kindHello}).append(nil)) {
		t.Errorf("the server answers %x without TLS", b)
	}
}

// refuser is a Handler that nobody may get to.
type refuser struct{ *testing.T }

func (t refuser) Resolve(context.Context, Question) (Description, Outcome) {
	t.Error("somebody asks who has proved nothing")
	return Description{}, unknown
}
func (t refuser) Read(Place, []byte) Outcome      { t.Error("somebody reads"); return unknown }
func (t refuser) Write(Place, []byte) Outcome     { t.Error("somebody writes"); return unknown }
func (t refuser) Atomic(Atomic) (uint64, Outcome) { t.Error("somebody adds"); return 0, unknown }

// Sides of different versions part in the handshake.
func TestVersionMismatch(t *testing.T) {
	c := secret(t, 1)
	s := startServer(t, c, make(memory, 64))
	for _, protocols := range [][]string{{"farside-fabric/1"}, nil} {
		config := c.config("")
		config.NextProtos, config.VerifyConnection = protocols, nil
		conn, err := tls.Dial("tcp", s.Address(), config)
		if err == nil {
			_, err = receive(bufio.NewReader(conn))
			conn.Close()
		} else if !errors.Is(explain(err), ErrProtocol) {
			t.Errorf("protocols %q: %v", protocols, err)
		}
		if err == nil {
			t.Errorf("the server greets a client with protocols %q", protocols)
		}
	}
	config := c.config("")
	config.NextProtos, config.VerifyConnection = []string{"farside-fabric/1"}, nil
	address := fakeServer(t, config, func(conn *tls.Conn) { _ = conn.Handshake() })
	if _, err := Open(context.Background(), address, c); !errors.Is(err, ErrProtocol) {
		t.Errorf("server of another version: %v", err)
	}
}

func TestCertificates(t *testing.T) {
	authority, authorityKey := certificate(t, nil, nil)
	other, otherKey := certificate(t, nil, nil)
	load := func(parent, trusted *x509.Certificate, key *ecdsa.PrivateKey) *Credentials {
		t.Helper()
		leaf, leafKey := certificate(t, parent, key)
		der, err := x509.MarshalPKCS8PrivateKey(leafKey)
		if err != nil {
			t.Fatal(err)
		}
		b := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		for _, c := range []*x509.Certificate{leaf, trusted} {
			b = append(b, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		}
		file := filepath.Join(t.TempDir(), "pem")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadCredentials(file)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	s := startServer(t, load(authority, authority, authorityKey), make(memory, 64))
	c := openHost(t, s.Address(), load(authority, authority, authorityKey))
	if _, _, err := c.Resolve(context.Background(), Question{Address: testRegion.Address}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]*Credentials{
		"a client of another authority":     load(other, authority, otherKey),
		"a server of another authority":     load(authority, other, authorityKey),
		"a secret where certificates count": secret(t, 1),
	} {
		if _, err := Open(context.Background(), s.Address(), c); !errors.Is(err, ErrAuthentication) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// certificate makes one for 127.0.0.1, or an authority's if there is no parent.
func certificate(t *testing.T, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate,
	*ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	if parent == nil {
		template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

func TestBadCredentials(t *testing.T) {
	dir := t.TempDir()
	for name, file := range map[string]struct {
		content []byte
		mode    os.FileMode
	}{
		"short":    {bytes.Repeat([]byte{1}, minSecret-1), 0o600},
		"readable": {bytes.Repeat([]byte{1}, minSecret), 0o640},
		"half.pem": {[]byte("-----BEGIN CERTIFICATE-----\n"), 0o600},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, file.content, file.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadCredentials(path); !errors.Is(err, ErrCredentials) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "missing")} {
		if _, err := LoadCredentials(path); !errors.Is(err, ErrCredentials) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Attack 10: a FIFO as the file with the secret blocked whoever opened it, for ever.
func TestFIFOIsNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := LoadCredentials(path)
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrCredentials) || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for a writer")
	}
}
