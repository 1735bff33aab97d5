package sampling

import (
	"math"
	"math/rand/v2"
	"testing"

	"farside/internal/vk"
)

var cubeTypes = []vk.ImageViewType{vk.IMAGE_VIEW_TYPE_CUBE, vk.IMAGE_VIEW_TYPE_CUBE_ARRAY}

// faceAt is the table of faces as the specification prints it: the face of a direction, and the place on it.
func faceAt(x, y, z float64) (face int, s, t float64) {
	var sc, tc, rc float64
	switch ax, ay, az := math.Abs(x), math.Abs(y), math.Abs(z); {
	case az >= ax && az >= ay && z >= 0:
		face, sc, tc, rc = 4, x, -y, z
	case az >= ax && az >= ay:
		face, sc, tc, rc = 5, -x, -y, z
	case ay >= ax && y >= 0:
		face, sc, tc, rc = 2, x, z, y
	case ay >= ax:
		face, sc, tc, rc = 3, x, -z, y
	case x >= 0:
		face, sc, tc, rc = 0, -z, -y, x
	default:
		face, sc, tc, rc = 1, z, -y, x
	}
	return face, (sc/math.Abs(rc) + 1) / 2, (tc/math.Abs(rc) + 1) / 2
}

// center is where the middle of a texel lies on the surface of a cube between -1 and 1.
func center(face, x, y, size int) [3]float64 {
	s, t := (2*float64(x)+1)/float64(size)-1, (2*float64(y)+1)/float64(size)-1
	return [6][3]float64{{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}}[face]
}

// neighbour finds the texel of another face that is nearest to one at an edge.
func neighbour(face, x, y, size int) (int, int, int) {
	from := center(face, x, y, size)
	var best [3]int
	least := math.Inf(1)
	for f := range 6 {
		for i := range size * size {
			if to := center(f, i%size, i/size, size); f != face {
				if d := math.Hypot(math.Hypot(from[0]-to[0], from[1]-to[1]), from[2]-to[2]); d < least {
					least, best = d, [3]int{f, i % size, i / size}
				}
			}
		}
	}
	return best[0], best[1], best[2]
}

// cube samples level 0 of a cube.
func (r *reference) cube(linear bool) (sum numbers, footprint [4]numbers) {
	face, s, t := faceAt(r.coordinate(0), r.coordinate(1), r.coordinate(2))
	layer := 0
	if r.v.arrayed {
		layer = 6 * int(math.Max(0, math.Min(float64(r.p.layout.Layers/6-1), math.RoundToEven(r.coordinate(3)))))
	}
	size := r.p.extent(0)[0]
	get := func(f, x, y int) numbers {
		n, _ := r.p.texel(0, uint32(layer+f), x, y, 0)
		if r.lookup.Compare {
			n = numbers{r.compared(n[0])}
		}
		return n
	}
	u, v := s*float64(size), t*float64(size)
	if r.s.NonSeamlessCubeMap {
		if !linear {
			return r.fetch(0, layer+face, [3]int{int(math.Floor(u)), int(math.Floor(v))}), footprint
		}
		x, y := int(math.Floor(u-0.5)), int(math.Floor(v-0.5))
		for n := range footprint {
			footprint[n] = r.fetch(0, layer+face, [3]int{x + n%2, y + n/2})
		}
		return r.combine(footprint[:], fourWeights(u-0.5-float64(x), v-0.5-float64(y))), footprint
	}
	if !linear {
		clamp := func(c float64) int { return min(max(int(math.Floor(c)), 0), size-1) }
		return get(face, clamp(u), clamp(v)), footprint
	}
	x, y := math.Floor(u-0.5), math.Floor(v-0.5)
	wx, wy := u-0.5-x, v-0.5-y
	corner := -1
	for n := range footprint {
		tx, ty := int(x)+n%2, int(y)+n/2
		cx, cy := min(max(tx, 0), size-1), min(max(ty, 0), size-1)
		switch {
		case tx != cx && ty != cy:
			corner = n
		case tx != cx && cy == 0 || tx != cx && cy == size-1 || ty != cy && cx == 0 || ty != cy && cx == size-1:
			// Near a corner two other faces are equally close: the texel is the one that is not beside the corner's other edge.
			footprint[n] = get(acrossOf(face, tx, ty, size))
		case tx != cx || ty != cy:
			footprint[n] = get(neighbour(face, cx, cy, size))
		default:
			footprint[n] = get(face, tx, ty)
		}
	}
	if corner >= 0 {
		for c := range sum {
			footprint[corner][c] = 0
			total := 0.0
			for n := range footprint {
				total += footprint[n][c]
			}
			footprint[corner][c] = total / 3
		}
	}
	return r.combine(footprint[:], fourWeights(wx, wy)), footprint
}

// fourWeights are the weights of a footprint.
func fourWeights(wx, wy float64) []float64 {
	return []float64{(1 - wx) * (1 - wy), wx * (1 - wy), (1 - wx) * wy, wx * wy}
}

// acrossOf finds the neighbour in a corner by going a little further beyond the edge, straight ahead.
func acrossOf(face, x, y, size int) (int, int, int) {
	p := center(face, min(max(x, 0), size-1), min(max(y, 0), size-1), size)
	q := center(face, min(max(x, 0), size-1)+sign(x, size), min(max(y, 0), size-1)+sign(y, size), size)
	// p is half a texel before the edge, q as far beyond it on the face's plane; a fold brings q onto the other face.
	var d [3]float64
	for i := range d {
		d[i] = q[i]
		if math.Abs(q[i]) > 1 {
			d[i] = math.Copysign(1, q[i])
		} else if math.Abs(p[i]) == 1 {
			d[i] = p[i] * (1 - 1/float64(size))
		}
	}
	f, s, t := faceAt(d[0], d[1], d[2])
	return f, int(s * float64(size)), int(t * float64(size))
}

func sign(c, size int) int {
	switch {
	case c < 0:
		return -1
	case c >= size:
		return 1
	}
	return 0
}

func cubeLookup(r *rand.Rand, v *View) *Lookup {
	q := randomLookup(r, v, &SamplerInfo{})
	q.Mode, q.HasBias, q.HasMinLod, q.HasOffset = LodZero, false, false, false
	for i := range Width {
		d := [3]float64{r.NormFloat64(), r.NormFloat64(), r.NormFloat64()}
		switch r.IntN(3) {
		case 0: // near an edge
			d[r.IntN(3)] = math.Copysign(1, d[0])
			d[r.IntN(3)] = math.Copysign(1-r.Float64()/30, d[1])
		case 1: // near a corner
			for axis := range d {
				d[axis] = math.Copysign(1-r.Float64()/30, d[axis])
			}
		}
		for axis := range d {
			q.Coordinates[axis][i] = bits(float32(d[axis]))
		}
		q.Coordinates[3][i] = bits(float32(r.Float64()*3 - 0.5))
	}
	return q
}

func TestCubesAgainstReference(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, viewType := range cubeTypes {
		for _, format := range []vk.Format{vk.FORMAT_R8G8B8A8_UNORM, vk.FORMAT_R32_SFLOAT, vk.FORMAT_D32_SFLOAT,
			vk.FORMAT_R8_UINT} {
			extent, _, layers := shape(viewType)
			p, v := newPicture(t, r, format, viewType, extent, 1, layers)
			for i := range 300 {
				s := randomSampler(r)
				s.MagFilter = vk.Filter(i % 2)
				s.MinFilter = s.MagFilter
				s.NonSeamlessCubeMap = i%4 < 2
				if s.BorderColor &^= 1; format == vk.FORMAT_R8_UINT {
					s.BorderColor |= 1 // the integer colours have odd numbers
				}
				q := cubeLookup(r, v)
				q.Compare = format == vk.FORMAT_D32_SFLOAT && r.IntN(2) == 0
				linear := s.MagFilter == vk.FILTER_LINEAR && v.format.Linear()
				var got, gathered Texels
				v.Routine(NewSampler(s), q).Sample(&got, q, All)
				v.Routine(NewSampler(s), q).Gather(&gathered, q, 0, nil, All)
				for lane := range Width {
					ref := reference{p: p, v: v, s: s, lookup: q, lane: lane}
					want, _ := ref.cube(linear)
					if n := value(v, &got, lane, q.Compare); q.Compare && math.Abs(n[0]-want[0]) > 1e-5 || !q.Compare &&
						!same(n, want, 1e-5) {
						t.Fatalf("%v %v, linear %v, %v: %v, want %v", viewType, format, linear, describe(q, lane), n, want)
					}
					if !v.format.Linear() {
						continue
					}
					_, footprint := ref.cube(true)
					for n, from := range [4]int{2, 3, 1, 0} {
						if g := float64(float(gathered[n][lane])); math.Abs(g-footprint[from][0]) > 1e-5 {
							t.Fatalf("%v %v, %v: gathered %v at %d, want %v", viewType, format, describe(q, lane), g, n, footprint[from][0])
						}
					}
				}
			}
		}
	}
}

// The level of detail by derivatives of a direction is that of the derivatives of the place on the face.
func TestCubeGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	_, v := newPicture(t, r, vk.FORMAT_R8_UNORM, vk.IMAGE_VIEW_TYPE_CUBE, [3]uint32{64, 64, 1}, 7, 6)
	for range 300 {
		q := cubeLookup(r, v)
		q.Mode = LodGradient
		p := &q.work
		p.begin(v.Routine(nil, q), q, All)
		for lane := range Width {
			var d [3]float64
			for axis := range d {
				d[axis] = float64(float(q.Coordinates[axis][lane]))
				for _, by := range []*Lanes{&q.Dx[axis], &q.Dy[axis]} {
					by[lane] = bits(float32(r.NormFloat64()))
				}
			}
			face, s, u := faceAt(d[0], d[1], d[2])
			want := math.Inf(-1)
			for _, by := range []*[3]Lanes{&q.Dx, &q.Dy} {
				const h = 1e-6
				near := d
				for axis := range near {
					near[axis] += h * float64(float(by[axis][lane]))
				}
				f, s2, u2 := faceAt(near[0], near[1], near[2])
				if f != face {
					want = math.NaN() // so close to an edge that this difference goes over it
				}
				want = math.Max(want, math.Log2(64*math.Hypot(s2-s, u2-u)/h))
			}
			if got := float64(p.gradientLod(lane)); math.Abs(got-want) > 1e-3 {
				t.Fatalf("direction %v: level of detail %v, want %v", d, got, want)
			}
		}
	}
}
