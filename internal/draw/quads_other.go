//go:build !amd64

package draw

func vectors() bool { return false }

var narrow bool

func wide() bool { return false }

// vectors() is false here, so that nothing calls these.

func rowAVX2(quads *quad, n int)                                                                  {}
func testedAVX2(quads, first *quad, covers, raws *[4]uint16, n int) int                           { return 0 }
func weighAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)                                  {}
func interpolateAVX2(dst *uint32, quads *quad, n int, attrs *float64, pitch int, b1, b2 *float64) {}
func unormAVX2(dst *byte, src *uint32, n int, shift uint64)                                       {}
func storeQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)                                {}
func blendQuadsAVX2(p *colorPlan, quads *quad, n int, prims *prim)                                {}
func blendSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)                              {}
func testQuadsAVX2(p *depthPlan, covers *[4]uint16, n int)                                        {}
func boxAVX512(p *boxPlan, quads *quad, n int) int                                                { return 0 }
func prefetch(at *byte, bytes, rowPitch int)                                                      {}
func testSamplesAVX2(p *depthPlan, covers *[4]uint16, n int)                                      {}
func storeSamplesAVX2(p *colorPlan, quads *quad, n int, prims *prim)                              {}
func stepsAVX2(p *rowPlan, lanes int)                                                             {}
func stepsAVX512(p *rowPlan, lanes int)                                                           {}
func takeAVX2(p *rowPlan, blocks *block, n int)                                                   {}
func putAVX2(p *rowPlan, blocks *block, n int)                                                    {}
func expandAVX2(to, from *uint32, blocks *block, n int)                                           {}
func quadBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim)                   {}
func sampleBlocksAVX2(p *rowPlan, blocks *block, quads *quad, n int, prims *prim) int             { return 0 }
func testOctetsAVX512(p *depthPlan, covers *[4]uint16, n int)                                     {}
func testLateOctetsAVX512(p *latePlan, quads *quad, n int, prims *prim) int                       { return 0 }
func testLateSixteensAVX512(p *latePlan, quads *quad, n int, prims *prim) int                     { return 0 }
func storeSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)                            {}
func blendSamplesAVX512(p *colorPlan, quads *quad, n int, prims *prim)                            {}
func spansAVX2(p *spanPlan)                                                                       {}
func coversAVX2(p *spanPlan, covers *[4]uint16, x, n int)                                         {}
func cornersAVX512(p *cornerPlan, n int)                                                          {}
func gatherAVX512(p *gatherPlan, dst *uint32)                                                     {}
func interpolateAVX512(quads *quad, n int, p *prim, linear bool, list *interpolated, count int)   {}
func interpolateMixedAVX512(quads *quad, n int, prims *prim, linear bool, pitch int, list *interpolated, count int) {
}
func lanesAVX512(quads *quad, n int, lanes *uint8) int                                { return 0 }
func testLateAVX2(p *latePlan, quads *quad, n int, prims *prim) int                   { return 0 }
func fragCoordAVX2(dst *uint32, quads *quad, n int, prims *prim, component int)       {}
func testLateSamplesAVX2(p *latePlan, quads *quad, n int, prims *prim) int            { return 0 }
func weighLinearAVX2(quads *quad, n int, prims *prim, b1, b2 *float64)                {}
func flatAVX2(dst *uint32, quads *quad, n int, flats *uint32, pitch int)              {}
func fragCoordAVX512(dst *uint32, quads *quad, n int, prims *prim, component int)     {}
func spreadAVX2(dst *uint32, n int, word uint32)                                      {}
func aliveAVX512(quads *quad, n int, lanes *uint8) int                                { return 0 }
func weighAtAVX2(quads *quad, n int, prims *prim, linear bool, x, y, b1, b2 *float64) {}
func aliveAVX2(p *latePlan, quads *quad, n int, lanes *uint8) int                     { return 0 }
