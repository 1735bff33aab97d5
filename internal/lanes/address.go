package lanes

import (
	"math"

	"farside/internal/vk"
)

// Axis is an axis of a level of detail, for each lane; of all lanes the same where all sample the same level.
type Axis struct {
	Texels  Places
	Inverse Places  // of Texels
	Step    Offsets // bytes from one texel to the next, or from block to block
	Size    [Width]int32
	// In a compressed format, the texels of a block along the axis, and how far they are apart in an offset; otherwise 0.
	Block, Within int32
	Vectors       bool // the assembly finds the texels: no blocks, and steps of 32 bits
}

// Level is where the texels of a level lie, for each lane.
type Level struct {
	Axes    [3]Axis
	Start   Offsets
	Vectors bool // of all axes
}

// Pair is where the two texels lie between which a linear filter takes its number, and the weight of the second.
type Pair struct {
	At      [2]Offsets
	Weights Lanes
}

// Fill makes an axis of so many texels, at a distance of so many bytes. It may use the assembly if vectors is set.
func (a *Axis) Fill(size uint32, step int, vectors bool) {
	for i := range Width {
		a.Texels[i], a.Inverse[i] = float64(size), 1/float64(size)
		a.Size[i], a.Step[i] = int32(size), step
	}
	a.Vectors = vectors && a.Block == 0 && step <= math.MaxInt32
}

// Take makes a lane of a level as another one has it. Both are levels of one view: what is not of lanes is the same.
func (l *Level) Take(lane int, from *Level) {
	lane &= Width - 1
	for i := range l.Axes {
		a, f := &l.Axes[i], &from.Axes[i]
		a.Texels[lane], a.Inverse[lane], a.Step[lane], a.Size[lane] = f.Texels[lane], f.Inverse[lane], f.Step[lane],
			f.Size[lane]
		a.Block, a.Within, a.Vectors = f.Block, f.Within, f.Vectors
	}
	l.Start[lane], l.Vectors = from.Start[lane], from.Vectors
}

// along is how far a coordinate is from the beginning of the level.
func (a *Axis) along(lane int, c int32) int {
	if a.Block == 0 {
		return int(c) * a.Step[lane]
	}
	block := c / a.Block
	return int(block)*a.Step[lane] + int((c-block*a.Block)*a.Within)
}

// Place is where a coordinate lies, in texels. What is so far out has no position. NaN becomes the lower bound.
func Place(u float64) float64 {
	const far = 1 << 30
	if !(u > -far) {
		return -far
	}
	return min(u, far)
}

// Nearest finds the nearest texels: u times scale is where they are, in texels, to which shift is added, in whole ones.
func (a *Axis) Nearest(mode vk.SamplerAddressMode, to *Offsets, u *Lanes, scale *Places, shift *Lanes) {
	if a.Vectors {
		avx2Nearest(mode, to, u, scale, a, shift)
		return
	}
	wide := u.places()
	a.nearest(mode, to, &wide, scale, shift)
}

// NearestWide is Nearest for coordinates of 64 bits.
func (a *Axis) NearestWide(mode vk.SamplerAddressMode, to *Offsets, u, scale *Places, shift *Lanes) {
	if a.Vectors {
		avx2NearestWide(mode, to, u, scale, a, shift)
		return
	}
	a.nearest(mode, to, u, scale, shift)
}

func (a *Axis) nearest(mode vk.SamplerAddressMode, to *Offsets, u, scale *Places, shift *Lanes) {
	for i := range to {
		to[i] = a.offset(mode, i, int32(math.Floor(Place(u[i]*scale[i])))+int32(shift[i]))
	}
}

// Pairs finds the texels between which a linear filter takes its number; as Nearest otherwise.
func (a *Axis) Pairs(mode vk.SamplerAddressMode, to *Pair, u *Lanes, scale *Places, shift *Lanes) {
	if a.Vectors {
		avx2Pairs(mode, to, u, scale, a, shift)
		return
	}
	wide := u.places()
	a.pairs(mode, to, &wide, scale, shift)
}

// PairsWide is Pairs for coordinates of 64 bits.
func (a *Axis) PairsWide(mode vk.SamplerAddressMode, to *Pair, u, scale *Places, shift *Lanes) {
	if a.Vectors {
		avx2PairsWide(mode, to, u, scale, a, shift)
		return
	}
	a.pairs(mode, to, u, scale, shift)
}

func (a *Axis) pairs(mode vk.SamplerAddressMode, to *Pair, u, scale *Places, shift *Lanes) {
	for i := range Width {
		c := Place(u[i]*scale[i]) - 0.5
		floor := math.Floor(c)
		to.Weights[i] = Bits(float32(c - floor))
		n := int32(floor) + int32(shift[i])
		to.At[0][i], to.At[1][i] = a.offset(mode, i, n), a.offset(mode, i, n+1)
	}
}

func (u *Lanes) places() (wide Places) {
	for i, c := range u {
		wide[i] = float64(Float(c))
	}
	return wide
}

// offset is how far a coordinate is from the beginning of the level, in an address mode.
func (a *Axis) offset(mode vk.SamplerAddressMode, lane int, c int32) int {
	if c = wrap(mode, c, a.Size[lane]); c < 0 {
		return Outside
	}
	return a.along(lane, c)
}

// Wrap applies an address mode to a lane's coordinate, in texels; negative for the border.
func (a *Axis) Wrap(mode vk.SamplerAddressMode, lane int, c int32) int32 {
	return wrap(mode, c, a.Size[lane&(Width-1)])
}

// wrap applies an address mode to a coordinate; negative for the border (chapter "Wrapping Operation").
func wrap(mode vk.SamplerAddressMode, i, size int32) int32 {
	if uint32(i) < uint32(size) {
		return i
	}
	switch mode {
	case vk.SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT:
		n := i % (2 * size)
		if n < 0 {
			n += 2 * size
		}
		if n >= size {
			n = 2*size - 1 - n
		}
		return n
	case vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE:
		return min(max(i, 0), size-1)
	case vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER:
		return -1
	case vk.SAMPLER_ADDRESS_MODE_MIRROR_CLAMP_TO_EDGE:
		if i < 0 {
			i = -1 - i
		}
		return min(i, size-1)
	}
	i %= size
	if i < 0 {
		i += size
	}
	return i
}

// Locate finds texels at integer coordinates. Those of lanes that are not active, or not in the level, are outside.
// Axes that the level has not have one texel.
func (l *Level) Locate(to *Offsets, x, y, z *Lanes, active Mask) {
	if l.Vectors {
		avx2Locate(to, x, y, z, l, active)
		return
	}
	l.locate(to, x, y, z, active)
}

func (l *Level) locate(to *Offsets, x, y, z *Lanes, active Mask) {
	xs, ys, zs := &l.Axes[0], &l.Axes[1], &l.Axes[2]
	for i := range to {
		to[i] = Outside
		x, y, z := x[i], y[i], z[i]
		if active.Has(i) && x < uint32(xs.Size[i]) && y < uint32(ys.Size[i]) && z < uint32(zs.Size[i]) {
			to[i] = l.At(i, int32(x), int32(y), int32(z))
		}
	}
}

// At is where the texel at integer coordinates in the level lies, of the level of a lane.
func (l *Level) At(lane int, x, y, z int32) int {
	return l.Start[lane] + l.Axes[0].along(lane, x) + l.Axes[1].along(lane, y) + l.Axes[2].along(lane, z)
}
