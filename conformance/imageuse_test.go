package conformance

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

// imageUses makes images of every format, copies texels to them, reads or writes these in shaders through views of
// formats that they may have, and copies them back.
type imageUses struct {
	offers
	stores   bool // or reads
	programs map[string]*program
	sampler  vk.Sampler
	done     int
}

// useShapes are the images of each type; nothing about them is a power of two.
var useShapes = []struct {
	kind   vk.ImageType
	view   vk.ImageViewType
	extent [3]uint32
	layers uint32
	dims   string // of GLSL's types
	at     string // the coordinates, of an Item
	place  string // the coordinates, of an invocation
}{
	{vk.IMAGE_TYPE_1D, vk.IMAGE_VIEW_TYPE_1D, [3]uint32{37, 1, 1}, 3, "1D", "int(t.at.x)", "int(i.x)"},
	{vk.IMAGE_TYPE_2D, vk.IMAGE_VIEW_TYPE_2D, [3]uint32{21, 13, 1}, 3, "2D", "ivec2(t.at.xy)", "ivec2(i.xy)"},
	{vk.IMAGE_TYPE_3D, vk.IMAGE_VIEW_TYPE_3D, [3]uint32{13, 10, 5}, 1, "3D", "ivec3(t.at.xyz)", "ivec3(i)"},
}

func (s *imageUses) run() {
	s.programs = map[string]*program{}
	sampler, _, free := s.c.sampler(sampling.SamplerInfo{MaxLod: 16}, false)
	s.sampler = sampler
	for _, f := range vk.AllFormats {
		if t, ok := texel.FormatOf(f); !ok || t.Chroma || s.featuresOf(f) == 0 { // of these see ycbcrCases
			continue
		}
		if s.c.driver != "farside" && s.r.IntN(8) != 0 { // the reference compiles code for each, for a long time
			continue
		}
		for shape := range useShapes {
			s.use(f, shape)
		}
	}
	for _, p := range s.programs {
		p.free()
	}
	free()
	s.a.Close()
	if s.done < 40 && s.c.driver == "farside" {
		s.c.Errorf("only %d views were used", s.done)
	}
}

// use does everything with an image of a format.
func (s *imageUses) use(f vk.Format, shape int) {
	s.a.Reset()
	like := &useShapes[shape]
	o := &imageOffer{format: f, kind: like.kind, tiling: s.tiling}
	if !depthStencil(f) {
		o.flags = mutableFormat | extendedUsage
	}
	if info, _ := vk.FormatInfo(f); info.Compressed != 0 {
		o.flags |= blockView
	}
	var most *vk.ImageFormatProperties
	ok := false
	for _, usage := range []vk.ImageUsageFlags{vk.IMAGE_USAGE_SAMPLED_BIT | vk.IMAGE_USAGE_STORAGE_BIT,
		vk.IMAGE_USAGE_SAMPLED_BIT, vk.IMAGE_USAGE_STORAGE_BIT, 0} {
		o.usage = usage | transferUsage
		if most, _, ok = s.query(o); ok {
			break
		}
	}
	if !ok {
		return
	}
	config := textureConfig{format: f, view: like.view, extent: like.extent, layers: like.layers, usage: o.usage,
		levels: min(most.MaxMipLevels, 3), seed: uint64(shape), tiling: o.tiling, flags: o.flags}
	if o.tiling == modifierTiling {
		config.next = s.modifierChain(o)
	}
	aspects := []vk.ImageAspectFlags{color}
	if depthStencil(f) {
		aspects = slices.DeleteFunc(aspectsOf(f), func(a vk.ImageAspectFlags) bool { return a&(a-1) != 0 })
	}
	for _, config.aspect = range aspects {
		if s.stores {
			s.write(o, config, shape)
		} else {
			s.read(o, config, shape)
		}
	}
}

func (s *imageUses) modifierChain(o *imageOffer) unsafe.Pointer {
	info := vulkan.Struct[vk.ImageCreateInfo](s.a)
	s.chain(o, info)
	return info.PNext
}

// shaderClass is what shaders read of an aspect of a format; false for numbers of 64 bits.
func shaderClass(f vk.Format, aspect vk.ImageAspectFlags) (texel.Class, bool) {
	if _, ok := texel.BlocksOf(f); ok {
		return texel.Float, true
	}
	codec, ok := texel.CodecOf(f, aspect)
	if !ok || codec.Wide() {
		return 0, false
	}
	return codec.Class(), true
}

var classPrefix = map[texel.Class]string{texel.Float: "", texel.Uint: "u", texel.Sint: "i"}

// chosen are the image's own format, if it has the usage, and others that views may have, at random.
func (s *imageUses) chosen(o *imageOffer, aspect vk.ImageAspectFlags, usage vk.ImageUsageFlags, n int) []vk.Format {
	var list []vk.Format
	if o.usage&usage == 0 {
		return nil
	}
	formats := slices.DeleteFunc(slices.Clone(s.viewFormats(o)), func(f vk.Format) bool {
		_, ok := shaderClass(f, aspect)
		return !ok || viewUsagesOf(s.featuresOf(f))&usage == 0
	})
	if len(formats) > 0 && formats[0] == o.format {
		list, formats = formats[:1:1], formats[1:]
	}
	s.r.Shuffle(len(formats), func(i, j int) { formats[i], formats[j] = formats[j], formats[i] })
	return append(list, formats[:min(n, len(formats))]...)
}

// read compares the image as shaders see it with the bytes that were copied to it.
func (s *imageUses) read(o *imageOffer, config textureConfig, shape int) {
	t := s.c.viewless(config)
	defer t.free()
	if !bytes.Equal(t.defined(t.read()), t.defined(t.host)) {
		s.c.Errorf("%v: other bytes come back than were copied there", o)
	}
	like := &useShapes[shape]
	n := 1
	if like.kind == vk.IMAGE_TYPE_2D {
		n = 3
	}
	for _, g := range s.chosen(o, config.aspect, vk.IMAGE_USAGE_SAMPLED_BIT, n) {
		level, layer := uint32(s.r.IntN(int(config.levels))), uint32(s.r.IntN(int(config.layers)))
		want := s.oracle(t, g, level, layer)
		var places []texturePlace
		size := want.size
		for range min(size[0]*size[1]*size[2], 150) {
			var p texturePlace
			for axis := range size {
				p.at[axis] = float32(s.r.IntN(int(size[axis])))
			}
			places = append(places, p)
		}
		class, _ := shaderClass(g, config.aspect)
		prefix := classPrefix[class]
		out := make([]uint32, 4*len(places))
		s.dispatch(dispatch{
			shader: glsl("image/lookup.comp", "TYPE="+prefix+"vec4", "SAMPLER="+prefix+"sampler"+like.dims,
				"EXPR=texelFetch(s, "+like.at+", 0)"),
			groups:  [3]uint32{(uint32(len(places)) + 31) / 32},
			buffers: []any{out, places, t.as(g, level, layer, vk.IMAGE_USAGE_SAMPLED_BIT, s.sampler)},
		}, prefix+like.dims)
		s.done++
		for i := range places {
			texels := want.fetch(&places[i])
			if class == texel.Float && !s.near(g, out[4*i:4*i+4], texels) || class != texel.Float &&
				!slices.Equal(out[4*i:4*i+4], texels[:]) {
				s.c.Errorf("%v seen as %v: level %d, layer %d, texel %v is %x, want %x", o, g, level, layer, places[i].at[:3],
					out[4*i:4*i+4], texels)
				break
			}
		}
	}
}

// near compares floats of a format, of which NaNs are alike. Other drivers are off by thousandths for sRGB, and round
// what they decode of BC1 to BC5 to a byte.
func (s *imageUses) near(f vk.Format, got []uint32, want [4]uint32) bool {
	tolerance := 1e-6
	switch {
	case s.c.driver == "farside":
	case f >= vk.FORMAT_BC1_RGB_UNORM_BLOCK && f <= vk.FORMAT_BC5_SNORM_BLOCK:
		tolerance = 0.02
	default:
		tolerance = 2e-3
	}
	for n, w := range want {
		a, b := float64(math.Float32frombits(got[n])), float64(math.Float32frombits(w))
		if got[n] != w && !(math.IsNaN(a) && math.IsNaN(b)) && !(math.Abs(a-b) <= tolerance*max(1, math.Abs(b))) {
			return false
		}
	}
	return true
}

// dispatch runs a program, which it keeps by its name.
func (s *imageUses) dispatch(d dispatch, name string) {
	p := s.programs[name]
	if p == nil {
		p = s.c.program(&d)
		s.programs[name] = p
	}
	p.d = &d
	a := p.arguments(d.buffers...)
	s.c.must("submit and wait", s.c.dev.Submit(func(cb vk.CommandBuffer) {
		a.record(cb)
		s.c.dev.Barrier(cb)
	}))
	a.download()
	a.free()
	for _, b := range d.buffers {
		if u, ok := b.(described); ok {
			s.c.dev.Call("vkDestroyImageView", uintptr(u.Image.ImageView), 0)
		}
	}
}

// as is a binding of one level and layer, seen as another format.
func (t *texture) as(f vk.Format, level, layer uint32, usage vk.ImageUsageFlags, s vk.Sampler) described {
	c := t.c
	create := vulkan.Struct[vk.ImageViewCreateInfo](&c.a)
	u := vulkan.Struct[vk.ImageViewUsageCreateInfo](&c.a)
	u.Usage, create.PNext = usage, unsafe.Pointer(u)
	create.Image, create.ViewType, create.Format = t.image, t.config.view, f
	create.SubresourceRange = vk.ImageSubresourceRange{AspectMask: t.config.everything().AspectMask, BaseMipLevel: level,
		LevelCount: 1, BaseArrayLayer: layer, LayerCount: 1}
	view := vulkan.New[vk.ImageView](&c.a)
	c.must("vkCreateImageView", vk.Result(c.dev.Call("vkCreateImageView", ptr(create), 0, ptr(view))))
	kind := vk.DescriptorType(vk.DESCRIPTOR_TYPE_STORAGE_IMAGE)
	if usage&vk.IMAGE_USAGE_SAMPLED_BIT != 0 {
		kind = vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER
	}
	return described{vulkan.Descriptor{Type: kind,
		Image: vk.DescriptorImageInfo{Sampler: s, ImageView: *view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}
}

// An oracle is one level of one layer as an image of its own, whose format is the view's and whose slices lie below
// each other: it knows nothing of levels, layers, slices and blocks that are seen as texels.
type oracle struct {
	view *sampling.View
	size [3]uint32 // texels
	rows uint32    // from a slice to the next
}

func (s *imageUses) oracle(t *texture, f vk.Format, level, layer uint32) *oracle {
	at, n := t.place(level, layer)
	own, _ := texel.FormatOf(t.config.format)
	seen, _ := texel.FormatOf(f)
	o := &oracle{}
	for axis, e := range t.config.extent {
		o.size[axis] = max(e>>level, 1)
		if own.Compressed && !seen.Compressed {
			o.size[axis] = uint32(own.Blocks(o.size[axis], axis))
		}
	}
	o.rows = o.size[1]
	if seen.Compressed {
		o.rows = uint32(seen.Blocks(o.rows, 1)) * seen.Block[1]
	}
	extent := [3]uint32{o.size[0], o.rows * o.size[2], 1}
	layout, ok := texel.NewLayout(seen, extent, 1, 1, 1)
	if !ok {
		s.c.Fatalf("no layout of %v", f)
	}
	aspect := t.config.everything().AspectMask
	twin := transfer.Image{Bytes: make([]byte, layout.Size), Layout: &layout, Format: f, Type: vk.IMAGE_TYPE_2D}
	if err := transfer.CopyBufferToImage(&twin, t.host[at:at+n], []vk.BufferImageCopy{{
		ImageSubresource: vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1},
		ImageExtent:      vk.Extent3D{Width: extent[0], Height: extent[1], Depth: 1},
	}}); err != nil {
		s.c.Fatalf("%v", err)
	}
	var err error
	o.view, err = sampling.NewImageView(&sampling.ImageView{Data: twin.Bytes, Layout: &layout,
		Type: vk.IMAGE_VIEW_TYPE_2D, Format: f,
		Range: vk.ImageSubresourceRange{AspectMask: aspect, LevelCount: 1, LayerCount: 1}})
	if err != nil {
		s.c.Fatalf("%v", err)
	}
	return o
}

func (o *oracle) fetch(p *texturePlace) (texels [4]uint32) {
	at := [3]sampling.Lanes{{uint32(p.at[0])}, {uint32(p.at[1]) + uint32(p.at[2])*o.rows}}
	var got sampling.Texels
	o.view.Fetch(&got, &at, nil, nil, 1)
	for n := range texels {
		texels[n] = got[n][0]
	}
	return texels
}

// place is where a level of a layer lies in what regions describes, and how long it is.
func (t *texture) place(level, layer uint32) (at, n uint64) {
	list, _ := t.regions()
	s, _ := t.twin.Layout.Subresource(t.config.everything().AspectMask, level, 0)
	n = s.RowBytes * s.Rows * s.Slices
	return list[level].BufferOffset + uint64(layer)*n, n
}

// defined is bytes as in regions, with zeros for those that mean nothing: between levels, and above depths of 24 bits.
func (t *texture) defined(host []byte) []byte {
	list, _ := t.regions()
	texels := make([]byte, len(host))
	for level := range list {
		at, n := t.place(uint32(level), 0)
		n *= uint64(t.config.layers)
		copy(texels[at:at+n], host[at:at+n])
	}
	deep := t.config.format == vk.FORMAT_X8_D24_UNORM_PACK32 || t.config.format == vk.FORMAT_D24_UNORM_S8_UINT
	if deep && t.config.everything().AspectMask == vk.IMAGE_ASPECT_DEPTH_BIT {
		for i := 3; i < len(texels); i += 4 {
			texels[i] = 0
		}
	}
	return texels
}

// write copies one level of one layer by loads and stores to another image, which may not change elsewhere.
func (s *imageUses) write(o *imageOffer, config textureConfig, shape int) {
	like := &useShapes[shape]
	for _, g := range s.chosen(o, config.aspect, vk.IMAGE_USAGE_STORAGE_BIT, 1) {
		config := config
		codec, _ := texel.CodecOf(g, color)
		if codec.Class() == texel.Float { // numbers that a store does not change
			config.data = make([]byte, 1<<14)
			r := rand.New(rand.NewPCG(uint64(g), 3))
			for at := 0; at+codec.Size() <= len(config.data); at += codec.Size() {
				codec.EncodeFloat(config.data[at:], [][4]float64{{r.Float64()*2 - 1, r.Float64(), r.Float64(), r.Float64()}})
			}
		}
		from := s.c.viewless(config)
		config.seed, config.data = config.seed+1, nil
		to := s.c.viewless(config)
		level, layer := uint32(s.r.IntN(int(config.levels))), uint32(s.r.IntN(int(config.layers)))
		prefix := classPrefix[codec.Class()]
		groups := [3]uint32{}
		for axis := range groups {
			groups[axis] = config.extent[axis]/[]uint32{8, 8, 1}[axis] + 1
		}
		s.dispatch(dispatch{
			shader: glsl("image/store.comp", "IMAGE="+prefix+"image"+like.dims, "PLACE="+like.place, "FORMAT="),
			groups: groups,
			buffers: []any{from.as(g, level, layer, vk.IMAGE_USAGE_STORAGE_BIT, 0),
				to.as(g, level, layer, vk.IMAGE_USAGE_STORAGE_BIT, 0)},
		}, "store "+prefix+like.dims)
		s.done++
		at, n := from.place(level, layer)
		want := to.defined(slices.Concat(to.host[:at], from.host[at:at+n], to.host[at+n:]))
		if got := to.defined(to.read()); !bytes.Equal(got, want) {
			i := 0
			for got[i] == want[i] {
				i++
			}
			s.c.Errorf("%v seen as %v: after stores to level %d, layer %d (bytes %d to %d), byte %d is %#x, want %#x", o, g,
				level, layer, at, at+n, i, got[i], want[i])
		}
		from.free()
		to.free()
	}
}

// imageUseCases mirror image.mutable, image.texel_view_compatible and image.format_reinterpret.
func imageUseCases() (list []definition) {
	for _, way := range []struct {
		name       string
		tiling     vk.ImageTiling
		extensions []string
	}{
		{"optimal", vk.IMAGE_TILING_OPTIMAL, nil},
		{"linear", vk.IMAGE_TILING_LINEAR, nil},
		{"modifier", modifierTiling, []string{modifierExtension}},
	} {
		run := func(stores bool) func(c *Case) {
			return func(c *Case) {
				s := &imageUses{offers: newOffers(c, way.tiling, 0), stores: stores}
				s.run()
			}
		}
		list = append(list,
			definition{name: "image.all_formats.read." + way.name, compute: true, extensions: way.extensions, run: run(false)},
			definition{name: "image.all_formats.write." + way.name, compute: true, extensions: way.extensions, run: run(true),
				needs: []string{"ShaderStorageImageReadWithoutFormat", "ShaderStorageImageWriteWithoutFormat"}})
	}
	return list
}
