package draw

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/transfer"
	"farside/internal/vk"
	"farside/spirv"
)

// full sets vertices that cover all of the viewport at a depth.
func (s *scene) full(z float32, values ...float32) {
	var data []float32
	for _, v := range [][2]float32{{-1, -1}, {3, -1}, {-1, 3}} {
		data = append(data, v[0], v[1], z, 1)
		data = append(data, values...)
	}
	s.vertices(data...)
}

// withDepth adds an attachment for depth and stencil, as far as the format has them.
func (s *scene) withDepth(t testing.TB, f vk.Format, samples uint32) *transfer.Image {
	img, check := testImage(t, f, s.pass.Area.Extent.Width, s.pass.Area.Extent.Height, 1, samples)
	before := s.check
	s.check = func() { before(); check() }
	if img.Layout.Format.Aspects()&vk.IMAGE_ASPECT_DEPTH_BIT != 0 {
		s.pass.Depth = target(img)
	}
	if img.Layout.Format.Aspects()&vk.IMAGE_ASPECT_STENCIL_BIT != 0 {
		s.pass.Stencil = target(img)
	}
	return img
}

var depthFormats = []vk.Format{vk.FORMAT_D16_UNORM, vk.FORMAT_X8_D24_UNORM_PACK32, vk.FORMAT_D32_SFLOAT,
	vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT, vk.FORMAT_D16_UNORM_S8_UINT}

// compareOps are the results of each VkCompareOp for less, equal, greater.
var compareOps = [8][3]bool{{}, {true, false, false}, {false, true, false}, {true, true, false}, {false, false, true},
	{true, false, true}, {false, true, true}, {true, true, true}}

// TestDepth has all formats and comparisons, early and late, with and without a shader.
func TestDepth(t *testing.T) {
	for _, f := range depthFormats {
		for op, results := range compareOps {
			for order, z := range []float32{0.25, 0.5, 0.75} {
				for way := range 4 {
					s := newScene(t, vk.FORMAT_R8_UNORM, 4, 4, 1, 1)
					img := s.withDepth(t, f, 1)
					s.state.DepthTest, s.state.DepthWrite = true, true
					s.state.DepthCompare = vk.COMPARE_OP_ALWAYS
					s.full(0.5, 0)
					s.draw(t)
					s.state.DepthCompare, s.stats = vk.CompareOp(op), Statistics{}
					s.state.DepthWrite = way != 3
					switch way {
					case 1:
						s.state.Fragment = nil
					case 2: // late
						s.state.Fragment.(*goShader).modes.Effects = true
					}
					s.full(z, 1)
					s.draw(t)
					name := fmt.Sprintf("%v, %v, %v, way %d", f, vk.CompareOp(op), z, way)
					wantDepth, wantColor, wantCount := 0.5, 0.0, uint64(0)
					if results[order] {
						wantCount = 16
						if way != 3 {
							wantDepth = float64(z)
						}
						if way != 1 {
							wantColor = 1
						}
					}
					if d := s.float(t, img, 2, 1, 0)[0]; math.Abs(d-wantDepth) > 1e-4 {
						t.Errorf("%s: depth is %v", name, d)
					}
					if c := s.color(t, 2, 1, 0)[0]; c != wantColor || s.stats.Samples != wantCount {
						t.Errorf("%s: color is %v, %d samples", name, c, s.stats.Samples)
					}
				}
			}
		}
	}
}

// stencilOps are what each VkStencilOp makes of a value.
var stencilOps = [8]func(v, ref uint8) uint8{
	func(v, _ uint8) uint8 { return v },
	func(_, _ uint8) uint8 { return 0 },
	func(_, ref uint8) uint8 { return ref },
	func(v, _ uint8) uint8 { return uint8(min(int(v)+1, 255)) },
	func(v, _ uint8) uint8 { return uint8(max(int(v)-1, 0)) },
	func(v, _ uint8) uint8 { return ^v },
	func(v, _ uint8) uint8 { return v + 1 },
	func(v, _ uint8) uint8 { return v - 1 },
}

// TestStencil has all comparisons, and operations for each result, with masks, for both faces.
func TestStencil(t *testing.T) {
	for _, f := range []vk.Format{vk.FORMAT_S8_UINT, vk.FORMAT_D24_UNORM_S8_UINT, vk.FORMAT_D32_SFLOAT_S8_UINT} {
		for _, back := range []bool{false, true} {
			for op := range stencilOps {
				for _, value := range []uint8{0, 1, 0x7e, 0x81, 255} {
					for result := range 3 { // fails, fails depth, passes
						s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 1)
						img := s.withDepth(t, f, 1)
						if result == 1 && !s.pass.has(vk.IMAGE_ASPECT_DEPTH_BIT) {
							continue
						}
						s.texel(img, vk.IMAGE_ASPECT_STENCIL_BIT, 1, 0, 0)[0] = value
						s.state.StencilTest, s.state.FrontFace = true, vk.FRONT_FACE_CLOCKWISE
						face, other := &s.state.Front, &s.state.Back
						if back {
							face, other = other, face
							s.state.FrontFace = vk.FRONT_FACE_COUNTER_CLOCKWISE
						}
						*other = Stencil{FailOp: 1, PassOp: 1, DepthFailOp: 1, CompareOp: vk.COMPARE_OP_ALWAYS, WriteMask: 255}
						const mask, ref = 0x3f, 0x55
						*face = Stencil{CompareOp: vk.COMPARE_OP_ALWAYS, CompareMask: 0xf0, WriteMask: mask, Reference: ref}
						switch result {
						case 0:
							face.CompareOp, face.FailOp = vk.COMPARE_OP_NEVER, vk.StencilOp(op)
						case 1:
							face.DepthFailOp = vk.StencilOp(op)
							s.state.DepthTest, s.state.DepthCompare = true, vk.COMPARE_OP_NEVER
						case 2:
							face.PassOp = vk.StencilOp(op)
						}
						s.full(0.5, 1)
						s.draw(t)
						want := value&^mask | stencilOps[op](value, ref)&mask
						if got := s.texel(img, vk.IMAGE_ASPECT_STENCIL_BIT, 1, 0, 0)[0]; got != want {
							t.Errorf("%v, back %v, %v of %#x, result %d: %#x, not %#x", f, back, vk.StencilOp(op), value, result, got,
								want)
						}
						if got := s.color(t, 1, 0, 0)[0] == 1; got != (result == 2) {
							t.Errorf("%v, result %d: drawn is %v", f, result, got)
						}
					}
				}
			}
		}
	}
	for op, results := range compareOps {
		for order, ref := range []uint32{0x14, 0x21, 0x3f} {
			s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 1)
			img := s.withDepth(t, vk.FORMAT_S8_UINT, 1)
			s.texel(img, vk.IMAGE_ASPECT_STENCIL_BIT, 1, 0, 0)[0] = 0x2e
			s.state.StencilTest = true
			s.state.Front = Stencil{CompareOp: vk.CompareOp(op), CompareMask: 0xf0, Reference: ref}
			s.state.Back = s.state.Front
			s.full(0, 1)
			s.draw(t)
			if got := s.color(t, 1, 0, 0)[0] == 1; got != results[order] {
				t.Errorf("%v of %#x is %v", vk.CompareOp(op), ref, got)
			}
		}
	}
}

func (p *Pass) has(aspect vk.ImageAspectFlags) bool {
	return p.Depth.Image != nil && p.Depth.Image.Layout.Format.Aspects()&aspect != 0
}

// TestDepthBounds tests what is stored, not what comes: numbers next to the bounds, in all formats and ways.
func TestDepthBounds(t *testing.T) {
	t.Cleanup(func() { narrow = false })
	for i, f := range depthFormats {
		scale := []float64{1<<16 - 1, 1<<24 - 1, 0, 1<<24 - 1, 0, 1<<16 - 1}[i] // 0: floats
		for way := range 24 {
			samples := []uint32{1, 4, 8, 2}[way/6]
			s := newScene(t, vk.FORMAT_R8_UNORM, 6, 2, samples, 1)
			img := s.withDepth(t, f, samples)
			low, high := float32(0.25), float32(0.3)
			middle := [2]uint32{math.Float32bits(low), math.Float32bits(high)}
			if scale > 0 {
				middle = [2]uint32{uint32(scale / 4), uint32(scale * 0.3)}
				low, high = float32(float64(middle[0])/scale), float32(float64(middle[1])/scale)
			}
			want := [6]bool{}
			for x := range 6 {
				raw := middle[x/3] + uint32(x%3) - 1
				z := float64(math.Float32frombits(raw))
				if scale > 0 {
					z = float64(raw) / scale
				}
				want[x] = z >= float64(low) && z <= float64(high)
				for k := range samples {
					at := s.texel(img, vk.IMAGE_ASPECT_DEPTH_BIT, x, 1, int(k))
					copy(at, binary.LittleEndian.AppendUint32(nil, raw))
				}
			}
			s.state.DepthBounds, s.state.MinDepth, s.state.MaxDepth = true, low, high
			s.state.Fragment.(*goShader).modes.Effects = way&1 != 0 // late
			s.InOrder, narrow = way/2%3 == 0, way/2%3 == 1
			s.full(0.9, 1)
			s.draw(t)
			for x := range 6 {
				if got := s.color(t, x, 1, 0)[0] == 1; got != want[x] {
					t.Errorf("%v, way %d: drawn at %d is %v", f, way, x, got)
				}
			}
		}
	}
}

// TestDepthClamp has depths beyond the volume, clipped, clamped, or neither.
func TestDepthClamp(t *testing.T) {
	for _, c := range []struct {
		clip, clamp bool
		z           float32
		drawn       bool
		depth       float64
		ranged      bool // clamped to 0.3 and 0.9
	}{
		{true, false, 1.5, false, 0, false}, {true, false, -0.5, false, 0, false}, {true, false, 0.5, true, 0.45, false},
		{false, true, 1.5, true, 0.7, false}, {false, true, -0.5, true, 0.2, false}, {false, false, 2.5, true, 1, false},
		{true, true, 0.5, true, 0.45, false}, {true, true, 0, true, 0.3, true}, {false, true, -1, true, 0.3, true},
		{false, true, 3, true, 0.9, true}, {false, false, 2.5, true, 1, true},
	} {
		s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 1)
		img := s.withDepth(t, vk.FORMAT_D32_SFLOAT, 1)
		s.state.Viewports[0].MinDepth, s.state.Viewports[0].MaxDepth = 0.2, 0.7
		s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_ALWAYS
		s.state.DepthClip, s.state.DepthClamp = c.clip, c.clamp
		s.state.ClampRange, s.state.ClampMin, s.state.ClampMax = c.ranged, 0.3, 0.9
		s.full(c.z, 1)
		s.draw(t)
		if got := s.color(t, 1, 1, 0)[0] == 1; got != c.drawn {
			t.Errorf("%+v: drawn is %v", c, got)
		}
		if got := s.float(t, img, 1, 1, 0)[0]; math.Abs(got-c.depth) > 1e-6 {
			t.Errorf("%+v: depth is %v", c, got)
		}
	}
}

// TestDepthBias has constants in units of the formats, slopes and clamps.
func TestDepthBias(t *testing.T) {
	for _, c := range []struct {
		format vk.Format
		bias   DepthBias
		z, dz  float32 // and for each pixel
		want   float64
	}{
		{vk.FORMAT_D16_UNORM, DepthBias{Constant: 8}, 0.5, 0, 8 * 0x1p-16},
		{vk.FORMAT_X8_D24_UNORM_PACK32, DepthBias{Constant: 8}, 0.5, 0, 8 * 0x1p-24},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Constant: 8}, 0.75, 0, 8 * 0x1p-24},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Constant: -8}, 0.3, 0, -8 * 0x1p-25},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Slope: 2}, 0.25, 0.0625, 0.125},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Slope: 2, Clamp: 0.1}, 0.25, 0.0625, 0.1},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Slope: -2, Clamp: -0.1}, 0.5, 0.0625, -0.1},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Constant: 0.25, Representation: vk.DEPTH_BIAS_REPRESENTATION_FLOAT_EXT}, 0.5, 0,
			0.25},
		{vk.FORMAT_D32_SFLOAT, DepthBias{Constant: 1 << 20,
			Representation: vk.DEPTH_BIAS_REPRESENTATION_LEAST_REPRESENTABLE_VALUE_FORCE_UNORM_EXT}, 0.1, 0, 1.0 / 16},
	} {
		s := newScene(t, vk.FORMAT_R8_UNORM, 4, 4, 1, 0)
		img := s.withDepth(t, c.format, 1)
		s.state.Fragment = nil
		s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_ALWAYS
		s.state.DepthClip = false
		s.state.DepthBias = c.bias
		s.state.DepthBias.Enable = true
		end := c.z + 8*c.dz
		s.vertices(-1, -1, c.z, 1, 3, -1, end, 1, -1, 3, c.z, 1)
		s.draw(t)
		plain := float64(c.z) + 1.5*float64(c.dz)
		if got := s.float(t, img, 1, 1, 0)[0] - plain; math.Abs(got-c.want) > 0x1p-17 ||
			c.format != vk.FORMAT_D16_UNORM && math.Abs(got-c.want) > 0x1p-25 {
			t.Errorf("%+v: the bias is %v", c, got)
		}
	}
}

// TestFragmentWrites has shaders that write depth, stencil and masks, and ones that discard.
func TestFragmentWrites(t *testing.T) {
	for _, early := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R8_UNORM, 4, 4, 4, 0)
		img := s.withDepth(t, vk.FORMAT_D32_SFLOAT_S8_UINT, 4)
		s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_ALWAYS
		s.state.StencilTest = true
		s.state.Front = Stencil{PassOp: vk.STENCIL_OP_REPLACE, CompareOp: vk.COMPARE_OP_ALWAYS, WriteMask: 255, Reference: 7}
		s.state.Back = s.state.Front
		s.state.Fragment = &goShader{in: builtins(spirv.BuiltInFragCoord, 4),
			out: join(floats(0, 1), builtins(spirv.BuiltInFragDepth, 1), builtins(spirv.BuiltInFragStencilRefEXT, 1),
				builtins(spirv.BuiltInSampleMask, 1)),
			modes: compute.StageModes{Discards: true, DepthReplacing: true, StencilReplacing: true, EarlyTests: early},
			code: func(l *lane) bool {
				l.set(0, 1.0, l.float(0)/8, 3+int(l.float(1)), 0b0110)
				return l.float(0) != 1.5
			}}
		s.full(0.75)
		s.draw(t)
		for y := range 4 {
			for x := range 4 {
				for i := range 4 {
					drawn := x != 1 && (i == 1 || i == 2)
					wantDepth, wantStencil := 0.0, byte(0)
					switch {
					case early: // tests and their writes come before the shader, whose depth is ignored
						wantDepth, wantStencil = 0.75, 7
					case drawn:
						wantDepth, wantStencil = (float64(x)+0.5)/8, byte(3+y)
					}
					if got := s.color(t, x, y, i)[0] == 1; got != drawn {
						t.Errorf("early %v: sample %d of %d,%d: drawn is %v", early, i, x, y, got)
					}
					if got := s.float(t, img, x, y, i)[0]; got != wantDepth {
						t.Errorf("early %v: sample %d of %d,%d: depth is %v, not %v", early, i, x, y, got, wantDepth)
					}
					if got := s.texel(img, vk.IMAGE_ASPECT_STENCIL_BIT, x, y, i)[0]; got != wantStencil {
						t.Errorf("early %v: sample %d of %d,%d: stencil is %v, not %v", early, i, x, y, got, wantStencil)
					}
				}
			}
		}
		want := uint64(12 * 2)
		if early {
			want = 64
		}
		if s.stats.Samples != want {
			t.Errorf("early %v: %d samples", early, s.stats.Samples)
		}
	}
}

// TestSamples has the sample mask, alpha to coverage, alpha to one, and shading of each sample.
func TestSamples(t *testing.T) {
	for _, alpha := range []float32{0, 0.25, 0.5, 1, 2, float32(math.NaN())} {
		s := newScene(t, vk.FORMAT_R8G8B8A8_UNORM, 2, 2, 4, 4)
		s.state.SampleMask, s.state.AlphaToCoverage, s.state.AlphaToOne = 0b1101, true, true
		s.full(0, 1, 0, 0, alpha)
		s.draw(t)
		count := 0
		for i := range 4 {
			if c := s.color(t, 1, 1, i); c == [4]float64{1, 0, 0, 1} {
				count++
			} else if c != [4]float64{} {
				t.Errorf("alpha %v: sample %d is %v", alpha, i, c)
			}
		}
		if want := map[float32]int{0.25: 1, 0.5: 1, 1: 3, 2: 3}[alpha]; count != want {
			t.Errorf("alpha %v: %d samples", alpha, count)
		}
	}
	s := newScene(t, vk.FORMAT_R32G32B32A32_SFLOAT, 2, 2, 4, 0)
	s.state.Fragment = &goShader{in: join(builtins(spirv.BuiltInSampleId, 1), builtins(spirv.BuiltInSamplePosition, 2),
		builtins(spirv.BuiltInSampleMask, 1), builtins(spirv.BuiltInFragCoord, 1)), out: floats(0, 4),
		modes: compute.StageModes{PerSample: true}, code: func(l *lane) bool {
			l.set(0, float64(l.in[0]), l.float(1)*16+l.float(2), float64(l.in[3]), l.float(4))
			return true
		}}
	s.full(0)
	s.draw(t)
	for i, at := range sixteenths[4] {
		want := [4]float64{float64(i), float64(at[0]) + float64(at[1])/16, float64(int(1) << i), 1 + float64(at[0])/16}
		if got := s.color(t, 1, 1, i); got != want {
			t.Errorf("sample %d is %v, not %v", i, got, want)
		}
	}
	if s.stats.Counts[countFragments] != 16 || s.stats.Samples != 16 {
		t.Errorf("counts are %+v", s.stats)
	}
}

// TestCentroid has inputs at places that the triangle covers.
func TestCentroid(t *testing.T) {
	s := newScene(t, vk.FORMAT_R32_SFLOAT, 4, 4, 8, 1)
	s.state.Fragment.(*goShader).in[0].Place = compute.AtCentroid
	s.vertices(-1, -1, 0, 1, 0, 0.3, -1, 0, 1, 2.6, -1, 0.9, 0, 1, 0) // x in pixels; the border goes through pixels
	s.draw(t)
	for y := range 4 {
		for x := range 4 {
			for i := range 8 {
				got := s.color(t, x, y, i)[0]
				if got == 0 {
					continue
				}
				if got > 2.6 || got < float64(x) || got > float64(x)+1 {
					t.Errorf("sample %d of %d,%d has its value at %v", i, x, y, got)
				}
			}
		}
	}
}

// TestOrder has primitives of one batch at the same place: depth and colours are those of doing one after the other.
func TestOrder(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newScene(t, vk.FORMAT_R32_SFLOAT, 2, 2, 1, 1)
		s.withDepth(t, vk.FORMAT_D16_UNORM, 1)
		s.state.DepthTest, s.state.DepthWrite, s.state.DepthCompare = true, true, vk.COMPARE_OP_LESS_OR_EQUAL
		s.state.Blends[0] = Blend{BlendEnable: 1, SrcColorBlendFactor: vk.BLEND_FACTOR_ONE,
			DstColorBlendFactor: vk.BLEND_FACTOR_CONSTANT_COLOR, ColorWriteMask: 15}
		s.state.BlendConstants = [4]float32{2, 2, 2, 2}
		s.state.Fragment.(*goShader).modes.Effects = late
		var data []float32
		want := 0.0
		nearest := 1.0
		for i := range 20 {
			z := []float64{0.5, 0.75, 0.25, 0.25, 0.5}[i%5] - float64(i/5)/32
			for _, v := range [][2]float32{{-1, -1}, {3, -1}, {-1, 3}} {
				data = append(data, v[0], v[1], float32(z), 1, float32(i))
			}
			if z <= nearest || i == 0 {
				want, nearest = want*2+float64(i), z
			}
		}
		// The attachment begins with 1.
		codec, _ := texel.CodecOf(vk.FORMAT_D16_UNORM, vk.IMAGE_ASPECT_DEPTH_BIT)
		for y := range 2 {
			for x := range 2 {
				codec.EncodeFloat(s.texel(s.pass.Depth.Image, vk.IMAGE_ASPECT_DEPTH_BIT, x, y, 0), [][4]float64{{1}})
			}
		}
		s.vertices(data...)
		s.draw(t)
		if got := s.color(t, 1, 1, 0)[0]; got != want {
			t.Errorf("late %v: %v, not %v", late, got, want)
		}
	}
}
