package budget

import "reflect"

// Arenas are the arenas of a phase.
type Arenas struct {
	budget *Budget
	all    []interface{ reset() }
}

// Use lets the arenas take from a budget until the next Use.
func (s *Arenas) Use(b *Budget) { s.budget = b }

// Reset takes all elements back. What may hold others' memory is cleared: arenas keep none alive.
func (s *Arenas) Reset() {
	for _, a := range s.all {
		a.reset()
	}
	s.budget = nil
}

// Arena gives out zeroed parts of one allocation, or of larger ones when that is used up. They are taken back together.
type Arena[T any] struct {
	chunk, free []T
	arenas      *Arenas
}

// Join makes an arena one of some, before it is used.
func (a *Arena[T]) Join(s *Arenas) {
	a.arenas = s
	s.all = append(s.all, a)
}

// maxChunk is how many elements an arena allocates before it is asked for them.
const maxChunk = 1 << 16

// Take gives n elements.
func (a *Arena[T]) Take(n int) []T {
	if n > len(a.free) {
		n := max(n, min(2*len(a.chunk), maxChunk), 64)
		a.arenas.budget.Spend(Bytes, n*int(reflect.TypeFor[T]().Size()))
		a.chunk = make([]T, n)
		a.free = a.chunk
	}
	part := a.free[:n:n]
	a.free = a.free[n:]
	return part
}

// One gives an element.
func (a *Arena[T]) One() *T { return &a.Take(1)[0] }

// Push appends to a list.
func (a *Arena[T]) Push(list []T, v T) []T {
	if len(list) == cap(list) {
		list = a.longer(list, 1)
	}
	return append(list, v)
}

// Extend appends a list to another one.
func (a *Arena[T]) Extend(list, more []T) []T {
	if len(list)+len(more) > cap(list) {
		list = a.longer(list, len(more))
	}
	return append(list, more...)
}

// longer is a list with room for n more, and for as many as it has.
func (a *Arena[T]) longer(list []T, n int) []T {
	longer := a.Take(max(4, 2*len(list), len(list)+n))[:len(list)]
	copy(longer, list)
	return longer
}

// Largest is how many elements the arena has at once.
func (a *Arena[T]) Largest() int { return cap(a.chunk) }

func (a *Arena[T]) reset() {
	clear(a.chunk[:len(a.chunk)-len(a.free)])
	a.free = a.chunk
}
