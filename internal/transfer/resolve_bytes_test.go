package transfer

import (
	"math/rand/v2"
	"testing"
)

// TestMeanBytes compares with sums of each byte, in Go and on vectors.
func TestMeanBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i, samples := range []int{2, 2, 4, 4, 8, 8, 16, 16, 64, 64, 4, 4, 4} {
		mean, texels := meanBytes, 999-i
		if i%2 == 1 {
			mean = meanBytesGo
		}
		src, dst := make([]byte, 4*samples*texels), make([]byte, 4*texels)
		for i := range src {
			if src[i] = byte(random.Uint32()); i < 4*samples {
				src[i] = 255
			}
		}
		mean(dst, src, samples)
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
