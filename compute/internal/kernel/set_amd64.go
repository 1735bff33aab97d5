package kernel

import "farside/internal/cpuid"

// best is the plain kernels with those in assembly in their places.
func best() *Set {
	if f := cpuid.X86(); !f.AVX2 || !f.FMA || !f.F16C || !f.POPCNT {
		return Go()
	}
	s := *Go()
	s.Name = "avx2"
	s.useAVX2()
	return &s
}

// partly makes a kernel of one that may stop at a chunk, and of one for such chunks.
func partly(fast func(a *Args, first, n int) (done int), slow Func) Func {
	return func(a *Args, first, n int) {
		for {
			done := fast(a, first, n)
			if done == n {
				return
			}
			slow(a, first+done, 1)
			first, n = first+done+1, n-done-1
		}
	}
}
