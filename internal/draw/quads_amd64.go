package draw

import "farside/internal/cpuid"

// vectors says that the functions below are there.
func vectors() bool { return cpuid.X86().AVX2 && cpuid.X86().FMA && cpuid.X86().F16C }

// narrow has tests see processors without AVX-512.
var narrow bool

// wide says that these may also use AVX-512.
func wide() bool { return cpuid.X86().AVX512 && !narrow }

// rowAVX2 makes n quads of the first one, each two pixels to the right of the one before.
//
//go:noescape
func rowAVX2(quads *quad, n int)

// testedAVX2 makes quads of those of n covers that aren't zero. The first cover's is like first, each other one's two
// pixels to the right of the one before. There is room for n; it returns how many there are.
//
//go:noescape
func testedAVX2(quads, first *quad, covers, raws *[4]uint16, n int) int

// weighAVX2 finds the weights at the centres of pixels.
//
//go:noescape
func weighAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)

// weighAtAVX2 finds the weights at any places in quads, on the screen where linear is true.
//
//go:noescape
func weighAtAVX2(quads *quad, n int, prims *prim, linear bool, x, y, b1, b2 *float64)

// interpolateAVX512 makes inputs at the centres of pixels, of an even number of quads of one primitive: those that are
// linear on the screen, or others.
//
//go:noescape
func interpolateAVX512(quads *quad, n int, p *prim, linear bool, list *interpolated, count int)

// interpolateMixedAVX512 makes inputs at the centres of pixels, of quads of any primitives. The list has the attributes
// of the first primitive; from one to the next it is pitch bytes.
//
//go:noescape
func interpolateMixedAVX512(quads *quad, n int, prims *prim, linear bool, pitch int, list *interpolated, count int)

// lanesAVX512 makes the lanes of n quads, a bit each, and counts them.
//
//go:noescape
func lanesAVX512(quads *quad, n int, lanes *uint8) int

// interpolateAVX2 makes an input of weights; from one primitive to the next it is pitch bytes.
//
//go:noescape
func interpolateAVX2(dst *uint32, quads *quad, n int, attrs *float64, pitch int, b1, b2 *float64)

// weighLinearAVX2 finds the weights there for inputs that are linear on the screen.
//
//go:noescape
func weighLinearAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)

// flatAVX2 gives the lanes of quads a word of their primitives; from one to the next it is pitch bytes.
//
//go:noescape
func flatAVX2(dst *uint32, quads *quad, n int, flats *uint32, pitch int)

// spreadAVX2 gives the lanes of n quads a word.
//
//go:noescape
func spreadAVX2(dst *uint32, n int, word uint32)

// fragCoordAVX2 makes a component of FragCoord at the centres of pixels.
//
//go:noescape
func fragCoordAVX2(dst *uint32, quads *quad, n int, prims *prim, component int)

// fragCoordAVX512 is fragCoordAVX2.
//
//go:noescape
func fragCoordAVX512(dst *uint32, quads *quad, n int, prims *prim, component int)

// unormAVX2 puts bytes, as unorm8 makes them of floats, into words by their shift: into 4*n that are zero there.
//
//go:noescape
func unormAVX2(dst *byte, src *uint32, n int, shift uint64)

// storeQuadsAVX2 writes quads to an attachment of one sample: four outputs of each, whole texels.
//
//go:noescape
func storeQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)

// blendQuadsAVX2 blends quads with what is there, or writes some of their channels.
//
//go:noescape
func blendQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)

// blendSamplesAVX2 is blendQuadsAVX2 for several samples, of which each pixel's get the same.
//
//go:noescape
func blendSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)

// storeSamplesAVX2 is storeQuadsAVX2 for an attachment of four samples.
//
//go:noescape
func storeSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)

// storeSamplesAVX512 is storeQuadsAVX2 for an attachment of four samples or more.
//
//go:noescape
func storeSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)

// blendSamplesAVX512 is blendQuadsAVX2 for such an attachment.
//
//go:noescape
func blendSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)

// stepsAVX2 does the steps of a plan for so many lanes; vectors reach beyond them to the next multiple of 16.
//
//go:noescape
func stepsAVX2(p *rowPlan, lanes int)

// stepsAVX512 is stepsAVX2.
//
//go:noescape
func stepsAVX512(p *rowPlan, lanes int)

// quadBlocksAVX2 makes the blocks of n quads of an attachment of one sample. Of four side by side, which are covered,
// it makes the first one.
//
//go:noescape
func quadBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim)

// sampleBlocksAVX2 makes the blocks of n quads of an attachment of several samples of which some are covered, and
// returns how many there are. There is room for all.
//
//go:noescape
func sampleBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim) int

// takeAVX2 makes words of the texels of n blocks that are covered.
//
//go:noescape
func takeAVX2(p *rowPlan, blocks *block, n int)

// putAVX2 makes texels of the words of n blocks' lanes.
//
//go:noescape
func putAVX2(p *rowPlan, blocks *block, n int)

// expandAVX2 gives the lanes of n blocks to four lanes each.
//
//go:noescape
func expandAVX2(to, from *uint32, blocks *block, n int)

// testQuadsAVX2 tests depth and stencil of a row of quads of one sample.
//
//go:noescape
func testQuadsAVX2(p *depthPlan, covers *[4]uint16, n int)

// boxAVX512 makes quads of a box, at most n, and returns how many there are. It ends at the row p.end, or where less
// than four have room.
//
//go:noescape
func boxAVX512(p *boxPlan, quads *quad, n int) int

// prefetch has the processor read so many bytes of two rows, wherever they lie.
//
//go:noescape
func prefetch(at *byte, bytes, rowPitch int)

// testSamplesAVX2 is testQuadsAVX2 for quads of several samples.
//
//go:noescape
func testSamplesAVX2(p *depthPlan, covers *[4]uint16, n int)

// cornersAVX512 finds the corners of n lanes, and of those up to the next multiple of eight.
//
//go:noescape
func cornersAVX512(p *cornerPlan, n int)

// gatherAVX512 reads a component of n vertices: words at their places, and zeros where these are beyond last. With a
// table, it is what the byte of the word at shift becomes there.
//
//go:noescape
func gatherAVX512(p *gatherPlan, dst *uint32)

// testOctetsAVX512 is testSamplesAVX2 for quads of four samples or more.
//
//go:noescape
func testOctetsAVX512(p *depthPlan, covers *[4]uint16, n int)

// testLateOctetsAVX512 is testLateSamplesAVX2 for quads of four samples or more, without references by the shader.
//
//go:noescape
func testLateOctetsAVX512(p *latePlan, quads *quad, n int, prims *prim) int

// testLateSixteensAVX512 is testLateAVX2 for up to four quads beside each other at once.
//
//go:noescape
func testLateSixteensAVX512(p *latePlan, quads *quad, n int, prims *prim) int

// spansAVX2 finds the spans of two rows of pixels, and goes on to the next two.
//
//go:noescape
func spansAVX2(p *spanPlan)

// coversAVX2 makes the covers of n quads, from x on.
//
//go:noescape
func coversAVX2(p *spanPlan, covers *[4]uint16, x, n int)

// testLateAVX2 tests depth and stencil of quads of one sample, and counts the samples that are left.
//
//go:noescape
func testLateAVX2(p *latePlan, quads *quad, n int, prims *prim) int

// testLateSamplesAVX2 is testLateAVX2 for quads of several samples.
//
//go:noescape
func testLateSamplesAVX2(p *latePlan, quads *quad, n int, prims *prim) int

// aliveAVX2 leaves in quads the samples of those lanes that have a bit, as far as masks and alpha let them, and counts
// them.
//
//go:noescape
func aliveAVX2(p *latePlan, quads *quad, n int, lanes *uint8) int

// aliveAVX512 is aliveAVX2, by two quads, where neither masks nor alpha take samples.
//
//go:noescape
func aliveAVX512(quads *quad, n int, lanes *uint8) int
