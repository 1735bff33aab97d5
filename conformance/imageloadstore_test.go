package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"farside/conformance/vulkan"
	"farside/internal/sampling"
	"farside/internal/texel"
	"farside/internal/vk"
)

// storageFormats are GLSL's names of the formats of storage images, and Vulkan's.
var storageFormats = []struct {
	glsl   string
	format vk.Format
}{
	{"rgba32f", vk.FORMAT_R32G32B32A32_SFLOAT}, {"rgba16f", vk.FORMAT_R16G16B16A16_SFLOAT},
	{"rg32f", vk.FORMAT_R32G32_SFLOAT},
	{"rg16f", vk.FORMAT_R16G16_SFLOAT}, {"r11f_g11f_b10f", vk.FORMAT_B10G11R11_UFLOAT_PACK32},
	{"r32f", vk.FORMAT_R32_SFLOAT}, {"r16f", vk.FORMAT_R16_SFLOAT},
	{"rgba16", vk.FORMAT_R16G16B16A16_UNORM}, {"rgb10_a2", vk.FORMAT_A2B10G10R10_UNORM_PACK32},
	{"rgba8", vk.FORMAT_R8G8B8A8_UNORM},
	{"rg16", vk.FORMAT_R16G16_UNORM}, {"rg8", vk.FORMAT_R8G8_UNORM}, {"r16", vk.FORMAT_R16_UNORM},
	{"r8", vk.FORMAT_R8_UNORM},
	{"rgba16_snorm", vk.FORMAT_R16G16B16A16_SNORM}, {"rgba8_snorm", vk.FORMAT_R8G8B8A8_SNORM},
	{"rg16_snorm", vk.FORMAT_R16G16_SNORM},
	{"rg8_snorm", vk.FORMAT_R8G8_SNORM}, {"r16_snorm", vk.FORMAT_R16_SNORM}, {"r8_snorm", vk.FORMAT_R8_SNORM},
	{"rgba32i", vk.FORMAT_R32G32B32A32_SINT}, {"rgba16i", vk.FORMAT_R16G16B16A16_SINT},
	{"rgba8i", vk.FORMAT_R8G8B8A8_SINT}, {"rg32i", vk.FORMAT_R32G32_SINT},
	{"rg16i", vk.FORMAT_R16G16_SINT}, {"rg8i", vk.FORMAT_R8G8_SINT}, {"r32i", vk.FORMAT_R32_SINT},
	{"r16i", vk.FORMAT_R16_SINT}, {"r8i", vk.FORMAT_R8_SINT},
	{"rgba32ui", vk.FORMAT_R32G32B32A32_UINT}, {"rgba16ui", vk.FORMAT_R16G16B16A16_UINT},
	{"rgb10_a2ui", vk.FORMAT_A2B10G10R10_UINT_PACK32},
	{"rgba8ui", vk.FORMAT_R8G8B8A8_UINT}, {"rg32ui", vk.FORMAT_R32G32_UINT}, {"rg16ui", vk.FORMAT_R16G16_UINT},
	{"rg8ui", vk.FORMAT_R8G8_UINT},
	{"r32ui", vk.FORMAT_R32_UINT}, {"r16ui", vk.FORMAT_R16_UINT}, {"r8ui", vk.FORMAT_R8_UINT},
}

// prefixOf is what GLSL puts before the types of images of a format.
func prefixOf(f vk.Format) string {
	codec, _ := texel.CodecOf(f, vk.IMAGE_ASPECT_COLOR_BIT)
	return map[texel.Class]string{texel.Float: "", texel.Uint: "u", texel.Sint: "i"}[codec.Class()]
}

// storeShapes are all that storage images can be.
var storeShapes = []struct {
	name, image, place string
	view               vk.ImageViewType
	extent             [3]uint32
	layers             uint32
}{
	{"1d", "image1D", "int(i.x)", vk.IMAGE_VIEW_TYPE_1D, [3]uint32{29, 1, 1}, 1},
	{"1d_array", "image1DArray", "ivec2(i.xy)", vk.IMAGE_VIEW_TYPE_1D_ARRAY, [3]uint32{29, 1, 1}, 3},
	{"2d", "image2D", "ivec2(i.xy)", vk.IMAGE_VIEW_TYPE_2D, [3]uint32{21, 13, 1}, 1},
	{"2d_array", "image2DArray", "ivec3(i)", vk.IMAGE_VIEW_TYPE_2D_ARRAY, [3]uint32{21, 13, 1}, 3},
	{"3d", "image3D", "ivec3(i)", vk.IMAGE_VIEW_TYPE_3D, [3]uint32{11, 7, 5}, 1},
	{"cube", "imageCube", "ivec3(i)", vk.IMAGE_VIEW_TYPE_CUBE, [3]uint32{8, 8, 1}, 6},
	{"cube_array", "imageCubeArray", "ivec3(i)", vk.IMAGE_VIEW_TYPE_CUBE_ARRAY, [3]uint32{8, 8, 1}, 12},
}

// storeTexels copies an image by loads and stores; some invocations are outside of both.
func (c *Case) storeTexels(config textureConfig, image, place, format string) {
	config.usage = vk.IMAGE_USAGE_STORAGE_BIT
	from := c.texture(config)
	defer from.free()
	config.seed++
	to := c.texture(config)
	defer to.free()
	c.dispatch(dispatch{
		shader: glsl("image/store.comp", "IMAGE="+image, "PLACE="+place, "FORMAT="+format),
		groups: [3]uint32{config.extent[0]/8 + 1, config.extent[1]/8 + 1, max(config.extent[2], config.layers) + 1},
		buffers: []any{from.descriptor(vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, 0),
			to.descriptor(vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, 0)},
	})
	if want, got := from.read(), to.read(); !bytes.Equal(got, want) {
		for i := range got {
			if got[i] != want[i] {
				c.Errorf("byte %d of %d is %#x, want %#x", i, len(got), got[i], want[i])
				return
			}
		}
	}
}

// imageCases mirror image.load_store, image.atomic_operations and image.format_reinterpret.
func imageCases() (list []definition) {
	for _, s := range storeShapes {
		config := textureConfig{format: vk.FORMAT_R32_UINT, view: s.view, extent: s.extent, levels: 1, layers: s.layers,
			seed: 5}
		var needs []string
		if s.view == vk.IMAGE_VIEW_TYPE_CUBE_ARRAY {
			needs = []string{"ImageCubeArray"}
		}
		list = append(list, definition{name: "image.load_store." + s.name + ".r32_uint", compute: true, valid: true,
			needs: needs,
			run:   func(c *Case) { c.storeTexels(config, "u"+s.image, s.place, ", r32ui") }})
	}
	for _, f := range storageFormats {
		config := textureConfig{format: f.format, view: vk.IMAGE_VIEW_TYPE_2D, extent: [3]uint32{21, 13, 1}, levels: 1,
			layers: 1, seed: 9}
		image := prefixOf(f.format) + "image2D"
		list = append(list,
			definition{name: "image.load_store.2d.formats." + f.glsl, compute: true, valid: true,
				needs: []string{"ShaderStorageImageExtendedFormats"},
				run:   func(c *Case) { c.storeTexels(config, image, "ivec2(i.xy)", ", "+f.glsl) }},
			definition{name: "image.load_store.without_format." + f.glsl, compute: true, valid: true,
				needs: []string{"ShaderStorageImageExtendedFormats", "ShaderStorageImageReadWithoutFormat",
					"ShaderStorageImageWriteWithoutFormat"},
				run: func(c *Case) { c.storeTexels(config, image, "ivec2(i.xy)", "") }},
			definition{name: "image.load_store.buffer." + f.glsl, compute: true, valid: true,
				run: func(c *Case) { c.fetchTexels(f.format) }})
	}
	for _, op := range []struct {
		name, expr string
		fold       func(old, value uint64) uint64
		shared     bool // the outcome does not depend on the order
	}{
		{"add", "imageAtomicAdd(image, PLACE, value)", func(a, b uint64) uint64 { return a + b }, true},
		{"min", "imageAtomicMin(image, PLACE, value)", func(a, b uint64) uint64 { return min(a, b) }, true},
		{"max", "imageAtomicMax(image, PLACE, value)", func(a, b uint64) uint64 { return max(a, b) }, true},
		{"and", "imageAtomicAnd(image, PLACE, value)", func(a, b uint64) uint64 { return a & b }, true},
		{"or", "imageAtomicOr(image, PLACE, value)", func(a, b uint64) uint64 { return a | b }, true},
		{"xor", "imageAtomicXor(image, PLACE, value)", func(a, b uint64) uint64 { return a ^ b }, true},
		{"exchange", "imageAtomicExchange(image, PLACE, value)", func(_, b uint64) uint64 { return b }, false},
		{"compare_exchange", "imageAtomicCompSwap(image, PLACE, TYPE(5 + place), value)",
			func(_, b uint64) uint64 { return b }, false},
	} {
		for _, kind := range []atomicKind{
			{"2d.r32ui", "uimage2D", "r32ui", "uint", "ivec2(place % 8, place / 8)", vk.FORMAT_R32_UINT, 4},
			{"2d.r32i", "iimage2D", "r32i", "int", "ivec2(place % 8, place / 8)", vk.FORMAT_R32_SINT, 4},
			{"buffer.r32ui", "uimageBuffer", "r32ui", "uint", "place", vk.FORMAT_R32_UINT, 4},
			{"2d.r64ui", "u64image2D", "r64ui", "uint64_t", "ivec2(place % 8, place / 8)", vk.FORMAT_R64_UINT, 8},
		} {
			var needs []string
			if kind.bytes == 8 {
				needs = []string{"ShaderInt64", "ShaderImageInt64Atomics"}
			}
			list = append(list, definition{name: "image.atomic_operations." + op.name + "." + kind.name, compute: true,
				valid: true, needs: needs,
				run: func(c *Case) { c.imageAtomics(kind, op.expr, op.fold, op.shared) }})
		}
	}
	for _, op := range []struct {
		name, expr, feature string
		fold                func(old, value float32) float32
		shared              bool
	}{
		{"add", "imageAtomicAdd(image, PLACE, value)", "ShaderImageFloat32AtomicAdd",
			func(a, b float32) float32 { return a + b }, true},
		{"min", "imageAtomicMin(image, PLACE, value)", "ShaderImageFloat32AtomicMinMax",
			func(a, b float32) float32 { return min(a, b) }, true},
		{"max", "imageAtomicMax(image, PLACE, value)", "ShaderImageFloat32AtomicMinMax",
			func(a, b float32) float32 { return max(a, b) }, true},
		{"exchange", "imageAtomicExchange(image, PLACE, value)", "", func(_, b float32) float32 { return b }, false},
	} {
		needs := []string{"ShaderImageFloat32Atomics"}
		if op.feature != "" {
			needs = append(needs, op.feature)
		}
		for _, kind := range []atomicKind{
			{"2d.r32f", "image2D", "r32f", "float", "ivec2(place % 8, place / 8)", vk.FORMAT_R32_SFLOAT, 4},
			{"buffer.r32f", "imageBuffer", "r32f", "float", "place", vk.FORMAT_R32_SFLOAT, 4},
		} {
			list = append(list, definition{name: "image.atomic_operations." + op.name + "." + kind.name, compute: true,
				valid: true, needs: needs, run: func(c *Case) {
					c.imageAtomics(kind, op.expr, func(old,
						value uint64) uint64 {
						return uint64(bits32(op.fold(f32(uint32(old)), float32(value))))
					}, op.shared)
				}})
		}
	}
	return list
}

// fetchTexels reads all texels of a buffer.
func (c *Case) fetchTexels(format vk.Format) {
	host := make([]uint32, 16*64/4)
	for i := range host {
		// Small numbers in the exponents of any format with floats.
		host[i] = uint32(i*2654435761) & 0x3fff3f3f
	}
	b := c.shaderBuffer(host, vk.BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT)
	defer b.free()
	view, r := c.dev.CreateBufferView(b.buffer, format, 0, vk.WHOLE_SIZE)
	c.must("vkCreateBufferView", r)
	defer c.dev.DestroyBufferView(view)
	reference, err := sampling.NewBufferView(bytesOf(host), format)
	if err != nil {
		c.Fatalf("%v", err)
	}
	texels := reference.Size(0)[0]
	items := make([]texturePlace, texels)
	out := make([]uint32, 4*texels)
	prefix := prefixOf(format)
	kind := prefix + "vec4"
	c.dispatch(dispatch{
		shader:  glsl("image/lookup.comp", "TYPE="+kind, "SAMPLER="+prefix+"samplerBuffer", "EXPR=texelFetch(s, int(i))"),
		groups:  [3]uint32{(texels + 31) / 32},
		buffers: []any{out, items, described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, View: view}}},
	})
	for i := range texels {
		var want sampling.Texels
		reference.Fetch(&want, &[3]sampling.Lanes{{i}}, nil, nil, 1)
		for n := range want {
			got, w := out[4*i+uint32(n)], want[n][0]
			near := got == w
			if kind == "vec4" {
				near = math.Abs(float64(math.Float32frombits(got)-math.Float32frombits(w))) <= 1e-6
			}
			if !near {
				c.Errorf("texel %d: component %d is %#x, want %#x", i, n, got, w)
				return
			}
		}
	}
}

type atomicKind struct {
	name, image, glsl, kind, place string
	format                         vk.Format
	bytes                          int
}

const atomicInvocations = 256

// imageAtomics does an operation on texels that 16 invocations share, and on texels of their own.
func (c *Case) imageAtomics(k atomicKind, expr string, fold func(old, value uint64) uint64, shared bool) {
	for _, share := range []int{1, 16} {
		if share > 1 && !shared {
			continue
		}
		texels := make([]byte, atomicInvocations*k.bytes)
		for i := range atomicInvocations {
			texels[i*k.bytes] = byte(5 + i%200)
			if share == 1 {
				texels[i*k.bytes] = byte(5 + i)
				texels[i*k.bytes+1] = byte((5 + i) >> 8)
			}
		}
		if k.kind == "float" {
			for i := range atomicInvocations {
				binary.LittleEndian.PutUint32(texels[4*i:], bits32(float32(i%40)-3.5))
			}
		}
		before := bytes.Clone(texels)
		results := make([]byte, atomicInvocations*k.bytes)
		var target described
		var finish func()
		if strings.HasSuffix(k.image, "Buffer") {
			b := c.shaderBuffer(texels, vk.BUFFER_USAGE_STORAGE_TEXEL_BUFFER_BIT)
			view, r := c.dev.CreateBufferView(b.buffer, k.format, 0, vk.WHOLE_SIZE)
			c.must("vkCreateBufferView", r)
			target = described{vulkan.Descriptor{Type: vk.DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER, View: view}}
			finish = func() {
				b.download()
				c.dev.DestroyBufferView(view)
				b.free()
			}
		} else {
			t := c.texture(textureConfig{format: k.format, view: vk.IMAGE_VIEW_TYPE_2D,
				extent: [3]uint32{8, atomicInvocations / 8, 1}, levels: 1, layers: 1,
				usage: vk.IMAGE_USAGE_STORAGE_BIT, data: texels})
			target = t.descriptor(vk.DESCRIPTOR_TYPE_STORAGE_IMAGE, 0)
			finish = func() {
				copy(texels, t.read())
				t.free()
			}
		}
		defines := []string{"TYPE=" + k.kind, "FORMAT=" + k.glsl, "IMAGE=" + k.image, "PLACE=" + k.place, "EXPR=" + expr,
			fmt.Sprint("SHARE=", share)}
		if k.bytes == 8 {
			defines = append(defines, "WIDE")
		}
		c.dispatch(dispatch{shader: glsl("image/atomic.comp", defines...), groups: [3]uint32{atomicInvocations / 64},
			buffers: []any{results, target}})
		finish()
		read := func(b []byte, i int) (v uint64) {
			for n := range k.bytes {
				v |= uint64(b[i*k.bytes+n]) << (8 * n)
			}
			return v
		}
		for i := range atomicInvocations / share {
			want := read(before, i)
			for n := range share {
				want = fold(want, uint64((i*share+n)*7%32+1))
			}
			if got := read(texels, i); got != want {
				c.Errorf("%d share: texel %d is %d, want %d", share, i, got, want)
				return
			}
			if got := read(results, i); share == 1 && got != read(before, i) {
				c.Errorf("invocation %d got %d, there was %d", i, got, read(before, i))
				return
			}
		}
	}
}
