package draw

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/spirv"
)

// lane is what a shader in Go sees: its inputs and outputs by the order in which they are declared.
type lane struct {
	in, out []uint32
	effect  bool
	bound   uint32 // the DeviceIndex that the batch has begun with: what bindings would give
	pushed  []byte
}

func (l *lane) float(i int) float32      { return math.Float32frombits(l.in[i]) }
func (l *lane) set(i int, values ...any) { l.put(i, values) }
func (l *lane) put(i int, values []any) {
	for k, v := range values {
		switch v := v.(type) {
		case float32:
			l.out[i+k] = math.Float32bits(v)
		case float64:
			l.out[i+k] = math.Float32bits(float32(v))
		case int:
			l.out[i+k] = uint32(v)
		case uint32:
			l.out[i+k] = v
		}
	}
}

// goShader is a shader written in Go. Its function says whether the lane stays: false discards it.
type goShader struct {
	in, out []compute.Variable
	modes   compute.StageModes
	lanes   int
	code    func(l *lane) bool
	err     error        // what End says; Run fails then
	open    atomic.Int32 // batches that have not been ended
}

func (s *goShader) Inputs() []compute.Variable  { return s.in }
func (s *goShader) Outputs() []compute.Variable { return s.out }
func (s *goShader) Stage() *compute.StageModes  { return &s.modes }

func (s *goShader) Lanes() int {
	if s.lanes == 0 {
		return 64
	}
	return s.lanes
}

func (s *goShader) NewBatch(unread uint64) compute.Batch {
	b := &goBatch{goShader: s, unread: unread, l: lane{in: make([]uint32, len(s.in)), out: make([]uint32, len(s.out))}}
	for range s.in {
		b.inputs = append(b.inputs, make([]uint32, s.Lanes()))
	}
	for range s.out {
		b.outputs = append(b.outputs, make([]uint32, s.Lanes()))
	}
	return b
}

type goBatch struct {
	*goShader
	inputs, outputs [][]uint32
	unread          uint64 // outputs that nobody may look at
	l               lane
}

func (b *goBatch) Begin(v *compute.Environment) error {
	b.l.bound, b.l.pushed = v.DeviceIndex, v.PushConstants
	b.open.Add(1)
	return nil
}

func (b *goBatch) Input(i int) []uint32 { return b.inputs[i] }
func (b *goBatch) End() error           { b.open.Add(-1); return b.err }

func (b *goBatch) Release() {}

func (b *goBatch) Output(i int) []uint32 {
	if b.unread>>i&1 != 0 {
		return nil
	}
	return b.outputs[i]
}

func (b *goBatch) Run(lanes, effects []uint8) bool {
	if b.err != nil {
		return false
	}
	for i := range b.Lanes() {
		if lanes[i/8]>>(i%8)&1 == 0 {
			continue
		}
		for k := range b.inputs {
			b.l.in[k] = b.inputs[k][i]
		}
		b.l.effect = effects[i/8]>>(i%8)&1 != 0
		if !b.code(&b.l) {
			lanes[i/8] &^= 1 << (i % 8)
			effects[i/8] &^= 1 << (i % 8)
		}
		for k := range b.outputs {
			b.outputs[k][i] = b.l.out[k]
		}
	}
	return true
}

// varying is a vector of 32-bit components at a location.
func varying(location uint32, n int, numeric compute.Numeric) []compute.Variable {
	var all []compute.Variable
	for i := range n {
		all = append(all, compute.Variable{Location: location, Component: uint32(i), Numeric: numeric, Width: 32})
	}
	return all
}

func floats(location uint32, n int) []compute.Variable { return varying(location, n, compute.Float) }

// builtins is a vector of components of a built-in.
func builtins(b spirv.BuiltIn, n int) []compute.Variable {
	var all []compute.Variable
	for i := range n {
		all = append(all, compute.Variable{IsBuiltIn: true, BuiltIn: b, Component: uint32(i), Width: 32,
			Numeric: compute.Float})
	}
	return all
}

func join(lists ...[]compute.Variable) (all []compute.Variable) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// passVertex hands the attribute at location 0 on as the position, and n floats at location 1 to the fragments.
func passVertex(n int) *goShader {
	return &goShader{in: join(floats(0, 4), floats(1, n)), out: join(builtins(spirv.BuiltInPosition, 4), floats(1, n)),
		modes: compute.StageModes{Model: spirv.ExecutionModelVertex},
		code:  func(l *lane) bool { copy(l.out, l.in); return true }}
}

// passFragment hands the floats at location 1 on as the first colour.
func passFragment(n int) *goShader {
	return &goShader{in: floats(1, n), out: floats(0, n), modes: compute.StageModes{Model: spirv.ExecutionModelFragment},
		code: func(l *lane) bool { copy(l.out, l.in); return true }}
}

// guardBytes surround the memory of test images.
const guardBytes = 256

// testImage makes an image within guard bytes.
func testImage(t testing.TB, f vk.Format, width, height, layers, samples uint32) (*transfer.Image, func()) {
	t.Helper()
	format, ok := texel.FormatOf(f)
	if !ok {
		t.Fatalf("no format %v", f)
	}
	layout, _ := texel.NewLayout(format, [3]uint32{width, height, 1}, 1, layers, samples)
	all := make([]byte, int(layout.Size)+2*guardBytes)
	for i := range all {
		all[i] = 0xa5
	}
	inner := all[guardBytes:][:layout.Size:layout.Size]
	clear(inner)
	check := func() {
		t.Helper()
		for i := range guardBytes {
			if all[i] != 0xa5 || all[len(all)-1-i] != 0xa5 {
				t.Fatalf("a byte around an image of %v is written", f)
			}
		}
	}
	return &transfer.Image{Bytes: inner, Layout: &layout, Format: f, Type: vk.IMAGE_TYPE_2D}, check
}

// target is all layers of an image.
func target(img *transfer.Image) Target {
	return Target{Image: img, Format: img.Format, Layers: img.Layout.Layers, Aspect: img.Layout.Format.Aspects()}
}

// scene is a draw with attachments, ready to be changed.
type scene struct {
	Draw
	state State
	pass  Pass
	check func()
	stats Statistics
}

// newScene draws vertices of four floats, and n more for the fragment shader, into one image.
func newScene(t testing.TB, f vk.Format, width, height, samples uint32, n int) *scene {
	img, check := testImage(t, f, width, height, 1, samples)
	s := &scene{check: check}
	area := vk.Rect2D{Extent: vk.Extent2D{Width: width, Height: height}}
	s.pass = Pass{Area: area, Layers: 1, Samples: samples, Colors: []Target{target(img)}}
	s.state = State{Vertex: passVertex(n), Fragment: passFragment(n),
		Bindings: map[uint32]VertexBinding{0: {Stride: uint32(16 + 4*n)}},
		Attributes: []VertexAttribute{{Location: 0, Format: vk.FORMAT_R32G32B32A32_SFLOAT},
			{Location: 1, Offset: 16, Format: [5]vk.Format{0, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R32G32_SFLOAT,
				vk.FORMAT_R32G32B32_SFLOAT, vk.FORMAT_R32G32B32A32_SFLOAT}[n]}},
		Topology:  vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
		Viewports: []vk.Viewport{{Width: float32(width), Height: float32(height), MaxDepth: 1}},
		Scissors:  []vk.Rect2D{area}, DepthClip: true, LineWidth: 1, Samples: samples, SampleMask: math.MaxUint32,
		Blends: []Blend{{ColorWriteMask: 15}}}
	if n == 0 {
		s.state.Attributes = s.state.Attributes[:1]
	}
	s.Draw = Draw{State: &s.state, Pass: &s.pass, Vertex: new(compute.Environment), Fragment: new(compute.Environment),
		Instances: 1, Statistics: &s.stats}
	return s
}

// bytesOf is floats as they lie in memory.
func bytesOf(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// vertices sets the vertex buffer.
func (s *scene) vertices(values ...float32) {
	s.Buffers = []VertexBuffer{{bytesOf(values...)}}
	s.Count = uint32(len(values)*4) / s.state.Bindings[0].Stride
}

// Execute executes a draw by itself.
func (d *Draw) Execute() error {
	var s Series
	if err := s.Draw(d); err != nil {
		return err
	}
	return s.End()
}

// draw executes, and checks that nothing but attachments is written.
func (s *scene) draw(t testing.TB) {
	t.Helper()
	if err := s.Execute(); err != nil {
		t.Fatal(err)
	}
	s.check()
	for _, shader := range []Shader{s.state.Vertex, s.state.Fragment} {
		if g, ok := shader.(*goShader); ok && g.open.Load() != 0 {
			t.Fatalf("%d batches are still open", g.open.Load())
		}
	}
}

// float reads a channel of a texel.
func (s *scene) float(t testing.TB, img *transfer.Image, x, y, sample int) [4]float64 {
	t.Helper()
	aspect := vk.IMAGE_ASPECT_COLOR_BIT
	if img.Layout.Format.Aspects()&aspect == 0 {
		aspect = vk.IMAGE_ASPECT_DEPTH_BIT
	}
	codec, _ := texel.CodecOf(img.Format, aspect)
	var v [1][4]float64
	codec.DecodeFloat(v[:], s.texel(img, aspect, x, y, sample))
	return v[0]
}

// texel is the bytes of a sample.
func (s *scene) texel(img *transfer.Image, aspect vk.ImageAspectFlags, x, y, sample int) []byte {
	sub, _ := img.Layout.Subresource(aspect, 0, 0)
	codec, _ := texel.CodecOf(img.Format, aspect)
	at := int(sub.Offset) + y*int(sub.RowPitch) + (x*int(img.Layout.Samples)+sample)*codec.Size()
	return img.Bytes[at:][:codec.Size()]
}

// color reads the first attachment.
func (s *scene) color(t testing.TB, x, y, sample int) [4]float64 {
	t.Helper()
	return s.float(t, s.pass.Colors[0].Image, x, y, sample)
}

func pointSize() []compute.Variable { return builtins(spirv.BuiltInPointSize, 1) }

// pointCoordinates writes them as a colour.
func pointCoordinates() *goShader {
	return &goShader{in: builtins(spirv.BuiltInPointCoord, 2), out: floats(0, 2),
		code: func(l *lane) bool { copy(l.out, l.in); return true }}
}
