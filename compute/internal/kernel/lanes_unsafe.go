package kernel

import "unsafe"

// lanes returns chunk i of r.
func lanes[T any](r Register, i int) *[Width]T {
	return (*[Width]T)(unsafe.Add(r.Base, uintptr(i)*r.Step))
}

// unary makes a kernel of a function of one operand. If this function and its likes were inlined, lanes would not be.
//
//go:noinline
func unary[A, D any](f func(A) D) Func {
	return func(args *Args, first, n int) {
		for i := first; i < first+n; i++ {
			d, a := lanes[D](args.Dst, i), lanes[A](args.A, i)
			for lane := range Width {
				d[lane] = f(a[lane])
			}
		}
	}
}

// binary makes a kernel of a function of two operands.
//
//go:noinline
func binary[A, B, D any](f func(A, B) D) Func {
	return func(args *Args, first, n int) {
		for i := first; i < first+n; i++ {
			d, a, b := lanes[D](args.Dst, i), lanes[A](args.A, i), lanes[B](args.B, i)
			for lane := range Width {
				d[lane] = f(a[lane], b[lane])
			}
		}
	}
}

// ternary makes a kernel of a function of three operands.
//
//go:noinline
func ternary[A, C, D any](f func(a, b A, c C) D) Func {
	return func(args *Args, first, n int) {
		for i := first; i < first+n; i++ {
			d, a, b, c := lanes[D](args.Dst, i), lanes[A](args.A, i), lanes[A](args.B, i), lanes[C](args.C, i)
			for lane := range Width {
				d[lane] = f(a[lane], b[lane], c[lane])
			}
		}
	}
}

// test makes a kernel of a predicate.
func test[A any](f func(A) bool) Func {
	return unary(func(a A) uint32 { return mask(f(a)) })
}

// compare makes a kernel of a relation.
func compare[A any](f func(a, b A) bool) Func {
	return binary(func(a, b A) uint32 { return mask(f(a, b)) })
}

// mask returns a lane of a mask.
func mask(set bool) uint32 {
	if set {
		return 1<<32 - 1
	}
	return 0
}

// move is the kernel that copies, moveMasked that which copies where the mask is set.
func move[T any](args *Args, first, n int) {
	for i := first; i < first+n; i++ {
		*lanes[T](args.Dst, i) = *lanes[T](args.A, i)
	}
}

func moveMasked[T any](args *Args, first, n int) {
	if args.Mask.Base == nil {
		move[T](args, first, n)
		return
	}
	for i := first; i < first+n; i++ {
		d, a, m := lanes[T](args.Dst, i), lanes[T](args.A, i), lanes[uint32](args.Mask, i)
		for lane := range Width {
			if m[lane] != 0 {
				d[lane] = a[lane]
			}
		}
	}
}

func split(whenTrue, whenFalse, exec, condition Register, first, n int) {
	for i := first; i < first+n; i++ {
		t, f := lanes[uint32](whenTrue, i), lanes[uint32](whenFalse, i)
		e, c := lanes[uint32](exec, i), lanes[uint32](condition, i)
		for lane := range Width {
			t[lane] |= e[lane] & c[lane]
			f[lane] |= e[lane] &^ c[lane]
		}
	}
}

func orInto(dst, src Register, first, n int) {
	for i := first; i < first+n; i++ {
		d, s := lanes[uint32](dst, i), lanes[uint32](src, i)
		for lane := range Width {
			d[lane] |= s[lane]
		}
	}
}

func take(dst, src Register, n int) (first, last, set int) {
	for i := range n {
		d, s := lanes[uint32](dst, i), lanes[uint32](src, i)
		*d = *s
		*s = [Width]uint32{}
	}
	return active(dst, n)
}

func active(mask Register, n int) (first, last, set int) {
	for i := range n {
		for _, lane := range lanes[uint32](mask, i) {
			if lane == 0 {
				continue
			}
			if last == 0 {
				first = i
			}
			last = i + 1
			set++
		}
	}
	return first, last, set
}

func narrow(dst, src, rest, condition Register, invert bool, n int) (first, last, set int, others bool) {
	var flip uint32
	if invert {
		flip = ^flip
	}
	for i := range n {
		s, c := lanes[uint32](src, i), lanes[uint32](condition, i)
		for lane := range Width {
			others = others || s[lane]&^(c[lane]^flip) != 0
		}
	}
	if !others {
		return 0, 0, 0, false
	}
	for i := range n {
		d, s, r, c := lanes[uint32](dst, i), lanes[uint32](src, i), lanes[uint32](rest, i), lanes[uint32](condition, i)
		for lane := range Width {
			keep := c[lane] ^ flip
			r[lane] |= s[lane] &^ keep
			d[lane] = s[lane] & keep
		}
	}
	first, last, set = active(dst, n)
	return first, last, set, true
}
