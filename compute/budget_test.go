package compute

import (
	"errors"
	"strings"
	"testing"
	"time"

	"farside/compute/internal/budget"
)

// What a module of hostileBytes may cost, compiled or refused.
const (
	hostileBytes  = 64 << 10
	hostileTime   = 5 * time.Second
	hostileMemory = 512 << 20
)

// hostileModule is the longest module of a family that is not longer than some bytes. What the family adds stands in a
// function that is called 2^doublings times.
func hostileModule(f hostileFamily, bytes, doublings int) []uint32 {
	build := func(n uint32) []uint32 {
		h := newHostile()
		h.doubled(doublings, func(h *hostile) { f.add(h, n) })
		return h.words()
	}
	low, high := uint32(1), uint32(bytes/4)
	for low < high {
		n := (low + high + 1) / 2
		if 4*len(build(n)) <= bytes {
			low = n
		} else {
			high = n - 1
		}
	}
	return build(low)
}

// TestHostileFamilies compiles a small module of each family: they are valid, and refused for nothing but what they
// ask for.
func TestHostileFamilies(t *testing.T) {
	for _, f := range hostileFamilies {
		h := newHostile()
		f.add(h, 4)
		var e budget.Exhausted
		if err := compileHostile(h.words()); err != nil && !errors.As(err, &e) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// FuzzBudget compiles modules that have parts of several families: pairs of bytes choose a family and a size, the first
// byte how often a function with all of them is called. None may take longer than promised, or make the compiler fail.
func FuzzBudget(f *testing.F) {
	for i := range hostileFamilies {
		f.Add([]byte{byte(i % 9), byte(i), 40, byte(i * 7), 9})
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		parts := func(h *hostile) {
			for rest := data[1:]; len(rest) > 1 && h.length() < hostileBytes; rest = rest[2:] {
				family := hostileFamilies[int(rest[0])%len(hostileFamilies)]
				family.add(h, 4*uint32(rest[1])+4)
			}
		}
		h := newHostile()
		h.doubled(int(data[0]%12), parts)
		words := h.words()
		if len(words) > hostileBytes/4 {
			return
		}
		start := time.Now()
		err := compileHostile(words)
		if used := time.Since(start); used > 2*hostileTime && !raceEnabled { // others may have the processor
			t.Errorf("%v: %v", used, err)
		}
		if err != nil && strings.HasPrefix(err.Error(), "compiling") {
			t.Error(err)
		}
	})
}

// TestBudgetHeadroom says how much of each resource shaders such as applications have take: no more than a tenth.
func TestBudgetHeadroom(t *testing.T) {
	var all budget.Budget
	files, modules := testShaders(t)
	for n, words := range modules {
		p := compileWords(t, words, Options{SubgroupSize: 32})
		if err := p.LayOut(); err != nil {
			t.Fatal(err)
		}
		for r, limit := range budget.Limits {
			if p.used.Used[r] > limit.Most/10 {
				t.Errorf("%s takes %d of %d %s", files[n], p.used.Used[r], limit.Most, limit.What)
			}
		}
		all.NoteMost(&p.used)
	}
	for r, limit := range budget.Limits {
		n := all.Used[r]
		t.Logf("at most %d of %d %s, %.2f %%", n, limit.Most, limit.What, 100*float64(n)/float64(limit.Most))
	}
}
