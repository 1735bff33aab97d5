package icd

import (
	"bytes"
	"math/bits"

	"farside/internal/exec"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/memory"
)

// Images that are bound with pSplitInstanceBindRegions: on each physical device, rectangles of the image lie in
// different instances of the memory. Rows of texels go across rectangles, so no kernel could work on the memory itself.
// Each physical device has a copy of the image in one piece, and exec loads it before a command and stores it behind.

// piecedImage is such an image as one physical device sees it.
type piecedImage struct {
	memory *deviceMemory
	copy   []byte // what commands work on
	before []byte // what Load has found
	pieces []piece
}

// piece is bytes of the image that follow each other in the payload, too.
type piece struct{ image, payload, size uint64 }

// Load implements exec.Pieced.
func (p *piecedImage) Load() {
	all, err := p.memory.payload.Bytes()
	if err != nil {
		return // it was mapped when the image was looked up
	}
	for _, x := range p.pieces {
		copy(p.copy[x.image:x.image+x.size], all[x.payload:])
	}
	copy(p.before, p.copy)
}

// Store implements exec.Pieced. Bytes that the command has not changed may be others' by now.
func (p *piecedImage) Store() {
	all, err := p.memory.payload.Bytes()
	if err != nil {
		return
	}
	for _, x := range p.pieces {
		now, was := p.copy[x.image:x.image+x.size], p.before[x.image:x.image+x.size]
		if bytes.Equal(now, was) {
			continue
		}
		to := all[x.payload : x.payload+x.size]
		for i := range now {
			if now[i] != was[i] {
				to[i] = now[i]
			}
		}
	}
}

// piecedFor returns the image as a physical device sees it, nil if it lies in one piece.
func (img *image) piecedFor(index uint32) exec.Pieced {
	if img.pieced == nil {
		return nil
	}
	return img.pieced[index]
}

// mapped references the memory that the image is bound to, and returns all of the image as a physical device sees it:
// the memory itself, or the copy of an image in pieces. A disjoint image has bytes for each plane.
func (img *image) mapped(index uint32) (held lent, bytes [texel.MaxPlanes][]byte, err error) {
	list := img.bindings()
	for i := range list {
		b := &list[i]
		size, _, _ := img.requirements(i)
		at := b.of(index)
		if img.pieced != nil {
			at = 0
		}
		p, all, err := mapped(b.boundTo(), at, size)
		if err != nil {
			held.end()
			return lent{}, bytes, err
		}
		held.add(p)
		bytes[i] = all
	}
	if img.pieced != nil {
		bytes[0] = img.pieced[index].copy
	}
	for i := len(list); i < len(bytes); i++ {
		bytes[i] = bytes[0]
	}
	return held, bytes, nil
}

// lent is the memory of an image while somebody uses it: a reference to each payload, and an access that has begun.
type lent struct {
	payload *memory.Payload
	others  []*memory.Payload // of the other planes of a disjoint image
}

func (l *lent) add(p *memory.Payload) {
	if l.payload == nil {
		l.payload = p
		return
	}
	l.others = append(l.others, p)
}

// end ends the accesses by the host and drops the references.
func (l *lent) end() {
	if l.payload == nil {
		return
	}
	giveBack(l.payload)
	for _, p := range l.others {
		giveBack(p)
	}
}

func giveBack(p *memory.Payload) {
	endHostAccess(p)
	p.Release()
}

// sparseBlock is the standard sparse image block shape of a format's 2D images, in texels (chapter "Sparse Resources");
// none for formats that have no standard one, or several planes.
func sparseBlock(f *texel.Format) (width, height uint32, ok bool) {
	size := f.Planes[0].BlockSize
	if f.PlaneCount != 1 || f.Planes[0].Aspect != vk.IMAGE_ASPECT_COLOR_BIT || bits.OnesCount32(size) != 1 || size > 16 {
		return 0, 0, false
	}
	shape := [...][2]uint32{{256, 256}, {256, 128}, {128, 128}, {128, 64}, {64, 64}}[bits.TrailingZeros32(size)]
	return shape[0] * f.Block[0], shape[1] * f.Block[1], true
}

// checkSplit holds an image with VK_IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT to the rules of that flag.
func (img *image) checkSplit() error {
	switch {
	case img.flags&vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT == 0:
		return nil
	case !img.device.several():
		return invalid(vk.VUID_VkImageCreateInfo_physicalDeviceCount_01421, "flags %v on a device of one physical device",
			img.flags)
	case img.mipLevels != 1 || img.arrayLayers != 1 || img.imageType != vk.IMAGE_TYPE_2D ||
		img.tiling != vk.IMAGE_TILING_OPTIMAL:
		return invalid(vk.VUID_VkImageCreateInfo_flags_02259, "flags %v of a %v with %d levels, %d layers and %v", img.flags,
			img.imageType, img.mipLevels, img.arrayLayers, img.tiling)
	}
	return nil
}

// placed says where the image lies that is bound to m at an offset, and in which pieces.
func (img *image) placed(
	m *deviceMemory, offset uint64, g *vk.BindImageMemoryDeviceGroupInfo,
) (place, []*piecedImage, error) {
	var indices []uint32
	if g != nil {
		if g.DeviceIndexCount != 0 && g.SplitInstanceBindRegionCount != 0 {
			return place{}, nil, invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_deviceIndexCount_01633,
				"%d device indices and %d rectangles", g.DeviceIndexCount, g.SplitInstanceBindRegionCount)
		}
		indices = vk.Slice(g.PDeviceIndices, g.DeviceIndexCount)
	}
	at, err := m.placed(&imageGroupRules, offset, indices)
	if err != nil || g == nil || g.SplitInstanceBindRegionCount == 0 {
		return at, nil, err
	}
	rects := vk.Slice(g.PSplitInstanceBindRegions, g.SplitInstanceBindRegionCount)
	n := len(img.device.members)
	if len(rects) != n*n {
		return at, nil, invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_splitInstanceBindRegionCount_01636,
			"%d rectangles for %d physical devices", len(rects), n)
	}
	if img.flags&vk.IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT == 0 {
		return at, nil, invalid(vk.VUID_VkBindImageMemoryInfo_pNext_01627,
			"the image was created without VK_IMAGE_CREATE_SPLIT_INSTANCE_BIND_REGIONS_BIT")
	}
	var pieced []*piecedImage
	for i := range n {
		p, err := img.piece(m, offset, rects[i*n:][:n])
		if err != nil {
			return at, nil, err
		}
		pieced = append(pieced, p)
	}
	return at, pieced, nil
}

// piece makes the image of which each rectangle lies in the instance of the memory of that number.
func (img *image) piece(m *deviceMemory, offset uint64, rects []vk.Rect2D) (*piecedImage, error) {
	if err := img.checkRects(rects); err != nil {
		return nil, err
	}
	p := &piecedImage{memory: m, copy: make([]byte, img.size), before: make([]byte, img.size)}
	l, _ := img.layout.Subresource(vk.IMAGE_ASPECT_COLOR_BIT, 0, 0)
	block, size := img.layout.Format.Block, uint64(img.layout.Format.Planes[0].BlockSize)
	blocks := func(texels, axis uint32) uint64 { return uint64((texels + block[axis] - 1) / block[axis]) }
	for j := range rects {
		r := &rects[j]
		if r.Extent.Width == 0 || r.Extent.Height == 0 {
			continue
		}
		at := m.instance(uint32(j))
		if !m.device.physical.multiInstance(m.typeIndex) {
			at = m.instance(0)
		}
		if at == noInstance {
			return nil, invalid(vk.NoVUID, "the memory has no instance on device %d: it was allocated with mask %#b", j, m.mask)
		}
		x, y := uint32(r.Offset.X), uint32(r.Offset.Y)
		from, to := blocks(x, 0)*size, blocks(x+r.Extent.Width, 0)*size
		for row := blocks(y, 1); row < blocks(y+r.Extent.Height, 1); row++ {
			begin := l.Offset + row*l.RowPitch + from
			p.pieces = append(p.pieces, piece{image: begin, payload: at + offset + begin, size: to - from})
		}
	}
	return p, nil
}

// checkRects holds the rectangles of one physical device to their rules.
func (img *image) checkRects(rects []vk.Rect2D) error {
	width, height, _ := sparseBlock(&img.layout.Format)
	area := uint64(0)
	for i, r := range rects {
		x, y, w, h := int64(r.Offset.X), int64(r.Offset.Y), int64(r.Extent.Width), int64(r.Extent.Height)
		switch {
		case x < 0 || y < 0 || x+w > int64(img.extent.Width) || y+h > int64(img.extent.Height):
			return invalid(vk.VUID_VkBindImageMemoryInfo_pNext_01628, "rectangle %v is not within the image of %d x %d texels",
				r, img.extent.Width, img.extent.Height)
		case x%int64(width) != 0:
			return invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_offset_01638, "offset.x %d is no multiple of %d", x, width)
		case y%int64(height) != 0:
			return invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_offset_01639, "offset.y %d is no multiple of %d", y, height)
		case w%int64(width) != 0 && x+w != int64(img.extent.Width):
			return invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_extent_01640, "extent.width %d is no multiple of %d, and "+
				"does not end with the image", w, width)
		case h%int64(height) != 0 && y+h != int64(img.extent.Height):
			return invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_extent_01641, "extent.height %d is no multiple of %d, and "+
				"does not end with the image", h, height)
		}
		for _, o := range rects[:i] {
			ox, oy := int64(o.Offset.X), int64(o.Offset.Y)
			if x < ox+int64(o.Extent.Width) && ox < x+w && y < oy+int64(o.Extent.Height) && oy < y+h {
				return invalid(vk.VUID_VkBindImageMemoryDeviceGroupInfo_pSplitInstanceBindRegions_01637,
					"rectangles %v and %v of one instance of the image overlap", o, r)
			}
		}
		area += uint64(w) * uint64(h)
	}
	if all := uint64(img.extent.Width) * uint64(img.extent.Height); area != all {
		return invalid(vk.VUID_VkBindImageMemoryInfo_pNext_01629,
			"the rectangles of an instance of the image cover %d of its %d texels", area, all)
	}
	return nil
}
