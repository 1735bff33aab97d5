package exchange

import (
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
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"farside/rdmasim/internal/ofi"
)

var testTarget = ofi.Address{Provider: "tcp;ofi_rxm", Name: []byte{2, 0, 1, 2, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
	Pulse: ofi.Remote{Length: 8, Key: 77}}

var testRegion = Description{Number: 5, Address: 1 << 62, Length: 4096, Key: 99, Access: 7, PID: 11, UID: 12,
	DeviceUUID: [16]byte{1, 2, 3}, Name: "buffer", Remote: ofi.Remote{Length: 4096, Key: 100}}

const unknown = Outcome(3)

func resolveTest(_ context.Context, q Question) (Description, Outcome) {
	if q.Address < testRegion.Address || q.Address-testRegion.Address >= testRegion.Length {
		return Description{}, unknown
	}
	return testRegion, 0
}

func secret(t *testing.T, b byte) *Credentials {
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

func startServer(t *testing.T, c *Credentials, resolve Resolver) *Server {
	t.Helper()
	s, err := Serve("127.0.0.1:0", c, testTarget, resolve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, s *Server, c *Credentials) *Client {
	t.Helper()
	client, err := Dial(context.Background(), s.Address(), c, func(uint64, Outcome) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestResolve(t *testing.T) {
	before := runtime.NumGoroutine()
	s := startServer(t, secret(t, 1), resolveTest)
	c := dial(t, s, secret(t, 1))
	if !reflect.DeepEqual(c.Target(), testTarget) {
		t.Errorf("target %+v, want %+v", c.Target(), testTarget)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				d, outcome, err := c.Resolve(context.Background(), Question{Address: testRegion.Address + 4095})
				if err != nil || outcome != 0 || d != testRegion {
					t.Errorf("%+v, %d, %v", d, outcome, err)
				}
				_, outcome, err = c.Resolve(context.Background(), Question{Address: testRegion.Address + 4096})
				if err != nil || outcome != unknown {
					t.Errorf("behind the region: %d, %v", outcome, err)
				}
			}
		})
	}
	all.Wait()
	s.Close()
	<-c.Done()
	if _, _, err := c.Resolve(context.Background(), Question{}); !errors.Is(err, ErrGone) {
		t.Errorf("after the server's end: %v", err)
	}
	if _, err := Dial(context.Background(), s.Address(), secret(t, 1), nil); !errors.Is(err, ErrGone) {
		t.Errorf("without a server: %v", err)
	}
	c.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines before, %d after", before, runtime.NumGoroutine())
		}
	}
}

// Without the secret nobody learns anything, neither of the server nor of the client.
func TestAuthentication(t *testing.T) {
	s := startServer(t, secret(t, 1), func(context.Context, Question) (Description, Outcome) {
		t.Error("somebody without the secret asks")
		return Description{}, unknown
	})
	if _, err := Dial(context.Background(), s.Address(), secret(t, 2), nil); !errors.Is(err, ErrAuthentication) {
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
		if _, err := receive(conn); !errors.Is(explain(err), ErrAuthentication) {
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
	_, _ = conn.Write((&message{kind: kindResolve}).encode())
	b, _ := io.ReadAll(conn)
	if bytes.Contains(b, testTarget.Name) {
		t.Error("the server answers without TLS")
	}
}

// The stronger the check of the version, the earlier it is: in the handshake.
func TestVersionMismatch(t *testing.T) {
	c := secret(t, 1)
	s := startServer(t, c, resolveTest)
	for _, protocols := range [][]string{{"farside-fabric/2"}, nil} {
		config := c.config("")
		config.NextProtos, config.VerifyConnection = protocols, nil
		conn, err := tls.Dial("tcp", s.Address(), config)
		if err == nil {
			_, err = receive(conn)
			conn.Close()
		} else if !errors.Is(explain(err), ErrProtocol) {
			t.Errorf("protocols %q: %v", protocols, err)
		}
		if err == nil {
			t.Errorf("the server greets a client with protocols %q", protocols)
		}
	}
	// A client at a server of another version.
	config := c.config("")
	config.NextProtos, config.VerifyConnection = []string{"farside-fabric/2"}, nil
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_ = conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	if _, err := Dial(context.Background(), l.Addr().String(), c, nil); !errors.Is(err, ErrProtocol) {
		t.Errorf("server of another version: %v", err)
	}
}

// A server that doesn't answer doesn't hold a client up.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, l.Addr().String(), secret(t, 1), nil); !errors.Is(err, ErrGone) {
		t.Error(err)
	}
	hold := make(chan struct{})
	s := startServer(t, secret(t, 1), func(ctx context.Context, _ Question) (Description, Outcome) {
		<-hold
		return Description{}, unknown
	})
	c := dial(t, s, secret(t, 1))
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := c.Resolve(ctx, Question{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(hold)
	// The late reply isn't taken for the next one's.
	if _, outcome, err := c.Resolve(context.Background(), Question{}); err != nil || outcome != unknown {
		t.Error(outcome, err)
	}
}

// Garbage from an authenticated client ends its connection and nothing else.
func TestGarbage(t *testing.T) {
	c := secret(t, 1)
	s := startServer(t, c, resolveTest)
	for _, garbage := range [][]byte{
		{0, 0, 0, 0}, {2, 0, 1, 0, 9}, {2, 0, 255, 255}, {1, 0, 0, 0}, {3, 0, 8, 0, 1, 0, 0, 0, 1, 0, 0, 0},
		bytes.Repeat([]byte{0xff}, 4096),
	} {
		conn, err := tls.Dial("tcp", s.Address(), c.config("127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := receive(conn); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(garbage)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		if m, err := receive(conn); err == nil || os.IsTimeout(err) {
			t.Errorf("%x is answered by %+v, %v", garbage, m, err)
		}
		conn.Close()
	}
	if _, _, err := dial(t, s, c).Resolve(context.Background(), Question{Address: testRegion.Address}); err != nil {
		t.Error(err)
	}
}

// Revoke returns when every client that knew the region has let it go, and not before.
func TestRevoke(t *testing.T) {
	credentials := secret(t, 1)
	s := startServer(t, credentials, resolveTest)
	numbers := make(chan uint64, 2)
	user, err := Dial(context.Background(), s.Address(), credentials, func(n uint64, why Outcome) { numbers <- n + uint64(why) - uint64(unknown) })
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	dying, err := Dial(context.Background(), s.Address(), credentials, func(n uint64, why Outcome) { numbers <- n + uint64(why) - uint64(unknown) })
	if err != nil {
		t.Fatal(err)
	}
	dial(t, s, credentials) // knows no region, and isn't waited for
	for _, c := range []*Client{user, dying} {
		if _, _, err := c.Resolve(context.Background(), Question{Address: testRegion.Address}); err != nil {
			t.Fatal(err)
		}
	}
	returned := make(chan struct{})
	go func() {
		s.Revoke(context.Background(), testRegion.Number, unknown)
		close(returned)
	}()
	for range 2 {
		if n := <-numbers; n != testRegion.Number {
			t.Errorf("region %d is revoked", n)
		}
	}
	user.Acknowledge(testRegion.Number)
	select {
	case <-returned:
		t.Error("one client still has the region")
	case <-time.After(20 * time.Millisecond):
	}
	dying.Close()
	<-returned
	s.Revoke(context.Background(), testRegion.Number, unknown) // nobody has it
	if _, _, err := user.Resolve(context.Background(), Question{Address: testRegion.Address}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	s.Revoke(ctx, testRegion.Number, unknown) // not for longer
}

// A region that ends while its description is on the way is not handed out.
func TestRevokedMeanwhile(t *testing.T) {
	var s *Server
	ready := make(chan struct{})
	first := true
	s = startServer(t, secret(t, 1), func(ctx context.Context, q Question) (Description, Outcome) {
		<-ready
		if !first {
			return Description{}, unknown
		}
		first = false
		s.Revoke(ctx, testRegion.Number, unknown)
		return testRegion, 0
	})
	close(ready)
	_, outcome, err := dial(t, s, secret(t, 1)).Resolve(context.Background(), Question{Address: testRegion.Address})
	if err != nil || outcome != unknown {
		t.Errorf("%d, %v", outcome, err)
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
	s := startServer(t, load(authority, authority, authorityKey), resolveTest)
	c := dial(t, s, load(authority, authority, authorityKey))
	if _, _, err := c.Resolve(context.Background(), Question{Address: testRegion.Address}); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]*Credentials{
		"a client of another authority":     load(other, authority, otherKey),
		"a server of another authority":     load(authority, other, authorityKey),
		"a secret where certificates count": secret(t, 1),
	} {
		if _, err := Dial(context.Background(), s.Address(), c, nil); !errors.Is(err, ErrAuthentication) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// certificate makes one for 127.0.0.1, or an authority's if there is no parent.
func certificate(t *testing.T, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
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
