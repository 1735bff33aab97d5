package transfer

import (
	"bytes"
	"testing"

	"farside/internal/vk"
)

// TestRemainingLayers: VK_REMAINING_ARRAY_LAYERS does what the number of layers does, for every kind of region.
func TestRemainingLayers(t *testing.T) {
	s := shape{vk.FORMAT_R8G8B8A8_UNORM, vk.IMAGE_TYPE_2D, [3]uint32{16, 16, 1}, 1, 3}
	memory := bytes.Repeat([]byte("layer"), 1024)
	extent := vk.Extent3D{Width: 16, Height: 16, Depth: 1}
	corners := [2]vk.Offset3D{{}, {X: 16, Y: 16, Z: 1}}
	for name, run := range map[string]func(dst, src *Image, sub vk.ImageSubresourceLayers) error{
		"image": func(dst, src *Image, sub vk.ImageSubresourceLayers) error {
			return CopyImage(dst, src, []vk.ImageCopy{{SrcSubresource: sub, DstSubresource: sub, Extent: extent}})
		},
		"one side": func(dst, src *Image, sub vk.ImageSubresourceLayers) error {
			all := sub
			all.LayerCount = 2
			return CopyImage(dst, src, []vk.ImageCopy{{SrcSubresource: sub, DstSubresource: all, Extent: extent}})
		},
		"buffer": func(dst, _ *Image, sub vk.ImageSubresourceLayers) error {
			return CopyBufferToImage(dst, memory, []vk.BufferImageCopy{{ImageSubresource: sub, ImageExtent: extent}})
		},
		"blit": func(dst, src *Image, sub vk.ImageSubresourceLayers) error {
			return Blit(dst, src,
				[]vk.ImageBlit{{SrcSubresource: sub, DstSubresource: sub, SrcOffsets: corners, DstOffsets: corners}},
				vk.FILTER_NEAREST)
		},
		"host": func(dst, _ *Image, sub vk.ImageSubresourceLayers) error {
			return CopyMemoryToImage(dst, memory, &vk.BufferImageCopy{ImageSubresource: sub, ImageExtent: extent}, 0)
		},
	} {
		src, _ := s.image(t, 1)
		some, want := s.image(t, 2)
		remaining, got := s.image(t, 2)
		sub := vk.ImageSubresourceLayers{AspectMask: vk.IMAGE_ASPECT_COLOR_BIT, BaseArrayLayer: 1, LayerCount: 2}
		before := want.clone()
		if err := run(some, src, sub); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sub.LayerCount = vk.REMAINING_ARRAY_LAYERS
		if err := run(remaining, src, sub); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bytes.Equal(before.all, want.all) || !bytes.Equal(got.all, want.all) {
			t.Errorf("%s: the remaining layers are not the two", name)
		}
	}
}
