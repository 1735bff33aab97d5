package transfer

import (
	"fmt"
	"testing"

	"farside/internal/vk"
)

var sizes = []int{64, 256, 1 << 10, 4 << 10, 64 << 10, 1 << 20, 4 << 20, 128 << 20}

func size(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%dMiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%dKiB", n>>10)
	}
	return fmt.Sprintf("%dB", n)
}

func BenchmarkFill(b *testing.B) {
	for _, n := range sizes {
		b.Run(size(n), func(b *testing.B) {
			dst := make([]byte, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				Fill(dst, 0x11223344)
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range sizes {
		b.Run(size(n), func(b *testing.B) {
			dst, src := make([]byte, n), make([]byte, n)
			b.SetBytes(int64(n))
			for b.Loop() {
				Copy(dst, src)
			}
		})
	}
}

func BenchmarkCopyBufferToImage(b *testing.B) {
	for _, edge := range []uint32{1, 16, 256, 4096} {
		b.Run(fmt.Sprintf("%dx%d", edge, edge), func(b *testing.B) {
			// Two texels wider than the region: each row is a copy of its own.
			img, _ := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{edge + 2, edge, 1}, 1, 1}.image(b, 1)
			src := make([]byte, edge*edge*4)
			regions := []vk.BufferImageCopy{{
				ImageSubresource: vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, LayerCount: 1},
				ImageExtent:      vk.Extent3D{Width: edge, Height: edge, Depth: 1},
			}}
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if err := CopyBufferToImage(img, src, regions); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
