package lanes

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"farside/internal/texel"
	"farside/internal/vk"
)

// The assembly has these offsets written down (asm/addresses.go, asm/decoders.go).
func TestOffsetsThatTheAssemblyKnows(t *testing.T) {
	var (
		f Format
		a Axis
		l Level
		p Pair
		x PlaneAxis
		n PlanePairs
		d PlaneLods
		w [2]SpanWords
	)
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"Format.tables", unsafe.Offsetof(f.tables), 0}, {"Format.shifts", unsafe.Offsetof(f.shifts), 32},
		{"Format.masks", unsafe.Offsetof(f.masks), 64}, {"Format.srgb", unsafe.Offsetof(f.srgb), 80},
		{"Axis.Texels", unsafe.Offsetof(a.Texels), 0}, {"Axis.Inverse", unsafe.Offsetof(a.Inverse), 64},
		{"Axis.Step", unsafe.Offsetof(a.Step), 128}, {"Axis.Size", unsafe.Offsetof(a.Size), 192},
		{"Axis", unsafe.Sizeof(a), 240}, {"Level.Axes", unsafe.Offsetof(l.Axes), 0},
		{"Level.Start", unsafe.Offsetof(l.Start), 720},
		{"Pair.At", unsafe.Offsetof(p.At), 0}, {"Pair.At[1]", unsafe.Sizeof(p.At[0]), 64},
		{"Pair.Weights", unsafe.Offsetof(p.Weights), 128},
		{"PlaneAxis.Size", unsafe.Offsetof(x.Size), 0}, {"PlaneAxis.Step", unsafe.Offsetof(x.Step), 64},
		{"PlaneAxis.Start", unsafe.Offsetof(x.Start), 128}, {"PlaneAxis.PowersOfTwo", unsafe.Offsetof(x.PowersOfTwo), 192},
		{"PlanePairs.At", unsafe.Offsetof(n.At), 0}, {"PlanePairs.At[1]", unsafe.Sizeof(n.At[0]), 64},
		{"PlanePairs.Weights", unsafe.Offsetof(n.Weights), 128}, {"PlanePairs", unsafe.Sizeof(n), 192},
		{"PlaneLods.Width", unsafe.Offsetof(d.Width), 0}, {"PlaneLods.Height", unsafe.Offsetof(d.Height), 8},
		{"PlaneLods.Bias", unsafe.Offsetof(d.Bias), 16}, {"PlaneLods.Least", unsafe.Offsetof(d.Least), 20},
		{"PlaneLods.Most", unsafe.Offsetof(d.Most), 24}, {"PlaneLods.Last", unsafe.Offsetof(d.Last), 28},
		{"PlaneLods.MipLinear", unsafe.Offsetof(d.MipLinear), 32}, {"SpanWords", unsafe.Sizeof(w[0]), 1024},
	} {
		if c.got != c.want {
			t.Errorf("%s is at %d, or has that size; the assembly has %d", c.name, c.got, c.want)
		}
	}
	if Outside != math.MinInt64/8 {
		t.Errorf("Outside is %d", Outside)
	}
}

func TestHalves(t *testing.T) {
	codec, _ := texel.CodecOf(vk.FORMAT_R16_SFLOAT, vk.IMAGE_ASPECT_COLOR_BIT)
	r := rand.New(rand.NewPCG(25, 26))
	check := func(b uint32) {
		var want [2]byte
		codec.EncodeFloat(want[:], [][4]float64{{float64(Float(b))}})
		if got := toHalf(b); got != uint32(binary.LittleEndian.Uint16(want[:])) {
			t.Fatalf("%v (%#x) becomes %#x, want %#x", Float(b), b, got, binary.LittleEndian.Uint16(want[:]))
		}
	}
	for h := range uint32(1 << 16) {
		// Each number, those half way to the next, and the neighbours of both.
		b := fromHalf(h)
		for _, near := range []uint32{b, b + 1, b - 1, b + 1<<12, b + 1<<12 + 1, b + 1<<12 - 1} {
			check(near)
		}
	}
	for range 100000 {
		check(r.Uint32())
		check(Bits(float32(r.NormFloat64() * math.Exp2(float64(r.IntN(50)-30)))))
	}
}

// needVectors skips a test where no assembly runs.
func needVectors(t *testing.T) {
	t.Helper()
	if !Vectors() {
		t.Skip("no AVX2, FMA and F16C here")
	}
}

// eachFormat calls a test with both ways of each format that has one in assembly.
func eachFormat(t *testing.T, test func(t *testing.T, plain, fast *Format)) {
	needVectors(t)
	n := 0
	for _, format := range vk.AllFormats {
		for _, aspect := range []vk.ImageAspectFlags{vk.IMAGE_ASPECT_COLOR_BIT, vk.IMAGE_ASPECT_DEPTH_BIT,
			vk.IMAGE_ASPECT_STENCIL_BIT} {
			plain, ok := FormatOf(format, aspect, false)
			if !ok {
				continue
			}
			if fast, _ := FormatOf(format, aspect, true); fast.way != 0 {
				n++
				t.Run(format.String(), func(t *testing.T) { test(t, plain, fast) })
			}
		}
	}
	if n < 60 {
		t.Errorf("only %d formats have a way in assembly", n)
	}
}

// equal compares bits. Of NaN there are many, and which one a sum gives is not said.
func equal(class texel.Class, got, want *Texels) bool {
	for c := range want {
		for i, w := range want[c] {
			g := got[c][i]
			if g != w && !(class == texel.Float && Float(g) != Float(g) && Float(w) != Float(w)) {
				return false
			}
		}
	}
	return true
}

func randomBytes(r *rand.Rand, n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// Every texel of up to 16 bits, and many of the others, the last ones of the memory included.
func TestReadInAssembly(t *testing.T) {
	eachFormat(t, func(t *testing.T, plain, fast *Format) {
		r := rand.New(rand.NewPCG(1, 2))
		var data []byte
		for v := range 1 << 16 {
			data = append(data, byte(v), byte(v>>8))
		}
		data = append(data, randomBytes(r, 1<<16)...)
		var outside, got, want Texels
		for c := range outside {
			for i := range outside[c] {
				outside[c][i] = r.Uint32() >> 2
			}
		}
		count := len(data) / plain.Size
		for first := 0; first < count; first += Width {
			var at Offsets
			for i := range at {
				if at[i] = min(first+i, count-1) * plain.Size; r.IntN(10) == 0 {
					at[i] = Outside + r.IntN(100)
				}
			}
			fast.ReadOr(&got, data, &at, &outside)
			plain.ReadOr(&want, data, &at, &outside)
			if !equal(plain.Class, &got, &want) {
				t.Fatalf("texels at %v: %x, want %x", at, got, want)
			}
		}
		none := Offsets{-1, -1, -1, -1, -1, -1, -1, -1}
		if fast.Read(&got, nil, &none); got != fast.outside {
			t.Errorf("no memory reads %x", got)
		}
	})
}

// All numbers of 24 bits, whose quotients come closest to the middle between two floats.
func TestUnorm24InAssembly(t *testing.T) {
	needVectors(t)
	plain, _ := FormatOf(vk.FORMAT_X8_D24_UNORM_PACK32, vk.IMAGE_ASPECT_DEPTH_BIT, false)
	fast, _ := FormatOf(vk.FORMAT_X8_D24_UNORM_PACK32, vk.IMAGE_ASPECT_DEPTH_BIT, true)
	if fast.way != wayUnorm24 {
		t.Fatalf("the way is %v", fast.way)
	}
	var data [4 * Width]byte
	var at Offsets
	for i := range at {
		at[i] = 4 * i
	}
	var got Texels
	for first := uint32(0); first < 1<<24; first += Width {
		for i := range uint32(Width) {
			binary.LittleEndian.PutUint32(data[4*i:], first+i)
		}
		fast.Read(&got, data[:], &at)
		for i := range uint32(Width) {
			if want := Bits(float32(float64(first+i) / (1<<24 - 1))); got[0][i] != want {
				t.Fatalf("%#x is %x, want %x", first+i, got[0][i], want)
			}
		}
	}
	var want Texels
	if plain.Read(&want, data[:], &at); got != want {
		t.Errorf("the last are %x, want %x", got, want)
	}
}

// A quad is two filters along x and one along y.
func TestQuadInAssembly(t *testing.T) {
	eachFormat(t, func(t *testing.T, plain, fast *Format) {
		if !fast.HasQuads() {
			return
		}
		r := rand.New(rand.NewPCG(3, 4))
		data := randomBytes(r, 1<<14)
		for range 300 {
			var x, y Pair
			var base Offsets
			third := len(data) / plain.Size / 3
			for i := range Width {
				base[i] = r.IntN(third) * plain.Size
				for n := range 2 {
					x.At[n][i], y.At[n][i] = r.IntN(third)*plain.Size, r.IntN(third)*plain.Size
				}
				x.Weights[i], y.Weights[i] = Bits(r.Float32()), Bits(r.Float32())
			}
			var got, want Texels
			fast.Quad(&got, data, &x, &y, &base)
			var rows [2][2]Texels
			for row := range rows {
				for column := range rows[row] {
					at := base
					for i := range at {
						at[i] += x.At[column][i] + y.At[row][i]
					}
					plain.Read(&rows[row][column], data, &at)
				}
				plain.Average(&rows[row][0], &rows[row][1], &x.Weights)
			}
			want = rows[0][0]
			if plain.Average(&want, &rows[1][0], &y.Weights); !equal(plain.Class, &got, &want) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	})
}

func TestWriteInAssembly(t *testing.T) {
	eachFormat(t, func(t *testing.T, plain, fast *Format) {
		r := rand.New(rand.NewPCG(5, 6))
		got, want := make([]byte, 64*plain.Size), make([]byte, 64*plain.Size)
		for range 2000 {
			var src Texels
			var at Offsets
			for i := range at {
				if at[i] = r.IntN(64) * plain.Size; r.IntN(10) == 0 {
					at[i] = Outside
				}
				for c := range src {
					src[c][i] = number(r, plain.Class)
				}
			}
			fast.Write(got, &at, &src)
			plain.Write(want, &at, &src)
			if string(got) != string(want) {
				t.Fatalf("%x is written as %x, want %x", src, got, want)
			}
		}
	})
}

// number is what a lane may hold: numbers that matter to the formats, and any bits. Bits of NaN are written as the only
// one that the formats' writers know.
func number(r *rand.Rand, class texel.Class) uint32 {
	if class != texel.Float {
		return r.Uint32() >> r.IntN(32) * (1 - 2*uint32(r.IntN(2)))
	}
	b := r.Uint32()
	switch r.IntN(4) {
	case 0:
		b = Bits(r.Float32())
	case 1:
		b = Bits((float32(r.IntN(256)) + 0.5) / 255)
	case 2:
		b = Bits(float32(r.NormFloat64() * math.Exp2(float64(r.IntN(50)-30))))
	}
	if b&0x7fffffff > 0x7f800000 {
		b = 0x7fc00000
	}
	return b
}

func TestMixInAssembly(t *testing.T) {
	needVectors(t)
	plain, _ := FormatOf(vk.FORMAT_R32G32B32A32_SFLOAT, vk.IMAGE_ASPECT_COLOR_BIT, false)
	fast, _ := FormatOf(vk.FORMAT_R32G32B32A32_SFLOAT, vk.IMAGE_ASPECT_COLOR_BIT, true)
	r := rand.New(rand.NewPCG(7, 8))
	for range 20000 {
		var a, b Texels
		var w Lanes
		for i := range w {
			w[i] = Bits(max(r.Float32()-0.25, 0))
			for c := range a {
				a[c][i], b[c][i] = number(r, texel.Float), number(r, texel.Float)
			}
		}
		for mode := range vk.SamplerReductionMode(3) {
			got, want := a, a
			fast.Mix(mode, &got, &b, &w)
			if plain.Mix(mode, &want, &b, &w); !equal(texel.Float, &got, &want) {
				t.Fatalf("reduction %v of %x and %x by %x: %x, want %x", mode, a, b, w, got, want)
			}
		}
		got, want := a, a
		fast.Average(&got, &b, &w)
		if plain.Average(&want, &b, &w); !equal(texel.Float, &got, &want) {
			t.Fatalf("average of %x and %x by %x: %x, want %x", a, b, w, got, want)
		}
	}
}

func TestAddressesInAssembly(t *testing.T) {
	needVectors(t)
	r := rand.New(rand.NewPCG(9, 10))
	for range 20000 {
		var l [2]Level // in assembly, and not
		for n := range l {
			l[n].Vectors = n == 0
		}
		for axis := range 3 {
			size, step := 1+r.Uint32N(1<<r.IntN(16)), 1+r.IntN(1<<r.IntN(30))
			for n := range l {
				l[n].Axes[axis].Fill(size, step, n == 0)
			}
		}
		fast, plain := &l[0].Axes[0], &l[1].Axes[0]
		var u, shift Lanes
		var wide Places
		scale := fast.Texels
		if r.IntN(4) == 0 {
			scale = Places{1, 1, 1, 1, 1, 1, 1, 1}
		}
		for i := range Width {
			u[i] = Bits(float32(r.NormFloat64() * math.Exp2(float64(r.IntN(8)-4))))
			if r.IntN(8) == 0 {
				u[i] = r.Uint32()
			}
			shift[i] = uint32(r.IntN(17) - 8)
			wide[i] = float64(Float(u[i])) * (1 + r.Float64())
		}
		for mode := range vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE + 1 {
			var got, want [2]Pair
			var gotAt, wantAt [2]Offsets
			fast.Pairs(mode, &got[0], &u, &scale, &shift)
			fast.PairsWide(mode, &got[1], &wide, &scale, &shift)
			fast.Nearest(mode, &gotAt[0], &u, &scale, &shift)
			fast.NearestWide(mode, &gotAt[1], &wide, &scale, &shift)
			plain.Pairs(mode, &want[0], &u, &scale, &shift)
			plain.PairsWide(mode, &want[1], &wide, &scale, &shift)
			plain.Nearest(mode, &wantAt[0], &u, &scale, &shift)
			plain.NearestWide(mode, &wantAt[1], &wide, &scale, &shift)
			if got != want || gotAt != wantAt {
				t.Fatalf("mode %v, %d texels, %x shifted by %x:\n%v %v, want\n%v %v", mode, fast.Size[0], u, shift, got,
					gotAt, want, wantAt)
			}
		}
		var at [3]Lanes
		for axis := range at {
			for i := range Width {
				at[axis][i] = r.Uint32N(uint32(l[0].Axes[axis].Size[i]) + 1)
				if r.IntN(8) == 0 {
					at[axis][i] = r.Uint32()
				}
			}
		}
		var got, want Offsets
		active := Mask(r.Uint32())
		l[0].Locate(&got, &at[0], &at[1], &at[2], active)
		l[1].Locate(&want, &at[0], &at[1], &at[2], active)
		if got != want {
			t.Fatalf("%x of %v: %v, want %v", at, active, got, want)
		}
	}
}
