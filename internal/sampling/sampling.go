// Package sampling is what shaders do to images: reads, writes and atomics of texels, filtered samples, gathers and
// queries, through views and samplers. It knows no handles.
//
// Operations work on a chunk of lanes at a time, of which only the active ones count. Their values lie as registers of
// the compute engine do, one component after the other. Nothing here fails: what lies outside of an image reads as the
// specification says and is not written (chapter "Texel Input Validation Operations", with robustImageAccess2).
//
// What is decided when:
//
//   - A View, when it is made: the way in which texels are read and written (lanes.Format), and where those of each
//     level lie, for eight lanes (lanes.Level).
//   - A Routine, for a view, a sampler and an instruction: one level or several, the filters, the address modes, the
//     texel of the border, comparison, reduction, components that are exchanged, and whether one step may read and
//     filter four texels at once. The view keeps the routines that were asked for last (View.Routine). Who calls
//     the same instruction again keeps the routine.
//   - At each call: coordinates, derivatives, offsets, levels of detail. They pass through the steps of a routine: from
//     coordinates to offsets and weights along each axis, from offsets to texels, comparison, filter, swizzle.
package sampling

import "farside/internal/lanes"

// Width is the lanes of a chunk.
const Width = lanes.Width

// Lanes is one component for each lane: the bits of a 32-bit float or integer.
type Lanes = lanes.Lanes

// Texels is a texel for each lane: red, green, blue, alpha.
type Texels = lanes.Texels

// Mask has a bit for each lane.
type Mask = lanes.Mask

// All is the mask of all lanes.
const All = lanes.All

func float(bits uint32) float32 { return lanes.Float(bits) }
func bits(v float32) uint32     { return lanes.Bits(v) }
