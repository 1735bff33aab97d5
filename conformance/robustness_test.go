package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// robustnessCases mirror robustness and robustness2: what lies behind the bound range is neither read nor written.
func robustnessCases() []definition {
	var all []definition
	for mode, name := range []string{"read", "write", "atomic", "read_vector", "read_uniform"} {
		all = append(all, definition{name: "robustness.robustness2." + name, compute: true, valid: true,
			needs: []string{"RobustBufferAccess", "RobustBufferAccess2"},
			run:   func(c *Case) { robustBuffer(c, mode) }})
	}
	return append(all, definition{name: "robustness.robustness2.null_descriptor", compute: true, valid: true,
		needs: []string{"NullDescriptor"}, run: func(c *Case) {
			results := slices.Repeat([]uint32{7}, 32)
			indices := make([]uint32, 32)
			d := dispatch{shader: glsl("robust/buffer.comp", "MODE=0"),
				buffers: []any{indices, unbound{}, results, unbound{}, uniform{make([]uint32, 256)}}}
			p := c.program(&d)
			defer p.free()
			a := p.arguments(d.buffers...)
			defer a.free()
			for _, b := range []uint32{1, 3} {
				c.dev.WriteSet(a.set, vulkan.Descriptor{Binding: b, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER})
			}
			c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
				a.record(cb)
				c.dev.Barrier(cb)
			}))
			a.download()
			wantSlice(c, "reads of nothing", results, make([]uint32, 32))
		}}, definition{name: "robustness.unwritten_descriptors", compute: true, farsideOnly: true, run: func(c *Case) {
		for mode := range 5 {
			d := dispatch{shader: glsl("robust/buffer.comp", fmt.Sprint("MODE=", mode)),
				buffers: []any{unbound{}, unbound{}, unbound{}, unbound{}, uniform{}}}
			c.dispatch(d)
		}
	}}, definition{name: "robustness.arrays", compute: true, farsideOnly: true, run: func(c *Case) {
		rng := rand.New(rand.NewPCG(41, 42))
		for round := range 4 {
			indices, results := make([]uint32, 320), make([]uint32, 320)
			for i := range indices {
				indices[i] = []uint32{rng.Uint32N(50), rng.Uint32(), ^uint32(0) - rng.Uint32N(100), 1 << rng.IntN(32)}[(i+round)%4]
			}
			c.dispatch(dispatch{shader: glsl("robust/private.comp"), groups: [3]uint32{10}, buffers: []any{indices, results},
				push: []uint32{1, 2, 3, 4}})
			for i, r := range results {
				if r > 1 {
					c.Errorf("results[%d] is %d", i, r)
				}
			}
		}
	}}, definition{name: "robustness.hostile_modules.bit_flips", compute: true, farsideOnly: true,
		env: []string{"FARSIDE_WATCHDOG=50ms", "FARSIDE_LOG=off"}, run: func(c *Case) {
			hostileModules(c, func(rng *rand.Rand, code []uint32) []uint32 {
				for range 1 + rng.IntN(3) {
					code[rng.IntN(len(code))] ^= 1 << rng.IntN(32)
				}
				return code
			})
		}}, definition{name: "robustness.hostile_modules.truncated", compute: true, farsideOnly: true,
		env: []string{"FARSIDE_WATCHDOG=50ms", "FARSIDE_LOG=off"}, run: func(c *Case) {
			hostileModules(c, func(rng *rand.Rand, code []uint32) []uint32 { return code[:1+rng.IntN(len(code)-1)] })
		}}, definition{name: "robustness.hostile_modules.words", compute: true, farsideOnly: true,
		env: []string{"FARSIDE_WATCHDOG=50ms", "FARSIDE_LOG=off"}, run: func(c *Case) {
			hostileModules(c, func(rng *rand.Rand, code []uint32) []uint32 {
				switch rng.IntN(4) {
				case 0: // a word becomes a small one: other ids, other opcodes
					for range 1 + rng.IntN(4) {
						code[rng.IntN(len(code))] = rng.Uint32N(100)
					}
				case 1: // one part over another
					n := 1 + rng.IntN(min(20, len(code)-1))
					copy(code[rng.IntN(len(code)-n+1):][:n], code[rng.IntN(len(code)-n+1):][:n])
				case 2: // a part is missing
					at := 5 + rng.IntN(len(code)-5)
					code = append(code[:at], code[min(at+1+rng.IntN(8), len(code)):]...)
				default: // all but the header is random
					for i := range code[5:] {
						code[5+i] = rng.Uint32() >> rng.IntN(32)
					}
				}
				return code
			})
		}}, definition{name: "robustness.watchdog", compute: true, farsideOnly: true,
		instanceExtensions: []string{debugExtension},
		env:                []string{"FARSIDE_WATCHDOG=1s"}, run: watchdogCase})
}

func robustBuffer(c *Case, mode int) {
	const n, within = 32 * 8, 40
	rng := rand.New(rand.NewPCG(uint64(mode), 40))
	indices := make([]uint32, n)
	for i := range indices {
		switch i % 4 {
		case 0:
			indices[i] = uint32(rng.IntN(within))
		case 1:
			indices[i] = within + uint32(rng.IntN(200)) // behind the range, inside of the buffer and behind that
		case 2:
			indices[i] = rng.Uint32()
		default: // offsets that wrap around
			indices[i] = (1<<32-64)/4 + uint32(rng.IntN(16)) + uint32(rng.IntN(4))<<30
		}
	}
	target, vectors, uniforms := random32(100, 51), make([][4]uint32, 100), make([][4]uint32, 64)
	for i := range vectors {
		vectors[i] = [4]uint32(random32(4, uint64(i)))
	}
	copy(uniforms, vectors)
	results, want := make([]uint32, n), make([]uint32, n)
	wantTarget := slices.Clone(target)
	for i, x := range indices {
		if x >= within {
			continue
		}
		switch mode {
		case 0:
			want[i] = target[x]
		case 1:
			wantTarget[x] = 0 // some invocation's
		case 2:
			wantTarget[x]++
		case 3:
			want[i] = vectors[x][0] + vectors[x][3]*3
		case 4:
			want[i] = uniforms[x][1]
		}
	}
	d := dispatch{shader: glsl("robust/buffer.comp", fmt.Sprint("MODE=", mode)), groups: [3]uint32{n / 32},
		buffers: []any{indices, target, results, vectors, uniform{uniforms}}}
	p := c.program(&d)
	defer p.free()
	a := p.arguments(d.buffers...)
	defer a.free()
	for binding, size := range map[uint32]uint64{1: within * 4, 3: within * 16, 4: within * 16} {
		c.dev.WriteSet(a.set, vulkan.Descriptor{Binding: binding, Type: p.bindings[binding].Type,
			Buffer: vk.DescriptorBufferInfo{Buffer: a.buffers[binding].buffer, Range: size}})
	}
	c.must("submit and wait", c.dev.Submit(func(cb vk.CommandBuffer) {
		a.record(cb)
		c.dev.Barrier(cb)
	}))
	a.download()
	switch mode {
	case 1:
		for i, x := range indices {
			if x < within && (target[x] == 0 || target[x] > n || indices[target[x]-1] != x) {
				c.Errorf("invocation %d wrote to [%d], where now is %d", i, x, target[x])
			}
		}
		for i := range wantTarget {
			if wantTarget[i] == 0 {
				target[i] = 0
			}
		}
	case 2: // what the atomic operations gave depends on their order
		results = want
	}
	wantSlice(c, "results", results, want)
	wantSlice(c, "target", target, wantTarget)
}

// hostileModules offers modules that were made bad to the driver, and runs those that it takes: nothing may crash or
// hang.
func hostileModules(c *Case, spoil func(rng *rand.Rand, code []uint32) []uint32) {
	good := [][]uint32{
		c.compile(glsl("basic/reduce.comp", "SIZE=32")), c.compile(glsl("control/flow.comp", "F=nested_switch")),
		c.compile(glsl("control/flow.comp", "F=struct_state")),
		c.compile(glsl("memory/zero.comp")), c.compile(glsl("basic/constants.comp")), c.compile(glsl("robust/private.comp")),
		c.compile(shaders.Source{Name: "subgroup/ops.comp",
			Defines: []string{"SIZE=64", "T=uint", "ACTIVE=value%3!=0", "COUNT=1",
				"OPERATIONS=results[at] = uvec4(subgroupAdd(v), subgroupShuffleXor(v, 1), subgroupBallot(true).x, 0);"}}),
	}
	rng := rand.New(rand.NewPCG(61, 62))
	made, lost := 0, 0
	start := time.Now()
	for n := 0; time.Since(start) < 1500*time.Millisecond; n++ {
		code := spoil(rng, slices.Clone(good[n%len(good)]))
		d := dispatch{code: code, buffers: []any{make([]uint32, 4096), make([]uint32, 4096)}, push: make([]uint32, 4)}
		p, r := c.tryProgram(&d)
		if r != vk.SUCCESS {
			continue
		}
		made++
		a := p.arguments(d.buffers...)
		r = c.dev.Submit(func(cb vk.CommandBuffer) { a.record(cb) })
		a.free()
		p.free()
		if r == vk.ERROR_DEVICE_LOST { // it ran for too long
			lost++
			c.dev.Destroy()
			c.dev = c.computeDevice()
		}
	}
	fmt.Printf("%d of the modules became pipelines, %d of which did not end\n", made, lost)
}

func watchdogCase(c *Case) {
	hear := c.listen()
	d := dispatch{shader: shaders.Source{Name: "basic/endless.comp", Debug: true}, buffers: []any{make([]uint32, 32)}}
	p := c.program(&d)
	a := p.arguments(d.buffers...)
	start := time.Now()
	c.want("an endless dispatch", c.dev.Submit(a.record), vk.ERROR_DEVICE_LOST)
	if took := time.Since(start); took > time.Duration(patience) {
		c.Errorf("the watchdog took %v", took)
	}
	a.free()
	p.free()
	c.want("vkDeviceWaitIdle afterwards", c.dev.WaitIdle(), vk.ERROR_DEVICE_LOST)
	c.want("vkQueueSubmit afterwards", c.dev.SubmitBatches(c.dev.Queue(), 0), vk.ERROR_DEVICE_LOST)
	// Another device runs.
	lost := c.dev
	c.dev = c.computeDevice()
	data := []uint32{1, 0}
	c.dispatch(dispatch{shader: glsl("basic/count.comp"), buffers: []any{make([]uint32, 33)}, push: data[:1]})
	lost.Destroy()
	said := strings.Join(hear(), "\n")
	for _, want := range []string{`"main"`, "endless.comp:7", "FARSIDE_WATCHDOG", "1s"} {
		if !strings.Contains(said, want) {
			c.Errorf("no message has %q:\n%s", want, said)
		}
	}
}
