package draw

import "farside/internal/texel"

// block is four texels of an attachment that are written together, in two pairs: a quad's, or samples that follow each
// other.
type block struct {
	//lint:ignore U1000 for assembly
	at   int        // from the first texel of the first layer to the first pair
	perm *[4]uint32 // the lanes of the texels, of four
	from uint32     // the first one of these
	//lint:ignore U1000 for assembly
	cover uint8 // a bit for each texel, or 31: so are all of this block and the next three, which only follow in its lines
}

const mostBlocks = stepLanes / 4

// place sets how blocks are found.
func (p *rowPlan) place(c *colorTarget) {
	p.size, p.rowPitch, p.layerPitch, p.texelPitch = c.size, c.rowPitch, c.layerPitch, c.size*c.samples
	p.samples, p.blockPitch = 1<<c.samples-1, 4*c.size
	p.gap = 2 * c.size
	if c.samples == 1 {
		p.gap = c.rowPitch
	}
	for row := range p.lanes {
		for i := range c.samples / 2 {
			p.lanes[row][i] = &blockLanes[3+2*row+4*i/c.samples]
			if c.samples == 2 {
				p.lanes[row][i] = &blockLanes[1+row]
			}
		}
	}
}

// blockLanes are the lanes of blocks: of quads, of two pixels with two samples, of a pixel with more.
var blockLanes = [7][4]uint32{{0, 1, 2, 3}, {0, 0, 1, 1}, {2, 2, 3, 3}, {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2},
	{3, 3, 3, 3}}

// writeRows writes the samples of a batch on vectors, in the order of the primitives.
func (o *outputStage) writeRows(r *run, f *fragmentStage, c *colorTarget) {
	p := &c.rows
	p.bytes = &c.bytes[c.base]
	most := mostBlocks / c.samples
	for i := 0; i < len(f.quads); {
		n := o.apart(f, c, i, min(len(f.quads)-i, most))
		quads, first := f.quads[i:i+n], 4*i
		i += n
		blocks := o.blocksOf(f, c, quads)
		if len(blocks) == 0 {
			continue
		}
		lanes := 4 * n
		for k := range 8 {
			if k < 4 || p.dual {
				o.rowOf(r, f, c, k, first, lanes)
			}
		}
		if p.takes {
			takeAVX2(p, &blocks[0], len(blocks))
			if c.samples > 1 {
				o.expand(p, blocks)
				lanes = 4 * len(blocks)
			}
		}
		if f.wide {
			stepsAVX512(p, lanes)
		} else {
			stepsAVX2(p, lanes)
		}
		putAVX2(p, &blocks[0], len(blocks))
	}
}

// rowOf has row k of a plan be so many lanes of the source, which become the row's own where fewer follow than vectors
// reach.
func (o *outputStage) rowOf(r *run, f *fragmentStage, c *colorTarget, k, first, lanes int) {
	p, from := &c.rows, c.source
	if k >= planSecond {
		from = c.dual
	}
	var words []uint32
	if from != nil {
		words = from.component[k&3]
	}
	float := c.codec.Class() == texel.Float
	if words == nil || k&3 == 3 && r.state.AlphaToOne && float {
		words = o.same(f.lanes, k&3 == 3 && float)
	}
	if words = words[first:]; len(words) < (lanes+15)&^15 && !(p.takes && c.samples > 1) {
		copy(p.memory[k][:], words[:lanes])
		words = p.memory[k][:]
	}
	p.rows[k] = &words[0]
}

// expand has the source's rows have the lanes of blocks, which become those of all rows.
func (o *outputStage) expand(p *rowPlan, blocks []block) {
	for k := range 8 {
		if k < 4 || p.dual {
			expandAVX2(&p.memory[k][0], p.rows[k], &blocks[0], len(blocks))
			p.rows[k] = &p.memory[k][0]
		}
	}
	for i := range blocks {
		blocks[i].from, blocks[i].perm = uint32(4*i), &blockLanes[0]
	}
}

// apart is how many of n quads from the first one on have no texel twice, if that matters.
func (o *outputStage) apart(f *fragmentStage, c *colorTarget, first, n int) int {
	quads := f.quads[first:][:n]
	if !c.reads || quads[0].prim == quads[n-1].prim {
		return n
	}
	o.newGroup()
	for i := range quads {
		q := &quads[i]
		stamp := o.stampOf(q, f.prims[q.prim].layer)
		if *stamp == o.stamp {
			return i
		}
		*stamp = o.stamp
	}
	return n
}

// blocksOf makes the blocks of quads, whose lanes begin with the first quad's. With several samples, those that nothing
// covers are left out.
func (o *outputStage) blocksOf(f *fragmentStage, c *colorTarget, quads []quad) []block {
	n := len(quads)
	if c.samples == 1 {
		quadBlocksAVX2(&c.rows, &o.blocks[0], &quads[0], n, &f.prims[0])
	} else {
		n = sampleBlocksAVX2(&c.rows, &o.blocks[0], &quads[0], n, &f.prims[0])
	}
	return o.blocks[:n]
}
