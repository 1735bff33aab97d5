package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"unsafe"

	"farside/conformance/reference"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A mirror does every transfer command twice: it records it, and does it to the reference's buffers and
// images. check submits what was recorded and compares every byte of every buffer and image.
type mirror struct {
	*recorder
	rng     *rand.Rand
	copy2   bool // record the forms of VK_KHR_copy_commands2
	buffers []*mirrorBuffer
	images  []*mirrorImage
	queries vk.QueryPool // if any
}

// mirrorBuffer is a buffer in mapped memory.
type mirrorBuffer struct {
	handle vk.Buffer
	memory vk.DeviceMemory
	bytes  []byte // what the driver has
	want   []byte // what the reference has
	depth  bool   // holds depths of 24 bits, the highest byte of which is undefined in each word
}

type mirrorImage struct {
	shape
	handle vk.Image
	texels vk.Image // what buffers are copied to and from: handle, or an image that has its samples as texels
	memory vk.DeviceMemory
	mapped []byte // from the image's first byte; nil where the host can't see it
	want   *reference.Image
	steps  float64 // how many steps of its format each component may be off
	loose  float64 // and how far besides
}

// shape is what an image is like.
type shape struct {
	dimensions     vk.ImageType
	format         vk.Format
	extent         [3]uint32
	levels, layers uint32
	tiling         vk.ImageTiling
	flags          vk.ImageCreateFlags
	usage          vk.ImageUsageFlags // besides transfers
	values         bool               // filled with numbers of moderate size, not with random bits
	samples        uint32             // 0: 1
	unread         bool               // has several samples that aren't filled and compared
	next           unsafe.Pointer     // chained behind VkImageCreateInfo; the case asks whether that is supported
}

func (s shape) String() string {
	return fmt.Sprintf("%v %v %v, %d levels, %d layers, %v", s.dimensions, s.format, s.extent, s.levels, s.layers,
		s.tiling)
}

const transferUsage = vk.ImageUsageFlags(vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT)

func (c *Case) mirror(seed uint64) *mirror {
	m := &mirror{recorder: c.recorder(), rng: rand.New(rand.NewPCG(seed, 77))}
	m.begin(m.cb, 0)
	return m
}

// supports asks vkGetPhysicalDeviceImageFormatProperties for a shape.
func (c *Case) supports(s shape) bool {
	in := vulkan.Struct[vk.PhysicalDeviceImageFormatInfo2](&c.a)
	in.Format, in.Type, in.Tiling, in.Usage, in.Flags = s.format, s.dimensions, s.tiling, transferUsage|s.usage, s.flags
	if s.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT { // of the modifier 0, which is DRM_FORMAT_MOD_LINEAR
		in.PNext = unsafe.Pointer(vulkan.Struct[vk.PhysicalDeviceImageDrmFormatModifierInfoEXT](&c.a))
	}
	out := vulkan.Struct[vk.ImageFormatProperties2](&c.a)
	r := vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties2", uintptr(c.pd), ptr(in), ptr(out)))
	p, e := &out.ImageFormatProperties, out.ImageFormatProperties.MaxExtent
	return r == vk.SUCCESS && s.extent[0] <= e.Width && s.extent[1] <= e.Height && s.extent[2] <= e.Depth &&
		s.levels <= p.MaxMipLevels && s.layers <= p.MaxArrayLayers &&
		p.SampleCounts&vk.SampleCountFlags(max(s.samples, 1)) != 0
}

// buffer makes a buffer of random bytes.
func (m *mirror) buffer(size int) *mirrorBuffer {
	b := &mirrorBuffer{}
	b.handle, b.memory, b.bytes = m.c.mappedBuffer(uint64(size))
	m.noise(b.bytes)
	b.want = bytes.Clone(b.bytes)
	m.buffers = append(m.buffers, b)
	return b
}

// noise fills b with random bits.
func (m *mirror) noise(b []byte) {
	for i := 0; i < len(b); i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], m.rng.Uint64())
		copy(b[i:], word[:])
	}
}

// mappedBuffer makes a buffer in coherent memory, bound behind its allocation's first bytes.
func (c *Case) mappedBuffer(size uint64) (vk.Buffer, vk.DeviceMemory, []byte) {
	b, r := c.dev.CreateBuffer(size, 0)
	c.must("vkCreateBuffer", r)
	req := c.dev.BufferRequirements(b)
	memory := c.allocate(req.Alignment+req.Size, c.visible(), nil)
	c.must("vkBindBufferMemory", c.dev.BindBuffer(b, memory, req.Alignment))
	return b, memory, c.bytes(memory, req.Alignment+size)[req.Alignment:]
}

// create makes an image without memory.
func (m *mirror) create(s shape) vk.Image {
	info := vulkan.Struct[vk.ImageCreateInfo](&m.a)
	info.PNext = s.next
	info.Flags, info.ImageType, info.Format, info.Tiling = s.flags, s.dimensions, s.format, s.tiling
	info.Extent = vk.Extent3D{Width: s.extent[0], Height: s.extent[1], Depth: s.extent[2]}
	info.MipLevels, info.ArrayLayers, info.Samples = s.levels, s.layers, vk.SampleCountFlagBits(max(s.samples, 1))
	info.Usage = transferUsage | s.usage
	out := vulkan.New[vk.Image](&m.a)
	m.c.must("vkCreateImage of "+s.String(), vk.Result(m.c.dev.Call("vkCreateImage", ptr(info), 0, ptr(out))))
	return *out
}

// single is the shape of an image of one sample whose texels are the samples of this one.
func (s shape) single() shape {
	s.extent[0] *= max(s.samples, 1)
	s.samples = 1
	return s
}

// image makes an image with contents, which is in VK_IMAGE_LAYOUT_GENERAL from then on. No command writes samples that
// differ, so these are written by way of an image with one sample in the same memory: that is about Farside's layout.
func (m *mirror) image(s shape) *mirrorImage {
	c := m.c
	if !c.supports(s) {
		c.Unsupported(s.String())
	}
	single := s.single()
	i := &mirrorImage{shape: s, want: reference.NewImage(s.dimensions, s.format, single.extent, s.levels, s.layers),
		handle: m.create(s)}
	i.texels = i.handle
	m.images = append(m.images, i)

	req := c.dev.ImageRequirements(i.handle)
	offset := req.Alignment * uint64(m.rng.IntN(3))
	var t uint32
	if s.tiling == vk.IMAGE_TILING_OPTIMAL { // any type that will do
		for t = m.rng.Uint32N(32); req.MemoryTypeBits>>t&1 == 0; t = m.rng.Uint32N(32) {
		}
	} else {
		t = c.visibleOf(req.MemoryTypeBits)
	}
	i.memory = c.allocate(offset+req.Size, t, nil)
	c.must("vkBindImageMemory", c.dev.BindImage(i.handle, i.memory, offset))
	if s.tiling != vk.IMAGE_TILING_OPTIMAL {
		i.mapped = c.bytes(i.memory, offset+req.Size)[offset:]
	}
	m.transition(i.handle, i.aspects())
	if s.unread {
		return i
	}
	if s.samples > 1 {
		i.texels = m.create(single)
		c.must("vkBindImageMemory", c.dev.BindImage(i.texels, i.memory, offset))
		m.transition(i.texels, i.aspects())
	}
	for _, aspect := range i.want.Aspects() {
		for level := range s.levels {
			for layer := range s.layers {
				m.random(i, aspect, i.want.Bytes(aspect, level, layer))
			}
			m.stage(i, aspect, level, true)
		}
	}
	return i
}

func (i *mirrorImage) aspects() vk.ImageAspectFlags {
	var all vk.ImageAspectFlags
	for _, a := range i.want.Aspects() {
		all |= a
	}
	return all
}

// random fills a subresource: with random bits, except for depths, which must lie between 0 and 1.
func (m *mirror) random(i *mirrorImage, aspect vk.ImageAspectFlags, b []byte) {
	if !i.values && aspect != vk.IMAGE_ASPECT_DEPTH_BIT {
		m.noise(b)
		return
	}
	size := i.want.BlockSize(aspect)
	for at := 0; at < len(b); at += size {
		var t reference.Texel
		for n := range t.F {
			t.F[n] = m.rng.Float64()
			t.I[n] = int64(m.rng.Uint32N(256))
		}
		i.want.Encode(aspect, b[at:at+size], t)
	}
}

// stage moves all layers of a level between a new buffer and the image: to the image what the reference has,
// or from it into the buffer, which it returns.
func (m *mirror) stage(i *mirrorImage, aspect vk.ImageAspectFlags, level uint32, upload bool) []byte {
	size := len(i.want.Bytes(aspect, level, 0))
	b, memory, bytes := m.c.mappedBuffer(uint64(size) * uint64(i.layers))
	m.buffers = append(m.buffers, &mirrorBuffer{handle: b, memory: memory})
	e := i.want.LevelExtent(level)
	region := vulkan.Put(&m.a, vk.BufferImageCopy{
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, MipLevel: level, LayerCount: i.layers},
		ImageExtent:      vk.Extent3D{Width: e[0], Height: e[1], Depth: e[2]},
	})
	if !upload {
		m.cmd("vkCmdCopyImageToBuffer", uintptr(i.texels), uintptr(vk.IMAGE_LAYOUT_GENERAL), uintptr(b), 1, ptr(region))
		return bytes
	}
	for layer := range i.layers {
		copy(bytes[int(layer)*size:], i.want.Bytes(aspect, level, layer))
	}
	m.cmd("vkCmdCopyBufferToImage", uintptr(b), uintptr(i.texels), uintptr(vk.IMAGE_LAYOUT_GENERAL), 1, ptr(region))
	return nil
}

// check submits what was recorded, compares all buffers and images, and frees everything.
func (m *mirror) check() {
	defer m.free()
	type reading struct {
		i      *mirrorImage
		aspect vk.ImageAspectFlags
		level  uint32
		bytes  []byte
	}
	var readings []reading
	for _, i := range m.images {
		if i.unread {
			continue
		}
		for _, aspect := range i.want.Aspects() {
			for level := range i.levels {
				readings = append(readings, reading{i, aspect, level, m.stage(i, aspect, level, false)})
			}
		}
	}
	m.end(m.cb)
	m.submit(m.cb)
	for n, b := range m.buffers {
		if b.want == nil {
			continue
		}
		if b.depth {
			for at := 3; at < len(b.want); at += 4 {
				b.want[at] = b.bytes[at]
			}
		}
		m.c.same(fmt.Sprintf("buffer %d", n), b.bytes, b.want)
	}
	for n, r := range readings {
		size := len(r.i.want.Bytes(r.aspect, r.level, 0))
		for layer := range r.i.layers {
			what := fmt.Sprintf("reading %d, %v, aspect %v, level %d, layer %d", n, r.i.shape, r.aspect, r.level, layer)
			m.compare(what, r.i, r.aspect, r.level, layer, r.bytes[int(layer)*size:][:size])
		}
	}
	for _, i := range m.images {
		if i.mapped != nil {
			m.compareMapped(i)
		}
	}
}

// compare holds the blocks of a subresource against the reference's.
func (m *mirror) compare(what string, i *mirrorImage, aspect vk.ImageAspectFlags, level, layer uint32, got []byte) {
	want := i.want.Bytes(aspect, level, layer)
	size := i.want.BlockSize(aspect)
	n := i.want.Blocks(level)
	for at := 0; at < len(want); at += size {
		g, w := got[at:at+size], want[at:at+size]
		if aspect == vk.IMAGE_ASPECT_DEPTH_BIT && depthBits(i.format) == 24 {
			g = append(bytes.Clone(g[:3]), w[3]) // the upper byte is undefined
		}
		if !bytes.Equal(g, w) && !m.near(i, aspect, g, w) {
			k := uint32(at / size)
			m.c.Errorf("%s: block %d, %d, %d is %x, want %x", what, k%n[0], k/n[0]%n[1], k/n[0]/n[1], g, w)
			return
		}
	}
}

// near says whether a texel is as near to the wanted one as conversion and filtering are exact.
func (m *mirror) near(i *mirrorImage, aspect vk.ImageAspectFlags, got, want []byte) bool {
	if i.steps == 0 {
		return false
	}
	g, w := i.want.Decode(aspect, got), i.want.Decode(aspect, want)
	for n := range w.F {
		d := g.F[n] - w.F[n]
		if most := i.steps*i.want.Step(aspect, n, w.F[n]) + i.loose; !(d <= most && -d <= most) || g.I[n] != w.I[n] {
			return false
		}
	}
	return true
}

// compareMapped looks at a linear image as the host does, by vkGetImageSubresourceLayout.
func (m *mirror) compareMapped(i *mirrorImage) {
	for _, aspect := range i.want.Aspects() {
		plane := aspect
		if i.tiling == vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT {
			plane = vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT
		}
		for level := range i.levels {
			for layer := range i.layers {
				s := vulkan.Put(&m.a, vk.ImageSubresource{AspectMask: plane, MipLevel: level, ArrayLayer: layer})
				l := vulkan.New[vk.SubresourceLayout](&m.a)
				m.c.dev.Call("vkGetImageSubresourceLayout", uintptr(i.handle), ptr(s), ptr(l))
				n := i.want.Blocks(level)
				row := int(n[0]) * i.want.BlockSize(aspect)
				var got []byte
				for z := range n[2] {
					for y := range n[1] {
						at := l.Offset + uint64(z)*l.DepthPitch + uint64(y)*l.RowPitch
						got = append(got, i.mapped[at:at+uint64(row)]...)
					}
				}
				m.compare(fmt.Sprintf("mapped, %v, aspect %v, level %d, layer %d", i.shape, aspect, level, layer), i, aspect, level,
					layer, got)
			}
		}
	}
}

func depthBits(f vk.Format) int {
	info, _ := vk.FormatInfo(f)
	for _, c := range info.Components() {
		if c.Name == 'D' {
			return int(c.Bits)
		}
	}
	return 0
}

func (m *mirror) free() {
	for _, b := range m.buffers {
		m.c.dev.DestroyBuffer(b.handle)
		m.c.dev.Free(b.memory)
	}
	for _, i := range m.images {
		if i.texels != i.handle {
			m.c.dev.DestroyImage(i.texels)
		}
		m.c.dev.DestroyImage(i.handle)
		m.c.dev.Free(i.memory)
	}
	m.c.dev.Call("vkDestroyQueryPool", uintptr(m.queries), 0)
	m.recorder.free()
}

// flush executes what was recorded so far.
func (m *mirror) flush() {
	m.end(m.cb)
	m.submit(m.cb)
	m.begin(m.cb, 0)
}

// same compares bytes.
func (c *Case) same(what string, got, want []byte) {
	if bytes.Equal(got, want) {
		return
	}
	for i := range want {
		if got[i] != want[i] {
			c.Errorf("%s: byte %d is %#x, want %#x", what, i, got[i], want[i])
			return
		}
	}
}
