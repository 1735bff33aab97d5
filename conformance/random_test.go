package conformance

import (
	"fmt"
	"slices"
	"time"

	"farside/conformance/reference"
	"farside/internal/vk"
)

// randomCases record random valid commands between a few buffers and images and compare every byte.
func randomCases() []definition {
	var cases []definition
	add := func(name string, parts uint64, d definition, kinds int, classes [][]vk.Format) {
		for part := range parts {
			d.name = fmt.Sprintf("api.copy_and_blit.random.%s%d", name, part)
			d.run = func(c *Case) {
				until := time.Now().Add(500 * time.Millisecond)
				for seed := part * 1000; time.Now().Before(until) && !c.failed; seed++ {
					if randomStream(c, seed, kinds, classes); c.failed {
						c.Errorf("seed %d", seed)
					}
				}
			}
			cases = append(cases, d)
		}
	}
	add("", 4, definition{valid: true}, transferKinds, classes)
	add("copy_commands2.", 2, definition{extensions: copy2, valid: true}, transferKinds, classes)
	// which need a queue for graphics
	add("graphics.", 4, definition{}, allKinds, append(slices.Clip(classes), depthClasses...))
	return cases
}

// The kinds of random commands that any queue takes, and all.
const transferKinds, allKinds = 7, 9

// classes are formats that may be copied to each other.
var classes = [][]vk.Format{
	{vk.FORMAT_R8_UNORM, vk.FORMAT_R8_SINT}, {vk.FORMAT_R5G6B5_UNORM_PACK16, vk.FORMAT_R16_SFLOAT, vk.FORMAT_R8G8_UNORM},
	{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32_UINT, vk.FORMAT_R16G16_SNORM, vk.FORMAT_A2B10G10R10_UNORM_PACK32},
	{vk.FORMAT_R32G32_SINT, vk.FORMAT_R16G16B16A16_SFLOAT, vk.FORMAT_BC1_RGB_UNORM_BLOCK, vk.FORMAT_BC4_UNORM_BLOCK},
	{vk.FORMAT_R32G32B32A32_SFLOAT, vk.FORMAT_BC3_UNORM_BLOCK, vk.FORMAT_BC7_SRGB_BLOCK},
	{vk.FORMAT_R32G32B32_UINT, vk.FORMAT_R32G32B32_SFLOAT},
}

// depthClasses can be copied to nothing but themselves.
var depthClasses = [][]vk.Format{{vk.FORMAT_D16_UNORM}, {vk.FORMAT_D32_SFLOAT}, {vk.FORMAT_S8_UINT}}

func randomStream(c *Case, seed uint64, kinds int, classes [][]vk.Format) {
	m := c.mirror(seed)
	rng := m.rng
	class := classes[rng.IntN(len(classes))]
	m.copy2 = slices.Contains(c.def.extensions, copy2[0])
	var buffers []*mirrorBuffer
	for range 2 + rng.IntN(3) {
		buffers = append(buffers, m.buffer(4096+rng.IntN(60_000)))
	}
	var images []*mirrorImage
	for tries := 0; len(images) < 4; tries++ {
		if tries == 1000 { // the driver lacks the formats of this class
			m.free()
			return
		}
		if s := m.randomShape(class); c.supports(s) {
			images = append(images, m.image(s))
		}
	}
	step := func() { m.randomCommand(rng.IntN(kinds), buffers, images) }
	for range 40 {
		if rng.IntN(8) != 0 {
			step()
			continue
		}
		cb := c.commandBuffers(m.pool, vk.COMMAND_BUFFER_LEVEL_SECONDARY, 1)[0]
		m.into(cb, 0, func() {
			for range 1 + rng.IntN(4) {
				step()
			}
		})
		m.execute(cb)
		if rng.IntN(4) == 0 {
			m.flush()
		}
	}
	m.check()
}

// randomCommand records a command of a kind, or none where it finds no legal one.
func (m *mirror) randomCommand(kind int, buffers []*mirrorBuffer, images []*mirrorImage) {
	rng := m.rng
	b, other := buffers[rng.IntN(len(buffers))], buffers[rng.IntN(len(buffers))]
	i, from := images[rng.IntN(len(images))], images[rng.IntN(len(images))]
	switch kind {
	case 0:
		at := rng.IntN(len(b.want)/4) * 4
		size := uint64(1+rng.IntN((len(b.want)-at)/4)) * 4
		if rng.IntN(5) == 0 {
			size = vk.WHOLE_SIZE
		}
		m.fill(b, uint64(at), size, rng.Uint32())
	case 1:
		at := rng.IntN(len(b.want)/4) * 4
		data := make([]byte, min(4*(1+rng.IntN((len(b.want)-at)/4)), 65536))
		for n := range data {
			data[n] = byte(rng.Uint32())
		}
		m.update(b, uint64(at), data)
	case 2:
		if b == other {
			return
		}
		var regions []vk.BufferCopy
		for at := 0; at < len(b.want) && len(regions) < 10; {
			r := vk.BufferCopy{DstOffset: vk.DeviceSize(at),
				Size: vk.DeviceSize(1 + rng.IntN(min(len(b.want)-at, len(other.want), 9000)))}
			r.SrcOffset = vk.DeviceSize(rng.IntN(len(other.want) - int(r.Size) + 1))
			at += int(r.Size) + rng.IntN(100)
			regions = append(regions, r)
		}
		m.copyBuffer(b, other, regions...)
	case 3:
		if r, ok := m.randomBufferImage(i, len(b.want)); ok && depthBits(i.format) == 0 { // random bits are no depths
			m.bufferToImage(i, b, r)
		}
	case 4:
		if r, ok := m.randomBufferImage(i, len(b.want)); ok {
			m.imageToBuffer(b, i, r)
		}
	case 5, 6:
		if r, ok := m.randomImageCopy(i, from); ok && i != from {
			m.copyImage(i, from, r)
		}
	case 7:
		m.randomClear(i)
	case 8:
		m.randomBlit(i, from)
	}
}

// randomClear clears to numbers that all formats can hold.
func (m *mirror) randomClear(i *mirrorImage) {
	if compressed(i.format) {
		return
	}
	r := vk.ImageSubresourceRange{AspectMask: i.aspects(), BaseMipLevel: m.rng.Uint32N(i.levels),
		BaseArrayLayer: m.rng.Uint32N(i.layers)}
	r.LevelCount, r.LayerCount = 1+m.rng.Uint32N(i.levels-r.BaseMipLevel), 1+m.rng.Uint32N(i.layers-r.BaseArrayLayer)
	if m.rng.IntN(3) == 0 {
		r.LevelCount = vk.REMAINING_MIP_LEVELS
	}
	if m.rng.IntN(3) == 0 {
		r.LayerCount = vk.REMAINING_ARRAY_LAYERS
	}
	if r.AspectMask != color {
		m.clearDepthStencil(i, float32(m.rng.IntN(2)), m.rng.Uint32N(256), r)
		return
	}
	var t reference.Texel
	for n := range t.F {
		t.F[n], t.I[n] = float64(m.rng.IntN(2)), int64(m.rng.IntN(100))
	}
	m.clearColor(i, t, r)
}

// randomBlit moves a box to one of the same size in an image of the same format, mirrored or not: what can be
// compared bit by bit, but for floats, whose random bits may be no numbers.
func (m *mirror) randomBlit(dst, src *mirrorImage) {
	info, _ := vk.FormatInfo(src.format)
	kind := info.Components()[0].Numeric
	if src == dst || compressed(src.format) || src.format != dst.format || src.dimensions != dst.dimensions ||
		kind == vk.NumericSFLOAT && depthBits(src.format) == 0 || kind == vk.NumericSNORM { // which has two codes for -1
		return
	}
	layers := min(src.layers, dst.layers)
	r := vk.ImageBlit{SrcSubresource: vk.ImageSubresourceLayers{AspectMask: src.aspects(),
		MipLevel: m.rng.Uint32N(src.levels), LayerCount: layers},
		DstSubresource: vk.ImageSubresourceLayers{AspectMask: src.aspects(), MipLevel: m.rng.Uint32N(dst.levels),
			BaseArrayLayer: dst.layers - layers, LayerCount: layers}}
	se, de := src.want.LevelExtent(r.SrcSubresource.MipLevel), dst.want.LevelExtent(r.DstSubresource.MipLevel)
	var from, to blitBox
	for axis := range 3 {
		n := 1 + m.rng.Uint32N(min(se[axis], de[axis]))
		s, d := int32(m.rng.Uint32N(se[axis]-n+1)), int32(m.rng.Uint32N(de[axis]-n+1))
		from[0][axis], from[1][axis] = s, s+int32(n)
		to[0][axis], to[1][axis] = d, d+int32(n)
		if m.rng.IntN(2) == 0 && max(se[axis], de[axis]) > 1 {
			to[0][axis], to[1][axis] = to[1][axis], to[0][axis]
		}
	}
	r.SrcOffsets, r.DstOffsets = from.offsets(), to.offsets()
	m.blit(dst, src, vk.FILTER_NEAREST, r)
}

func (m *mirror) randomShape(class []vk.Format) shape {
	s := shape{format: class[m.rng.IntN(len(class))], dimensions: vk.IMAGE_TYPE_2D, levels: 1 + m.rng.Uint32N(3),
		layers: 1 + m.rng.Uint32N(4)}
	s.extent = [3]uint32{4 + m.rng.Uint32N(45), 4 + m.rng.Uint32N(30), 1}
	switch m.rng.IntN(6) {
	case 0:
		s.dimensions, s.layers, s.extent[2] = vk.IMAGE_TYPE_3D, 1, 1+m.rng.Uint32N(5)
	case 1:
		s.dimensions, s.extent[1], s.levels = vk.IMAGE_TYPE_1D, 1, 1
	}
	if m.rng.IntN(3) == 0 && !compressed(s.format) { // see compressedLinear
		s.tiling, s.levels, s.layers = vk.IMAGE_TILING_LINEAR, 1, 1
	}
	return s
}

// span is a random part of n texels in blocks of size block: it begins at a block and ends at one or at n.
func (m *mirror) span(n, block uint32) (from int32, size uint32) {
	blocks := (n + block - 1) / block
	first := m.rng.Uint32N(blocks)
	count := 1 + m.rng.Uint32N(blocks-first)
	return int32(first * block), min(count*block, n-first*block)
}

// randomBufferImage is a region of one level, if the buffer has room for it.
func (m *mirror) randomBufferImage(i *mirrorImage, room int) (vk.BufferImageCopy, bool) {
	var r vk.BufferImageCopy
	r.ImageSubresource = vk.ImageSubresourceLayers{AspectMask: i.aspects(), MipLevel: m.rng.Uint32N(i.levels),
		BaseArrayLayer: m.rng.Uint32N(i.layers)}
	r.ImageSubresource.LayerCount = 1 + m.rng.Uint32N(i.layers-r.ImageSubresource.BaseArrayLayer)
	e, block := i.want.LevelExtent(r.ImageSubresource.MipLevel), i.want.BlockExtent()
	r.ImageOffset.X, r.ImageExtent.Width = m.span(e[0], block[0])
	r.ImageOffset.Y, r.ImageExtent.Height = m.span(e[1], block[1])
	r.ImageOffset.Z, r.ImageExtent.Depth = m.span(e[2], block[2])
	row, height := (r.ImageExtent.Width+block[0]-1)/block[0], (r.ImageExtent.Height+block[1]-1)/block[1]
	if m.rng.IntN(2) == 0 {
		row += m.rng.Uint32N(4)
		r.BufferRowLength = row * block[0]
	}
	if m.rng.IntN(2) == 0 {
		height += m.rng.Uint32N(4)
		r.BufferImageHeight = height * block[1]
	}
	size := i.want.BlockSize(i.aspects())
	need := int(row*height*max(r.ImageExtent.Depth, r.ImageSubresource.LayerCount)) * size
	step := 4 * size // allowed on every queue family
	if need > room {
		return r, false
	}
	r.BufferOffset = vk.DeviceSize(m.rng.IntN((room-need)/step+1) * step)
	return r, true
}

// randomImageCopy is a region between two images of a class; it fails if there is none in the levels that
// it picked.
func (m *mirror) randomImageCopy(dst, src *mirrorImage) (vk.ImageCopy, bool) {
	var r vk.ImageCopy
	if src.dimensions != dst.dimensions && (src.dimensions == vk.IMAGE_TYPE_1D || dst.dimensions == vk.IMAGE_TYPE_1D) {
		return r, false // older rules know no copy between these
	}
	r.SrcSubresource = vk.ImageSubresourceLayers{AspectMask: src.aspects(), MipLevel: m.rng.Uint32N(src.levels),
		LayerCount: 1}
	r.DstSubresource = vk.ImageSubresourceLayers{AspectMask: src.aspects(), MipLevel: m.rng.Uint32N(dst.levels),
		LayerCount: 1}
	from, to := src.want.LevelExtent(r.SrcSubresource.MipLevel), dst.want.LevelExtent(r.DstSubresource.MipLevel)
	sb, db := src.want.BlockExtent(), dst.want.BlockExtent()
	var so, do [3]int32
	size := [3]uint32{1, 1, 1}
	for axis := range 2 {
		// Whole blocks on both sides: partial ones at an edge must meet one of the other image, see imageImage.
		sn, dn := from[axis]/sb[axis], to[axis]/db[axis]
		if sn == 0 || dn == 0 {
			return r, false
		}
		n := 1 + m.rng.Uint32N(min(sn, dn))
		so[axis] = int32(m.rng.Uint32N(sn-n+1) * sb[axis])
		do[axis] = int32(m.rng.Uint32N(dn-n+1) * db[axis])
		size[axis] = n * sb[axis]
	}
	slicesOf := func(i *mirrorImage, e [3]uint32) uint32 {
		if i.dimensions == vk.IMAGE_TYPE_3D {
			return e[2]
		}
		return i.layers
	}
	sn, dn := slicesOf(src, from), slicesOf(dst, to)
	n := 1 + m.rng.Uint32N(min(sn, dn))
	place := func(i *mirrorImage, s *vk.ImageSubresourceLayers, o *[3]int32, all uint32) {
		at := m.rng.Uint32N(all - n + 1)
		if i.dimensions == vk.IMAGE_TYPE_3D {
			o[2], size[2] = int32(at), n
		} else {
			s.BaseArrayLayer, s.LayerCount = at, n
		}
	}
	place(src, &r.SrcSubresource, &so, sn)
	place(dst, &r.DstSubresource, &do, dn)
	r.SrcOffset, r.DstOffset = vk.Offset3D{X: so[0], Y: so[1], Z: so[2]}, vk.Offset3D{X: do[0], Y: do[1], Z: do[2]}
	r.Extent = vk.Extent3D{Width: size[0], Height: size[1], Depth: size[2]}
	return r, true
}
