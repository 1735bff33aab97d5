package transfer

import (
	"math/rand/v2"
	"testing"
)

// TestMeanBytes compares with sums of each byte.
func TestMeanBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, samples := range []int{2, 4, 8, 16} {
		const texels = 999
		src, dst := make([]byte, 4*samples*texels), make([]byte, 4*texels)
		for i := range src {
			if src[i] = byte(random.Uint32()); i < 4*samples {
				src[i] = 255
			}
		}
		meanBytes(dst, src, samples)
		for i := range dst {
			sum := 0
			for s := range samples {
				sum += int(src[(i/4*samples+s)*4+i%4])
			}
			if want := byte((2*sum + samples) / (2 * samples)); dst[i] != want {
				t.Fatalf("%d samples: byte %d is %d, not %d", samples, i, dst[i], want)
			}
		}
	}
}
