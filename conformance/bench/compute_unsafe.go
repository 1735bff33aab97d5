package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"time"
	"unsafe"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

const (
	elements     = 16 << 20 // floats or words in each of the large buffers
	elementBytes = 4 * elements
	edge         = 1024 // of the matrices and of the picture
	bodies       = 4096
)

// The buffers of computeBench.
const (
	randomWords = iota
	smallFloats // whole numbers from 0 to 15, so that sums of them are exact in any order
	output
	particles
	bufferCount
)

// A computeKernel is a shader that is measured. It reads one of the buffers, in some cases another, and writes output.
type computeKernel struct {
	name   string
	groups [2]uint32
	reads  int
	second int // the buffer at binding 2
	push   uint32
	output int  // bytes that it writes
	fill   bool // output is zeroed before each dispatch, and that is measured too
	add    bool // it adds to what is in output
	within float64
	rounds int  // samples
	once   bool // lavapipe is measured only once: it takes more than ten seconds
	most   float64
}

var computeKernels = []computeKernel{
	{name: "copy", groups: [2]uint32{elements / 256, 1}, reads: randomWords, output: elementBytes, rounds: 15, most: 0.15},
	{name: "saxpy", groups: [2]uint32{elements / 256, 1}, reads: smallFloats, push: math.Float32bits(0.5),
		output: elementBytes, add: true, rounds: 15, most: 0.1},
	{name: "reduction", groups: [2]uint32{elements / 256, 1}, reads: smallFloats, output: elementBytes / 256, rounds: 5,
		most: 0.06},
	{name: "matrix", groups: [2]uint32{edge / 16, edge / 16}, reads: smallFloats, second: smallFloats, push: edge,
		output: 4 * edge * edge, rounds: 5, once: true, most: 0.06},
	{name: "nbody", groups: [2]uint32{bodies / 256, 1}, reads: particles, push: bodies, output: 16 * bodies, within: 1e-3,
		rounds: 7, most: 0.3},
	{name: "histogram", groups: [2]uint32{elements / 256, 1}, reads: randomWords, output: 4 * 256, fill: true, rounds: 7,
		most: 0.5},
	{name: "mandelbrot", groups: [2]uint32{edge / 16, edge / 16}, push: edge, output: 4 * edge * edge, rounds: 15,
		most: 1.5},
	{name: "sort", groups: [2]uint32{elements / 512, 1}, reads: randomWords, output: elementBytes, rounds: 7, once: true,
		most: 1.0 / 3},
	{name: "sha256", groups: [2]uint32{elements / 1024, 1}, reads: randomWords, output: elementBytes / 2, rounds: 7,
		most: 1.0 / 3},
	{name: "filter", groups: [2]uint32{edge / 16, edge / 16}, reads: randomWords, push: edge, output: edge * edge,
		rounds: 7, most: 1.0 / 3},
	{name: "product", groups: [2]uint32{edge / 128, edge / 128}, reads: smallFloats, second: smallFloats, push: edge,
		output: 4 * edge * edge, rounds: 5, most: 1.0 / 3},
	{name: "collatz", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords, output: elementBytes / 16, rounds: 7,
		most: 1},
	{name: "branches", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords, output: elementBytes / 16, rounds: 7,
		most: 1},
	{name: "sparse", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords, second: smallFloats,
		output: elementBytes / 16, within: 1e-5, rounds: 5, most: 1.0 / 3},
	{name: "hash", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 8, rounds: 5, most: 1.0 / 3},
	{name: "machine", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "tree", groups: [2]uint32{elements / 256 / 256, 1}, reads: randomWords,
		output: elementBytes / 256, rounds: 5, most: 1.0 / 3},
	{name: "fft", groups: [2]uint32{elements / 4 / 512, 1}, reads: smallFloats,
		output: elementBytes / 2, within: 1e-2, rounds: 5, most: 1.0 / 3},
	{name: "bilateral", groups: [2]uint32{edge / 16, edge / 16}, reads: smallFloats, push: edge,
		output: 4 * edge * edge, within: 1e-3, rounds: 5, most: 1.0 / 3},
	{name: "chacha", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes, rounds: 5, most: 1.0 / 3},
	{name: "random", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "radix", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "tiles", groups: [2]uint32{edge / 64, edge / 64}, reads: smallFloats, second: smallFloats, push: edge,
		output: 4 * edge * edge, rounds: 5, most: 1.0 / 3},
	{name: "cholesky", groups: [2]uint32{elements / 16 / 1024, 1}, reads: smallFloats,
		output: elementBytes / 16, rounds: 5, within: 1e-2, most: 1.0 / 3},
	{name: "table", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "floatsum", groups: [2]uint32{elements / 16 / 256, 1}, reads: smallFloats,
		output: elementBytes / 64, rounds: 5, most: 1.0 / 3},
	{name: "morton", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "rays", groups: [2]uint32{elements / 256 / 64, 1}, reads: randomWords,
		output: elementBytes / 256, rounds: 5, most: 1.0 / 3},
	{name: "compact", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "doubles", groups: [2]uint32{elements / 64 / 256, 1}, reads: randomWords,
		output: elementBytes / 64, rounds: 5, within: 1e-3, most: 1.0 / 3},
	{name: "exponents", groups: [2]uint32{elements / 16 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, within: 1e-3, most: 1.0 / 3},
	{name: "modular", groups: [2]uint32{elements / 32 / 256, 1}, reads: randomWords,
		output: elementBytes / 16, rounds: 5, most: 1.0 / 3},
	{name: "functions", groups: [2]uint32{elements / 32 / 256, 1}, reads: randomWords,
		output: elementBytes / 32, rounds: 5, within: 1e-3, most: 1.0 / 3},
	{name: "simplex", groups: [2]uint32{edge / 16, edge / 16}, push: edge,
		output: 4 * edge * edge, rounds: 5, within: 1e-3, most: 1.0 / 3},
	{name: "queens", groups: [2]uint32{elements / 4096 / 64, 1},
		output: elementBytes / 4096, rounds: 5, most: 1.0 / 3},
	{name: "crc", groups: [2]uint32{elements / 256 / 64, 1}, reads: randomWords,
		output: elementBytes / 256, rounds: 5, most: 1.0 / 3},
}

// computeTitles are the kernels' rows.
var computeTitles = map[string]string{
	"copy": "copy 16 Mi floats by a shader", "saxpy": "saxpy 16 Mi floats",
	"reduction": "reduction with shared memory, 16 Mi floats",
	"matrix":    "1024 x 1024 matrix product, 16 x 16 tiles in shared memory",
	"nbody":     "n-body, 4096 bodies, tiles in shared memory",
	"histogram": "histogram, 16 Mi values, global atomics", "mandelbrot": "Mandelbrot 1024 x 1024, 256 iterations",
	"sort":      "bitonic sort of 512 words in shared memory, 16 Mi words",
	"sha256":    "SHA-256 of 64 bytes in each invocation, 64 MiB",
	"filter":    "5 x 5 filter of 1024 x 1024 pixels of 8 bits",
	"product":   "1024 x 1024 matrix product, 8 x 8 in the registers of an invocation",
	"collatz":   "Collatz sequences of 1 Mi words: loops that diverge",
	"branches":  "64 Mi steps of random walks: branches that diverge",
	"sparse":    "a sparse matrix of 1 Mi rows by a vector: gathers in loops that diverge",
	"hash":      "hashes of 1 Mi times 128 bytes, in integers of 64 bits",
	"machine":   "an interpreter, 64 Mi steps: a switch in a loop",
	"tree":      "64 Ki walks through a tree, with a stack in an array",
	"fft":       "8,192 Fourier transforms of 512 numbers in shared memory",
	"bilateral": "bilateral filter of 7 x 7, 1024 x 1024 floats",
	"chacha":    "ChaCha20, 64 MiB",
	"random":    "128 Mi points of a random generator in a circle",
	"radix":     "radix sort of 256 words, 1 Mi words: ballots and scans of subgroups",
	"tiles":     "1024 x 1024 matrix product, 64 x 64 in shared memory, 4 x 4 in registers",
	"modular":   "32 Mi products of integers of 64 bits to 128, and remainders by a constant",
	"functions": "8 Mi sums of sines, exponentials, logarithms, powers and arcs",
	"simplex":   "six octaves of gradient noise, 1024 x 1024",
	"queens":    "4,096 searches for places of nine queens, with stacks in arrays",
	"crc":       "CRC-32 of 64 Ki times 128 bytes, by a table in shared memory",
	"cholesky":  "1,024 decompositions of 32 x 32 by Cholesky, in shared memory",
	"table":     "2 Mi keys into hash tables in shared memory, by compare and exchange",
	"floatsum":  "sums of 16 Mi floats by class, by compare and exchange",
	"morton":    "16 Mi steps of counts, positions and reversals of bits",
	"rays":      "64 Ki rays through a hierarchy of boxes, with a stack in an array",
	"compact":   "8 Mi words: scans and sums of subgroups in branches",
	"doubles":   "4 Mi steps of Newton's method, with remainders, in doubles",
	"exponents": "16 Mi steps of a generator of 64 bits: floats and their exponents",
}

// computeBench is a driver's shaders and what they work on.
type computeBench struct {
	a       vulkan.Arena
	dev     *vulkan.Device
	calls   *submitCalls
	buffers [bufferCount]vk.Buffer
	memory  [bufferCount][]byte
	configs []vulkan.PipelineConfig      // of all kernels
	sets    []vk.DescriptorSet           // theirs
	code    []*vk.ShaderModuleCreateInfo // and theirs
	round   vulkan.Arena                 // what is made for one round
	made    *pipelineCalls
	work    []*vk.SubmitInfo // of all kernels
	empty   *vk.SubmitInfo
}

// pipelineCalls is struct pipelines of native/loops.c.
type pipelineCalls struct {
	createModule, destroyModule, create, destroy uintptr
	device                                       vk.Device
}

// openComputeBench returns nil if the device runs no shaders.
func openComputeBench(d *vulkan.Device, memoryType uint32) (*computeBench, error) {
	if d.Instance.QueueFamilies(d.Physical)[0].QueueFlags&vk.QueueFlags(vk.QUEUE_COMPUTE_BIT) == 0 {
		return nil, nil
	}
	b := &computeBench{dev: d}
	var err error
	if b.calls, err = newSubmitCalls(&b.a, d); err != nil {
		return nil, err
	}
	b.made = vulkan.Put(&b.a, pipelineCalls{
		createModule: d.Proc("vkCreateShaderModule"), destroyModule: d.Proc("vkDestroyShaderModule"),
		create: d.Proc("vkCreateComputePipelines"), destroy: d.Proc("vkDestroyPipeline"), device: d.Handle,
	})
	for i := range b.buffers {
		size := uint64(elementBytes)
		if i == particles {
			size = 16 * bodies
		}
		var r vk.Result
		const usage = vk.BUFFER_USAGE_STORAGE_BUFFER_BIT | vulkan.Transfers
		if b.buffers[i], r = d.CreateUsageBuffer(size, usage, nil); r != vk.SUCCESS {
			return nil, fmt.Errorf("vkCreateBuffer: %v", r)
		}
		m, r := d.Allocate(d.BufferRequirements(b.buffers[i]).Size, memoryType, nil)
		if r == vk.SUCCESS {
			r = d.BindBuffer(b.buffers[i], m, 0)
		}
		if r != vk.SUCCESS {
			return nil, fmt.Errorf("memory of a buffer for shaders: %v", r)
		}
		mapped, r := d.Map(m, 0, vk.WHOLE_SIZE)
		if r != vk.SUCCESS {
			return nil, fmt.Errorf("vkMapMemory: %v", r)
		}
		b.memory[i] = vulkan.Bytes(mapped, int(size))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	words, floats, points := typed[uint32](b.memory[randomWords]), typed[float32](b.memory[smallFloats]),
		typed[float32](b.memory[particles])
	for i := range words {
		words[i] = rng.Uint32()
		floats[i] = float32(words[i] & 15)
	}
	for i := range points {
		points[i] = rng.Float32()*4 - 2
	}
	for _, k := range computeKernels {
		if err := b.record(k); err != nil {
			return nil, fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return b, b.recordEmpty()
}

// typed looks at memory as values.
func typed[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(t)))
}

// compiled is a shader's code.
func compiled(name string) ([]uint32, error) {
	return shaders.Source{Name: "bench/" + name + ".comp"}.Compile()
}

// pipeline makes a shader's objects; the set is 0 if there is nothing to bind.
func (b *computeBench) pipeline(code []uint32, bound ...vk.Buffer) (vulkan.PipelineConfig, vk.DescriptorSet, error) {
	var c vulkan.PipelineConfig
	var bindings []vulkan.Binding
	for i := range bound {
		bindings = append(bindings, vulkan.Binding{Binding: uint32(i), Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Count: 1})
	}
	layout, r := b.dev.CreateSetLayout(0, bindings...)
	if r == vk.SUCCESS {
		c.Layout, r = b.dev.CreatePipelineLayout(16, layout)
	}
	if r == vk.SUCCESS {
		c.Module, r = b.dev.CreateShaderModule(code)
	}
	var pool vk.DescriptorPool
	if r == vk.SUCCESS {
		pool, r = b.dev.CreateDescriptorPool(0, 1, bindings...)
	}
	var sets []vk.DescriptorSet
	if r == vk.SUCCESS {
		sets, r = b.dev.AllocateSets(pool, layout)
	}
	if r != vk.SUCCESS {
		return c, 0, fmt.Errorf("objects of a pipeline: %v", r)
	}
	for i, x := range bound {
		if x != 0 {
			b.dev.WriteSet(sets[0], vulkan.Descriptor{Binding: uint32(i), Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER,
				Buffer: vk.DescriptorBufferInfo{Buffer: x}})
		}
	}
	return c, sets[0], nil
}

// submission records a command buffer of one dispatch.
func (b *computeBench) submission(c vulkan.PipelineConfig, set vk.DescriptorSet, x, y, push uint32,
	before func(cb vk.CommandBuffer)) (*vk.SubmitInfo, error) {
	p, r := b.dev.CreateComputePipeline(c)
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("vkCreateComputePipelines: %v", r)
	}
	pool, r := b.dev.CreateCommandPool(0)
	var cb vk.CommandBuffer
	if r == vk.SUCCESS {
		cb, r = b.dev.AllocateCommandBuffer(pool)
	}
	if r == vk.SUCCESS {
		r = b.dev.Record(cb, 0, func(cb vk.CommandBuffer) {
			before(cb)
			b.dev.BindCompute(cb, p)
			b.dev.BindSets(cb, c.Layout, 0, []vk.DescriptorSet{set})
			b.dev.Push(cb, c.Layout, 0, vulkan.Bytes(unsafe.Pointer(&push), 4))
			b.dev.Dispatch(cb, x, y, 1)
		})
	}
	if r != vk.SUCCESS {
		return nil, fmt.Errorf("recording: %v", r)
	}
	info := vulkan.Struct[vk.SubmitInfo](&b.a)
	info.CommandBufferCount, info.PCommandBuffers = 1, vulkan.Put(&b.a, cb)
	return info, nil
}

func (b *computeBench) record(k computeKernel) error {
	bound := []vk.Buffer{b.buffers[k.reads], b.buffers[output]}
	if k.second != 0 {
		bound = append(bound, b.buffers[k.second])
	}
	code, err := compiled(k.name)
	if err != nil {
		return err
	}
	c, set, err := b.pipeline(code, bound...)
	if err != nil {
		return err
	}
	info, err := b.submission(c, set, k.groups[0], k.groups[1], k.push, func(cb vk.CommandBuffer) {
		if k.fill {
			b.dev.CallOn("vkCmdFillBuffer", uintptr(cb), uintptr(b.buffers[output]), 0, uintptr(k.output), 0)
			b.dev.Barrier(cb)
		}
	})
	b.configs, b.sets, b.work = append(b.configs, c), append(b.sets, set), append(b.work, info)
	b.code = append(b.code, vulkan.ShaderModuleInfo(&b.a, code))
	return err
}

func (b *computeBench) recordEmpty() error {
	code, err := compiled("empty")
	if err != nil {
		return err
	}
	c, set, err := b.pipeline(code)
	if err != nil {
		return err
	}
	b.empty, err = b.submission(c, set, 1, 1, 0, func(vk.CommandBuffer) {})
	return err
}

// checkCompute runs every kernel on both drivers, and compares what they write. The times of kernels that run once are
// taken.
func checkCompute(drivers []*driver, l *loops, into *samples) error {
	for n, k := range computeKernels {
		if !into.needs("farside " + k.name) {
			continue
		}
		var outputs [][]byte
		for _, d := range drivers {
			b := d.compute
			to := b.memory[output][:k.output]
			clear(to)
			if k.add {
				copy(to, b.memory[randomWords])
				for i, w := range typed[uint32](to) { // no infinities
					typed[float32](to)[i] = float32(w >> 16)
				}
			}
			took := run(1, l.submit, address(b.calls), address(b.work[n]))
			if d.name == "lavapipe" && k.once {
				into.note(d.name+" "+k.name, took)
			}
			outputs = append(outputs, append([]byte(nil), to...))
		}
		x, y := typed[uint32](outputs[0]), typed[uint32](outputs[1])
		for i := range x {
			if x[i] == y[i] {
				continue
			}
			f, g := float64(math.Float32frombits(x[i])), float64(math.Float32frombits(y[i]))
			if k.within == 0 || math.Abs(f-g) > k.within*math.Max(math.Abs(f), 1) {
				return fmt.Errorf("%s: the drivers differ at word %d: %#x and %#x, as floats %v and %v", k.name, i, x[i], y[i], f,
					g)
			}
		}
	}
	return nil
}

// create makes all pipelines once, or with own modules these too, and returns nanoseconds.
func (b *computeBench) create(constant int, l *loops, own bool) float64 {
	b.round.Reset()
	infos := vulkan.Make[*vk.ComputePipelineCreateInfo](&b.round, len(b.configs))
	for i, c := range b.configs {
		infos[i] = unknown(c, constant).Info(&b.round)
	}
	var code uintptr
	if own {
		list := vulkan.Make[*vk.ShaderModuleCreateInfo](&b.round, len(b.code))
		copy(list, b.code)
		code = address(&list[0])
	}
	return float64(len(infos)) * run(len(infos), l.pipelines, address(b.made), address(&infos[0]), code)
}

// unknown is a pipeline that no driver has made before: it gives a value to a constant that no shader has.
func unknown(c vulkan.PipelineConfig, constant int) vulkan.PipelineConfig {
	c.Constants = []vulkan.Constant{{ID: 1000, Value: []byte{byte(constant), byte(constant >> 8), 0, 0}}}
	return c
}

// use makes all pipelines once and executes a workgroup of each, and returns nanoseconds.
func (b *computeBench) use(constant int, l *loops) (float64, error) {
	start := time.Now()
	for i, k := range computeKernels {
		info, err := b.submission(unknown(b.configs[i], constant), b.sets[i], 1, 1, k.push, func(vk.CommandBuffer) {})
		if err != nil {
			return 0, err
		}
		run(1, l.submit, address(b.calls), address(info))
	}
	return float64(time.Since(start)), nil
}

// sample measures the kernels that this round has to, the creation and first use of all pipelines, and a dispatch of
// nothing.
func (b *computeBench) sample(d *driver, round int, l *loops, into *samples) error {
	add := func(what string, measure func() float64) { into.add(d.name+" "+what, measure) }
	for n, k := range computeKernels {
		if round >= k.rounds || d.name == "lavapipe" && k.once {
			continue
		}
		add(k.name, func() float64 {
			run(1, l.submit, address(b.calls), address(b.empty)) // wakes the cores
			return run(1, l.submit, address(b.calls), address(b.work[n]))
		})
	}
	add("empty dispatch", func() float64 { return run(200, l.submit, address(b.calls), address(b.empty)) })
	add("pipelines", func() float64 { return b.create(3*round, l, false) })
	add("modules", func() float64 { return b.create(3*round+1, l, true) })
	if into.needs(d.name + " used") {
		used, err := b.use(3*round+2, l)
		if err != nil {
			return err
		}
		into.note(d.name+" used", used)
	}
	if d.name == "farside" {
		threads := func(loop uintptr, from int) float64 {
			return run(1, loop, address(&b.memory[output][0]), address(&b.memory[from][0]), elementBytes,
				uintptr(runtime.NumCPU()))
		}
		into.add("multiply-adds", func() float64 {
			return run(1, l.multiplyAdds, uintptr(runtime.NumCPU()), edge*edge*edge)
		})
		into.add("memcpy of shaders", func() float64 { return threads(l.memoryThreads, randomWords) })
		into.add("saxpy in C", func() float64 {
			// the shader, too, finds in the caches what the one that copies has left
			run(1, l.submit, address(b.calls), address(b.work[0]))
			return threads(l.saxpyThreads, smallFloats)
		})
	}
	return nil
}
