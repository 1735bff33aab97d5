package conformance

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
)

var ycbcrNeeds = []string{"SamplerYcbcrConversion"}

// chromaFormats are those that need a conversion.
func chromaFormats() (list []vk.Format) {
	for _, f := range vk.AllFormats {
		if t, ok := texel.FormatOf(f); ok && t.Chroma {
			list = append(list, f)
		}
	}
	return list
}

// ycbcrCases mirror ycbcr, as far as it is about compute shaders and copies.
func ycbcrCases() (list []definition) {
	add := func(name string, run func(c *Case)) {
		list = append(list, definition{name: "ycbcr." + name, compute: true, valid: true, needs: ycbcrNeeds, run: run})
	}
	for _, f := range chromaFormats() {
		name := caseName(f)
		storage, _ := texel.FormatOf(f)
		add("conversion."+name, func(c *Case) { c.conversions(f) })
		add("copy."+name, func(c *Case) { c.chromaCopies(f) })
		add("format_properties."+name, func(c *Case) { c.chromaProperties(f) })
		if storage.MultiPlanar() {
			add("plane_view."+name, func(c *Case) { c.planeViews(f) })
			add("image_layout."+name, func(c *Case) { c.planeLayouts(f) })
		}
	}
	add("conversion.known_colours", knownColours)
	external := func(group string, t vk.ExternalMemoryHandleTypeFlags, extensions []string) {
		for _, disjoint := range []bool{false, true} {
			name := "nv12_between_processes"
			if disjoint {
				name = "nv12_disjoint_between_processes"
			}
			list = append(list, definition{name: group + name, extensions: extensions, compute: true, needs: ycbcrNeeds,
				run: func(c *Case) { c.exportNV12(t, disjoint) }})
		}
	}
	external("api.external.memory.opaque_fd.", opaqueFd, nv12Extensions)
	external(dmaBufGroup, dmaBuf, dmaBufExtensions)
	return list
}

// variants are the ways in which an image of the format may lie in memory.
func (c *Case) variants(f vk.Format, usage vk.ImageUsageFlags) (list []chromaConfig) {
	storage, _ := texel.FormatOf(f)
	for _, tiling := range []vk.ImageTiling{vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR} {
		for _, flags := range []vk.ImageCreateFlags{0, vk.IMAGE_CREATE_DISJOINT_BIT} {
			if flags != 0 && !storage.MultiPlanar() {
				continue
			}
			config := chromaConfig{format: f, extent: [2]uint32{12, 8}, tiling: tiling, flags: flags, usage: usage,
				seed: uint64(len(list))}
			info := vulkan.Struct[vk.PhysicalDeviceImageFormatInfo2](&c.a)
			info.Format, info.Type, info.Tiling, info.Flags = f, vk.IMAGE_TYPE_2D, tiling, flags
			info.Usage = usage | vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
			count := vulkan.Struct[vk.SamplerYcbcrConversionImageFormatProperties](&c.a)
			out := vulkan.Struct[vk.ImageFormatProperties2](&c.a)
			out.PNext = unsafe.Pointer(count)
			r := vk.Result(c.inst.Call("vkGetPhysicalDeviceImageFormatProperties2", uintptr(c.pd), ptr(info), ptr(out)))
			if r == vk.ERROR_FORMAT_NOT_SUPPORTED && c.driver != "farside" {
				continue
			}
			c.must("vkGetPhysicalDeviceImageFormatProperties2", r)
			if p := &out.ImageFormatProperties; p.MaxMipLevels != 1 || p.SampleCounts != vk.SAMPLE_COUNT_1_BIT ||
				count.CombinedImageSamplerDescriptorCount < 1 {
				c.Errorf("%v: %+v, %d descriptors", f, *p, count.CombinedImageSamplerDescriptorCount)
			}
			list = append(list, config)
		}
	}
	if len(list) == 0 {
		c.Unsupported(f.String())
	}
	return list
}

// chromaFeatures are the format features in a tiling.
func (c *Case) chromaFeatures(f vk.Format, tiling vk.ImageTiling) vk.FormatFeatureFlags {
	out := vulkan.Struct[vk.FormatProperties2](&c.a)
	c.inst.Call("vkGetPhysicalDeviceFormatProperties2", uintptr(c.pd), uintptr(f), ptr(out))
	if tiling == vk.IMAGE_TILING_LINEAR {
		return out.FormatProperties.LinearTilingFeatures
	}
	return out.FormatProperties.OptimalTilingFeatures
}

// chromaProperties looks at the format features (chapter "Formats", "Required Format Support" and "Format Features").
func (c *Case) chromaProperties(f vk.Format) {
	storage, _ := texel.FormatOf(f)
	for _, tiling := range []vk.ImageTiling{vk.IMAGE_TILING_OPTIMAL, vk.IMAGE_TILING_LINEAR} {
		features := c.chromaFeatures(f, tiling)
		const located = vk.FORMAT_FEATURE_COSITED_CHROMA_SAMPLES_BIT | vk.FORMAT_FEATURE_MIDPOINT_CHROMA_SAMPLES_BIT
		switch {
		case features == 0 && c.driver != "farside":
		case features&vk.FORMAT_FEATURE_SAMPLED_IMAGE_BIT == 0 || features&located == 0:
			c.Errorf("%v of %v can't be sampled: %v", tiling, f, features)
		case features&vk.FORMAT_FEATURE_DISJOINT_BIT != 0 && !storage.MultiPlanar():
			c.Errorf("%v of %v has no planes and may be disjoint: %v", tiling, f, features)
		case features&(vk.FORMAT_FEATURE_BLIT_SRC_BIT|vk.FORMAT_FEATURE_BLIT_DST_BIT) != 0:
			c.Errorf("%v of %v can be blitted, which needs no conversion: %v", tiling, f, features)
		}
	}
}

// randomConversion is any conversion that the features of a format allow, and filters for it.
func randomConversion(r *rand.Rand, f vk.Format, features vk.FormatFeatureFlags) (sampling.ConversionInfo,
	sampling.SamplerInfo) {
	location := func() vk.ChromaLocation {
		switch {
		case features&vk.FORMAT_FEATURE_MIDPOINT_CHROMA_SAMPLES_BIT == 0:
			return vk.CHROMA_LOCATION_COSITED_EVEN
		case features&vk.FORMAT_FEATURE_COSITED_CHROMA_SAMPLES_BIT == 0:
			return vk.CHROMA_LOCATION_MIDPOINT
		}
		return vk.ChromaLocation(r.IntN(2))
	}
	info := sampling.ConversionInfo{Format: f, Model: vk.SamplerYcbcrModelConversion(r.IntN(5)),
		Range: vk.SamplerYcbcrRange(r.IntN(2)), XOffset: location(), YOffset: location(),
		Explicit: features&vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_CHROMA_RECONSTRUCTION_EXPLICIT_FORCEABLE_BIT !=
			0 && r.IntN(2) == 0}
	if features&vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_LINEAR_FILTER_BIT != 0 {
		info.ChromaFilter = vk.Filter(r.IntN(2))
	}
	if r.IntN(2) == 0 {
		info.Components.R, info.Components.B = vk.COMPONENT_SWIZZLE_B, vk.COMPONENT_SWIZZLE_R
	}
	filters := sampling.SamplerInfo{MagFilter: info.ChromaFilter, MinFilter: info.ChromaFilter,
		AddressMode: everyAxis(vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE)}
	const separate = vk.FORMAT_FEATURE_SAMPLED_IMAGE_YCBCR_CONVERSION_SEPARATE_RECONSTRUCTION_FILTER_BIT
	if features&separate != 0 {
		filters.MagFilter, filters.MinFilter = vk.Filter(r.IntN(2)), vk.Filter(r.IntN(2))
	}
	return info, filters
}

// conversions samples images of a format with random conversions.
func (c *Case) conversions(f vk.Format) {
	r := rand.New(rand.NewPCG(uint64(f), 5))
	for _, config := range c.variants(f, vk.IMAGE_USAGE_SAMPLED_BIT) {
		i := c.chroma(config)
		for range 4 {
			with, filters := randomConversion(r, f, c.chromaFeatures(f, config.tiling))
			c.sampled(i, &with, filters, r)
		}
		i.want("after it was sampled")
		i.free()
	}
}

// sampled samples an image at random places and compares with what the reference gives.
func (c *Case) sampled(i *chromaImage, with *sampling.ConversionInfo, filters sampling.SamplerInfo, r *rand.Rand) {
	v := i.view(with, filters)
	defer v.free()
	places := make([]texturePlace, 64)
	for n := range places {
		// A quarter of a texel away from where the nearest one of luma or chroma changes.
		for axis := range 2 {
			size := float64(i.config.extent[axis])
			places[n].at[axis] = float32((math.Floor(r.Float64()*2*size-size/2) + 0.3 + 0.4*float64(r.IntN(2))) / size)
		}
	}
	out := make([]float32, 4*len(places))
	c.dispatch(dispatch{
		shader:  glsl("image/lookup.comp", "TYPE=vec4", "SAMPLER=sampler2D", "EXPR=textureLod(s, t.at.xy, 0.0)"),
		groups:  [3]uint32{uint32(len(places)+31) / 32},
		buffers: []any{out, places, v.descriptor()},
	})
	tolerance := 1e-6
	if c.driver != "farside" {
		tolerance = 0.025
	}
	for n, p := range places {
		q := sampling.Lookup{Mode: sampling.LodExplicit}
		q.Coordinates[0][0], q.Coordinates[1][0] = math.Float32bits(p.at[0]), math.Float32bits(p.at[1])
		var want sampling.Texels
		v.reference.Routine(v.filters, &q).Sample(&want, &q, 1)
		for k := range 4 {
			got, want := out[4*n+k], math.Float32frombits(want[k][0])
			if !(math.Abs(float64(got-want)) <= tolerance) {
				c.Errorf("%+v, filters %v and %v, at %v: component %d is %v, want %v", *with, filters.MagFilter,
					filters.MinFilter, p.at[:2], k, got, want)
				return
			}
		}
	}
}

// knownColours converts colours of NV12 whose red, green and blue anybody can look up.
func knownColours(c *Case) {
	for _, x := range []struct {
		model   vk.SamplerYcbcrModelConversion
		ranged  vk.SamplerYcbcrRange
		y, u, v byte
		want    [3]float64
	}{
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 235, 128, 128, [3]float64{1, 1, 1}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 16, 128, 128, [3]float64{}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_601, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 81, 90, 240, [3]float64{1, 0, 0}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709, vk.SAMPLER_YCBCR_RANGE_ITU_NARROW, 173, 42, 26, [3]float64{0, 1, 0}},
		{vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_2020, vk.SAMPLER_YCBCR_RANGE_ITU_FULL, 51, 128, 128,
			[3]float64{0.2, 0.2, 0.2}},
	} {
		const f = vk.FORMAT_G8_B8R8_2PLANE_420_UNORM
		mapped := chromaConfig{format: f, extent: [2]uint32{2, 2}, tiling: vk.IMAGE_TILING_LINEAR,
			usage: vk.IMAGE_USAGE_SAMPLED_BIT}
		i := c.chroma(mapped)
		need := c.dev.ImageRequirements(i.image)
		b := c.bytes(i.memories[0], need.Size)
		luma, chroma := i.planeLayout(vk.IMAGE_ASPECT_PLANE_0_BIT), i.planeLayout(vk.IMAGE_ASPECT_PLANE_1_BIT)
		for row := range uint64(2) {
			copy(b[luma.Offset+row*luma.RowPitch:], []byte{x.y, x.y})
		}
		copy(b[chroma.Offset:], []byte{x.u, x.v})
		with := sampling.ConversionInfo{Format: f, Model: x.model, Range: x.ranged}
		v := i.view(&with, sampling.SamplerInfo{AddressMode: everyAxis(vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE)})
		out := make([]float32, 4)
		c.dispatch(dispatch{
			shader:  glsl("image/lookup.comp", "TYPE=vec4", "SAMPLER=sampler2D", "EXPR=textureLod(s, vec2(0.3), 0.0)"),
			buffers: []any{out, make([]texturePlace, 1), v.descriptor()},
		})
		for k, want := range append(x.want[:], 1) {
			if math.Abs(float64(out[k])-want) > 0.01 {
				c.Errorf("%v, %v, (%d %d %d): component %d is %v, want %v", x.model, x.ranged, x.y, x.u, x.v, k, out[k], want)
			}
		}
		v.free()
		i.free()
	}
}

// planeLayout is vkGetImageSubresourceLayout.
func (i *chromaImage) planeLayout(aspect vk.ImageAspectFlags) vk.SubresourceLayout {
	layout := vulkan.New[vk.SubresourceLayout](&i.c.a)
	i.c.dev.Call("vkGetImageSubresourceLayout", uintptr(i.image), ptr(vulkan.Put(&i.c.a,
		vk.ImageSubresource{AspectMask: aspect})), ptr(layout))
	return *layout
}

// planeLayouts compares what vkGetImageSubresourceLayout says of linear images with where copies put texels.
func (c *Case) planeLayouts(f vk.Format) {
	for _, config := range c.variants(f, vk.IMAGE_USAGE_SAMPLED_BIT) {
		if config.tiling != vk.IMAGE_TILING_LINEAR {
			continue
		}
		i := c.chroma(config)
		list, size := i.regions()
		host := make([]byte, size)
		if err := transfer.CopyImageToBuffer(host, &i.twin, list); err != nil {
			c.Fatalf("%v", err)
		}
		for n, aspect := range i.planes() {
			l, extent := i.planeLayout(aspect), i.extentOf(aspect)
			memory, offset := i.memories[0], uint64(0)
			if config.disjoint() {
				memory, offset = i.memories[n], i.offsets[n]
			}
			row := uint64(extent.Width) * uint64(i.storage.Planes[n].BlockSize)
			b := c.bytes(memory, offset+l.Offset+l.Size)
			for y := range uint64(extent.Height) {
				c.same(fmt.Sprintf("%v, flags %v, plane %d, row %d", f, config.flags, n, y),
					b[offset+l.Offset+y*l.RowPitch:][:row], host[list[n].BufferOffset+y*row:][:row])
			}
			c.dev.Call("vkUnmapMemory", uintptr(memory))
		}
		i.free()
	}
}

// chromaCopies copies planes to buffers and back, between planes, and between planes and images of their own format.
func (c *Case) chromaCopies(f vk.Format) {
	var first *chromaImage
	for n, config := range c.variants(f, vk.IMAGE_USAGE_SAMPLED_BIT) {
		i := c.chroma(config)
		i.want("written by copies from a buffer")
		if n == 0 {
			first = i
			continue
		}
		for plane, aspect := range i.planes() {
			c.throughFlat(first, i, plane, aspect)
		}
		i.want("written by copies from an image")
		i.free()
	}
	first.free()
}

// throughFlat copies a plane from one image to another by way of an image of the plane's own format.
func (c *Case) throughFlat(from, to *chromaImage, plane int, aspect vk.ImageAspectFlags) {
	own := from.storage.Planes[plane].Format
	if !from.storage.MultiPlanar() {
		own = from.config.format
	}
	extent := from.extentOf(aspect)
	flat := vulkan.Struct[vk.ImageCreateInfo](&c.a)
	flat.ImageType, flat.Format, flat.Extent = vk.IMAGE_TYPE_2D, own, extent
	flat.MipLevels, flat.ArrayLayers, flat.Samples = 1, 1, vk.SAMPLE_COUNT_1_BIT
	flat.Usage = vk.IMAGE_USAGE_TRANSFER_SRC_BIT | vk.IMAGE_USAGE_TRANSFER_DST_BIT
	out := vulkan.New[vk.Image](&c.a)
	c.must("vkCreateImage", vk.Result(c.dev.Call("vkCreateImage", ptr(flat), 0, ptr(out))))
	image := *out
	need := c.dev.ImageRequirements(image)
	m := c.allocate(need.Size, c.visibleOf(need.MemoryTypeBits), nil)
	c.must("vkBindImageMemory", c.dev.BindImage(image, m, 0))
	of := func(aspect vk.ImageAspectFlags) vk.ImageSubresourceLayers {
		return vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1}
	}
	region := func(src, dst vk.ImageAspectFlags) uintptr {
		return ptr(vulkan.Put(&c.a, vk.ImageCopy{SrcSubresource: of(src), DstSubresource: of(dst), Extent: extent}))
	}
	const general = uintptr(vk.IMAGE_LAYOUT_GENERAL)
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		// Only the layout of the flat image changes, whose barrier is that of an image with one plane.
		(&chromaImage{c: c, image: image}).barrier(cb, vk.IMAGE_LAYOUT_UNDEFINED)
		c.dev.CallOn("vkCmdCopyImage", uintptr(cb), uintptr(from.image), general, uintptr(image), general, 1,
			region(aspect, color))
		(&chromaImage{c: c, image: image}).barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
		c.dev.CallOn("vkCmdCopyImage", uintptr(cb), uintptr(image), general, uintptr(to.image), general, 1,
			region(color, aspect))
		to.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
		// And directly, which changes nothing more.
		c.dev.CallOn("vkCmdCopyImage", uintptr(cb), uintptr(from.image), general, uintptr(to.image), general, 1,
			region(aspect, aspect))
		to.barrier(cb, vk.IMAGE_LAYOUT_GENERAL)
	}))
	err := transfer.CopyImage(&to.twin, &from.twin, []vk.ImageCopy{{SrcSubresource: of(aspect), DstSubresource: of(aspect),
		Extent: extent}})
	if err != nil {
		c.Fatalf("%v", err)
	}
	c.dev.DestroyImage(image)
	c.dev.Free(m)
}

// planeView is a view of a plane as an image of a format that is the plane's.
func (i *chromaImage) planeView(aspect vk.ImageAspectFlags, f vk.Format, usage vk.ImageUsageFlags) vk.ImageView {
	c := i.c
	use := vulkan.Struct[vk.ImageViewUsageCreateInfo](&c.a)
	use.Usage = usage
	create := vulkan.Struct[vk.ImageViewCreateInfo](&c.a)
	create.PNext, create.Image, create.ViewType, create.Format = unsafe.Pointer(use), i.image, vk.IMAGE_VIEW_TYPE_2D, f
	create.SubresourceRange = vk.ImageSubresourceRange{AspectMask: aspect, LevelCount: 1, LayerCount: 1}
	view := vulkan.New[vk.ImageView](&c.a)
	c.must("vkCreateImageView", vk.Result(c.dev.Call("vkCreateImageView", ptr(create), 0, ptr(view))))
	return *view
}

// planeFormats are the names in GLSL of plane formats that can be stored to.
var planeFormats = map[vk.Format]string{vk.FORMAT_R8_UNORM: "r8", vk.FORMAT_R8G8_UNORM: "rg8",
	vk.FORMAT_R16_UNORM: "r16", vk.FORMAT_R16G16_UNORM: "rg16"}

// planeViews fetches the texels of planes through views, and stores them in the planes of another image.
func (c *Case) planeViews(f vk.Format) {
	storage, _ := texel.FormatOf(f)
	flags := vk.ImageCreateFlags(vk.IMAGE_CREATE_MUTABLE_FORMAT_BIT)
	usage := vk.ImageUsageFlags(vk.IMAGE_USAGE_SAMPLED_BIT)
	if planeFormats[storage.Planes[0].Format] != "" {
		flags, usage = flags|vk.IMAGE_CREATE_EXTENDED_USAGE_BIT, usage|vk.IMAGE_USAGE_STORAGE_BIT
	}
	for _, config := range c.variants(f, vk.IMAGE_USAGE_SAMPLED_BIT) {
		config.flags |= flags
		config.usage = usage
		i := c.chroma(config)
		config.seed += 100
		to := c.chroma(config)
		for plane, aspect := range i.planes() {
			c.fetchPlane(i, plane, aspect)
			if usage&vk.IMAGE_USAGE_STORAGE_BIT != 0 {
				c.storePlane(to, i, plane, aspect)
			}
		}
		to.want("after its planes were stored to")
		i.free()
		to.free()
	}
}

func (c *Case) fetchPlane(i *chromaImage, plane int, aspect vk.ImageAspectFlags) {
	own := i.storage.Planes[plane].Format
	view := i.planeView(aspect, own, vk.IMAGE_USAGE_SAMPLED_BIT)
	s, _, free := c.sampler(sampling.SamplerInfo{}, false)
	defer free()
	extent := i.extentOf(aspect)
	var places []texturePlace
	for y := range extent.Height {
		for x := range extent.Width {
			places = append(places, texturePlace{at: [4]float32{float32(x), float32(y)}})
		}
	}
	out := make([]float32, 4*len(places))
	c.dispatch(dispatch{
		shader: glsl("image/lookup.comp", "TYPE=vec4", "SAMPLER=sampler2D", "EXPR=texelFetch(s, ivec2(t.at.xy), 0)"),
		groups: [3]uint32{uint32(len(places)+31) / 32},
		buffers: []any{out, places, described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
			Image: vk.DescriptorImageInfo{Sampler: s, ImageView: view, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}}},
	})
	twin := &i.twin.Planes[plane]
	v, err := sampling.NewImageView(&sampling.ImageView{Data: twin.Bytes, Layout: twin.Layout, Type: vk.IMAGE_VIEW_TYPE_2D,
		Format: own, Range: vk.ImageSubresourceRange{AspectMask: color, LevelCount: 1, LayerCount: 1}})
	if err != nil {
		c.Fatalf("%v", err)
	}
	for n, p := range places {
		var want sampling.Texels
		v.Fetch(&want, &[3]sampling.Lanes{{uint32(p.at[0])}, {uint32(p.at[1])}}, nil, nil, 1)
		for k := range 4 {
			if w := math.Float32frombits(want[k][0]); math.Abs(float64(out[4*n+k]-w)) > 1e-6 {
				c.Errorf("%v, plane %d at %v: component %d is %v, want %v", i.config.format, plane, p.at[:2], k, out[4*n+k], w)
				return
			}
		}
	}
	c.dev.Call("vkDestroyImageView", uintptr(view), 0)
}

func (c *Case) storePlane(to, from *chromaImage, plane int, aspect vk.ImageAspectFlags) {
	own := from.storage.Planes[plane].Format
	views := [2]vk.ImageView{from.planeView(aspect, own, vk.IMAGE_USAGE_STORAGE_BIT),
		to.planeView(aspect, own, vk.IMAGE_USAGE_STORAGE_BIT)}
	var bound []any
	for _, v := range views {
		bound = append(bound, described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_IMAGE,
			Image: vk.DescriptorImageInfo{ImageView: v, ImageLayout: vk.IMAGE_LAYOUT_GENERAL}}})
	}
	extent := from.extentOf(aspect)
	c.dispatch(dispatch{
		shader:  glsl("image/store.comp", "FORMAT=,"+planeFormats[own], "IMAGE=image2D", "PLACE=ivec2(i.xy)"),
		groups:  [3]uint32{(extent.Width + 7) / 8, (extent.Height + 7) / 8},
		buffers: bound,
	})
	of := vk.ImageSubresourceLayers{AspectMask: aspect, LayerCount: 1}
	if err := transfer.CopyImage(&to.twin, &from.twin, []vk.ImageCopy{{SrcSubresource: of, DstSubresource: of,
		Extent: extent}}); err != nil {
		c.Fatalf("%v", err)
	}
	for _, v := range views {
		c.dev.Call("vkDestroyImageView", uintptr(v), 0)
	}
}

// nv12Extensions are what an image of video needs that goes to another process by an opaque descriptor.
var nv12Extensions = []string{fdExtension, drmModifierExtension, formatListExtension}

// nv12 makes an image of NV12 with DRM_FORMAT_MOD_LINEAR whose memory is exportable as t, or imported from fds with
// given planes.
func (c *Case) nv12(t vk.ExternalMemoryHandleTypeFlags, disjoint bool, fds []int, sizes []uint64,
	planes []vk.SubresourceLayout) *chromaImage {
	config := chromaConfig{format: vk.FORMAT_G8_B8R8_2PLANE_420_UNORM, extent: [2]uint32{30, 14},
		tiling: vk.IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT, usage: vk.IMAGE_USAGE_SAMPLED_BIT, empty: true}
	if disjoint {
		config.flags = vk.IMAGE_CREATE_DISJOINT_BIT
	}
	external := vulkan.Struct[vk.ExternalMemoryImageCreateInfo](&c.a)
	external.HandleTypes = t
	config.next = unsafe.Pointer(external)
	if planes == nil {
		list := vulkan.Struct[vk.ImageDrmFormatModifierListCreateInfoEXT](&c.a)
		list.DrmFormatModifierCount, list.PDrmFormatModifiers = 1, vulkan.New[uint64](&c.a) // DRM_FORMAT_MOD_LINEAR
		external.PNext = unsafe.Pointer(list)
		config.memory = func(int) (unsafe.Pointer, uint64) { return vulkan.ExportInfo(&c.a, t, nil), 0 }
		return c.chroma(config)
	}
	explicit := vulkan.Struct[vk.ImageDrmFormatModifierExplicitCreateInfoEXT](&c.a)
	layouts := vulkan.Make[vk.SubresourceLayout](&c.a, len(planes))
	copy(layouts, planes)
	explicit.DrmFormatModifierPlaneCount, explicit.PPlaneLayouts = uint32(len(planes)), &layouts[0]
	external.PNext = unsafe.Pointer(explicit)
	config.memory = func(n int) (unsafe.Pointer, uint64) {
		return vulkan.ImportFdInfo(&c.a, t, c.duplicateOf(fds[n]), nil), sizes[n]
	}
	return c.chroma(config)
}

// exportNV12 hands an image over to another process, which samples it and writes another picture to it.
func (c *Case) exportNV12(t vk.ExternalMemoryHandleTypeFlags, disjoint bool) {
	i := c.nv12(t, disjoint, nil, nil, nil)
	defer i.free()
	i.fill(7)
	role := "nv12"
	if t == dmaBuf {
		role = "dma_nv12"
	}
	p := c.start(role)
	defer p.end()
	line := fmt.Sprintf("%d %d", t, len(i.memories))
	for n, m := range i.memories {
		fd, r := c.dev.GetFd(m, t)
		c.must("vkGetMemoryFdKHR", r)
		c.system("send", sendFd(p.socket, fd))
		unix.Close(fd)
		line += fmt.Sprintf(" %d", i.sizes[n])
	}
	for n := range i.planes() {
		l := i.planeLayout(i.memoryAspect(n))
		line += fmt.Sprintf(" %d %d", l.Offset, l.RowPitch)
	}
	p.tell("%s", line)
	if s := p.hear(); s != "good" {
		c.Errorf("the importer says %s", s)
	}
	i.twinFill(8)
	i.want("an image that another process wrote")
}

// playNV12 is the life of the process that imports the image.
func playNV12(c *Case) {
	in := bufio.NewReader(os.Stdin)
	text, err := in.ReadString('\n')
	c.system("read", err)
	from := strings.NewReader(text)
	var t vk.ExternalMemoryHandleTypeFlags
	var count int
	_, err = fmt.Fscan(from, &t, &count)
	c.system("scan", err)
	sizes, fds, planes := make([]uint64, count), make([]int, count), make([]vk.SubresourceLayout, 2)
	for n := range sizes {
		_, err = fmt.Fscan(from, &sizes[n])
		c.system("scan", err)
		fds[n], err = receiveFd(3)
		c.system("receive", err)
	}
	for n := range planes {
		_, err = fmt.Fscan(from, &planes[n].Offset, &planes[n].RowPitch)
		c.system("scan", err)
	}
	i := c.nv12(t, count > 1, fds, sizes, planes)
	defer i.free()
	for _, fd := range fds {
		unix.Close(fd)
	}
	for n := range planes {
		if l := i.planeLayout(i.memoryAspect(n)); l.Offset != planes[n].Offset || l.RowPitch != planes[n].RowPitch {
			c.Errorf("plane %d begins at %d with rows of %d bytes, want %d and %d", n, l.Offset, l.RowPitch, planes[n].Offset,
				planes[n].RowPitch)
		}
	}
	i.twinFill(7)
	i.want("an image of another process")
	with := sampling.ConversionInfo{Format: i.config.format, Model: vk.SAMPLER_YCBCR_MODEL_CONVERSION_YCBCR_709,
		Range: vk.SAMPLER_YCBCR_RANGE_ITU_NARROW}
	c.sampled(i, &with, sampling.SamplerInfo{AddressMode: everyAxis(vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE)},
		rand.New(rand.NewPCG(1, 1)))
	i.fill(8)
	if c.failed {
		say("bad")
	} else {
		say("good")
	}
	_, _ = in.ReadString('\n') // until it is ended
}
