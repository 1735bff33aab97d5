package transfer

import (
	"farside/internal/texel"
	"farside/internal/vk"
	backing "farside/memory"
)

// blitBlocks decodes the level of a compressed image that a region of a blit reads into an image of its own, and blits
// from that.
func blitBlocks(dst, src *Image, blocks *texel.Blocks, r *vk.ImageBlit, filter vk.Filter) error {
	sub := &r.SrcSubresource
	format, _ := texel.FormatOf(blocks.Unpacked())
	var extent [3]uint32
	for axis := range extent {
		extent[axis] = levelSize(src, sub.MipLevel, axis)
	}
	layout, ok := texel.NewLayout(format, extent, 1, sub.LayerCount, 1)
	if !ok {
		return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "a level of %v, decoded, is larger than 64 bits can say",
			src.Format)
	}
	// Pages of the system's: the level may be larger than what Go's heap can get, which would end the process.
	pages, err := backing.NewAnonymous(layout.Size)
	if err != nil {
		return err
	}
	defer pages.Release()
	bytes, err := pages.Bytes()
	if err != nil {
		return err
	}
	to := &Image{Bytes: bytes, Layout: &layout, Format: blocks.Unpacked(), Type: src.Type}
	var from, texels surface
	from.set(src, vk.IMAGE_ASPECT_COLOR_BIT, sub)
	sub.MipLevel, sub.BaseArrayLayer = 0, 0
	texels.set(to, vk.IMAGE_ASPECT_COLOR_BIT, sub)
	width, height := blocks.Extent()
	rows := (int(extent[1]) + height - 1) / height
	pitch := blocks.UnpackedSize() / height // bytes of a row of a block
	size := pitch / width
	split(int(sub.LayerCount)*int(extent[2])*rows, 1, func(first, end int) {
		decoded := make([]byte, blocks.UnpackedSize())
		for i := first; i < end; i++ {
			p := place{layer: int32(i / rows / int(extent[2])), z: int32(i / rows % int(extent[2])), y: int32(i % rows)}
			row := from.row(p)
			for x := 0; x < int(extent[0]); x += width {
				blocks.Decode(decoded, row[x/width*blocks.Size():])
				inside := min(width, int(extent[0])-x) * size
				for y := range min(height, int(extent[1])-int(p.y)*height) {
					copy(texels.row(place{p.layer, p.z, p.y*int32(height) + int32(y)})[x*size:][:inside], decoded[y*pitch:])
				}
			}
		}
	})
	blitPlane(dst, to, vk.IMAGE_ASPECT_COLOR_BIT, r, filter)
	return nil
}
