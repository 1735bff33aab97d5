package main

import (
	"fmt"
	"slices"
	"strings"
)

// operand is a register of an instruction: a vector, which gets one of V0 to V31 when its function is whole, or a
// general register, which has its number from the beginning.
type operand struct {
	general bool
	number  int
}

// vector is an operand that is a vector.
type vector = operand

// x is a general register.
func x(number int) operand { return operand{general: true, number: number} }

// line is a line of a function: text, or an instruction with its operands.
type line struct {
	text     string
	op       *operation
	operands []operand
}

// function is a function while it is written. Its vectors are written once, and are live from there to where they are
// read last in the text: what a loop reads, and has not written before in the same round, has to be pinned.
type function struct {
	name      string
	signature string // as in Go, from the parameters on
	arguments int    // bytes of parameters and results
	hoisted   []line // constants, before all else
	lines     []line
	vectors   int
	pinned    []vector
	constants map[[2]uint64]vector
	labels    int
}

// text adds a line in the language of Go's assembler.
func (f *function) text(format string, values ...any) {
	f.lines = append(f.lines, line{text: "\t" + fmt.Sprintf(format, values...)})
}

// label adds a label.
func (f *function) label(name string) { f.lines = append(f.lines, line{text: name + ":"}) }

// named returns a label that the function does not have yet.
func (f *function) named(name string) string {
	f.labels++
	return fmt.Sprintf("%s%d", name, f.labels)
}

func (f *function) vector() vector {
	f.vectors++
	return vector{number: f.vectors}
}

// check panics unless an operation has so many operands.
func (f *function) check(o operation, operands []operand) {
	if strings.Count(o.text, "%d") != len(operands) {
		panic(fmt.Sprintf("%s: %s has %d operands", f.name, o.text, len(operands)))
	}
}

// emit adds an instruction without a result.
func (f *function) emit(o operation, operands ...operand) {
	f.check(o, operands)
	f.lines = append(f.lines, line{op: &o, operands: operands})
}

// do adds an instruction whose result is a new vector. If it changes its destination, that is the first source.
func (f *function) do(o operation, sources ...operand) vector {
	d := f.vector()
	operands := append([]operand{d}, sources...)
	if o.tied {
		f.check(o, sources) // the first source is an operand of its own until registers are chosen
	} else {
		f.check(o, operands)
	}
	f.lines = append(f.lines, line{op: &o, operands: operands})
	return d
}

// v is do by name.
func (f *function) v(name string, sources ...operand) vector {
	o, ok := operations[name]
	if !ok {
		panic("no instruction " + name)
	}
	return f.do(o, sources...)
}

// pin keeps a vector in its register to the end of the function.
func (f *function) pin(v vector) vector {
	f.pinned = append(f.pinned, v)
	return v
}

// into writes a pinned vector again.
func (f *function) into(d vector, o operation, sources ...operand) {
	f.check(o, append([]operand{d}, sources...))
	f.lines = append(f.lines, line{op: &o, operands: append([]operand{d}, sources...)})
}

// allocation is how the vectors of a function got their registers.
type allocation struct {
	last   map[int]int // the line that reads a vector last
	places map[int]int
	pinned map[int]bool
	free   []int
}

// allocate chooses the registers. The result has no operands: all lines are text.
func (f *function) allocate() []string {
	lines := append(slices.Clone(f.hoisted), f.lines...)
	a := allocation{map[int]int{}, map[int]int{}, map[int]bool{}, nil}
	for i, l := range lines {
		for _, o := range l.operands {
			if !o.general {
				a.last[o.number] = i
			}
		}
	}
	for i, v := range f.pinned {
		a.places[v.number], a.pinned[v.number] = 31-i, true
	}
	for r := range 32 - len(f.pinned) {
		a.free = append(a.free, r)
	}
	var out []string
	for i, l := range lines {
		if l.op == nil {
			out = append(out, l.text)
			continue
		}
		out = append(out, a.instruction(f, i, l)...)
	}
	return out
}

// instruction chooses the registers of one, and returns it with the copy that may be needed before it.
func (a *allocation) instruction(f *function, at int, l line) (out []string) {
	o, sources := *l.op, l.operands
	var registers []int
	if !o.free {
		sources = sources[1:]
	}
	for _, s := range sources {
		r := s.number
		if !s.general {
			var ok bool
			if r, ok = a.places[s.number]; !ok {
				panic(f.name + ": " + o.text + " reads what is not written")
			}
		}
		registers = append(registers, r)
	}
	dies := func(s operand) bool { return !s.general && !a.pinned[s.number] && a.last[s.number] == at }
	release := func(sources []operand, but ...operand) {
		for i, s := range sources {
			if dies(s) && !slices.Contains(sources[:i], s) && !slices.Contains(but, s) {
				a.free = append(a.free, a.places[s.number])
				slices.Sort(a.free)
			}
		}
	}
	if o.free {
		release(sources)
		return []string{word(o, registers)}
	}
	d := l.operands[0]
	switch {
	case !o.tied:
		release(sources)
		registers = append([]int{a.place(f, d)}, registers...)
	case dies(sources[0]) && !a.pinned[d.number]:
		a.places[d.number] = registers[0]
		release(sources[1:], sources[0])
	default:
		place := a.place(f, d) // none of the sources' registers, which are not yet free
		out = append(out, word(copyOf, []int{place, registers[0], registers[0]}))
		registers[0] = place
		release(sources)
	}
	if dies(d) {
		panic(f.name + ": nobody reads the result of " + o.text)
	}
	return append(out, word(o, registers))
}

// place gives a vector a register, unless it has one.
func (a *allocation) place(f *function, d vector) int {
	r, ok := a.places[d.number]
	if !ok {
		if len(a.free) == 0 {
			panic(f.name + ": no register is left")
		}
		r, a.free = a.free[0], a.free[1:]
		a.places[d.number] = r
	}
	return r
}

// word returns an instruction as a line for Go's assembler.
func word(o operation, registers []int) string {
	return fmt.Sprintf("\tWORD $0x%08x // %s", o.encode(registers...), o.written(registers...))
}
