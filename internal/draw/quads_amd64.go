package draw

import "farside/internal/cpuid"

// vectors says that the functions below are there.
func vectors() bool { return cpuid.X86().AVX2 }

// weighAVX2 is weigh.
//
//go:noescape
func weighAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)

// interpolateAVX2 is interpolate; from one primitive to the next it is pitch bytes.
//
//go:noescape
func interpolateAVX2(dst *uint32, quads *quad, n int, attrs *float64, pitch int, b1, b2 *float64)

// unormAVX2 puts bytes, as unorm8 makes them of floats, into words by their shift: into 4*n that are zero there.
//
//go:noescape
func unormAVX2(dst *byte, src *uint32, n int, shift uint64)

// blendAVX2 blends texels of four bytes in order.
//
//go:noescape
func blendAVX2(bytes *byte, group *groupTexel, n int, p *blendPlan)
