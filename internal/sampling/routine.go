package sampling

import (
	"sync/atomic"

	"farside/internal/lanes"
	"farside/internal/vk"
)

// Routine is how an instruction samples a view by a sampler: everything about it that does not change from call to
// call. It does not change once it is made. A nil *Routine, which a nil *View has, gives zeros.
type Routine struct {
	view        *View
	sampler     *Sampler
	asked       *Sampler // nil for the sampler that nil stands for
	instruction instruction

	levels    levelsOf
	mag, min  bool // filter linearly
	quads     bool // one step reads and filters four texels
	seamless  bool // the faces of a cube go on beyond their edges
	exchange  bool // the components
	plainLod  bool // derivatives along two axes say all of a level of detail
	modes     [3]vk.SamplerAddressMode
	border    Texels
	reduction vk.SamplerReductionMode
	sources   []*Routine // of a view with a conversion
	plane     *plane     // of a routine that samples many lanes at once
}

// instruction is what of a Lookup says which instruction it is.
type instruction struct {
	mode    LodMode
	compare bool
	fixed   bool // the level of detail is the sampler's alone
}

// levelsOf says which levels a routine samples.
type levelsOf uint8

const (
	firstLevel  levelsOf = iota // the only one or the largest, with the filter of magnification
	someLevels                  // those that the level of detail asks for
	anisotropic                 // the same, at several places
)

// routines are the last ones of a view. Threads may make the same one twice.
type routines struct {
	slots [8]atomic.Pointer[Routine]
	next  atomic.Uint32 // to be replaced
}

// Routine returns the routine of a sampler for the instruction that a lookup stands for: by its Mode, Compare, HasBias
// and HasMinLod. A caller that samples again keeps it.
func (v *View) Routine(s *Sampler, q *Lookup) *Routine {
	if v == nil {
		return nil
	}
	want := instruction{q.Mode, q.Compare, q.Mode == LodZero && !q.HasBias && !q.HasMinLod}
	for i := range v.routines.slots {
		r := v.routines.slots[i].Load()
		if r == nil {
			break
		}
		if r.asked == s && r.instruction == want {
			return r
		}
	}
	r := v.newRoutine(s, want)
	v.routines.slots[(v.routines.next.Add(1)-1)%uint32(len(v.routines.slots))].Store(r)
	return r
}

func (v *View) newRoutine(asked *Sampler, want instruction) *Routine {
	s := asked
	if s == nil {
		s = nearest
	}
	filters := v.format.Linear()
	r := &Routine{
		view: v, sampler: s, asked: asked, instruction: want, mag: s.magLinear && filters, min: s.minLinear && filters,
		modes: s.address, reduction: s.reduction, exchange: !v.identity,
	}
	if r.seamless = v.cube && !s.edges; r.seamless {
		r.modes = [3]vk.SamplerAddressMode{cubeMode, cubeMode, cubeMode}
	}
	if v.ycbcr != nil {
		r.sources, r.exchange = v.ycbcr.routines(s, want), false
	}
	border := s.borderOf(v.format)
	r.border.Fill(&border)
	switch {
	case s.anisotropy <= 1 && (len(v.levels) == 1 && s.magLinear == s.minLinear || s.magnifies(want)):
		r.levels = firstLevel
	case want.mode == LodGradient && s.anisotropy > 1 && filters:
		r.levels = anisotropic
	default:
		r.levels = someLevels
	}
	r.plainLod = v.axes == 2 && !v.cube && s.anisotropy <= 1 && !s.unnormalized
	r.quads = v.format.HasQuads() && v.axes >= 2 && !v.cube && !want.compare &&
		s.reduction == vk.SAMPLER_REDUCTION_MODE_WEIGHTED_AVERAGE
	for _, mode := range r.modes[:v.axes] {
		r.quads = r.quads && mode != vk.SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER
	}
	r.plane = r.newPlane()
	return r
}

// magnifies says whether no level of detail that an instruction can have is above 0.
func (s *Sampler) magnifies(by instruction) bool {
	fixed := max(min(max(s.bias, -MaxLodBias), MaxLodBias), s.minLod)
	return s.maxLod <= 0 || by.fixed && fixed <= 0
}

// Sample samples in the active lanes. What the others get has no meaning.
func (r *Routine) Sample(dst *Texels, q *Lookup, active Mask) {
	if r == nil || active == 0 {
		*dst = Texels{}
		return
	}
	p := &q.work
	p.begin(r, q, active)
	switch {
	case r.sources != nil:
		r.view.ycbcr.sample(dst, p)
	case r.levels == firstLevel:
		p.level = &r.view.levels[0].Level
		if r.mag {
			p.filter(dst)
		} else {
			p.nearest(dst)
		}
	case r.levels == anisotropic:
		p.anisotropic(dst)
	default:
		p.levelOfDetail()
		p.levels(dst)
	}
	if r.exchange {
		r.view.exchange(dst)
	}
	p.r, p.q, p.level = nil, nil, nil
}

// format is how the texels of the routine's view are read.
func (r *Routine) format() *lanes.Format { return r.view.format }
