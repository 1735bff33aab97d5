package kernel

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"unsafe"
)

// TestPrecision compares the functions with package math, of a sample of all floats. With FARSIDE_FLOATS=1 it is all of
// them, with 2 every other one. Functions of two operands have random ones. It prints the largest errors, which
// docs/limits.md has.
func TestPrecision(t *testing.T) {
	step := uint64(4099)
	if n, err := strconv.ParseUint(os.Getenv("FARSIDE_FLOATS"), 10, 32); err == nil && n > 0 {
		step = n
	}
	all := expectations()
	for op := range worst {
		t.Run(op.String(), func(t *testing.T) {
			e := all[op]
			workers := uint64(runtime.GOMAXPROCS(0))
			errors := make([]largest, workers)
			var group sync.WaitGroup
			for w := range workers {
				group.Go(func() {
					part := 1<<32/workers + 1
					errors[w] = largestError(op, e, w*part, min((w+1)*part, 1<<32), step)
				})
			}
			group.Wait()
			var most largest
			for _, l := range errors {
				if l.wrong {
					t.Errorf("of %g, %g: %g, want %g", l.a, l.b, l.got, l.want)
				}
				if l.units > most.units {
					most = l
				}
			}
			t.Logf("%.3f units in the last place, of %g, %g", most.units, most.a, most.b)
		})
	}
}

// largest is the largest error of some operands, or one that is wrong.
type largest struct {
	units     float64
	a, b, got float32
	want      float64
	wrong     bool
}

func largestError(op Op, e expectation, from, to, step uint64) (most largest) {
	const lanes = 32 * Width
	var a, b, d [lanes]uint32
	args := Args{Dst: Register{unsafe.Pointer(&d), 32}, A: Register{unsafe.Pointer(&a), 32},
		B: Register{unsafe.Pointer(&b), 32}}
	random := rand.New(rand.NewPCG(from, 1))
	for ; from < to; from += lanes * step {
		for i := range a {
			a[i] = uint32(min(from+uint64(i)*step, to-1))
			if len(e.operands) > 1 {
				a[i], b[i] = twoOperands(op, random)
			}
		}
		Best().Ops[op](&args, 0, lanes/Width)
		for i := range a {
			want, got := e.exact(uint64(a[i]), uint64(b[i])), float64(number(d[i]))
			units := math.Abs(got-want) / unitOf(want)
			if units <= most.units && want != 0 {
				continue
			}
			if size := math.Abs(want); !(size > 0 && size < 0x1.ffffffp127) || !(units <= worst[op]) {
				if !near(want, uint64(d[i]), worst[op]) {
					return largest{units, number(a[i]), number(b[i]), number(d[i]), want, true}
				}
				continue
			}
			most = largest{units, number(a[i]), number(b[i]), number(d[i]), want, false}
		}
	}
	return most
}

// unitOf is the unit in the last place of 32 bits: the distance of the floats around a number.
func unitOf(want float64) float64 {
	exponent := math.Float64bits(want) >> 52 & 0x7ff
	return math.Float64frombits((max(exponent, 1023-126) - 23) << 52)
}

// twoOperands returns any, or for powers mostly such as give finite results.
func twoOperands(op Op, r *rand.Rand) (a, b uint32) {
	a, b = r.Uint32(), r.Uint32()
	if op == PowF32 && r.IntN(8) > 0 {
		a &= 1<<31 - 1
		if log := math.Log2(float64(number(a))); log != 0 && !math.IsNaN(log) {
			b = raw(float32((r.Float64()*2 - 1) * 150 / log))
		}
		return a, b
	}
	if r.IntN(2) == 0 {
		b = a + r.Uint32N(1<<27) - 1<<26 // of a similar size
	}
	return a, b
}

// TestExactFunctions: what programs expect to be exact, and small powers, which they expect to be nearly so.
func TestExactFunctions(t *testing.T) {
	run := func(op Op, a, b float32) float32 {
		var d, x, y [Width]float32
		x[0], y[0] = a, b
		Best().Ops[op](&Args{Dst: Register{unsafe.Pointer(&d), 32}, A: Register{unsafe.Pointer(&x), 32},
			B: Register{unsafe.Pointer(&y), 32}}, 0, 1)
		return d[0]
	}
	is := func(op Op, a, b, want float32) {
		t.Helper()
		if got := run(op, a, b); got != want {
			t.Errorf("%v of %g, %g is %g, want %g", op, a, b, got, want)
		}
	}
	for n := -149; n < 128; n++ {
		power := float32(math.Ldexp(1, n))
		is(Exp2F32, float32(n), 0, power)
		is(Log2F32, power, 0, float32(n))
		is(PowF32, 2, float32(n), power)
	}
	is(ExpF32, 0, 0, 1)
	is(LogF32, 1, 0, 0)
	is(CosF32, 0, 0, 1)
	is(AcosF32, 1, 0, 0)
	is(TanhF32, 20, 0, 1)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		a := float32(math.Exp(r.NormFloat64() * 4))
		for _, b := range []float32{0.5, 1, 2, 3} {
			want := math.Pow(float64(a), float64(b))
			if got := run(PowF32, a, b); math.Abs(float64(got)-want) > 1.5*unitOf(want) {
				t.Fatalf("%g to the %g is %g, want %g", a, b, got, want)
			}
		}
	}
}
