package vm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"farside/compute/internal/kernel"
	"farside/compute/internal/program"
	"farside/compute/internal/vmtest"
	"farside/internal/sampling"
	"farside/internal/vk"
	"farside/spirv"
)

// batches is a driver of a stage that has no workgroups: it fills one input, the number of each lane, runs one batch
// after the other, and reads outputs.
type batches struct {
	worker
	execution execution
	m         *machine
	number    program.Register
}

func newBatches(t *testing.T, m *machine, number program.Register) *batches {
	t.Helper()
	m.Partial = true
	if err := m.Prepare(m.Program); err != nil {
		t.Fatal(err)
	}
	b := &batches{m: m, number: number}
	b.init(&m.Engine, m.Program)
	return b
}

// run runs a batch and says whether it came to its end.
func (b *batches) run(v *Environment, first uint32, lanes, effects []uint8) bool {
	b.execution.begin(&b.m.Engine, b.m.Program, v)
	b.begin(&b.execution)
	b.setBatch(lanes, effects)
	b.restart()
	for chunk := range lanes {
		for lane := range kernel.Width {
			b.chunk32(b.number, chunk)[lane] = first + uint32(chunk*kernel.Width+lane)
		}
	}
	ok := b.execute()
	b.end()
	return b.execution.end() == nil && ok
}

const (
	batchLanes  = 48
	batchStart  = 100      // the number of the first lane
	batchMemory = 0x100000 // device address of the words that are stored to
	farMemory   = 0x900000 // and of more
	untouched   = 77
)

// batchWords are the memories of a batch. Lane i loads from in[i], and may store to out[i] and what is like it.
type batchWords struct {
	in, out, far, counts []uint32
	elements             [][]uint32
	image                []byte
	printed              []string
}

// batchProgram is a program for batches: code makes it and gives its output. Want says what a lane gives, for the lanes
// that run and those of them that have effects, and does to memory what the lane does.
type batchProgram struct {
	name   string
	native bool // there is machine code for what has effects
	code   func(p *batchCode) program.Register
	want   func(w *batchWords, lane int, runs, acts func(lane int) bool) uint32
}

// batchCode is an assembly with what programs of batches need.
type batchCode struct {
	*vmtest.Assembly
	number, lane, at program.Register // the input, the number from 0 on, and four times that
	in, out, counts  int32
}

func (c *batchCode) access(in program.Inst) {
	in.Code = program.Access
	c.Emit(in)
}

// where emits code for the lanes in which a condition is true.
func (c *batchCode) where(condition program.Register, name string, code func()) {
	yes, all := c.Varying(32), c.Varying(32)
	c.Emit(program.Inst{Code: program.Split, A: condition, Dst: yes, B: all})
	c.Flow(program.Inst{Code: program.Enter, Dst: yes}, name)
	code()
	c.Emit(program.Inst{Code: program.Leave, Dst: all})
	c.Label(name)
	c.Flow(program.Inst{Code: program.Enter, Dst: all}, "end")
}

// loaded is the word of in that belongs to the lane.
func (c *batchCode) loaded() program.Register { return c.Load(c.in, c.at, 0) }

func (c *batchCode) address(base uint64, distance uint32) program.Register {
	wide, start, sum := c.Varying(64), c.Uniform(64), c.Varying(64)
	c.Constants = append(c.Constants, program.Constant{Register: start, Bits: base})
	c.Emit(program.Inst{Code: program.Kernel, Op: kernel.ZextI32I64, Dst: wide,
		A: c.Op(kernel.MulI32, c.lane, c.Constant(distance))})
	c.Emit(program.Inst{Code: program.Kernel, Op: kernel.AddI64, Dst: sum, A: wide, B: start})
	return sum
}

func (c *batchCode) imageOp(op spirv.Op, texel, dst program.Register) {
	o := program.ImageOp{Op: op, Image: program.Element{Resource: viewsResource}, Sampler: noSampler,
		Coordinate: []program.Register{c.lane}, Texel: []program.Register{texel}, Dst: []program.Register{dst}}
	c.Image(o)
}

// stored is what most programs want: lanes with effects have stored what they loaded, and give it.
func stored(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
	if acts(lane) {
		w.out[lane] = w.in[lane]
	}
	return w.in[lane]
}

// counted wants that the lanes with effects are counted.
func counted(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
	if acts(lane) {
		w.counts[0]++
	}
	return w.in[lane]
}

func batchPrograms() []batchProgram {
	return slices.Concat(storingBatches(), otherBatches(), flowingBatches())
}

func storingBatches() []batchProgram {
	return []batchProgram{
		{"store", true, func(c *batchCode) program.Register {
			value := c.loaded()
			c.Store(c.out, c.at, value)
			return value
		}, stored},
		{"uniform store", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.Store(c.counts, c.Constant(4), c.Constant(5))
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.counts[1] = 5
			}
			return w.in[lane]
		}},
		{"store of bytes", true, func(c *batchCode) program.Register {
			value := c.Op(kernel.AndI32, c.loaded(), c.Constant(255))
			c.access(program.Inst{Op: kernel.Store8, Index: c.out, A: c.at, B: value})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.out[lane] = w.in[lane] & 255
			}
			return w.in[lane] & 255
		}},
		{"store beside moves and shuffles", true, func(c *batchCode) program.Register {
			value, moved, other := c.loaded(), c.Varying(32), c.Varying(32)
			c.Emit(program.Inst{Code: program.Assign, Dst: moved, A: value})
			c.Subgroups = append(c.Subgroups, program.SubgroupOp{Op: spirv.OpGroupNonUniformQuadSwap, Arg: c.Constant(0),
				Value: []program.Register{moved}, Dst: []program.Register{other}})
			c.Emit(program.Inst{Code: program.CallSubgroup, Index: 0})
			c.Store(c.out, c.at, value)
			c.Emit(program.Inst{Code: program.Assign, Dst: moved, A: other})
			return c.Op(kernel.SubI32, moved, value)
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			stored(w, lane, runs, acts)
			if !runs(lane ^ 1) {
				return anyOutput
			}
			return w.in[lane^1] - w.in[lane]
		}},
		{"store to a chosen element", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.access(program.Inst{Dynamic: true, Op: kernel.Store32, Index: elementsResource, A: c.at, B: value,
				C: c.Op(kernel.AndI32, c.lane, c.Constant(1))})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.elements[lane&1][lane] = w.in[lane]
			}
			return w.in[lane]
		}},
		{"store to one element", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.access(program.Inst{Dynamic: true, Op: kernel.Store32, Index: elementsResource, A: c.at, B: value,
				C: c.Constant(1)})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.elements[1][lane] = w.in[lane]
			}
			return w.in[lane]
		}},
		{"store by address", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.StorePhysical32, A: c.address(batchMemory, 4),
				B: value})
			return value
		}, stored},
		{"store by addresses in two memories", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.StorePhysical32,
				A: c.address(batchMemory, (farMemory-batchMemory)/8), B: value})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) && lane == 0 {
				w.out[0] = w.in[lane]
			}
			if acts(lane) && lane == 8 {
				w.far[0] = w.in[lane]
			}
			return w.in[lane]
		}},
		{"store by one address", false, func(c *batchCode) program.Register {
			value, start := c.loaded(), c.Uniform(64)
			c.Constants = append(c.Constants, program.Constant{Register: start, Bits: batchMemory})
			c.Emit(program.Inst{Code: program.AccessPhysical, Op: kernel.StorePhysical32, A: start, B: c.Constant(5)})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.out[0] = 5
			}
			return w.in[lane]
		}},
	}
}

// anyOutput stands for an output that may be anything.
const anyOutput = 1 << 31

func otherBatches() []batchProgram {
	atomic := func(in program.Inst) func(c *batchCode) program.Register {
		return func(c *batchCode) program.Register {
			value := c.loaded()
			in := in
			if in.Code == program.AccessPhysical {
				in.A = c.address(batchMemory, 4)
			}
			if in.Code == program.Access && !in.Dynamic {
				in.Index = c.counts
			}
			if in.Op == kernel.AtomicMaxU32 {
				in.Dst = c.Varying(32)
			}
			in.B = c.Constant(1)
			if in.Dynamic {
				in.C = c.Constant(0)
			}
			c.Emit(in)
			return value
		}
	}
	return []batchProgram{
		{"addition that waits", false, atomic(program.Inst{Code: program.Access, Op: kernel.AtomicAddI32}), counted},
		{"atomic with a result", false, func(c *batchCode) program.Register {
			before := c.Varying(32)
			c.access(program.Inst{Op: kernel.AtomicAddI32, Index: c.out, A: c.at, B: c.Constant(1), Dst: before})
			return c.loaded()
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.out[lane]++
			}
			return w.in[lane]
		}},
		{"atomic on an element", false, atomic(program.Inst{Code: program.Access, Op: kernel.AtomicAddI32, Dynamic: true,
			Index: elementsResource}), func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.elements[0][0]++
			}
			return w.in[lane]
		}},
		{"atomic by address", false, atomic(program.Inst{Code: program.AccessPhysical, Op: kernel.AtomicAddI32}),
			func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
				if acts(lane) {
					w.out[lane]++
				}
				return w.in[lane]
			}},
		{"image write", false, func(c *batchCode) program.Register {
			value := c.loaded()
			c.imageOp(spirv.OpImageWrite, value, program.Register{})
			return value
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				binary.LittleEndian.PutUint32(w.image[4*lane:], w.in[lane])
			}
			return w.in[lane]
		}},
		{"image atomic", false, func(c *batchCode) program.Register {
			c.imageOp(spirv.OpAtomicIAdd, c.Constant(3), c.Varying(32))
			return c.loaded()
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				texel := w.image[4*lane:]
				binary.LittleEndian.PutUint32(texel, binary.LittleEndian.Uint32(texel)+3)
			}
			return w.in[lane]
		}},
		{"image loads", false, func(c *batchCode) program.Register {
			read, loaded := c.Varying(32), c.Varying(32)
			c.imageOp(spirv.OpImageRead, program.Register{}, read)
			c.imageOp(spirv.OpAtomicLoad, program.Register{}, loaded)
			return c.Op(kernel.AddI32, read, loaded)
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			return 2 * binary.LittleEndian.Uint32(w.image[4*lane:])
		}},
		{"print", false, func(c *batchCode) program.Register {
			c.Prints = []program.Print{{Format: "%d", Args: []program.Register{c.lane}, Types: []*spirv.Type{typeInt}}}
			c.Emit(program.Inst{Code: program.CallPrint})
			return c.loaded()
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if acts(lane) {
				w.printed = append(w.printed, fmt.Sprint(lane))
			}
			return w.in[lane]
		}},
		{"private array", false, func(c *batchCode) program.Register {
			array, value := c.Varyings(2)[0], c.Varying(32)
			index := c.Op(kernel.AndI32, c.lane, c.Constant(1))
			c.Emit(program.Inst{Code: program.AccessPrivate, Op: kernel.StorePrivate32, A: index, B: c.loaded(), C: array,
				Immediate: 2})
			c.Emit(program.Inst{Code: program.AccessPrivate, Op: kernel.LoadPrivate32, A: index, Dst: value, C: array,
				Immediate: 2})
			c.Store(c.out, c.at, value)
			return value
		}, stored},
		{"ballot", false, func(c *batchCode) program.Register {
			dst := c.Varyings(4)
			c.Subgroups = append(c.Subgroups, program.SubgroupOp{Op: spirv.OpGroupNonUniformBallot,
				Value: []program.Register{c.Op(kernel.EqI32, c.lane, c.lane)}, Dst: dst})
			c.Emit(program.Inst{Code: program.CallSubgroup, Index: 0})
			return dst[0]
		}, func(w *batchWords, lane int, runs, acts func(int) bool) (set uint32) {
			for bit := range 32 {
				if runs(lane&^31 + bit) {
					set |= 1 << bit
				}
			}
			return set
		}},
	}
}

func flowingBatches() []batchProgram {
	return []batchProgram{
		{"branch", true, func(c *batchCode) program.Register {
			value, result := c.loaded(), c.Varying(32)
			c.Emit(program.Inst{Code: program.Assign, Dst: result, A: c.Constant(7)})
			c.where(c.Op(kernel.EqI32, c.Op(kernel.AndI32, c.lane, c.Constant(3)), c.Constant(1)), "odd", func() {
				c.Store(c.out, c.at, c.Op(kernel.AddI32, value, c.Constant(1)))
				c.Emit(program.Inst{Code: program.Assign, Dst: result, A: value})
			})
			return result
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if lane%4 != 1 {
				return 7
			}
			if acts(lane) {
				w.out[lane] = w.in[lane] + 1
			}
			return w.in[lane]
		}},
		{"first lanes", true, func(c *batchCode) program.Register { // of a whole batch, this is a prefix
			result, below := c.Varying(32), c.Varying(32)
			c.Emit(program.Inst{Code: program.Assign, Dst: result, A: c.Constant(7)})
			c.Emit(program.Inst{Code: program.Kernel, Op: kernel.LtU32, Dst: below, A: c.lane, B: c.Constant(21), Counts: true,
				Until: int32(len(c.Insts) + 1)})
			c.where(below, "below", func() {
				value := c.loaded()
				c.Store(c.out, c.at, value)
				c.Emit(program.Inst{Code: program.Assign, Dst: result, A: value})
			})
			return result
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			if lane >= 21 {
				return 7
			}
			return stored(w, lane, runs, acts)
		}},
		{"loop", true, func(c *batchCode) program.Register { // lane % 4 + 1 times
			count, again, all := c.Varying(32), c.Varying(32), c.Varying(32)
			value := c.loaded()
			c.Emit(program.Inst{Code: program.Assign, Dst: count, A: c.Constant(0)})
			c.Emit(program.Inst{Code: program.Leave, Dst: again})
			c.Label("top")
			c.Flow(program.Inst{Code: program.Enter, Dst: again}, "bottom")
			c.Emit(program.Inst{Code: program.Assign, Dst: count, A: c.Op(kernel.AddI32, count, c.Constant(1))})
			c.Store(c.out, c.at, c.Op(kernel.AddI32, value, count))
			more := c.Op(kernel.LeU32, count, c.Op(kernel.AndI32, c.lane, c.Constant(3)))
			c.Emit(program.Inst{Code: program.Split, A: more, Dst: again, B: all})
			c.Label("bottom")
			c.Flow(program.Inst{Code: program.Again, Dst: again}, "top")
			c.Flow(program.Inst{Code: program.Enter, Dst: all}, "end")
			return count
		}, func(w *batchWords, lane int, runs, acts func(int) bool) uint32 {
			times := uint32(lane&3 + 1)
			if acts(lane) {
				w.out[lane] = w.in[lane] + times
			}
			return times
		}},
	}
}

const elementsResource = 2 // behind those of assembleImages

// assembleBatch makes the machine of a program, and says what its input and its output are.
func assembleBatch(p *batchProgram) (m *machine, number, output program.Register) {
	c := &batchCode{Assembly: assembleImages(batchLanes)}
	c.Resources = append(c.Resources, program.Resource{Set: 1, Binding: 1})
	c.in = c.Slot(program.Slot{Kind: program.SlotBuffer})
	c.out = c.Slot(program.Slot{Kind: program.SlotBuffer, Binding: 1})
	c.counts = c.Slot(program.Slot{Kind: program.SlotBuffer, Binding: 2})
	c.number = c.Varying(32)
	c.lane = c.Op(kernel.SubI32, c.number, c.Constant(batchStart))
	c.at = c.Op(kernel.ShlI32, c.lane, c.Constant(2))
	output = p.code(c)
	c.Label("end")
	return ended(c.Assembly), c.number, output
}

// newBatchWords makes memories with other words than those of the batch before: registers keep what they had.
func newBatchWords(batch uint32) *batchWords {
	w := &batchWords{in: ramp(batchLanes, 1000+97*batch, 13), out: slices.Repeat([]uint32{untouched}, batchLanes),
		far: slices.Repeat([]uint32{untouched}, batchLanes), counts: make([]uint32, 4)}
	for range 2 {
		w.elements = append(w.elements, slices.Repeat([]uint32{untouched}, batchLanes))
	}
	for range batchLanes {
		w.image = binary.LittleEndian.AppendUint32(w.image, untouched+batch)
	}
	return w
}

func (w *batchWords) environment(t *testing.T) *Environment {
	v, err := sampling.NewBufferView(w.image, vk.FORMAT_R32_UINT)
	if err != nil {
		t.Fatal(err)
	}
	return &Environment{Bindings: vmtest.Pictures{Buffers: vmtest.Buffers{Words: [][]uint32{w.in, w.out, w.counts},
		Elements: w.elements, Addresses: map[uint64][]uint32{batchMemory: w.out, farMemory: w.far}},
		Views: []*sampling.View{v}}, Print: func(s string) { w.printed = append(w.printed, s) }}
}

// TestLanesWithoutEffects: lanes that run without effects load, and other lanes see them, but they store nothing, do no
// atomics, and print nothing; in all kinds of batches one after the other.
func TestLanesWithoutEffects(t *testing.T) {
	for _, e := range []struct {
		name             string
		plainGo, kernels bool
	}{{"go", true, true}, {"kernels", false, true}, {"native", false, false}} {
		for _, p := range batchPrograms() {
			t.Run(e.name+"/"+p.name, func(t *testing.T) {
				m, number, output := assembleBatch(&p)
				m.PlainGo, m.NoNative = e.plainGo, e.kernels
				b := newBatches(t, m, number)
				if p.native && m.usesNative() && !slices.Contains(m.storing, true) {
					t.Errorf("no machine code stores: %v", m.text())
				}
				random := rand.New(rand.NewPCG(1, 2))
				for i := range 60 {
					var lanes, effects [batchLanes / kernel.Width]uint8
					for chunk := range lanes {
						lanes[chunk] = uint8(random.Uint32() | random.Uint32())
						if i%3 == 0 || random.IntN(4) == 0 {
							lanes[chunk] = 255
						} else if random.IntN(4) == 0 {
							lanes[chunk] = 0
						}
						effects[chunk] = lanes[chunk] & uint8(random.Uint32())
						if i%5 == 0 {
							effects[chunk] = lanes[chunk]
						} else if i%5 == 1 {
							effects[chunk] = 0
						}
					}
					checkBatch(t, b, &p, output, uint32(i), lanes[:], effects[:])
				}
			})
		}
	}
}

func checkBatch(t *testing.T, b *batches, p *batchProgram, output program.Register, batch uint32, lanes,
	effects []uint8) {
	t.Helper()
	in := func(set []uint8) func(int) bool {
		return func(lane int) bool { return lane < batchLanes && set[lane/kernel.Width]>>(lane%kernel.Width)&1 != 0 }
	}
	got, want := newBatchWords(batch), newBatchWords(batch)
	if !b.run(got.environment(t), batchStart, lanes, effects) {
		t.Fatal("the batch fails")
	}
	for lane := range batchLanes {
		if !in(lanes)(lane) {
			continue
		}
		value := p.want(want, lane, in(lanes), in(effects))
		if out := b.chunk32(output, lane/kernel.Width)[lane%kernel.Width]; value != anyOutput && out != value {
			t.Fatalf("lanes %08b with effects %08b: lane %d gives %d, not %d", lanes, effects, lane, out, value)
		}
	}
	for _, c := range [][2]any{{got.out, want.out}, {got.far, want.far}, {got.counts, want.counts},
		{got.elements, want.elements}, {got.image, want.image}, {got.printed, want.printed}} {
		if fmt.Sprint(c[0]) != fmt.Sprint(c[1]) {
			t.Fatalf("lanes %08b with effects %08b: memory is %v, not %v", lanes, effects, c[0], c[1])
		}
	}
}

// TestBatchDoesNotAllocate: neither do batches that have lanes without effects.
func TestBatchDoesNotAllocate(t *testing.T) {
	p := storingBatches()[0]
	m, number, _ := assembleBatch(&p)
	b, v := newBatches(t, m, number), newBatchWords(0).environment(t)
	lanes, effects := []uint8{255, 255, 0, 15, 255, 0}, []uint8{255, 170, 0, 1, 0, 0}
	if n := testing.AllocsPerRun(100, func() { b.run(v, batchStart, lanes, effects) }); n > 0.5 && !raceEnabled {
		t.Errorf("a batch allocates %v times", n)
	}
}

// TestPlanOfPartialBatches: the plan says which steps look at the lanes that have effects.
func TestPlanOfPartialBatches(t *testing.T) {
	p := storingBatches()[0]
	m, _, _ := assembleBatch(&p)
	m.Partial, m.PlainGo = true, true
	if plan, err := m.Plan(m.Program); err != nil || !strings.Contains(plan, "effect masked Store32\n") ||
		strings.Count(plan, "effect") != 1 {
		t.Errorf("the plan is %s, error %v", plan, err)
	}
}
