package kernel

import (
	"math"
	"math/big"
	"math/bits"

	"farside/compute/internal/kernel/series"
)

// kind is the type of an operand.
type kind int

const (
	kindI32 kind = iota
	kindI64
	kindF32
	kindF64
	kindF16 // the bits
	kindMask
)

func (k kind) bits() int {
	if k == kindI64 || k == kindF64 {
		return 64
	}
	return 32
}

// expectation is what a kernel shall do to a lane, written down without regard to how the kernels do it.
type expectation struct {
	name     string
	result   kind
	operands []kind
	masked   bool
	of       func(a, b, c, immediate uint64) uint64
	near     func(a, b, got uint64) bool // what else is right; nil: nothing
	exact    func(a, b uint64) float64   // of functions with near: what is rounded
}

func f32(raw uint64) float64 { return float64(math.Float32frombits(uint32(raw))) }

func raw32(f float64) uint64 { return uint64(math.Float32bits(float32(f))) }

// u and s are integers of any width.
func u(raw uint64) *big.Int { return new(big.Int).SetUint64(raw) }

func s(raw uint64, width uint) *big.Int {
	i := u(raw)
	if raw>>(width-1)&1 == 1 {
		i.Sub(i, new(big.Int).Lsh(big.NewInt(1), width))
	}
	return i
}

// low returns the lowest bits of an integer.
func low(i *big.Int, width uint) uint64 {
	modulus := new(big.Int).Lsh(big.NewInt(1), width)
	return new(big.Int).Mod(i, modulus).Uint64()
}

func truth(b bool) uint64 { return uint64(mask(b)) }

func expectations() map[Op]expectation {
	all := map[Op]expectation{}
	integers(all)
	moves(all)
	floats(all)
	conversions(all)
	functions(all)
	for op, e := range all {
		e.name = op.String()
		all[op] = e
	}
	return all
}

func moves(all map[Op]expectation) {
	first := func(a, _, _, _ uint64) uint64 { return a }
	choose := func(a, b, c, _ uint64) uint64 {
		if c != 0 {
			return a
		}
		return b
	}
	all[Move32] = expectation{result: kindI32, operands: []kind{kindI32}, of: first}
	all[Move64] = expectation{result: kindI64, operands: []kind{kindI64}, of: first}
	all[MoveMasked32] = expectation{result: kindI32, operands: []kind{kindI32}, masked: true, of: first}
	all[MoveMasked64] = expectation{result: kindI64, operands: []kind{kindI64}, masked: true, of: first}
	all[Select32] = expectation{result: kindI32, operands: []kind{kindI32, kindI32, kindMask}, of: choose}
	all[Select64] = expectation{result: kindI64, operands: []kind{kindI64, kindI64, kindMask}, of: choose}
}

func integers(all map[Op]expectation) {
	for _, width := range []uint{32, 64} {
		of := func(op32, op64 Op, signed bool, f func(a, b *big.Int) *big.Int) {
			op, k := op32, kindI32
			if width == 64 {
				op, k = op64, kindI64
			}
			all[op] = expectation{result: k, operands: []kind{k, k}, of: func(a, b, _, _ uint64) uint64 {
				if signed {
					return low(f(s(a, width), s(b, width)), width)
				}
				return low(f(u(a), u(b)), width)
			}}
		}
		compare := func(op32, op64 Op, signed bool, f func(order int) bool) {
			op, k := op32, kindI32
			if width == 64 {
				op, k = op64, kindI64
			}
			all[op] = expectation{result: kindMask, operands: []kind{k, k}, of: func(a, b, _, _ uint64) uint64 {
				if signed {
					return truth(f(s(a, width).Cmp(s(b, width))))
				}
				return truth(f(u(a).Cmp(u(b))))
			}}
		}
		zero, ones := big.NewInt(0), big.NewInt(-1)
		i := func() *big.Int { return new(big.Int) }
		count := func(b *big.Int) uint { return uint(b.Uint64() & uint64(width-1)) }
		of(AddI32, AddI64, false, i().Add)
		of(SubI32, SubI64, false, i().Sub)
		of(MulI32, MulI64, false, i().Mul)
		of(NegI32, NegI64, false, func(a, _ *big.Int) *big.Int { return i().Neg(a) })
		of(AndI32, AndI64, false, i().And)
		of(OrI32, OrI64, false, i().Or)
		of(XorI32, XorI64, false, i().Xor)
		of(NotI32, NotI64, false, func(a, _ *big.Int) *big.Int { return i().Not(a) })
		if width == 32 {
			of(AndNotI32, 0, false, i().AndNot)
		}
		of(ShlI32, ShlI64, false, func(a, b *big.Int) *big.Int { return i().Lsh(a, count(b)) })
		of(ShrU32, ShrU64, false, func(a, b *big.Int) *big.Int { return i().Rsh(a, count(b)) })
		of(ShrS32, ShrS64, true, func(a, b *big.Int) *big.Int { return i().Rsh(a, uint(low(b, width))&(width-1)) })
		divided := func(f func(a, b *big.Int) *big.Int, byZero func(a *big.Int) *big.Int) func(a, b *big.Int) *big.Int {
			return func(a, b *big.Int) *big.Int {
				if b.Cmp(zero) == 0 {
					return byZero(a)
				}
				return f(a, b)
			}
		}
		itself := func(a *big.Int) *big.Int { return a }
		allOnes := func(*big.Int) *big.Int { return ones }
		of(DivU32, DivU64, false, divided(i().Quo, allOnes))
		of(DivS32, DivS64, true, divided(i().Quo, allOnes))
		of(RemU32, RemU64, false, divided(i().Rem, itself))
		of(RemS32, RemS64, true, divided(i().Rem, itself))
		of(ModS32, ModS64, true, divided(func(a, b *big.Int) *big.Int {
			r := i().Mod(a, b) // not negative
			if r.Sign() != 0 && b.Sign() < 0 {
				r.Add(r, b)
			}
			return r
		}, itself))
		high := func(a, b *big.Int) *big.Int { return i().Rsh(i().Mul(a, b), width) }
		of(MulHighU32, MulHighU64, false, high)
		of(MulHighS32, MulHighS64, true, high)
		either := func(want int) func(a, b *big.Int) *big.Int {
			return func(a, b *big.Int) *big.Int {
				if a.Cmp(b) == want {
					return a
				}
				return b
			}
		}
		of(MinU32, MinU64, false, either(-1))
		of(MinS32, MinS64, true, either(-1))
		of(MaxU32, MaxU64, false, either(1))
		of(MaxS32, MaxS64, true, either(1))
		of(AbsI32, AbsI64, true, func(a, _ *big.Int) *big.Int { return i().Abs(a) })
		compare(EqI32, EqI64, false, func(order int) bool { return order == 0 })
		compare(NeI32, NeI64, false, func(order int) bool { return order != 0 })
		compare(LtU32, LtU64, false, func(order int) bool { return order < 0 })
		compare(LeU32, LeU64, false, func(order int) bool { return order <= 0 })
		compare(LtS32, LtS64, true, func(order int) bool { return order < 0 })
		compare(LeS32, LeS64, true, func(order int) bool { return order <= 0 })
	}
	words := func(a, b, _, _ uint64) uint64 { return uint64(uint32(a)) * uint64(uint32(b)) }
	all[MulWordsU64] = expectation{result: kindI64, operands: []kind{kindI64, kindI64}, of: words}
	count := func(op32, op64 Op, f func(a uint64, width int) int) {
		all[op32] = expectation{result: kindI32, operands: []kind{kindI32}, of: func(a, _, _, _ uint64) uint64 {
			return uint64(uint32(f(a, 32)))
		}}
		all[op64] = expectation{result: kindI32, operands: []kind{kindI64}, of: func(a, _, _, _ uint64) uint64 {
			return uint64(uint32(f(a, 64)))
		}}
	}
	highest := func(a uint64, unlike uint64, width int) int {
		for i := width - 1; i >= 0; i-- {
			if a>>i&1 != unlike {
				return i
			}
		}
		return -1
	}
	count(PopCount32, PopCount64, func(a uint64, width int) (n int) {
		for i := range width {
			n += int(a >> i & 1)
		}
		return n
	})
	count(FindLSB32, FindLSB64, func(a uint64, width int) int {
		for i := range width {
			if a>>i&1 == 1 {
				return i
			}
		}
		return -1
	})
	count(FindMSBU32, FindMSBU64, func(a uint64, width int) int { return highest(a, 0, width) })
	count(FindMSBS32, FindMSBS64, func(a uint64, width int) int { return highest(a, a>>(width-1)&1, width) })

	word := func(op Op, f func(a uint64) uint64) {
		all[op] = expectation{result: kindI32, operands: []kind{kindI32}, of: func(a, _, _, _ uint64) uint64 {
			return f(a) & math.MaxUint32
		}}
	}
	word(Reverse32, func(a uint64) uint64 { return bits.Reverse64(a) >> 32 })
	word(Sext8, func(a uint64) uint64 { return uint64(int64(a<<56) >> 56) })
	word(Sext16, func(a uint64) uint64 { return uint64(int64(a<<48) >> 48) })
	word(Zext8, func(a uint64) uint64 { return a % 256 })
	word(Zext16, func(a uint64) uint64 { return a % 65536 })
	all[MulAddSat] = expectation{result: kindI32, operands: []kind{kindI32, kindI32},
		of: func(a, b, _, immediate uint64) uint64 {
			sum := new(big.Int).Add(new(big.Int).Mul(u(a), u(immediate)), u(b))
			if sum.BitLen() > 32 {
				return math.MaxUint32
			}
			return sum.Uint64()
		}}
}

// floats has what both widths have.
func floats(all map[Op]expectation) {
	for _, width := range []int{32, 64} {
		k, decode, encode := kindF32, f32, raw32
		if width == 64 {
			k, decode, encode = kindF64, math.Float64frombits, math.Float64bits
		}
		pick := func(op32, op64 Op) Op {
			if width == 64 {
				return op64
			}
			return op32
		}
		// In 32 bits, one operation in 64 bits and a second rounding gives what a single rounding gives.
		binary := func(op32, op64 Op, f func(a, b float64) float64) {
			all[pick(op32, op64)] = expectation{result: k, operands: []kind{k, k}, of: func(a, b, _, _ uint64) uint64 {
				return encode(f(decode(a), decode(b)))
			}}
		}
		unary := func(op32, op64 Op, f func(a float64) float64) {
			all[pick(op32, op64)] = expectation{result: k, operands: []kind{k}, of: func(a, _, _, _ uint64) uint64 {
				return encode(f(decode(a)))
			}}
		}
		compare := func(op32, op64 Op, f func(a, b float64) bool) {
			all[pick(op32, op64)] = expectation{result: kindMask, operands: []kind{k, k}, of: func(a, b, _, _ uint64) uint64 {
				return truth(f(decode(a), decode(b)))
			}}
		}
		test := func(op32, op64 Op, f func(a float64) bool) {
			all[pick(op32, op64)] = expectation{result: kindMask, operands: []kind{k}, of: func(a, _, _, _ uint64) uint64 {
				return truth(f(decode(a)))
			}}
		}
		binary(AddF32, AddF64, func(a, b float64) float64 { return a + b })
		binary(SubF32, SubF64, func(a, b float64) float64 { return a - b })
		binary(MulF32, MulF64, func(a, b float64) float64 { return a * b })
		binary(DivF32, DivF64, func(a, b float64) float64 { return a / b })
		all[pick(FmaF32, FmaF64)] = expectation{result: k, operands: []kind{k, k, k}, of: func(a, b, c, _ uint64) uint64 {
			x, y, z := decode(a), decode(b), decode(c)
			if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsNaN(x) && !math.IsNaN(y) {
				return encode(z) // although x*y may be beyond the range
			}
			if product := x * y; math.IsNaN(product) || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsNaN(z) ||
				math.IsInf(z, 0) ||
				x == 0 || y == 0 {
				return encode(product + z)
			}
			exact := new(big.Float).SetPrec(5000).Mul(big.NewFloat(x), big.NewFloat(y))
			if exact.Add(exact, big.NewFloat(z)); exact.Sign() == 0 {
				return encode(0) // of numbers that are not 0 and of unlike signs
			}
			if width == 64 {
				f, _ := exact.Float64()
				return encode(f)
			}
			f, _ := exact.Float32()
			return uint64(math.Float32bits(f))
		}}
		twice := func(op32, op64 Op, f func(product, c float64) float64) {
			all[pick(op32, op64)] = expectation{result: k, operands: []kind{k, k, k}, of: func(a, b, c, _ uint64) uint64 {
				return encode(f(decode(encode(decode(a)*decode(b))), decode(c)))
			}}
		}
		twice(MulAddF32, MulAddF64, func(product, c float64) float64 { return product + c })
		twice(MulSubF32, MulSubF64, func(product, c float64) float64 { return product - c })
		twice(SubMulF32, SubMulF64, func(product, c float64) float64 { return c - product })
		all[pick(NegF32, NegF64)] = expectation{result: k, operands: []kind{k}, of: func(a, _, _, _ uint64) uint64 {
			return a ^ 1<<(width-1)
		}}
		all[pick(AbsF32, AbsF64)] = expectation{result: k, operands: []kind{k}, of: func(a, _, _, _ uint64) uint64 {
			return a &^ (1 << (width - 1))
		}}
		unary(SqrtF32, SqrtF64, math.Sqrt)
		binary(MinF32, MinF64, func(a, b float64) float64 {
			if math.IsNaN(a) || b < a || a == b && math.Signbit(b) {
				return b
			}
			return a
		})
		binary(MaxF32, MaxF64, func(a, b float64) float64 {
			if math.IsNaN(a) || b > a || a == b && math.Signbit(a) {
				return b
			}
			return a
		})
		compare(EqF32, EqF64, func(a, b float64) bool { return a == b })
		compare(LtF32, LtF64, func(a, b float64) bool { return a < b })
		compare(LeF32, LeF64, func(a, b float64) bool { return a <= b })
		compare(NeOrdF32, NeOrdF64, func(a, b float64) bool { return !math.IsNaN(a) && !math.IsNaN(b) && a != b })
		test(IsNaNF32, IsNaNF64, math.IsNaN)
		test(IsInfF32, IsInfF64, func(a float64) bool { return math.IsInf(a, 0) })
		unary(FloorF32, FloorF64, math.Floor)
		unary(CeilF32, CeilF64, math.Ceil)
		unary(TruncF32, TruncF64, math.Trunc)
		unary(RoundEvenF32, RoundEvenF64, math.RoundToEven)
		unary(SignF32, SignF64, func(a float64) float64 {
			if a == 0 || math.IsNaN(a) {
				return 0
			}
			return math.Copysign(1, a)
		})
		remainder := func(a, b float64) float64 {
			if q := math.Trunc(math.Abs(a / b)); k == kindF32 && q > series.Whole && !math.IsInf(q, 0) {
				return math.Copysign(0, a)
			}
			return math.Mod(a, b)
		}
		binary(RemF32, RemF64, remainder)
		binary(ModF32, ModF64, func(a, b float64) float64 {
			r := remainder(a, b)
			if r == 0 {
				return math.Copysign(0, b)
			}
			if math.Signbit(r) != math.Signbit(b) {
				r += b
			}
			return r
		})
		all[pick(LdexpF32, LdexpF64)] = expectation{result: k, operands: []kind{k, kindI32},
			of: func(a, b, _, _ uint64) uint64 {
				x := decode(a)
				if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
					return a
				}
				exact := new(big.Float).SetMantExp(big.NewFloat(x), max(-5000, min(int(int32(b)), 5000)))
				if width == 64 {
					f, _ := exact.Float64()
					return encode(f)
				}
				f, _ := exact.Float32()
				return uint64(math.Float32bits(f))
			}}
		unary(FrexpF32, FrexpF64, func(a float64) float64 {
			significand, _ := math.Frexp(a)
			return significand
		})
		all[pick(FrexpExpF32, FrexpExpF64)] = expectation{result: kindI32, operands: []kind{k},
			of: func(a, _, _, _ uint64) uint64 {
				_, exponent := math.Frexp(decode(a))
				return uint64(uint32(exponent))
			}}
	}
}

func conversions(all map[Op]expectation) {
	unary := func(op Op, result, operand kind, f func(a uint64) uint64) {
		all[op] = expectation{result: result, operands: []kind{operand}, of: func(a, _, _, _ uint64) uint64 { return f(a) }}
	}
	unary(SextI32I64, kindI64, kindI32, func(a uint64) uint64 { return low(s(a, 32), 64) })
	unary(ZextI32I64, kindI64, kindI32, func(a uint64) uint64 { return a })
	unary(TruncI64I32, kindI32, kindI64, func(a uint64) uint64 { return a & math.MaxUint32 })
	unary(Low32, kindI32, kindI64, func(a uint64) uint64 { return a & math.MaxUint32 })
	unary(High32, kindI32, kindI64, func(a uint64) uint64 { return a >> 32 })
	unary(MaskToI32, kindI32, kindMask, func(a uint64) uint64 { return a & 1 })
	unary(I32ToMask, kindMask, kindI32, func(a uint64) uint64 { return truth(a != 0) })
	all[Join64] = expectation{result: kindI64, operands: []kind{kindI32, kindI32}, of: func(a, b, _, _ uint64) uint64 {
		return b<<32 | a
	}}

	toInteger := func(a float64, width uint, signed bool) uint64 {
		least, most := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), width)
		if signed {
			most.Rsh(most, 1)
			least.Neg(most)
		}
		most.Sub(most, big.NewInt(1))
		switch {
		case math.IsNaN(a):
			return 0
		case math.IsInf(a, 1):
			return low(most, width)
		case math.IsInf(a, -1):
			return low(least, width)
		}
		i, _ := new(big.Float).SetFloat64(a).Int(nil)
		switch {
		case i.Cmp(least) < 0:
			i = least
		case i.Cmp(most) > 0:
			i = most
		}
		return low(i, width)
	}
	unary(F32ToS32, kindI32, kindF32, func(a uint64) uint64 { return toInteger(f32(a), 32, true) })
	unary(F32ToU32, kindI32, kindF32, func(a uint64) uint64 { return toInteger(f32(a), 32, false) })
	unary(F32ToS64, kindI64, kindF32, func(a uint64) uint64 { return toInteger(f32(a), 64, true) })
	unary(F32ToU64, kindI64, kindF32, func(a uint64) uint64 { return toInteger(f32(a), 64, false) })
	f64 := math.Float64frombits
	unary(F64ToS32, kindI32, kindF64, func(a uint64) uint64 { return toInteger(f64(a), 32, true) })
	unary(F64ToU32, kindI32, kindF64, func(a uint64) uint64 { return toInteger(f64(a), 32, false) })
	unary(F64ToS64, kindI64, kindF64, func(a uint64) uint64 { return toInteger(f64(a), 64, true) })
	unary(F64ToU64, kindI64, kindF64, func(a uint64) uint64 { return toInteger(f64(a), 64, false) })

	to32 := func(i *big.Int) uint64 {
		f, _ := new(big.Float).SetInt(i).Float32()
		return uint64(math.Float32bits(f))
	}
	to64 := func(i *big.Int) uint64 {
		f, _ := new(big.Float).SetInt(i).Float64()
		return math.Float64bits(f)
	}
	unary(S32ToF32, kindF32, kindI32, func(a uint64) uint64 { return to32(s(a, 32)) })
	unary(U32ToF32, kindF32, kindI32, func(a uint64) uint64 { return to32(u(a)) })
	unary(S64ToF32, kindF32, kindI64, func(a uint64) uint64 { return to32(s(a, 64)) })
	unary(U64ToF32, kindF32, kindI64, func(a uint64) uint64 { return to32(u(a)) })
	unary(S32ToF64, kindF64, kindI32, func(a uint64) uint64 { return to64(s(a, 32)) })
	unary(U32ToF64, kindF64, kindI32, func(a uint64) uint64 { return to64(u(a)) })
	unary(S64ToF64, kindF64, kindI64, func(a uint64) uint64 { return to64(s(a, 64)) })
	unary(U64ToF64, kindF64, kindI64, func(a uint64) uint64 { return to64(u(a)) })

	unary(F32ToF64, kindF64, kindF32, func(a uint64) uint64 { return math.Float64bits(f32(a)) })
	unary(F64ToF32, kindF32, kindF64, func(a uint64) uint64 { return raw32(f64(a)) })
	unary(F64ToF32Zero, kindF32, kindF64, func(a uint64) uint64 {
		x := f64(a)
		switch {
		case x == 0 || math.IsNaN(x) || math.IsInf(x, 0):
			return raw32(x)
		case math.Abs(x) > math.MaxFloat32:
			return raw32(math.Copysign(math.MaxFloat32, x))
		}
		unit := math.Ldexp(1, max(math.Ilogb(x)-23, -149))
		return raw32(math.Copysign(math.Trunc(x/unit)*unit, x))
	})
	unary(F32ToBits16, kindF16, kindF32, func(a uint64) uint64 { return near16(a, math.RoundToEven) })
	unary(Bits16ToF32, kindF32, kindF16, value16)
	unary(RoundF16, kindF32, kindF32, func(a uint64) uint64 { return value16(near16(a, math.RoundToEven)) })
	unary(RoundF16Zero, kindF32, kindF32, func(a uint64) uint64 { return value16(near16(a, math.Trunc)) })
}

// near16 returns the bits of a 16-bit float, rounded to a whole number of units by a function.
func near16(a uint64, round func(float64) float64) uint64 {
	x, sign := f32(a), a>>16&0x8000
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00 | a>>13&0x1ff
	case math.IsInf(x, 0):
		return sign | 0x7c00
	case x == 0:
		return sign
	}
	exponent := max(math.Ilogb(x), -14)
	units := round(math.Ldexp(math.Abs(x), 10-exponent))
	if units == 2048 {
		units, exponent = 1024, exponent+1
	}
	switch {
	case exponent > 15 && round(0.75) == 1:
		return sign | 0x7c00
	case exponent > 15:
		return sign | 0x7bff
	}
	return sign | uint64(exponent+14)<<10 + uint64(units) // the implicit bit counts one up in the exponent
}

func value16(raw uint64) uint64 {
	exponent, mantissa := int(raw>>10&31), float64(raw&1023)
	var x float64
	switch {
	case exponent == 31 && mantissa != 0:
		return raw&0x8000<<16 | 0x7fc00000 | raw&1023<<13
	case exponent == 31:
		x = math.Inf(1)
	case exponent == 0:
		x = math.Ldexp(mantissa, -24)
	default:
		x = math.Ldexp(1024+mantissa, exponent-25)
	}
	return raw32(x) | raw&0x8000<<16
}

// worst is the largest error of the functions, in units in the last place (docs/limits.md).
var worst = map[Op]float64{
	ExpF32: 1, Exp2F32: 0.9, LogF32: 1, Log2F32: 2, PowF32: 4.5, SinF32: 1.7, CosF32: 1.7, TanF32: 3.3, AsinF32: 2,
	AcosF32: 1.4, AtanF32: 1.5, Atan2F32: 2, SinhF32: 1.8, CoshF32: 1.5, TanhF32: 2.5, AsinhF32: 2.2, AcoshF32: 2.5,
	AtanhF32: 2.6,
}

// functions has what may be near to the exact result: within the units in the last place that the specification
// permits ("Precision of GLSL.std.450 Instructions"), or better.
func functions(all map[Op]expectation) {
	within := func(op Op, units float64, f func(a float64) float64) {
		all[op] = expectation{result: kindF32, operands: []kind{kindF32},
			of:    func(a, _, _, _ uint64) uint64 { return raw32(f(f32(a))) },
			near:  func(a, _, got uint64) bool { return near(f(f32(a)), got, units) },
			exact: func(a, _ uint64) float64 { return f(f32(a)) }}
	}
	within(InverseSqrtF32, 2, func(a float64) float64 { return 1 / math.Sqrt(a) })
	nearby := func(f func(a float64) float64) func(a float64) float64 {
		return func(a float64) float64 {
			if math.Abs(a) > series.Far {
				a = math.Copysign(a-a, a)
			}
			return f(a)
		}
	}
	// By (e**x - e**-x)/2 and (e**x + e**-x)/2, in 32 bits.
	byExp := func(f func(a float64) float64) func(a float64) float64 {
		return func(a float64) float64 {
			if math.Exp(math.Abs(a)) > math.MaxFloat32 {
				return f(math.Copysign(math.Inf(1), a))
			}
			return f(a)
		}
	}
	for op, f := range map[Op]func(a float64) float64{
		SinF32: nearby(math.Sin), CosF32: nearby(math.Cos), TanF32: nearby(math.Tan), AsinF32: math.Asin,
		AcosF32: math.Acos, AtanF32: math.Atan, SinhF32: byExp(math.Sinh), CoshF32: byExp(math.Cosh), TanhF32: math.Tanh,
		AsinhF32: math.Asinh, AcoshF32: math.Acosh, AtanhF32: math.Atanh, ExpF32: math.Exp, LogF32: math.Log,
		Exp2F32: math.Exp2, Log2F32: math.Log2,
	} {
		within(op, worst[op], f)
	}
	all[InverseSqrtF64] = expectation{result: kindF64, operands: []kind{kindF64},
		of: func(a, _, _, _ uint64) uint64 { return math.Float64bits(1 / math.Sqrt(math.Float64frombits(a))) }}
	two := func(op Op, f func(a, b float64) float64) {
		all[op] = expectation{result: kindF32, operands: []kind{kindF32, kindF32}, of: func(a, b, _, _ uint64) uint64 {
			return raw32(f(f32(a), f32(b)))
		}, near: func(a, b, got uint64) bool { return near(f(f32(a), f32(b)), got, worst[op]) },
			exact: func(a, b uint64) float64 { return f(f32(a), f32(b)) }}
	}
	two(Atan2F32, math.Atan2)
	two(PowF32, func(a, b float64) float64 {
		switch {
		case b == 0:
			return 1
		case a < 0 || a == 1 && math.IsInf(b, 0):
			return math.NaN() // as exp2(b*log2(a))
		case a == 1 && math.IsNaN(b):
			return b
		}
		return math.Pow(math.Abs(a), b) // of -0 as of 0
	})
}

// near says whether the 32-bit float got is within so many units in the last place of want.
func near(want float64, got uint64, units float64) bool {
	x := f32(got)
	switch {
	case math.IsNaN(want):
		return math.IsNaN(x)
	case math.IsNaN(x):
		return false
	case math.Abs(want) >= 0x1.ffffffp127: // rounded to infinity
		return math.IsInf(x, int(math.Copysign(1, want)))
	}
	if math.Signbit(x) != math.Signbit(want) {
		return false
	}
	unit := math.Ldexp(1, max(math.Ilogb(max(math.Abs(want), 0x1p-149))-23, -149))
	return math.Abs(x-want) <= units*unit
}
