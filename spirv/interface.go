package spirv

import "iter"

// Place is where a scalar of an input or output lies in a stage's interface (Vulkan, "Shader Input and Output
// Interfaces").
type Place struct {
	Type      *Type // of the scalar
	IsBuiltIn bool
	BuiltIn   BuiltIn
	Location  uint32 // where it is not built in
	Component uint32 // of the location; of a built-in the number of the scalar
	Index     uint32 // of an output of fragment shaders

	Flat, NoPerspective, Centroid, Sample bool
}

// maxLocation is more than any device has: what is above is refused, so that sums stay small.
const maxLocation = 1 << 16

// interfaceWalk goes through the scalars of a variable.
type interfaceWalk struct {
	m     *Module
	yield func(Place) bool
	done  bool
	place Place // what holds for all that is in it
}

// Places are the places of the scalars of an input or output, in the order in which its type has them. What has no
// location in a module that was not checked has location 0.
func (m *Module) Places(variable *Instruction, c *Constants) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		w := interfaceWalk{m: m, yield: yield}
		w.decorate(m.Decorations[variable.Result])
		w.walk(c.Types[variable.Type].Elem, w.place.Location)
	}
}

// decorate takes what decorations say into the place.
func (w *interfaceWalk) decorate(list []Decoration) {
	for _, d := range list {
		switch d.Kind {
		case DecorationBuiltIn:
			w.place.IsBuiltIn, w.place.BuiltIn = true, BuiltIn(d.Operands[0])
		case DecorationLocation:
			w.place.Location = d.Operands[0]
		case DecorationComponent:
			w.place.Component = d.Operands[0]
		case DecorationIndex:
			w.place.Index = d.Operands[0]
		case DecorationFlat:
			w.place.Flat = true
		case DecorationNoPerspective:
			w.place.NoPerspective = true
		case DecorationCentroid:
			w.place.Centroid = true
		case DecorationSample:
			w.place.Sample = true
		}
	}
}

// walk yields the scalars of an object that begins at a location, and gives the location behind it. The recursion is as
// deep as the type (MaxTypeDepth).
func (w *interfaceWalk) walk(t *Type, location uint32) uint32 {
	switch t.Kind {
	case TypeVector:
		return w.vector(t, location)
	case TypeMatrix, TypeArray:
		for range t.Count {
			if w.done {
				break
			}
			location = w.walk(t.Elem, location)
		}
		return location
	case TypeStruct:
		outer := w.place
		for n, member := range t.Members {
			number := w.place.Component
			w.place = outer
			if outer.IsBuiltIn {
				w.place.Component = number
			}
			w.place.Location = location
			w.decorate(w.m.MemberDecorations[t.ID][uint32(n)])
			location = w.walk(member, w.place.Location)
		}
		w.place = outer
		return location
	}
	return w.vector(&Type{Kind: TypeVector, Elem: t, Count: 1}, location)
}

func (w *interfaceWalk) vector(t *Type, location uint32) uint32 {
	first := w.place.Component
	size := uint32(1)
	if t.Elem.Width == 64 {
		size = 2
	}
	for n := range t.Count {
		p := w.place
		p.Type = t.Elem
		if !p.IsBuiltIn {
			at := first + n*size
			p.Location, p.Component = min(location, maxLocation)+at/4, at%4
		}
		if !w.done && !w.yield(p) {
			w.done = true
		}
		if w.place.IsBuiltIn {
			w.place.Component++
		}
	}
	return min(location, maxLocation) + max((t.Count*size+3)/4, 1)
}
