package draw

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"

	"farside/compute"
	"farside/internal/vk"
	"farside/spirv"
)

// choices reads a draw from bytes, of which there are as many as it asks for: zeros behind the end.
type choices struct{ data []byte }

func (c *choices) byte() byte {
	if len(c.data) == 0 {
		return 0
	}
	b := c.data[0]
	c.data = c.data[1:]
	return b
}

func (c *choices) n(n int) int { return int(c.byte()) % n }
func (c *choices) flag() bool  { return c.byte()&1 != 0 }
func (c *choices) word() uint32 {
	return binary.LittleEndian.Uint32([]byte{c.byte(), c.byte(), c.byte(), c.byte()})
}
func (c *choices) float() float32 {
	switch c.n(250) {
	case 0:
		return float32(math.NaN())
	case 1:
		return float32(math.Inf(1))
	case 2:
		return float32(math.Inf(-1))
	case 3:
		return math.MaxFloat32
	case 4:
		return -math.MaxFloat32
	case 5:
		return math.SmallestNonzeroFloat32
	case 6:
		return float32(math.Copysign(0, -1))
	case 7:
		return math.Float32frombits(c.word())
	}
	return (float32(c.byte()) - 128) / 96
}

// hostile makes a draw of choices: what of the state has limits keeps to them, all else is anything.
func hostile(t testing.TB, c *choices) *scene {
	samples := []uint32{1, 2, 4, 8, 16}[c.n(5)]
	formats := []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32_SFLOAT, vk.FORMAT_R5G6B5_UNORM_PACK16,
		vk.FORMAT_R32G32B32A32_UINT, vk.FORMAT_E5B9G9R9_UFLOAT_PACK32, vk.FORMAT_B10G11R11_UFLOAT_PACK32,
		vk.FORMAT_R8_SNORM, vk.FORMAT_R16G16_SINT, vk.FORMAT_B8G8R8A8_SRGB,
		vk.FORMAT_R16G16B16A16_SFLOAT}
	s := newScene(t, formats[c.n(len(formats))], uint32(1+c.n(19)), uint32(1+c.n(19)), samples, 4)
	st := &s.state
	if c.flag() {
		depths := append([]vk.Format{vk.FORMAT_S8_UINT}, depthFormats...)
		for img, i := s.withDepth(t, depths[c.n(len(depths))], samples), 0; i < len(img.Bytes); i++ {
			img.Bytes[i] = 0x3f
		}
	}
	st.Topology = vk.PrimitiveTopology(c.n(11))
	st.Restart, st.ProvokingLast, st.MinusOneToOne = c.flag(), c.flag(), c.flag()
	st.DepthClamp, st.DepthClip = c.flag(), c.flag()
	st.PolygonMode, st.FrontFace = vk.PolygonMode(c.n(3)), vk.FrontFace(c.n(2))
	st.CullMode = vk.CullModeFlags(c.n(4) * c.n(2))
	st.DepthBias = DepthBias{c.flag(), c.float(), c.float(), c.float(), vk.DepthBiasRepresentationEXT(c.n(3)), c.flag()}
	st.LineWidth, st.LineMode = float32(c.n(17)), vk.LineRasterizationMode(c.n(4))
	st.StippleLines, st.StippleFactor, st.StipplePattern = c.flag(), uint32(c.byte())+1, uint16(c.word())
	st.SampleShading, st.MinSamples, st.SampleMask = c.flag(), float32(c.byte())/255, c.word()
	st.SampleMask |= c.word() // most samples are drawn to
	st.AlphaToOne = c.flag()
	st.DepthTest, st.DepthWrite, st.DepthCompare = c.flag(), c.flag(), vk.CompareOp(c.n(8))
	st.AlphaToCoverage = c.n(4) == 0
	st.DepthBounds, st.MinDepth, st.MaxDepth = c.n(4) == 0, c.float(), c.float()
	st.StencilTest = c.flag()
	st.NoRasterizer = c.n(16) == 0
	st.Front = Stencil{FailOp: vk.StencilOp(c.n(8)), PassOp: vk.StencilOp(c.n(8)), DepthFailOp: vk.StencilOp(c.n(8)),
		CompareOp: vk.CompareOp(c.n(8)), CompareMask: c.word(), WriteMask: c.word(), Reference: c.word()}
	st.Back = Stencil{PassOp: vk.StencilOp(c.n(8)), CompareOp: vk.CompareOp(c.n(8)), CompareMask: c.word(), WriteMask: 255}
	st.LogicOpEnable, st.LogicOp = c.n(4) == 0, vk.LogicOp(c.n(16))
	f := func() vk.BlendFactor { return vk.BlendFactor(c.n(19)) }
	st.Blends[0] = Blend{BlendEnable: vk.Bool32(c.n(2)), SrcColorBlendFactor: f(), DstColorBlendFactor: f(),
		ColorBlendOp: vk.BlendOp(c.n(5)), SrcAlphaBlendFactor: f(), DstAlphaBlendFactor: f(),
		AlphaBlendOp: vk.BlendOp(c.n(5)), ColorWriteMask: vk.ColorComponentFlags(c.n(16))}
	st.BlendConstants = [4]float32{c.float(), c.float(), c.float(), c.float()}
	if c.n(4) == 0 {
		v := &st.Viewports[0]
		bound := func(v float32) float32 {
			if !(v > -32768 && v < 32767) {
				return 32767
			}
			return v
		}
		v.X, v.Y, v.Width, v.Height = bound(c.float()), bound(c.float()), max(bound(c.float()), 0x1p-20), bound(c.float())
		v.MinDepth, v.MaxDepth = c.float(), c.float()
	}
	if c.n(4) == 0 {
		st.Scissors[0] = vk.Rect2D{Offset: vk.Offset2D{X: int32(c.word() >> (1 + c.n(31))), Y: int32(c.n(9))},
			Extent: vk.Extent2D{Width: c.word(), Height: c.word()}}
	}
	s.hostileShaders(c)
	n := c.n(60)
	var data []float32
	for i := range n * 8 {
		v := c.float()
		if i%8 == 3 && c.n(8) != 0 { // w is mostly what a triangle is seen with
			v = float32(math.Abs(float64(v))) + 0.5
		}
		data = append(data, v)
	}
	s.Buffers = []VertexBuffer{{bytesOf(data...)}}
	s.First, s.Count, s.Instances, s.Instance = uint32(c.n(3)), uint32(n), uint32(1+c.n(3)), c.word()
	if s.Indexed = c.flag(); s.Indexed {
		s.IndexType = []vk.IndexType{vk.INDEX_TYPE_UINT8, vk.INDEX_TYPE_UINT16, vk.INDEX_TYPE_UINT32}[max(c.n(8)-5, 0)]
		s.VertexOffset = int32(c.word()) >> (24 + c.byte()&7)
		for range c.n(99) {
			s.Indices = append(s.Indices, c.byte()&63|uint8(0xff*(c.n(20)/19)))
		}
	}
	return s
}

// hostileShaders gives positions, sizes, distances, layers and viewports that are anything, and fragments built-ins.
func (s *scene) hostileShaders(c *choices) {
	vs := s.state.Vertex.(*goShader)
	vs.out = join(vs.out, pointSize(), builtins(spirv.BuiltInClipDistance, max(c.n(10)-5, 0)),
		builtins(spirv.BuiltInCullDistance, max(c.n(8)-5, 0)))
	layer, few := len(vs.out), c.n(4) != 0
	if c.flag() {
		vs.out = join(vs.out, builtins(spirv.BuiltInLayer, 1), builtins(spirv.BuiltInViewportIndex, 1))
	}
	vs.code = func(l *lane) bool {
		copy(l.out, l.in)
		for i := 8; i < len(l.out); i++ {
			l.out[i] = l.in[4+i%4]
			if i >= layer && few {
				l.out[i] &= 1
			}
		}
		return true
	}
	if c.n(5) == 0 {
		s.state.Fragment = nil
		return
	}
	fs := s.state.Fragment.(*goShader)
	fs.in = join(fs.in, builtins(spirv.BuiltInFragCoord, 4), builtins(spirv.BuiltInPointCoord, 2),
		builtins(spirv.BuiltInSampleMask, 1), builtins(spirv.BuiltInClipDistance, 2), floats(5, 1))
	if c.flag() {
		fs.in = join(fs.in, setupVariables(compute.Interpolation(c.n(3))))
	}
	for i := range fs.in {
		fs.in[i].Interpolation, fs.in[i].Place = compute.Interpolation(c.n(3)), compute.Place(c.n(3))
	}
	fs.out = join(fs.out, func() []compute.Variable {
		second := floats(0, 4)
		for i := range second {
			second[i].Index = 1
		}
		return second
	}())
	switch c.n(4) {
	case 0:
		fs.out = join(fs.out, builtins(spirv.BuiltInFragDepth, 1))
	case 1:
		fs.out = join(fs.out, builtins(spirv.BuiltInSampleMask, 1), builtins(spirv.BuiltInFragStencilRefEXT, 1))
	}
	fs.modes = compute.StageModes{EarlyTests: c.flag(), PostDepth: c.flag(), PerSample: c.n(3) == 0, Discards: c.flag(),
		Effects: c.flag(), Derivatives: c.flag()}
	fs.code = func(l *lane) bool {
		for i := range l.out {
			l.out[i] = l.in[i%len(l.in)]
		}
		return !fs.modes.Discards || l.in[0]&1 == 0
	}
}

// FuzzDraw draws hostile state: it must not panic, not write outside of the attachments, and not take long.
func FuzzDraw(f *testing.F) {
	for seed := range 64 {
		data := make([]byte, 2000)
		x := uint32(seed)*2654435761 + 1
		for i := range data {
			x = x*1664525 + 1013904223
			data[i] = byte(x >> 24)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := hostile(t, &choices{data})
		start := time.Now()
		s.Vertex.Stop = func(uint64) bool { return time.Since(start) > 20*time.Second }
		var series Series
		err := series.Draw(&s.Draw)
		if err == nil {
			err = series.Draw(&s.Draw)
		}
		if err == nil {
			err = series.End()
		}
		if errors.Is(err, compute.ErrStopped) {
			t.Fatal("the draw takes too long")
		} else if err != nil {
			t.Fatal(err)
		}
		s.check()
	})
}
