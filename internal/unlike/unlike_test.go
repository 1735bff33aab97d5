package unlike

import "testing"

// TestNumbers draws numbers: none comes twice, and those below n fill all of it.
func TestNumbers(t *testing.T) {
	seen := map[uint64]bool{}
	for range 10000 {
		n := Uint64()
		if seen[n] {
			t.Fatalf("%#x came twice", n)
		}
		seen[n] = true
	}
	var counts [7]int
	for range 7000 {
		counts[Uint32N(7)]++
	}
	for n, count := range counts {
		if count < 800 || count > 1200 {
			t.Errorf("of 7000 numbers below 7, %d are %d", count, n)
		}
	}
}
