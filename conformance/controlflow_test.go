package conformance

import "slices"

// flowFunctions are the functions of shaders/control/flow.comp in Go.
var flowFunctions = []struct {
	name string
	f    func(x, group uint32, table []uint32) uint32
}{
	{"if_chain", func(x, _ uint32, _ []uint32) uint32 {
		switch {
		case x%7 == 0:
			return x * 3
		case x%5 == 0:
			x += 100
		case x%3 == 0 && x%2 == 0:
			x ^= 0xff
		case x%3 == 0:
			x <<= 2
		}
		return x + 1
	}},
	{"for_break_continue", func(x, _ uint32, _ []uint32) (s uint32) {
		for i := range uint32(20) {
			if i%3 == x%3 {
				continue
			}
			if i > x {
				break
			}
			s += i*x + 1
		}
		return s
	}},
	{"while_uneven", func(x, _ uint32, _ []uint32) (n uint32) {
		for x != 1 && n < 200 {
			if x%2 == 0 {
				x /= 2
			} else {
				x = 3*x + 1
			}
			n++
		}
		return n*1000 + x
	}},
	{"do_while", func(x, _ uint32, _ []uint32) uint32 {
		s, i := x, uint32(0)
		for {
			s = s*31 + i
			if s%11 != 0 {
				i++
				s ^= i
			}
			if i++; i >= x%13 {
				return s
			}
		}
	}},
	{"nested_loops", func(x, _ uint32, _ []uint32) (s uint32) {
		for i := range x%6 + 1 {
			for j := i; j < 9; j++ {
				if (i+j)%4 == x%4 {
					break
				}
				for k := range uint32(3) {
					if k != 1 || j%2 != 0 {
						s += i*100 + j*10 + k
					}
				}
			}
			if s > 2000+x {
				break
			}
		}
		return s
	}},
	{"switch_fallthrough", func(x, _ uint32, _ []uint32) uint32 {
		r := uint32(1)
		switch x % 9 {
		case 0:
			r = 10
			fallthrough
		case 1:
			r += 5
		case 2, 3:
			r = x
		case 7:
			r *= 7
			fallthrough
		default:
			r += 1000
			fallthrough
		case 8:
			r ^= 3
		}
		return r
	}},
	{"switch_in_loop", func(x, _ uint32, _ []uint32) (s uint32) {
		for i := range uint32(12) {
			switch (x + i) % 5 {
			case 0:
				continue
			case 1:
				s++
			case 2:
				if s > 20 {
					return s + 10000
				}
				s *= 2
				fallthrough
			case 3:
				s += i
			default:
				s ^= x
			}
			s += 7
		}
		return s
	}},
	{"nested_switch", func(x, _ uint32, _ []uint32) uint32 {
		s := x
		switch x % 4 {
		case 0:
			switch x % 8 {
			case 0:
				s++
			case 4:
				s += 2
				fallthrough
			default:
				s += 4
			}
		case 1:
			for range 3 {
				if s%3 == 0 {
					break
				}
				s += x
			}
		case 3:
			return s * 5
		}
		return s + 50
	}},
	{"return_from_loop", func(x, _ uint32, table []uint32) uint32 {
		for i := range uint32(64) {
			for j := range uint32(4) {
				if table[i]%(x+2) == j && i > x%9 {
					return i*10 + j
				}
			}
		}
		return 9999
	}},
	{"calls", func(x, _ uint32, _ []uint32) uint32 {
		helper := func(x uint32) uint32 {
			if x > 40 {
				return x - 40
			}
			for s := uint32(0); ; {
				if s += x + 1; s > 77 {
					return s
				}
			}
		}
		s := helper(x)
		for i := range x % 5 {
			s += helper(x*i%64) * (i + 1)
		}
		return s
	}},
	{"out_parameters", func(x, _ uint32, _ []uint32) (s uint32) {
		a := x
		for i := range uint32(6) {
			c := x + i
			b := a + c
			if c%2 != 0 {
				a *= 2
				b += a
			}
			s += a ^ b
		}
		return s
	}},
	{"short_circuit", func(x, _ uint32, _ []uint32) (r uint32) {
		side := uint32(0)
		touch := func(x uint32) bool { side += x; return x%2 == 0 }
		if touch(x) && touch(x/2) || touch(x/3) {
			r = 1
		}
		second := x / 11
		if touch(x / 5) {
			second = x / 7
		}
		if touch(second) {
			r += 2
		}
		return r + side*4
	}},
	{"endless_with_break", func(x, _ uint32, _ []uint32) (n uint32) {
		for {
			x = x*1664525 + 1013904223
			if x>>28 == 5 {
				break
			}
			if n++; n == 300 {
				break
			}
		}
		return x ^ n
	}},
	{"struct_state", func(x, _ uint32, _ []uint32) uint32 {
		a, v, f := x, [2]uint32{x, 3}, [3]float32{1, 2, 3}
		for i := range x % 8 {
			if v[0]%3 == 0 {
				a += i
				v = [2]uint32{v[1] + i, v[0] + 1}
				f[i%3] += 0.5
			} else {
				f[i%3] *= 2
			}
			v[0]++
		}
		return a + v[0]*3 + v[1]*5 + uint32(f[0]+f[1]*4+f[2]*16)
	}},
	{"two_exits", func(x, _ uint32, _ []uint32) uint32 {
		i, why := uint32(0), uint32(0)
		for i < 50 {
			i += x%4 + 1
			if i%7 == 3 {
				why = 1
				break
			}
			if i*x%13 == 1 {
				why = 2
				break
			}
		}
		return i*10 + why
	}},
	{"loop_in_branches", func(x, _ uint32, _ []uint32) uint32 {
		s := x
		if x%2 == 0 {
			for i := range uint32(5) {
				s += i * x
			}
			if s%3 == 0 {
				for i := range x % 3 {
					s ^= i + 9
				}
			}
			return s
		}
		for i := x; ; {
			s -= i
			if i /= 2; i <= 2 {
				return s
			}
		}
	}},
	{"private_arrays", func(x, _ uint32, _ []uint32) (s uint32) {
		var a [8]uint32
		for i := range uint32(8) {
			a[i] = (x >> i) * (i + 1)
		}
		for i := range uint32(16) {
			if from, to := (x+i*3)%8, x*i%8; from != to {
				a[to] += a[from]
			}
		}
		b := a
		a[x%8] = 0
		for i := range uint32(8) {
			s = s*3 + a[i] + b[(i+x)%8]
		}
		return s
	}},
	{"constant_arrays", func(x, _ uint32, _ []uint32) (s uint32) {
		for i := range x%6 + 1 {
			s = s*31 + [10]uint32{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}[(x+i)%10]
		}
		return s
	}},
	{"dynamic_vectors", func(x, _ uint32, _ []uint32) uint32 {
		v := [4]uint32{x, x + 1, x * 2, 7}
		m := [3][3]float32{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
		for i := range uint32(5) {
			v[(x+i)%4] += v[i%4]
			m[(x+i)%3][i%3] += float32(x % 5)
		}
		var t [3]float32
		for row := range t {
			t[row] = m[0][row] + m[1][row]*2 + m[2][row]*3
		}
		m[x%3] = t
		return v[0] ^ v[1]*3 ^ v[2]*5 ^ v[3]*7 ^ uint32(m[0][0]+m[1][1]*10+m[2][2]*100)
	}},
	{"arrays_of_arrays", func(x, _ uint32, _ []uint32) (s uint32) {
		var a [3][4][2]uint32
		for i := range uint32(3) {
			for j := range uint32(4) {
				a[i][j] = [2]uint32{i * x, j + x}
			}
		}
		row := a[x%3]
		row[x%4][1] += 100
		a[(x+1)%3] = row
		for _, r := range a {
			for _, v := range r {
				s = s*5 + v[0] + v[1]*2
			}
		}
		return s
	}},
	{"invariant_exit", func(x, group uint32, table []uint32) (s uint32) {
		for i := range group + 4 {
			if x < i*4 {
				continue
			}
			for j := range x % 4 {
				if s += table[(i*j+x)%64]; s > 0x80000000 {
					return s
				}
			}
		}
		return s
	}},
}

// flowCases mirror spirv_assembly.instruction.compute.{loop_control, selection_control, switch, function_call} and
// glsl.loops as far as GLSL can say it.
func flowCases() []definition {
	var all []definition
	for _, f := range flowFunctions {
		all = append(all, definition{name: "glsl.control_flow." + f.name, compute: true, valid: true, run: func(c *Case) {
			const groups = 5
			table := random32(64, 13)
			results := make([]uint32, 2*32*groups)
			want := slices.Clone(results)
			for id := range uint32(32 * groups) {
				want[id] = f.f(id, id/32, table)
				want[32*groups+id] = f.f(id/32*5+2, id/32, table)
			}
			c.dispatch(dispatch{shader: glsl("control/flow.comp", "F="+f.name), groups: [3]uint32{groups},
				buffers: []any{results, table}})
			wantSlice(c, "arguments of invocations", results[:32*groups], want[:32*groups])
			wantSlice(c, "arguments of workgroups", results[32*groups:], want[32*groups:])
		}})
	}
	return all
}
