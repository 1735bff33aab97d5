package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A dispatch is a compute shader and what it works on. What its buffers name is written before the shader runs, and
// holds what it wrote afterwards.
type dispatch struct {
	shader shaders.Source // compiled for the device's version, if it names no target
	code   []uint32       // instead of shader
	entry  string         // "" is "main"
	groups [3]uint32      // 0 is 1
	base   [3]uint32      // of vkCmdDispatchBase, if not 0
	// slices, at bindings 0, 1, 2… of set 0: storage buffers, or what uniform and others make of them
	buffers []any
	push    any // a slice of push constants
	spec    []vulkan.Constant

	subgroupSize  uint32 // required; 0: any
	stageFlags    vk.PipelineShaderStageCreateFlags
	pipelineFlags vk.PipelineCreateFlags
}

// glsl is a file of conformance/shaders with macros.
func glsl(name string, defines ...string) shaders.Source {
	return shaders.Source{Name: name, Defines: defines}
}

// uniform is a slice that is bound as a uniform buffer; nil is unbound.
type uniform struct{ data any }

// described is a binding of another kind than buffers: images, samplers, views of buffers.
type described struct{ vulkan.Descriptor }

// unbound is a binding without a descriptor.
type unbound struct{}

// bytesOf is the memory of a slice.
func bytesOf(slice any) []byte {
	if slice == nil {
		return nil
	}
	v := reflect.ValueOf(slice)
	return unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size()))
}

// constant is a specialization constant; value is a slice of one value.
func constant(id uint32, value any) vulkan.Constant {
	return vulkan.Constant{ID: id, Value: bytesOf(value)}
}

// compile compiles a shader, for the highest version that the device and the compiler know, unless it says for which.
func (c *Case) compile(s shaders.Source) []uint32 {
	if s.Target == "" {
		s.Target = fmt.Sprintf("vulkan1.%d", c.target)
	}
	code, err := s.Compile()
	if errors.Is(err, shaders.ErrTool) {
		c.Unsupported(err.Error())
	}
	if err != nil {
		c.Fatalf("%v", err)
	}
	return code
}

// A program is a dispatch that has become objects.
type program struct {
	c         *Case
	d         *dispatch
	module    vk.ShaderModule
	bindings  []vulkan.Binding
	setLayout vk.DescriptorSetLayout
	layout    vk.PipelineLayout
	pipeline  vk.Pipeline
}

func (c *Case) program(d *dispatch) *program {
	p, r := c.tryProgram(d)
	c.must("vkCreateComputePipelines", r)
	return p
}

// tryProgram returns the first result that is no success, of the shader module or of the pipeline.
func (c *Case) tryProgram(d *dispatch) (*program, vk.Result) {
	p := &program{c: c, d: d}
	code := d.code
	if code == nil {
		code = c.compile(d.shader)
	}
	for i, b := range d.buffers {
		t := vk.DESCRIPTOR_TYPE_STORAGE_BUFFER
		var samplers []vk.Sampler
		switch b := b.(type) {
		case uniform:
			t = vk.DESCRIPTOR_TYPE_UNIFORM_BUFFER
		case described:
			t = b.Type
			if b.Immutable {
				samplers = []vk.Sampler{b.Image.Sampler}
			}
		}
		p.bindings = append(p.bindings, vulkan.Binding{Binding: uint32(i), Type: t, Count: 1, Samplers: samplers})
	}
	var r vk.Result
	p.setLayout, r = c.dev.CreateSetLayout(0, p.bindings...)
	c.must("vkCreateDescriptorSetLayout", r)
	p.layout, r = c.dev.CreatePipelineLayout(len(bytesOf(d.push)), p.setLayout)
	c.must("vkCreatePipelineLayout", r)
	if p.module, r = c.dev.CreateShaderModule(code); r != vk.SUCCESS {
		p.free()
		return nil, r
	}
	p.pipeline,
		r = c.dev.CreateComputePipeline(vulkan.PipelineConfig{Module: p.module, Entry: d.entry, Layout: p.layout,
		Constants:    d.spec,
		SubgroupSize: d.subgroupSize, StageFlags: d.stageFlags, Flags: d.pipelineFlags})
	if r != vk.SUCCESS {
		p.free()
		return nil, r
	}
	return p, r
}

func (p *program) free() {
	p.c.dev.DestroyPipeline(p.pipeline)
	p.c.dev.DestroyShaderModule(p.module)
	p.c.dev.DestroyPipelineLayout(p.layout)
	p.c.dev.DestroySetLayout(p.setLayout)
}

// arguments are the buffers of a program, and a set that names them.
type arguments struct {
	p       *program
	pool    vk.DescriptorPool
	set     vk.DescriptorSet
	buffers []*shaderBuffer
}

// guard is what lies behind a buffer in its memory, which no shader may change.
var guard = bytes.Repeat([]byte{0xc5, 0x3a}, 128)

// A shaderBuffer is a buffer in mapped memory of its own, of the size of a slice.
type shaderBuffer struct {
	c      *Case
	buffer vk.Buffer
	memory vk.DeviceMemory
	host   []byte // the slice
	mapped []byte // with the guard
}

func (c *Case) shaderBuffer(slice any, usage vk.BufferUsageFlags) *shaderBuffer {
	return c.usageBuffer(slice, usage|vulkan.Transfers)
}

// usageBuffer is shaderBuffer with these usages alone.
func (c *Case) usageBuffer(slice any, usage vk.BufferUsageFlags) *shaderBuffer {
	b := &shaderBuffer{c: c, host: bytesOf(slice)}
	var r vk.Result
	var next unsafe.Pointer
	if usage&vk.BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT != 0 {
		flags := vulkan.Struct[vk.MemoryAllocateFlagsInfo](&c.a)
		flags.Flags = vk.MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
		next = unsafe.Pointer(flags)
	}
	b.buffer, r = c.dev.CreateUsageBuffer(uint64(max(len(b.host), 4)), usage, nil)
	c.must("vkCreateBuffer", r)
	size := c.dev.BufferRequirements(b.buffer).Size + uint64(len(guard))
	b.memory = c.allocate(size, c.visible(), next)
	c.must("vkBindBufferMemory", c.dev.BindBuffer(b.buffer, b.memory, 0))
	b.mapped = c.bytes(b.memory, size)[:len(b.host)+len(guard)]
	b.upload()
	return b
}

func (b *shaderBuffer) upload() {
	copy(b.mapped, b.host)
	copy(b.mapped[len(b.host):], guard)
}

// download reads what the device wrote, and looks at the guard.
func (b *shaderBuffer) download() {
	copy(b.host, b.mapped)
	if !bytes.Equal(b.mapped[len(b.host):], guard) {
		b.c.Errorf("something wrote behind the end of a buffer of %d bytes", len(b.host))
	}
}

func (b *shaderBuffer) free() {
	b.c.dev.DestroyBuffer(b.buffer)
	b.c.dev.Free(b.memory)
}

// arguments makes buffers of slices as dispatch.buffers has them.
func (p *program) arguments(slices ...any) *arguments {
	a := &arguments{p: p}
	c := p.c
	var r vk.Result
	a.pool, r = c.dev.CreateDescriptorPool(0, 1, p.bindings...)
	c.must("vkCreateDescriptorPool", r)
	sets, r := c.dev.AllocateSets(a.pool, p.setLayout)
	c.must("vkAllocateDescriptorSets", r)
	a.set = sets[0]
	for i, s := range slices {
		var usage vk.BufferUsageFlags = vk.BUFFER_USAGE_STORAGE_BUFFER_BIT | vk.BUFFER_USAGE_INDIRECT_BUFFER_BIT
		switch u := s.(type) {
		case unbound:
			continue
		case described:
			u.Binding = uint32(i)
			c.dev.WriteSet(a.set, u.Descriptor)
			continue
		case uniform:
			if u.data == nil {
				continue
			}
			s, usage = u.data, vk.BUFFER_USAGE_UNIFORM_BUFFER_BIT
		}
		b := c.shaderBuffer(s, usage)
		a.buffers = append(a.buffers, b)
		c.dev.WriteSet(a.set, vulkan.Descriptor{Binding: uint32(i), Type: p.bindings[i].Type,
			Buffer: vk.DescriptorBufferInfo{Buffer: b.buffer}})
	}
	return a
}

func (a *arguments) free() {
	for _, b := range a.buffers {
		b.free()
	}
	a.p.c.dev.DestroyDescriptorPool(a.pool)
}

func (a *arguments) download() {
	for _, b := range a.buffers {
		b.download()
	}
}

// record binds the pipeline, the set and the push constants, and dispatches.
func (a *arguments) record(cb vk.CommandBuffer) {
	dev, d := a.p.c.dev, a.p.d
	a.bind(cb)
	g := d.groups
	for i := range g {
		g[i] = max(g[i], 1)
	}
	if d.base != [3]uint32{} {
		dev.CallOn("vkCmdDispatchBase", uintptr(cb), uintptr(d.base[0]), uintptr(d.base[1]), uintptr(d.base[2]),
			uintptr(g[0]), uintptr(g[1]), uintptr(g[2]))
		return
	}
	dev.Dispatch(cb, g[0], g[1], g[2])
}

// bind is record without the dispatch.
func (a *arguments) bind(cb vk.CommandBuffer) {
	dev, p := a.p.c.dev, a.p
	dev.BindCompute(cb, p.pipeline)
	dev.BindSets(cb, p.layout, 0, []vk.DescriptorSet{a.set})
	if push := bytesOf(p.d.push); len(push) > 0 {
		dev.Push(cb, p.layout, 0, push)
	}
}

// dispatch runs d from the making of its objects to their end.
func (c *Case) dispatch(d dispatch) { c.must("submit and wait", c.tryDispatch(d)) }

func (c *Case) tryDispatch(d dispatch) vk.Result {
	p := c.program(&d)
	defer p.free()
	a := p.arguments(d.buffers...)
	defer a.free()
	r := c.dev.Submit(func(cb vk.CommandBuffer) {
		a.record(cb)
		c.dev.Barrier(cb)
	})
	a.download()
	return r
}

// wantSlice compares what a shader wrote with what was expected, by bits.
func wantSlice[T comparable](c *Case, what string, got, want []T) bool {
	if len(got) != len(want) {
		c.Errorf("%s: %d values, want %d", what, len(got), len(want))
		return false
	}
	bad := 0
	for i := range got {
		if got[i] != want[i] {
			if bad++; bad <= 4 {
				c.Errorf("%s: [%d] is %v, want %v", what, i, got[i], want[i])
			}
		}
	}
	if bad > 4 {
		c.Errorf("%s: %d of %d values are wrong", what, bad, len(got))
	}
	return bad == 0
}
