package main

import (
	"os"
	"testing"
	"time"

	"farside/conformance/internal/soaking"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	os.Exit(m.Run())
}

// TestSoak is a short run of what `make soak-fabric` does. FABRICSOAK_DURATION makes it longer.
func TestSoak(t *testing.T) {
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector otherwise sleeps for a second at each process's end
	c := config{owners: 3, peers: 5,
		Run: soaking.Run{Duration: 4 * time.Second, KillEvery: 150 * time.Millisecond, Seed: uint64(time.Now().UnixNano())}}
	sum, err := soak(t.Context(), c, soaking.NewProgress(os.Stderr, false, c.Duration))
	t.Logf("\n%v", sum)
	if err != nil {
		t.Fatal(err)
	}
	if sum.kills[ownerRole] == 0 || sum.kills[peerRole] == 0 || sum.sum.Operations == 0 || sum.sum.Checked == 0 ||
		sum.sum.Regions == 0 {
		t.Errorf("too little happened")
	}
}

// A word of another region, place or time is none of this one.
func TestMark(t *testing.T) {
	for lane := range lanes {
		for _, i := range []int{0, 1, 4095} {
			w := mark(7, lane, i, 9)
			if seq, err := checkMark(w, 7, lane, i, 9); seq != 9 || err != nil {
				t.Errorf("lane %d word %d: %d, %v", lane, i, seq, err)
			}
			for name, wrong := range map[string]uint64{
				"older": mark(7, lane, i, 8), "never written": 0, "poison": poison, "other region": mark(8, lane, i, 9),
				"other lane": mark(7, lane^1, i, 9), "other word": mark(7, lane, i^1, 9), "torn": w&^0xff0000 | 0xff,
			} {
				if _, err := checkMark(wrong, 7, lane, i, 9); err == nil {
					t.Errorf("lane %d word %d: %s passes", lane, i, name)
				}
			}
		}
	}
	if seq, err := checkMark(0, 7, 1, 1, 0); seq != 0 || err != nil {
		t.Error(seq, err)
	}
}
