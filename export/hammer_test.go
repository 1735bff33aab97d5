package export

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"farside/internal/fd/fdtest"
	"farside/memory"
)

// TestHammer exports, imports, maps and frees the same payloads from eight goroutines: each import must see the
// exporter's bytes, and nothing may be left behind.
func TestHammer(t *testing.T) {
	fdtest.NoLeaks(t)
	p := newSample(t)
	defer p.Release()
	b, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	copy(b, "shared")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if err := importOnce(p); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func importOnce(p *memory.Payload) error {
	p.Retain()
	defer p.Release()
	fd, err := exportFD(p, opaque)
	if err != nil {
		return err
	}
	q, err := importFD(fd, opaque, expectSample())
	if err != nil {
		unix.Close(fd)
		return err
	}
	defer q.Release()
	b, err := q.Bytes()
	if err != nil {
		return err
	}
	if string(b[:6]) != "shared" {
		return fmt.Errorf("import reads %q", b[:6])
	}
	return nil
}
