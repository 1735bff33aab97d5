package conformance

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// objectDispatch is a dispatch of shader objects: a buffer of set 0, and push constants.
type objectDispatch struct {
	c    *Case
	r    *recorder
	host []uint32
	args *arguments
	p    *program
}

const objectCompute = `#version 450
	layout(local_size_x = 4) in;
	layout(constant_id = 3) const uint add = 100;
	layout(push_constant) uniform P { uint more; };
	layout(binding = 0) buffer B { uint v[]; };
	void main() { v[gl_GlobalInvocationID.x] += add + more + gl_WorkGroupID.x; }`

// objectDispatch has 16 values, all 7, and a set with them.
func (c *Case) objectDispatch() *objectDispatch {
	d := &objectDispatch{c: c, r: c.recorder(), host: slices.Repeat([]uint32{7}, 16)}
	d.p = c.program(&dispatch{shader: shaders.Source{Name: "objects.comp", Text: objectCompute}, buffers: []any{d.host},
		push: []uint32{1000}})
	d.args = d.p.arguments(d.host)
	return d
}

func (d *objectDispatch) free() {
	d.args.free()
	d.p.free()
	d.r.free()
}

// config is the shader, of SPIR-V or of a binary.
func (d *objectDispatch) config(binary []byte) vulkan.ShaderConfig {
	s := vulkan.ShaderConfig{Stage: computeBit, Binary: binary, Sets: []vk.DescriptorSetLayout{d.p.setLayout},
		Push: []vk.PushConstantRange{{StageFlags: vk.SHADER_STAGE_COMPUTE_BIT, Size: 4}}}
	if binary == nil {
		s.Code = d.c.compile(d.p.d.shader)
		s.Constants = []vulkan.Constant{constant(3, []uint32{200})}
	}
	return s
}

func (d *objectDispatch) create(s vulkan.ShaderConfig) vk.ShaderEXT {
	made, r := d.c.dev.CreateShaders(s)
	d.c.must("vkCreateShadersEXT", r)
	return made[0]
}

// run dispatches what bind has bound: base groups from base on.
func (d *objectDispatch) run(bind func(cb vk.CommandBuffer), base, groups uint32) {
	dev, cb := d.c.dev, d.r.cb
	d.r.begin(cb, 0)
	d.args.bind(cb)
	bind(cb)
	dev.CallOn("vkCmdDispatchBase", uintptr(cb), uintptr(base), 0, 0, uintptr(groups), 1, 1)
	d.r.end(cb)
	d.r.submit(cb)
	d.args.download()
}

func (d *objectDispatch) bindShader(o vk.ShaderEXT) func(cb vk.CommandBuffer) {
	return func(cb vk.CommandBuffer) {
		d.c.dev.BindShaders(cb, []vk.ShaderStageFlagBits{computeBit}, []vk.ShaderEXT{o})
	}
}

// wantSums looks at the values: each group has what was added to its four.
func (d *objectDispatch) wantSums(what string, sums ...uint32) {
	for i, v := range d.host {
		if want := sums[i/4]; v != want {
			d.c.Errorf("%s: value %d is %d, want %d", what, i, v, want)
			return
		}
	}
}

// computeObjectsCase dispatches with a shader object in place of a pipeline, with a base, and with a pipeline after it.
func computeObjectsCase(c *Case) {
	d := c.objectDispatch()
	defer d.free()
	s := d.config(nil)
	s.Flags = vk.SHADER_CREATE_DISPATCH_BASE_BIT_EXT
	o := d.create(s)
	d.run(d.bindShader(o), 0, 2)
	d.wantSums("a dispatch", 1207, 1208, 7, 7)
	d.run(d.bindShader(o), 2, 2)
	d.wantSums("with a base", 1207, 1208, 1209, 1210)
	d.run(func(cb vk.CommandBuffer) {
		d.bindShader(o)(cb)
		c.dev.CallOn("vkCmdBindPipeline", uintptr(cb), uintptr(vk.PIPELINE_BIND_POINT_COMPUTE), uintptr(d.p.pipeline))
	}, 0, 1)
	d.wantSums("a pipeline after it", 2307, 1208, 1209, 1210)
	d.run(func(cb vk.CommandBuffer) { d.bindShader(o)(cb) }, 0, 0)
	d.wantSums("no groups", 2307, 1208, 1209, 1210)
	c.dev.DestroyShader(o)
	c.dev.DestroyShader(0)
}

// computeSubgroupsCase requires a size of subgroups, which a binary keeps, and full ones.
func computeSubgroupsCase(c *Case) {
	d := c.objectDispatch()
	defer d.free()
	d.p.d.shader = shaders.Source{Name: "subgroups.comp", Target: "vulkan1.1", Text: `#version 450
		#extension GL_KHR_shader_subgroup_basic : enable
		layout(local_size_x = 16) in;
		layout(binding = 0) buffer B { uint v[]; };
		void main() { v[gl_LocalInvocationID.x] = gl_SubgroupSize; }`}
	sizes := vulkan.Struct[vk.PhysicalDeviceSubgroupSizeControlProperties](&c.a)
	c.inst.Properties2(c.pd, unsafe.Pointer(sizes))
	for n := sizes.MinSubgroupSize; n <= min(sizes.MaxSubgroupSize, 16); n *= 2 {
		s := d.config(nil)
		s.Constants, s.SubgroupSize, s.Flags = nil, n, vk.SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT
		o := d.create(s)
		d.run(d.bindShader(o), 0, 1)
		d.wantSums("required", n, n, n, n)
		binary, r := c.dev.ShaderBinary(o, 0)
		c.must("vkGetShaderBinaryDataEXT", r)
		again := d.create(d.config(binary))
		d.run(d.bindShader(again), 0, 1)
		d.wantSums("of a binary", n, n, n, n)
		c.dev.DestroyShader(o)
		c.dev.DestroyShader(again)
	}
}

// objectBinariesCase makes shaders of binaries, which have the entry point and the constants of the first shader: for
// compute, and a pair that draws. Binaries are the same whenever they are asked for, and of a shader that was made of
// one.
func objectBinariesCase(c *Case) {
	d := c.objectDispatch()
	defer d.free()
	o := d.create(d.config(nil))
	binary, r := c.dev.ShaderBinary(o, 0)
	c.must("vkGetShaderBinaryDataEXT", r)
	again := d.create(d.config(binary))
	c.dev.DestroyShader(o)
	d.run(d.bindShader(again), 0, 2)
	d.wantSums("of a binary", 1207, 1208, 7, 7)
	second, r := c.dev.ShaderBinary(again, 0)
	if c.must("vkGetShaderBinaryDataEXT", r); !bytes.Equal(binary, second) {
		c.Errorf("a shader of a binary has another binary")
	}
	if part, r := c.dev.ShaderBinary(again, 1); r != vk.INCOMPLETE || len(part) != 0 {
		c.Errorf("a binary for which there is too little room: %v, %d bytes", r, len(part))
	}
	c.dev.DestroyShader(again)

	s := c.scene(8, 8, 1, 1, 0, rgba32f)
	defer s.close()
	l := plain(wholeTarget, "3")
	l.bind = func(d *drawn, g *vulkan.GraphicsState) func() {
		var configs []vulkan.ShaderConfig
		for i, o := range s.shaders(d, vk.SHADER_CREATE_LINK_STAGE_BIT_EXT) {
			data, r := c.dev.ShaderBinary(o, 0)
			c.must("vkGetShaderBinaryDataEXT", r)
			configs = append(configs, vulkan.ShaderConfig{Binary: data, Flags: vk.SHADER_CREATE_LINK_STAGE_BIT_EXT,
				Stage: []vk.ShaderStageFlagBits{vertexBit, fragmentBit}[i],
				Next:  []vk.ShaderStageFlags{vk.SHADER_STAGE_FRAGMENT_BIT, 0}[i]})
		}
		made, r := c.dev.CreateShaders(configs...)
		c.must("vkCreateShadersEXT", r)
		for _, o := range made {
			s.free = append(s.free, func() { c.dev.DestroyShader(o) })
		}
		return func() {
			c.dev.BindShaders(s.cb, []vk.ShaderStageFlagBits{vertexBit, fragmentBit}, made)
			s.setAll(g)
		}
	}
	s.draw(l)
	s.pixels(s.colors[0], 0, all(3))
}

// corruptBinariesCase makes shaders of what is no binary: cut off, changed anywhere, of another stage. Each is
// incompatible, and nothing else happens.
func corruptBinariesCase(c *Case) {
	d := c.objectDispatch()
	defer d.free()
	o := d.create(d.config(nil))
	binary, r := c.dev.ShaderBinary(o, 0)
	c.must("vkGetShaderBinaryDataEXT", r)
	c.dev.DestroyShader(o)
	refused := func(what string, s vulkan.ShaderConfig) {
		made, r := c.dev.CreateShaders(s)
		if c.want(what, r, vk.INCOMPATIBLE_SHADER_BINARY_EXT); made[0] != 0 {
			c.Errorf("%s: the handle is %#x", what, uint64(made[0]))
		}
	}
	for _, size := range []int{1, 15, 16, 20, 55, 56, 60, len(binary) / 2, len(binary) - 4, len(binary) - 1} {
		refused("a part of a binary", d.config(binary[:size]))
	}
	refused("a binary and more", d.config(append(slices.Clone(binary), 0)))
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 200 {
		damaged := slices.Clone(binary)
		at := random.IntN(len(damaged))
		if i < 64 {
			at = i
		}
		damaged[at] ^= byte(1 + random.IntN(255))
		refused("a damaged binary", d.config(damaged))
	}
	other := d.config(binary)
	other.Stage = fragmentBit
	refused("a binary of another stage", other)
	without := d.config(binary)
	without.Sets = nil
	refused("a binary without the set that it uses", without)
}

// objectResultsCase makes several shaders, of which one in the middle fails: it is the first that is VK_NULL_HANDLE.
func objectResultsCase(c *Case) {
	d := c.objectDispatch()
	defer d.free()
	good, bad := d.config(nil), d.config([]byte{1})
	for at := range 4 {
		list := []vulkan.ShaderConfig{good, good, good, good}
		list[at] = bad
		made, r := c.dev.CreateShaders(list...)
		c.want("one of four", r, vk.INCOMPATIBLE_SHADER_BINARY_EXT)
		if first := slices.Index(made, 0); first != at {
			c.Errorf("shader %d failed, and the first without a handle is %d", at, first)
		}
		for _, o := range made {
			if o == 0xbad {
				c.Errorf("a handle was not written")
				continue
			}
			c.dev.DestroyShader(o)
		}
	}
	p := vulkan.Struct[vk.PhysicalDeviceShaderObjectPropertiesEXT](&c.a)
	c.inst.Properties2(c.pd, unsafe.Pointer(p))
	if p.ShaderBinaryUUID == [16]uint8{} {
		c.Errorf("shaderBinaryUUID is 0")
	}
}
