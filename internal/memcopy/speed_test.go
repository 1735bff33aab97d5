//go:build !race

package memcopy

import (
	"bytes"
	"slices"
	"testing"
	"time"
)

// A copy takes at most 1.1 of memcpy's time (review, boundary 13), at whatever place in a line source and destination
// begin. The best of many interleaved rounds is compared, and a machine that others use gets more than one chance.
func TestAsFastAsMemcpy(t *testing.T) {
	const room = 64
	theirs := memcpy(t)
	far := shared(t, sizes[len(sizes)-1]+room)
	near := bytes.Repeat([]byte{1}, len(far))
	for _, at := range []struct{ near, far int }{{0, 0}, {13, 5}} {
		near, far := near[at.near:], far[at.far:]
		for _, n := range sizes {
			worst := 0.0
			for range 5 {
				worst = max(ratio(n, near, far, theirs), ratio(n, far, near, theirs))
				if worst <= 1.1 {
					break
				}
			}
			t.Logf("%d bytes at %d and %d: %.2f of memcpy", n, at.near, at.far, worst)
			if worst > 1.1 {
				t.Errorf("%d bytes at %d and %d take %.2f of memcpy's time", n, at.near, at.far, worst)
			}
		}
	}
}

// ratio is the time of Copy by that of memcpy.
func ratio(n int, dst, src []byte, theirs func(dst, src []byte)) float64 {
	dst, src = dst[:n], src[:n]
	each := 1 + 100_000/(n+100)
	var ours, other []time.Duration
	for range 12 + 40*(1<<20)/max(n, 1<<20) {
		ours = append(ours, lasts(each, func() { Copy(dst, src) }))
		other = append(other, lasts(each, func() { theirs(dst, src) }))
	}
	return float64(slices.Min(ours)) / float64(slices.Min(other))
}

func lasts(times int, f func()) time.Duration {
	f()
	begin := time.Now()
	for range times {
		f()
	}
	return time.Since(begin)
}
