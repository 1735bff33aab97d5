package compute

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// manyReturns has n places in a loop at which some lanes return.
func manyReturns(n int) string {
	var s strings.Builder
	s.WriteString("for (uint k = 0; k < a[0] + 40u; k++) {\n")
	for x := range n {
		fmt.Fprintf(&s, "r += k; if (a[(i + %du) & 31u] == r) { result[i] = r; return; }\n", x)
	}
	s.WriteString("}")
	return s.String()
}

// TestManyReturns has so many branches from which lanes never come together again that looking at all that follows each
// of them, for which the time is quadratic, takes too long.
func TestManyReturns(t *testing.T) {
	words := glslWords(t, shader(testLanes, "", manyReturns(12000)))
	start := time.Now()
	compileWords(t, words, Options{})
	took := time.Since(start)
	t.Logf("%d words took %v", len(words), took)
	if took > 15*time.Second && !raceEnabled {
		t.Error("that is too long")
	}
	want := func(i uint32, a []uint32, f []float32) uint32 {
		r := uint32(0)
		for k := range a[0] + 40 {
			for x := range uint32(100) {
				if r += k; a[(i+x)&31] == r {
					return r
				}
			}
		}
		return r
	}
	shaderCase{"", "", manyReturns(100), want}.run(t)
}
