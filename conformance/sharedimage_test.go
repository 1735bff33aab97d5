package conformance

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/texel"
	"farside/internal/vk"
)

// A sharedSpec is what two processes must know of an image that both draw into and sample: the exporter says it to the
// importer in a line of numbers.
type sharedSpec struct {
	handle        vk.ExternalMemoryHandleTypeFlags
	format        vk.Format
	tiling        vk.ImageTiling
	samples       uint32
	levels        uint32
	layers        uint32
	owner         uint32 // the queue family that the image is released to and acquired from
	offset, pitch uint64 // of an importer's plane, with a modifier
}

const (
	sharedWidth, sharedHeight = 23, 17
	foreignExtension          = "VK_EXT_queue_family_foreign"
)

func (p *sharedSpec) fields() []any {
	return []any{&p.handle, &p.format, &p.tiling, &p.samples, &p.levels, &p.layers, &p.owner, &p.offset, &p.pitch}
}

func (p *sharedSpec) line() string {
	return fmt.Sprint(uint32(p.handle), " ", int32(p.format), " ", int32(p.tiling), " ", p.samples, " ", p.levels, " ",
		p.layers, " ", p.owner, " ", p.offset, " ", p.pitch)
}

func (p *sharedSpec) String() string {
	return fmt.Sprintf("%v, %v, %d samples, %d levels, %d layers", p.format, p.tiling, p.samples, p.levels, p.layers)
}

// A sharedImage is one process' image of a payload.
type sharedImage struct {
	*scene
	sharedSpec
	image    *attachment
	usage    vk.ImageUsageFlags
	painters map[uint32][]*drawn // by level
	views    map[[2]uint32]vk.ImageView
}

// everyAspect is all aspects of a format.
func everyAspect(f vk.Format) (all vk.ImageAspectFlags) {
	t, _ := texel.FormatOf(f)
	for _, p := range t.Planes {
		all |= p.Aspect
	}
	return all
}

// shareable says whether the device advertises such an image as something to export and import.
func (c *Case) shareable(p *sharedSpec, usage vk.ImageUsageFlags) bool {
	info := vulkan.Struct[vk.PhysicalDeviceImageFormatInfo2](&c.a)
	external := vulkan.Struct[vk.PhysicalDeviceExternalImageFormatInfo](&c.a)
	external.HandleType = vk.ExternalMemoryHandleTypeFlagBits(p.handle)
	info.PNext = unsafe.Pointer(external)
	if p.tiling == modifierTiling {
		modifier := vulkan.Struct[vk.PhysicalDeviceImageDrmFormatModifierInfoEXT](&c.a) // DRM_FORMAT_MOD_LINEAR
		external.PNext = unsafe.Pointer(modifier)
	}
	info.Format, info.Type, info.Tiling, info.Usage = p.format, vk.IMAGE_TYPE_2D, p.tiling, usage
	out := vulkan.Struct[vk.ImageFormatProperties2](&c.a)
	answer := vulkan.Struct[vk.ExternalImageFormatProperties](&c.a)
	out.PNext = unsafe.Pointer(answer)
	r := vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties2", uintptr(c.pd), ptr(info), ptr(out)))
	const both = vk.ExternalMemoryFeatureFlags(vk.EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT |
		vk.EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT)
	l := &out.ImageFormatProperties
	return r == vk.SUCCESS && answer.ExternalMemoryProperties.ExternalMemoryFeatures&both == both &&
		l.SampleCounts&vk.SampleCountFlags(p.samples) != 0 && l.MaxMipLevels >= p.levels && l.MaxArrayLayers >= p.layers
}

// shared makes an image of new memory, or of what another process exported if fd is not negative; fd stays the
// caller's. It is nil if the device does not advertise such an image.
func (c *Case) shared(p sharedSpec, fd int) *sharedImage {
	usage := vk.ImageUsageFlags(vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_SAMPLED_BIT)
	aspects := everyAspect(p.format)
	if aspects != vk.IMAGE_ASPECT_COLOR_BIT {
		usage ^= vk.IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT
	}
	if !c.shareable(&p, usage) {
		return nil
	}
	s := &sharedImage{scene: &scene{recorder: c.recorder(), width: sharedWidth, height: sharedHeight}, sharedSpec: p,
		usage: usage, painters: map[uint32][]*drawn{}, views: map[[2]uint32]vk.ImageView{}}
	s.image = &attachment{format: p.format, aspects: aspects, layers: p.layers, image: s.create(usage)}
	req := c.dev.ImageRequirements(s.image.image)
	memoryType := uint32(0)
	next := vulkan.DedicatedInfo(&s.a, s.image.image, 0, nil)
	bits := req.MemoryTypeBits
	if fd >= 0 {
		if p.handle == dmaBuf {
			importable, r := c.dev.FdProperties(dmaBuf, fd)
			c.must("vkGetMemoryFdPropertiesKHR", r)
			bits &= importable
		}
		next = vulkan.ImportFdInfo(&s.a, p.handle, c.duplicateOf(fd), next)
	} else {
		next = vulkan.ExportInfo(&s.a, p.handle, next)
	}
	for bits>>memoryType&1 == 0 {
		memoryType++
	}
	s.image.memory = c.allocate(req.Size, memoryType, next)
	c.must("vkBindImageMemory", c.dev.BindImage(s.image.image, s.image.memory, 0))
	s.free = append(s.free, func() {
		for _, v := range s.views {
			c.dev.Call("vkDestroyImageView", uintptr(v), 0)
		}
		c.dev.DestroyImage(s.image.image)
		c.dev.Free(s.image.memory)
	})
	return s
}

// create makes the image without memory. With a modifier, it finds out the plane or has it as it is given.
func (s *sharedImage) create(usage vk.ImageUsageFlags) vk.Image {
	c, a := s.c, &s.a
	external := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](a)
	external.HandleTypes = s.handle
	info := vulkan.Struct[vk.ImageCreateInfo](a)
	info.PNext = unsafe.Pointer(external)
	info.ImageType, info.Format, info.MipLevels, info.ArrayLayers = vk.IMAGE_TYPE_2D, s.format, s.levels, s.layers
	info.Extent = vk.Extent3D{Width: sharedWidth, Height: sharedHeight, Depth: 1}
	info.Samples, info.Usage, info.Tiling = vk.SampleCountFlagBits(s.samples), usage, s.tiling
	if s.tiling == modifierTiling && s.pitch != 0 {
		explicit := vulkan.Struct[vk.ImageDrmFormatModifierExplicitCreateInfoEXT](a)
		explicit.DrmFormatModifierPlaneCount = 1
		explicit.PPlaneLayouts = vulkan.Put(a, vk.SubresourceLayout{Offset: s.offset, RowPitch: s.pitch})
		external.PNext = unsafe.Pointer(explicit)
	} else if s.tiling == modifierTiling {
		list := vulkan.Struct[vk.ImageDrmFormatModifierListCreateInfoEXT](a)
		list.DrmFormatModifierCount, list.PDrmFormatModifiers = 1, vulkan.New[uint64](a) // DRM_FORMAT_MOD_LINEAR
		external.PNext = unsafe.Pointer(list)
	}
	out := vulkan.New[vk.Image](a)
	c.must("vkCreateImage of "+s.String(), vk.Result(c.dev.Call("vkCreateImage", ptr(info), 0, ptr(out))))
	if s.tiling == modifierTiling {
		plane := vulkan.Put(a, vk.ImageSubresource{AspectMask: vk.ImageAspectFlags(vk.IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT)})
		layout := vulkan.New[vk.SubresourceLayout](a)
		c.dev.Call("vkGetImageSubresourceLayout", uintptr(*out), ptr(plane), ptr(layout))
		s.offset, s.pitch = layout.Offset, layout.RowPitch
	}
	return *out
}

// viewOf makes a view of levels and layers from the first ones on.
func (s *sharedImage) viewOf(level, levels, layer, layers uint32, aspects vk.ImageAspectFlags,
	usage vk.ImageUsageFlags) vk.ImageView {
	v := vulkan.Struct[vk.ImageViewCreateInfo](&s.a)
	only := vulkan.Struct[vk.ImageViewUsageCreateInfo](&s.a)
	only.Usage, v.PNext = usage, unsafe.Pointer(only)
	v.Image, v.ViewType, v.Format = s.image.image, vk.IMAGE_VIEW_TYPE_2D_ARRAY, s.format
	v.SubresourceRange = vk.ImageSubresourceRange{AspectMask: aspects, BaseMipLevel: level, LevelCount: levels,
		BaseArrayLayer: layer, LayerCount: layers}
	out := vulkan.New[vk.ImageView](&s.a)
	s.c.must("vkCreateImageView", vk.Result(s.c.dev.Call("vkCreateImageView", ptr(v), 0, ptr(out))))
	return *out
}

// give and take record that the image goes to the other's queue family, or comes from there. New images are taken
// from nobody.
func (s *sharedImage) give() { s.pass(vk.IMAGE_LAYOUT_GENERAL, 0, s.owner) }
func (s *sharedImage) take() { s.pass(vk.IMAGE_LAYOUT_GENERAL, s.owner, 0) }
func (s *sharedImage) make() {
	s.pass(vk.IMAGE_LAYOUT_UNDEFINED, vk.QUEUE_FAMILY_IGNORED, vk.QUEUE_FAMILY_IGNORED)
}

func (s *sharedImage) pass(from vk.ImageLayout, giver, taker uint32) {
	s.begin(s.cb, 0)
	s.handOver(s.cb, from, giver, taker)
	s.end(s.cb)
	s.submit(s.cb)
}

func (s *sharedImage) handOver(cb vk.CommandBuffer, from vk.ImageLayout, giver, taker uint32) {
	b := vulkan.Struct[vk.ImageMemoryBarrier](&s.a)
	b.SrcAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_WRITE_BIT)
	b.DstAccessMask = vk.AccessFlags(vk.ACCESS_MEMORY_READ_BIT | vk.ACCESS_MEMORY_WRITE_BIT)
	b.OldLayout, b.NewLayout, b.Image = from, vk.IMAGE_LAYOUT_GENERAL, s.image.image
	b.SrcQueueFamilyIndex, b.DstQueueFamilyIndex = giver, taker
	b.SubresourceRange = vk.ImageSubresourceRange{AspectMask: s.image.aspects, LevelCount: s.levels, LayerCount: s.layers}
	all := uintptr(vk.PIPELINE_STAGE_ALL_COMMANDS_BIT)
	s.c.dev.CallOn("vkCmdPipelineBarrier", uintptr(cb), all, all, 0, 0, 0, 0, 0, 1, ptr(b))
}

// sharedBits is GLSL, and sharedValue the same in Go: four bits for a sample of a texel, of which each becomes 0 or 1
// in a channel. All formats hold these exactly.
const sharedBits = `uint bits(uvec2 at, ivec4 what, int sampled) {
		uint n = at.x * 7u + at.y * 13u + uint(what.x) * 5u + uint(what.y) * 3u + uint(what.z) * 11u + uint(sampled) * 17u;
		return n * 2654435761u >> 20;
	}
`

func sharedValue(x, y, layer, level, seed, sample int) uint32 {
	n := uint32(x*7 + y*13 + layer*5 + level*3 + seed*11 + sample*17)
	return n * 2654435761 >> 20
}

// letterOf is the letter before the names of vectors and images in GLSL.
func letterOf(f vk.Format, aspect vk.ImageAspectFlags) string {
	codec, ok := texel.CodecOf(f, aspect)
	if !ok {
		return ""
	}
	return map[texel.Class]string{texel.Uint: "u", texel.Sint: "i"}[codec.Class()]
}

// painter makes the pipelines that draw a level: one for colours, or those for depths and stencils.
func (s *sharedImage) painter(level uint32) []*drawn {
	if list := s.painters[level]; list != nil {
		return list
	}
	number := "0"
	if s.samples > 1 {
		number = "gl_SampleID"
	}
	head := sharedBits + `layout(push_constant) uniform P { ivec4 what; };
		uint mine() { return bits(uvec2(gl_FragCoord.xy), what, ` + number + "); }\n"
	edit := func(g *vulkan.GraphicsState) {
		g.Multisample.RasterizationSamples = vk.SampleCountFlagBits(s.samples)
		if s.samples > 1 {
			g.Multisample.SampleShadingEnable, g.Multisample.MinSampleShading = vk.TRUE, 1
		}
	}
	stencil := func(reference uint32) func(g *vulkan.GraphicsState) {
		return func(g *vulkan.GraphicsState) {
			edit(g)
			if s.image.aspects&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
				depthTest(vk.COMPARE_OP_ALWAYS)(g)
			}
			if s.image.aspects&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
				g.Depth.StencilTestEnable = vk.TRUE
				g.Depth.Front = vk.StencilOpState{PassOp: vk.STENCIL_OP_REPLACE, CompareOp: vk.COMPARE_OP_ALWAYS, WriteMask: 0xff,
					Reference: reference}
				g.Depth.Back = g.Depth.Front
			}
		}
	}
	looks := []*look{{vertex: wholeTarget, edit: edit, fragment: head + `layout(location = 0) out ` +
		letterOf(s.format, s.image.aspects) + `vec4 c; void main() {
			uint m = mine(); c = ` + letterOf(s.format, s.image.aspects) + `vec4(m & 1, m >> 1 & 1, m >> 2 & 1, m >> 3 & 1); }`}}
	if s.image.aspects != vk.IMAGE_ASPECT_COLOR_BIT {
		depths := "gl_FragDepth = float(mine() & 1);"
		if s.image.aspects&vk.IMAGE_ASPECT_DEPTH_BIT == 0 {
			depths = ""
		}
		looks = []*look{
			{vertex: wholeTarget, edit: stencil(0x5a), fragment: head + "void main() {" + depths + "}"},
			{vertex: wholeTarget, edit: stencil(0xa7), fragment: head +
				"void main() { if ((mine() >> 1 & 1) == 0) discard; " + depths + "}"}}
	}
	var list []*drawn
	for _, l := range looks {
		l.push = make([]int32, 4)
		list = append(list, s.drawing(l))
	}
	s.painters[level] = list
	return list
}

// at makes the scene that of one level and layer.
func (s *sharedImage) at(level, layer uint32) {
	s.width, s.height = max(uint32(sharedWidth)>>level, 1), max(uint32(sharedHeight)>>level, 1)
	key := [2]uint32{level, layer}
	if s.views[key] == 0 {
		s.views[key] = s.viewOf(level, 1, layer, 1, s.image.aspects, s.usage&^vk.IMAGE_USAGE_SAMPLED_BIT)
	}
	t := &attachment{image: s.image.image, format: s.format, aspects: s.image.aspects, layers: 1, view: s.views[key]}
	if s.colors, s.depth = nil, nil; t.aspects == vk.IMAGE_ASPECT_COLOR_BIT {
		s.colors = []*attachment{t}
	} else {
		s.depth = t
	}
}

// paint draws what belongs to a seed into all levels and layers.
func (s *sharedImage) paint(seed int) {
	for level := range s.levels {
		for layer := range s.layers {
			s.at(level, layer)
			var list []*drawn
			for _, d := range s.painter(level) {
				own, l := *d, *d.look
				l.push = []int32{int32(layer), int32(level), int32(seed), 0}
				own.look = &l
				list = append(list, &own)
			}
			s.render(list, vk.ATTACHMENT_LOAD_OP_LOAD)
		}
	}
}

// check has a fragment shader read everything, and compares it with what belongs to a seed.
func (s *sharedImage) check(what string, seed int) {
	for _, aspect := range []vk.ImageAspectFlags{vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_DEPTH_BIT,
		vk.IMAGE_ASPECT_STENCIL_BIT} {
		if s.image.aspects&aspect != 0 {
			s.checkAspect(what, aspect, seed)
		}
	}
}

func (s *sharedImage) checkAspect(what string, aspect vk.ImageAspectFlags, seed int) {
	c := s.c
	view := s.viewOf(0, s.levels, 0, s.layers, aspect, vk.ImageUsageFlags(vk.IMAGE_USAGE_SAMPLED_BIT))
	defer c.dev.Call("vkDestroyImageView", uintptr(view), 0)
	r := c.scene(sharedWidth, sharedHeight, 1, 1, 0, rgba32f)
	defer r.close()
	p := letterOf(s.format, aspect)
	kind, last := "texture2DArray", "what.y"
	if s.samples > 1 {
		kind, last = "texture2DMSArray", "what.z"
	}
	d := r.drawing(&look{vertex: wholeTarget, push: make([]int32, 4),
		buffers: []any{described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_SAMPLED_IMAGE,
			Image: vk.DescriptorImageInfo{ImageView: view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}},
		fragment: `#extension GL_EXT_samplerless_texture_functions : require
			layout(binding = 0) uniform ` + p + kind + ` t;
			layout(push_constant) uniform P { ivec4 what; };
			layout(location = 0) out vec4 c;
			void main() {
				ivec2 most = max(ivec2(23, 17) >> what.y, ivec2(1)) - 1;
				c = vec4(texelFetch(t, ivec3(min(ivec2(gl_FragCoord.xy), most), what.x), ` + last + `));
			}`})
	for level := range int(s.levels) {
		for layer := range int(s.layers) {
			for sample := range int(s.samples) {
				d.look.push = []int32{int32(layer), int32(level), int32(sample), 0}
				r.render([]*drawn{d}, vk.ATTACHMENT_LOAD_OP_CLEAR)
				s.compare(fmt.Sprintf("%s: %v of %v, level %d, layer %d, sample %d", what, aspect, &s.sharedSpec, level, layer,
					sample), r.floats(r.colors[0]), aspect, func(x, y int) uint32 {
					return sharedValue(x, y, layer, level, seed, sample)
				}, level)
			}
		}
	}
}

// compare looks at the texels of a level.
func (s *sharedImage) compare(what string, got []float32, aspect vk.ImageAspectFlags, bits func(x, y int) uint32,
	level int) {
	channels := 1
	if aspect == vk.IMAGE_ASPECT_COLOR_BIT {
		channels = 4
	}
	for y := range max(sharedHeight>>level, 1) {
		for x := range max(sharedWidth>>level, 1) {
			b := bits(x, y)
			want := [4]float32{float32(b & 1), float32(b >> 1 & 1), float32(b >> 2 & 1), float32(b >> 3 & 1)}
			switch {
			case aspect == vk.IMAGE_ASPECT_STENCIL_BIT && b>>1&1 != 0:
				want[0] = 0xa7
			case aspect == vk.IMAGE_ASPECT_STENCIL_BIT:
				want[0] = 0x5a
			case aspect == vk.IMAGE_ASPECT_COLOR_BIT:
				want = keeps(s.format, want)
			}
			if g := got[(y*sharedWidth+x)*4:][:channels]; !slices.Equal(g, want[:channels]) {
				s.c.Errorf("%s: texel (%d, %d) is %v, want %v", what, x, y, g, want[:channels])
				return
			}
		}
	}
}

// keeps is what of a colour is left in the channels that a format has.
func keeps(f vk.Format, v [4]float32) (out [4]float32) {
	codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
	b := make([]byte, codec.Size())
	switch codec.Class() {
	case texel.Uint:
		n := [][4]uint64{{uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3])}}
		codec.EncodeUint(b, n)
		codec.DecodeUint(n, b)
		for i := range out {
			out[i] = float32(n[0][i])
		}
	case texel.Sint:
		n := [][4]int64{{int64(v[0]), int64(v[1]), int64(v[2]), int64(v[3])}}
		codec.EncodeSint(b, n)
		codec.DecodeSint(n, b)
		for i := range out {
			out[i] = float32(n[0][i])
		}
	default:
		n := [][4]float64{{float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])}}
		codec.EncodeFloat(b, n)
		codec.DecodeFloat(n, b)
		for i := range out {
			out[i] = float32(n[0][i])
		}
	}
	return out
}

// viewShared is the importer's part: it reads what was drawn with seed 1, and draws with seed 2.
func (c *Case) viewShared(p sharedSpec, fd int) {
	s := c.shared(p, fd)
	if s == nil {
		c.Errorf("the importer does not advertise %v", &p)
		return
	}
	defer s.close()
	s.take()
	s.check("imported", 1)
	s.paint(2)
	s.give()
}

// shareOne exports one image, has view import it, and reads what comes back; false if it is not advertised.
func (c *Case) shareOne(p sharedSpec, view func(p *sharedSpec, fd int)) bool {
	s := c.shared(p, -1)
	if s == nil {
		return false
	}
	defer s.close()
	fd, r := c.dev.GetFd(s.image.memory, p.handle)
	c.must("vkGetMemoryFdKHR", r)
	defer unix.Close(fd)
	s.make()
	s.paint(1)
	s.give()
	view(&s.sharedSpec, fd)
	s.take()
	s.check("of the importer", 2)
	return true
}

// shareImages shares images with another process, which plays role.
func (c *Case) shareImages(role string, list []sharedSpec) {
	peer := c.start(role)
	defer peer.end()
	shared := 0
	for _, p := range list {
		if c.shareOne(p, func(p *sharedSpec, fd int) {
			c.system("send", sendFd(peer.socket, fd))
			peer.tell("%s", p.line())
			if s := peer.hear(); s != "good" {
				c.Errorf("the importer of %v says %s", p, s)
			}
		}) {
			shared++
		}
	}
	if shared == 0 {
		c.Unsupported("an image of those that can be exported")
	}
}

// playImageViewer is the life of the process that imports them.
func playImageViewer(c *Case) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fd, err := receiveFd(3)
		c.system("receive", err)
		var p sharedSpec
		_, err = fmt.Fscan(strings.NewReader(in.Text()), p.fields()...)
		c.system("scan", err)
		c.failed = false
		c.viewShared(p, fd)
		unix.Close(fd)
		if c.failed {
			say("bad")
		} else {
			say("good")
		}
	}
}

// attachmentFormats are those that attachments have with a tiling, and shaders can read.
func (c *Case) attachmentFormats(depth bool) (list []vk.Format) {
	for _, f := range vk.AllFormats {
		t, ok := texel.FormatOf(f)
		if !ok || t.Chroma || t.Compressed || f == vk.FORMAT_E5B9G9R9_UFLOAT_PACK32 || f >= newFormats ||
			depth != (t.Planes[0].Aspect != vk.IMAGE_ASPECT_COLOR_BIT) {
			continue
		}
		if codec, ok := texel.CodecOf(f, t.Planes[0].Aspect); ok && !codec.Wide() {
			list = append(list, f)
		}
	}
	return list
}
