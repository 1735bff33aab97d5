package rdmasim

import (
	"errors"
	"sync"
	"testing"
	"time"
)

// Readers on many regions while the owner's process is killed: all of them learn it, and none hangs.
func TestOwnerKilledUnderLoad(t *testing.T) {
	owner := start(t, "owner", nil)
	p := newPeer(t)
	var addresses [4]uint64
	for i := range addresses {
		addresses[i] = owner.number("register 65536 7")
		if err := p.Read(addresses[i], make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for _, a := range addresses {
		wg.Go(func() {
			buf := make([]byte, 65536)
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
				if err := p.Read(a, buf); err != nil {
					if !errors.Is(err, ErrOwnerDied) {
						t.Error(err)
					}
					return
				}
				if buf[777] != pattern(777) || buf[65535] != pattern(65535) {
					t.Error("wrong bytes")
					return
				}
			}
			t.Error("death went unnoticed")
		})
	}
	time.Sleep(20 * time.Millisecond)
	owner.kill()
	wg.Wait()
}
