package ops

import (
	"slices"
	"testing"

	"farside/compute/internal/kernel"
)

// shape is what the types of a class must look like.
var shapes = map[Class]struct {
	args   [2]int // the least and the most operands
	result []Type // of which one is the result
	spaces []Space
}{
	ClassMove:    {[2]int{1, 3}, []Type{W32, W64}, nil},
	ClassMasked:  {[2]int{1, 1}, []Type{W32, W64}, nil},
	ClassInteger: {[2]int{1, 2}, []Type{I32, I64, W32}, nil},
	ClassFloat:   {[2]int{1, 3}, []Type{F32, F64, I32}, nil},
	ClassCompare: {[2]int{1, 2}, []Type{Mask}, nil},
	ClassConvert: {[2]int{1, 2}, []Type{I32, I64, F32, F64, W32, W64, Mask}, nil},
	ClassLoad:    {[2]int{1, 3}, []Type{I32, W32, W64}, []Space{SpaceSlot, SpacePhysical, SpacePrivate}},
	ClassStore:   {[2]int{2, 3}, []Type{None}, []Space{SpaceSlot, SpacePhysical, SpacePrivate}},
	ClassAtomic:  {[2]int{3, 4}, []Type{I32, I64, F32, F64, W32, W64}, []Space{SpaceSlot}},
	ClassValue:   {[2]int{0, 0}, []Type{W, I32}, nil},
	ClassPhi:     {[2]int{0, 0}, []Type{W}, nil},
	ClassResult:  {[2]int{1, 1}, []Type{W}, nil},
	ClassCall:    {[2]int{0, 0}, []Type{None}, nil},
	ClassLength:  {[2]int{3, 3}, []Type{I32}, nil},
	ClassBarrier: {[2]int{0, 0}, []Type{None}, nil},
	ClassCopy:    {[2]int{1, 1}, []Type{W}, nil},
}

// The table has a row for each operation, and each row agrees with its class.
func TestTable(t *testing.T) {
	names := map[string]bool{}
	for op := range NumOps {
		o := Of(op)
		if op == 0 {
			if *o != (Info{}) {
				t.Error("there is a row for no operation")
			}
			continue
		}
		if o.Name == "" || names[o.Name] {
			t.Errorf("operation %d: name %q", op, o.Name)
		}
		names[o.Name] = true
		s, ok := shapes[o.Class]
		if !ok {
			t.Errorf("%s: class %d", o.Name, o.Class)
			continue
		}
		args := 0
		for i, a := range o.Args {
			if a.Type != None {
				args = i + 1
			}
		}
		if args < s.args[0] || args > s.args[1] || !slices.Contains(s.result, o.Result) {
			t.Errorf("%s: %d operands, result %d", o.Name, args, o.Result)
		}
		if s.spaces == nil && (o.Space != SpaceNone || o.Bytes != 0) ||
			s.spaces != nil && (!slices.Contains(s.spaces, o.Space) || !slices.Contains([]uint8{1, 2, 4, 8}, o.Bytes)) {
			t.Errorf("%s: space %d, %d bytes", o.Name, o.Space, o.Bytes)
		}
		if o.Commutes && o.Args[0] != o.Args[1] {
			t.Errorf("%s: operands of two types commute", o.Name)
		}
		if o.Computes && (!o.Pure || o.Cost == 0 || o.List) {
			t.Errorf("%s computes, but pure is %t, cost %d, list %t", o.Name, o.Pure, o.Cost, o.List)
		}
		if o.Space != SpaceNone && (o.Pure || o.Computes || o.Class != ClassLoad && o.Cost != 0) {
			t.Errorf("%s: accesses memory, but pure is %t, computes %t, cost %d", o.Name, o.Pure, o.Computes, o.Cost)
		}
		checkPartners(t, op, o)
	}
}

// checkPartners compares an operation with its forms for 64 bits and for physical memory.
func checkPartners(t *testing.T, op kernel.Op, o *Info) {
	t.Helper()
	if o.Wide != 0 {
		w := Of(o.Wide)
		if w.Class != o.Class || w.Commutes != o.Commutes && o.Class != ClassInteger || w.Space != o.Space ||
			w.Space != SpaceNone && w.Bytes != 8 || w.Wide != 0 {
			t.Errorf("%s: the 64-bit form is %+v", o.Name, w)
		}
		widened := false
		for i, a := range o.Args {
			b := w.Args[i]
			widened = widened || b.Type.Width() == 64
			if a.Optional != b.Optional || a.Type != b.Type && widens(a.Type) != widens(b.Type) {
				t.Errorf("%s: operand %d is %d, of the 64-bit form %d", o.Name, i, a.Type, b.Type)
			}
		}
		if !widened && w.Result.Width() != 64 {
			t.Errorf("%s: nothing of the 64-bit form has 64 bits", o.Name)
		}
	}
	if o.Physical != 0 {
		if p := Of(o.Physical); o.Space != SpaceSlot || p.Space != SpacePhysical || p.Class != o.Class ||
			p.Bytes != o.Bytes || p.Result != o.Result || p.Slot != op || p.Args[0].Type != I64 ||
			p.Args[1] != o.Args[1] {
			t.Errorf("%s: the form for physical memory is %+v", o.Name, p)
		}
	}
	if o.Slot != 0 && Of(o.Slot).Physical != op {
		t.Errorf("%s: the form for slots is %s", o.Name, Name(o.Slot))
	}
	if o.Space == SpacePhysical && o.Slot == 0 {
		t.Errorf("%s has no form for slots", o.Name)
	}
}

// widens is the 64-bit form of a type.
func widens(t Type) Type {
	switch t {
	case I32, W32: // bits of no special meaning are integers where there are 64
		return I64
	case F32:
		return F64
	case W64:
		return I64
	}
	return t
}

// Operations that the table gives a kernel have one, and its name.
func TestKernels(t *testing.T) {
	for op := range kernel.NumOps {
		if op != 0 && kernel.Go().Ops[op] == nil {
			t.Errorf("%s has no kernel", Name(op))
		}
		if op != 0 && op.String() != Name(op) {
			t.Errorf("%s is %v in package kernel", Name(op), op)
		}
	}
	if Name(0) == "" || Name(NumOps) == "" {
		t.Error("what is no operation has no name at all")
	}
}
