package conformance

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"farside/conformance/shaders"
	"farside/conformance/vulkan"
	"farside/internal/vk"
)

// A lane of a subgroup is what a case knows of it: its invocations' values and which of them take part.
type subgroup struct {
	values []uint32
	active []bool
}

func (s subgroup) first() int {
	for i, a := range s.active {
		if a {
			return i
		}
	}
	return 0
}

// fold combines the values of active lanes of [from, to).
func (s subgroup) fold(from, to int, identity uint32, f func(a, b uint32) uint32) uint32 {
	r := identity
	for i := from; i < to; i++ {
		if i < len(s.active) && s.active[i] {
			r = f(r, s.values[i])
		}
	}
	return r
}

// ballot is the lanes for which f holds.
func (s subgroup) ballot(f func(i int) bool) (b [4]uint32) {
	for i, a := range s.active {
		if a && f(i) {
			b[i/32] |= 1 << (i % 32)
		}
	}
	return b
}

// lanes is the same with the lanes that do not take part.
func (s subgroup) lanes(f func(i int) bool) (b [4]uint32) {
	for i := range s.active {
		if f(i) {
			b[i/32] |= 1 << (i % 32)
		}
	}
	return b
}

func count(b [4]uint32) (n uint32) {
	for _, w := range b {
		n += uint32(bits.OnesCount32(w))
	}
	return n
}

// A subgroupRow is an operation, and what it gives lane i, if that is defined.
type subgroupRow struct {
	name, kind, expression string
	want                   func(s subgroup, i int) ([4]uint32, bool)
}

func one(f func(s subgroup, i int) uint32) func(s subgroup, i int) ([4]uint32, bool) {
	return func(s subgroup, i int) ([4]uint32, bool) { return [4]uint32{f(s, i)}, true }
}

// from is the value of another lane, if that takes part.
func from(f func(i, size int) int) func(s subgroup, i int) ([4]uint32, bool) {
	return func(s subgroup, i int) ([4]uint32, bool) {
		j := f(i, len(s.values))
		if j < 0 || j >= len(s.values) || !s.active[j] {
			return [4]uint32{}, false
		}
		return [4]uint32{s.values[j]}, true
	}
}

func even(s subgroup) func(i int) bool { return func(i int) bool { return s.values[i]%2 == 0 } }

func subgroupRows() []subgroupRow {
	single := func(f string) string { return f + ", 0, 0, 0" }
	rows := []subgroupRow{
		{"elect", "basic", single("subgroupElect()"),
			one(func(s subgroup, i int) uint32 { return truth[uint32](i == s.first()) })},
		{"all", "vote", single("subgroupAll(value % 2 == 0 || lane != 1)"), one(func(s subgroup, _ int) uint32 {
			return truth[uint32](len(s.active) < 2 || !s.active[1] || s.values[1]%2 == 0)
		})},
		{"any", "vote", single("subgroupAny(value % 8 == 0)"), one(func(s subgroup, _ int) uint32 {
			return truth[uint32](count(s.ballot(func(i int) bool { return s.values[i]%8 == 0 })) > 0)
		})},
		{"all_equal", "vote", single("subgroupAllEqual(value / 64) || subgroupAllEqual(lane >= 0)"),
			one(func(subgroup, int) uint32 { return 1 })},
		{"all_equal_not", "vote", single("subgroupAllEqual(value)"), one(func(s subgroup, _ int) uint32 {
			return truth[uint32](count(s.ballot(func(i int) bool { return s.values[i] != s.values[s.first()] })) == 0)
		})},
		{"ballot", "ballot", "subgroupBallot(value % 2 == 0)",
			func(s subgroup, _ int) ([4]uint32, bool) { return s.ballot(even(s)), true }},
		{"broadcast", "ballot", single("subgroupBroadcast(v, 2)"), from(func(int, int) int { return 2 })},
		{"broadcast_first", "ballot", single("subgroupBroadcastFirst(v)"),
			one(func(s subgroup, _ int) uint32 { return s.values[s.first()] })},
		{"inverse_ballot", "ballot", single("subgroupInverseBallot(subgroupBallot(value % 2 == 0))"),
			one(func(s subgroup, i int) uint32 { return truth[uint32](even(s)(i)) })},
		{"ballot_bit_extract", "ballot", single("subgroupBallotBitExtract(subgroupBallot(value % 2 == 0), 3)"),
			one(func(s subgroup, _ int) uint32 {
				return truth[uint32](len(s.active) > 3 && s.active[3] && even(s)(3))
			})},
		{"ballot_counts", "ballot",
			"subgroupBallotBitCount(subgroupBallot(value % 2 == 0)), " +
				"subgroupBallotInclusiveBitCount(subgroupBallot(value % 2 == 0)), " +
				"subgroupBallotExclusiveBitCount(subgroupBallot(value % 2 == 0)), 0", func(s subgroup, lane int) ([4]uint32, bool) {
				return [4]uint32{count(s.ballot(even(s))), count(s.ballot(func(i int) bool { return i <= lane && even(s)(i) })),
					count(s.ballot(func(i int) bool { return i < lane && even(s)(i) }))}, true
			}},
		{"ballot_find", "ballot",
			"subgroupBallotFindLSB(subgroupBallot(value % 2 == 0 || lane > 1)), " +
				"subgroupBallotFindMSB(subgroupBallot(value % 2 == 0 || lane > 1)), 0, 0",
			func(s subgroup, _ int) ([4]uint32, bool) {
				low, high := -1, -1
				for i, a := range s.active {
					if a && (even(s)(i) || i > 1) {
						high = i
						if low < 0 {
							low = i
						}
					}
				}
				return [4]uint32{uint32(low), uint32(high)}, low >= 0
			}},
		{"mask_eq", "ballot", "gl_SubgroupEqMask", func(s subgroup, lane int) ([4]uint32, bool) {
			return s.lanes(func(i int) bool { return i == lane }), true
		}},
		{"mask_ge", "ballot", "gl_SubgroupGeMask", func(s subgroup, lane int) ([4]uint32, bool) {
			return s.lanes(func(i int) bool { return i >= lane }), true
		}},
		{"mask_gt", "ballot", "gl_SubgroupGtMask", func(s subgroup, lane int) ([4]uint32, bool) {
			return s.lanes(func(i int) bool { return i > lane }), true
		}},
		{"mask_le", "ballot", "gl_SubgroupLeMask", func(s subgroup, lane int) ([4]uint32, bool) {
			return s.lanes(func(i int) bool { return i <= lane }), true
		}},
		{"mask_lt", "ballot", "gl_SubgroupLtMask", func(s subgroup, lane int) ([4]uint32, bool) {
			return s.lanes(func(i int) bool { return i < lane }), true
		}},
		{"shuffle", "shuffle", single("subgroupShuffle(v, (lane * 5 + 1) % gl_SubgroupSize)"),
			from(func(i, n int) int { return (i*5 + 1) % n })},
		{"shuffle_xor", "shuffle", single("subgroupShuffleXor(v, 3)"), from(func(i, _ int) int { return i ^ 3 })},
		{"shuffle_up", "shuffle_relative", single("subgroupShuffleUp(v, 2)"), from(func(i, _ int) int { return i - 2 })},
		{"shuffle_down", "shuffle_relative", single("subgroupShuffleDown(v, 1 + value / 100000)"),
			from(func(i, _ int) int { return i + 1 })},
		{"quad_broadcast", "quad", single("subgroupQuadBroadcast(v, 2)"), from(func(i, _ int) int { return i&^3 + 2 })},
		{"quad_swap", "quad", "subgroupQuadSwapHorizontal(v), 0, 0, 0", from(func(i, _ int) int { return i ^ 1 })},
		{"quad_swap_vertical", "quad", single("subgroupQuadSwapVertical(v)"), from(func(i, _ int) int { return i ^ 2 })},
		{"quad_swap_diagonal", "quad", single("subgroupQuadSwapDiagonal(v)"), from(func(i, _ int) int { return i ^ 3 })},
	}
	for _, op := range []struct {
		name, call string
		identity   uint32
		f          func(a, b uint32) uint32
	}{
		{"add", "Add", 0, func(a, b uint32) uint32 { return a + b }},
		{"mul", "Mul", 1, func(a, b uint32) uint32 { return a * b }},
		{"min", "Min", ^uint32(0), func(a, b uint32) uint32 { return min(a, b) }},
		{"max", "Max", 0, func(a, b uint32) uint32 { return max(a, b) }},
		{"and", "And", ^uint32(0), func(a, b uint32) uint32 { return a & b }},
		{"or", "Or", 0, func(a, b uint32) uint32 { return a | b }},
		{"xor", "Xor", 0, func(a, b uint32) uint32 { return a ^ b }},
	} {
		exclusive := fmt.Sprintf("subgroupExclusive%s(v)", op.call)
		rows = append(rows, subgroupRow{op.name, "arithmetic",
			fmt.Sprintf("subgroup%s(v), subgroupInclusive%s(v), %s, 0", op.call, op.call, exclusive),
			func(s subgroup, i int) ([4]uint32, bool) {
				return [4]uint32{s.fold(0, len(s.values), op.identity, op.f), s.fold(0, i+1, op.identity, op.f),
					s.fold(0, i, op.identity, op.f)}, true
			}},
			subgroupRow{op.name, "clustered",
				fmt.Sprintf("subgroupClustered%s(v, 2), subgroupClustered%s(v, 4), subgroupClustered%s(v, 1), 0", op.call, op.call,
					op.call),
				func(s subgroup, i int) ([4]uint32, bool) {
					return [4]uint32{s.fold(i&^1, i&^1+2, op.identity, op.f), s.fold(i&^3, i&^3+4, op.identity, op.f), s.values[i]},
						true
				}})
	}
	return rows
}

var subgroupKinds = map[string]vk.SubgroupFeatureFlags{
	"basic": vk.SUBGROUP_FEATURE_BASIC_BIT, "vote": vk.SUBGROUP_FEATURE_VOTE_BIT, "ballot": vk.SUBGROUP_FEATURE_BALLOT_BIT,
	"arithmetic": vk.SUBGROUP_FEATURE_ARITHMETIC_BIT, "clustered": vk.SUBGROUP_FEATURE_CLUSTERED_BIT,
	"shuffle":          vk.SUBGROUP_FEATURE_SHUFFLE_BIT,
	"shuffle_relative": vk.SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "quad": vk.SUBGROUP_FEATURE_QUAD_BIT,
}

// subgroupCases mirror subgroups: each kind with all lanes and with some of them, on other types too, and with each
// size that may be asked for.
func subgroupCases() []definition {
	byKind := map[string][]subgroupRow{}
	for _, r := range subgroupRows() {
		byKind[r.kind] = append(byKind[r.kind], r)
	}
	var all []definition
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		add := func(name, scalar string, needs []string, run func(c *Case, rows []subgroupRow)) {
			rows := slices.DeleteFunc(slices.Clone(byKind[kind]), func(r subgroupRow) bool {
				switch r.name {
				// whose 32 bits are not those of 64, and which floats have not or have other identities of
				case "mul", "min", "and":
					return scalar != "uint"
				case "or", "xor", "max":
					return scalar == "float"
				}
				return false
			})
			all = append(all, definition{name: fmt.Sprintf("subgroups.%s.%s", kind, name), compute: true, valid: true,
				needs: needs, run: func(c *Case) {
					p := vulkan.Struct[vk.PhysicalDeviceSubgroupProperties](&c.a)
					c.inst.Properties2(c.pd, vulkan.Pointer(p))
					if p.SupportedOperations&subgroupKinds[kind] == 0 {
						c.Unsupported("subgroup operations of this kind")
					}
					run(c, rows)
				}})
		}
		third := func(v uint32) bool { return v%3 != 0 }
		add("compute", "uint", nil, func(c *Case, rows []subgroupRow) {
			c.subgroups(rows, "uint", "true", 0, func(uint32) bool { return true })
		})
		add("compute_divergent", "uint", nil, func(c *Case,
			rows []subgroupRow) {
			c.subgroups(rows, "uint", "value % 3 != 0", 0, third)
		})
		add("required_size", "uint", []string{"SubgroupSizeControl"}, func(c *Case, rows []subgroupRow) {
			p := vulkan.Struct[vk.PhysicalDeviceSubgroupSizeControlProperties](&c.a)
			c.inst.Properties2(c.pd, vulkan.Pointer(p))
			for size := p.MinSubgroupSize; size <= p.MaxSubgroupSize; size *= 2 {
				c.subgroups(rows, "uint", "value % 5 != 1", size, func(v uint32) bool { return v%5 != 1 })
			}
		})
		if kind == "arithmetic" || kind == "clustered" || kind == "shuffle" {
			add("int64", "uint64_t", []string{"ShaderSubgroupExtendedTypes", "ShaderInt64"}, func(c *Case, rows []subgroupRow) {
				c.subgroups(rows, "uint64_t", "value % 3 != 0", 0, third)
			})
			add("float", "float", nil, func(c *Case,
				rows []subgroupRow) {
				c.subgroups(rows, "float", "value % 3 != 0", 0, third)
			})
		}
	}
	return append(all, rotateCases()...)
}

// rotateCases are rotations of whole subgroups and of clusters, of values of several types.
func rotateCases() []definition {
	rotated := func(delta, cluster int) func(s subgroup, i int) ([4]uint32, bool) {
		return from(func(i, size int) int {
			c := cluster
			if c == 0 {
				c = size
			}
			return (i+delta)&(c-1) + i&^(c-1)
		})
	}
	rows := []subgroupRow{
		{name: "by 1", want: rotated(1, 0)}, {name: "by 3", want: rotated(subgroupGroups, 0)},
		{name: "clusters of 2 by 1", want: rotated(1, 2)},
		{name: "clusters of 4 by 3", want: rotated(3, 4)}, {name: "clusters of 8 by 3", want: rotated(subgroupGroups, 8)},
	}
	var all []definition
	for _, t := range []struct {
		name, id                            string
		capability, declaration, from, into string
		needs                               []string
	}{
		{"uint", "%uint", "", "", "OpCopyObject %uint", "OpCopyObject %uint", nil},
		{"float", "%float", "", "", "OpConvertUToF %float", "OpConvertFToU %uint", nil},
		{"int64", "%long", "OpCapability Int64", "%long = OpTypeInt 64 0", "OpUConvert %long", "OpUConvert %uint",
			[]string{"ShaderSubgroupExtendedTypes", "ShaderInt64"}},
	} {
		add := func(name string, modulus, remainder uint32, needs ...string) {
			needs = append(append(needs, "ShaderSubgroupRotate", "ShaderSubgroupRotateClustered"), t.needs...)
			shader := glsl("subgroup/rotate.spvasm", fmt.Sprint("SIZE=", subgroupLocal), fmt.Sprint("MODULUS=", modulus),
				fmt.Sprint("REMAINDER=", remainder),
				"T="+t.id, "CAPABILITY="+t.capability, "DECLARATION="+t.declaration, "FROM="+t.from, "TO="+t.into)
			shader.Target = "vulkan1.1"
			all = append(all, definition{name: fmt.Sprintf("subgroups.rotate.%s.%s", t.name, name), compute: true, needs: needs,
				run: func(c *Case) {
					sizes := []uint32{0}
					if name == "required_size" {
						p := vulkan.Struct[vk.PhysicalDeviceSubgroupSizeControlProperties](&c.a)
						c.inst.Properties2(c.pd, vulkan.Pointer(p))
						sizes = nil
						for size := max(p.MinSubgroupSize, 8); size <= p.MaxSubgroupSize; size *= 2 { // clusters are of up to 8
							sizes = append(sizes, size)
						}
					}
					for _, size := range sizes {
						c.subgroupResults(shader, rows, t.name, size, func(v uint32) bool { return v%modulus != remainder })
					}
				}})
		}
		add("compute", 1, 1)
		add("compute_divergent", 3, 0)
		add("required_size", 5, 1, "SubgroupSizeControl")
	}
	return all
}

// Invocations of a workgroup, and workgroups, of subgroupResults.
const subgroupLocal, subgroupGroups = 128, 3

func (c *Case) subgroups(rows []subgroupRow, scalar, active string, size uint32, takesPart func(v uint32) bool) {
	operations := ""
	for n, r := range rows {
		operations += fmt.Sprintf("results[at + %d] = uvec4(%s); ", n+1, r.expression)
	}
	c.subgroupResults(glsl("subgroup/ops.comp", fmt.Sprint("SIZE=", subgroupLocal), "T="+scalar, "ACTIVE="+active,
		fmt.Sprint("COUNT=", len(rows)),
		"OPERATIONS="+operations), rows, fmt.Sprintf("%s, %s", scalar, active), size, takesPart)
}

// subgroupResults runs a shader that does what the rows say, and compares.
func (c *Case) subgroupResults(shader shaders.Source, rows []subgroupRow, what string, size uint32,
	takesPart func(v uint32) bool) {
	const local, groups = subgroupLocal, subgroupGroups
	values := random32(local*groups, 21)
	for i := range values {
		values[i] %= 1000
	}
	stride := 1 + len(rows)
	results := make([][4]uint32, len(values)*stride)
	c.dispatch(dispatch{shader: shader, groups: [3]uint32{groups}, buffers: []any{values, results}, subgroupSize: size})
	for g := range groups {
		// Which invocations are in which subgroup, the shader says: the subgroup, the lane, the size, the number of
		// subgroups.
		at := map[[2]uint32]int{}
		n := results[g*local*stride][2]
		if size != 0 && n != size {
			c.Errorf("the subgroup size is %d, want %d", n, size)
		}
		subgroups := (local + n - 1) / n
		for i := range local {
			r := results[(g*local+i)*stride]
			if r[2] != n || r[3] != subgroups || r[0] >= subgroups || r[1] >= n {
				c.Fatalf("invocation %d is lane %d of %d in subgroup %d of %d", i, r[1], r[2], r[0], r[3])
			}
			at[[2]uint32{r[0], r[1]}] = g*local + i
		}
		if len(at) != local {
			c.Fatalf("%d distinct lanes of %d", len(at), local)
		}
		for sub := range subgroups {
			s := subgroup{make([]uint32, n), make([]bool, n)}
			for lane := range n {
				if i, ok := at[[2]uint32{sub, lane}]; ok {
					s.values[lane], s.active[lane] = values[i], takesPart(values[i])
				}
			}
			for k, r := range rows {
				for lane := range n {
					i, ok := at[[2]uint32{sub, lane}]
					if !ok || !s.active[lane] {
						continue
					}
					if want, defined := r.want(s, int(lane)); defined && results[i*stride+1+k] != want {
						c.Errorf("%s of %s, size %d: lane %d gets %v, want %v", r.name, what, n, lane, results[i*stride+1+k], want)
						break
					}
				}
			}
		}
	}
}
