package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"farside/conformance/shaders"
)

// blockLayoutCases mirror ssbo.layout.random and ubo.random: a shader reads every scalar of a block of random members
// into words, or writes it from words, or copies member by member from a block of one layout to one of another.
func blockLayoutCases() []definition {
	families := []struct {
		name    string
		scalars []string
		needs   []string
	}{
		{"32bit", []string{"float", "int", "uint", "float"}, nil},
		{"bool", []string{"float", "bool", "uint", "bool"}, nil},
		{"64bit", []string{"double", "int64_t", "uint64_t", "float"}, []string{"ShaderFloat64", "ShaderInt64"}},
		{"16bit", []string{"float16_t", "int16_t", "uint16_t", "float"},
			[]string{"ShaderFloat16", "ShaderInt16", "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"}},
		{"8bit", []string{"int8_t", "uint8_t", "int", "uint16_t", "float"},
			[]string{"ShaderInt8", "ShaderInt16", "StorageBuffer8BitAccess",
				"UniformAndStorageBuffer8BitAccess", "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess"}},
	}
	var all []definition
	for fi, f := range families {
		for ri, r := range []rules{"std140", "std430", "scalar"} {
			needs := f.needs
			if r == "scalar" {
				needs = append(slices.Clone(needs), "ScalarBlockLayout")
			}
			seed := uint64(fi*100 + ri*10)
			add := func(name string, needs []string, run func(c *Case, rng *rand.Rand, r rules, scalars []string)) {
				all = append(all, definition{name: fmt.Sprintf("%s.%s.%s", name, r, f.name), compute: true, valid: true,
					needs: needs, run: func(c *Case) {
						for n := range uint64(2) {
							if run(c, rand.New(rand.NewPCG(seed, n)), r, f.scalars); c.failed {
								c.Fatalf("seed %d, %d", seed, n)
							}
						}
					}})
			}
			add("ssbo.layout.random.read", needs, func(c *Case, rng *rand.Rand, r rules,
				scalars []string) {
				readBlock(c, rng, r, scalars, false)
			})
			add("ssbo.layout.random.write", needs, writeBlock)
			if f.name != "bool" { // of which glslang makes modules that spirv-val refuses
				add("ssbo.layout.random.copy", needs, copyBlock)
			}
			switch r {
			case "std140":
				add("ubo.random", needs, func(c *Case, rng *rand.Rand, r rules,
					scalars []string) {
					readBlock(c, rng, r, scalars, true)
				})
			default:
				add("ubo.random", append(slices.Clone(needs), "UniformBufferStandardLayout"),
					func(c *Case, rng *rand.Rand, r rules, scalars []string) { readBlock(c, rng, r, scalars, true) })
			}
		}
	}
	return all
}

const blockHeader = `#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_8bit_storage : enable
#extension GL_EXT_scalar_block_layout : enable
layout(local_size_x = 8) in;
layout(push_constant) uniform Push { uint zero; };
`

// index spells indices as constants, or as what only the device knows, the same in all invocations or not.
func index(rng *rand.Rand) func(int) string {
	return func(i int) string {
		return fmt.Sprintf([]string{"%d", "%d", "zero + %d", "gl_LocalInvocationID.x * zero + %d"}[rng.IntN(4)], i)
	}
}

func structsOf(m *blockMaker) string {
	var b strings.Builder
	for _, s := range m.structs {
		fmt.Fprintf(&b, "struct %s {\n", s.name)
		for _, x := range s.members {
			fmt.Fprintf(&b, "\t%s\n", x.declare())
		}
		b.WriteString("};\n")
	}
	return b.String()
}

func blockOf(t *blockType, qualifiers, name, tail string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "layout(%s %s {\n", qualifiers, strings.ToUpper(name))
	for _, x := range t.members {
		fmt.Fprintf(&b, "\t%s\n", x.declare())
	}
	fmt.Fprintf(&b, "%s} %s;\n", tail, name)
	return b.String()
}

// runtimeTail gives a block a runtime array as its last member, three elements of which the host allocates.
func runtimeTail(m *blockMaker, t *blockType) {
	tail := m.member("tail")
	tail.t = &blockType{length: 3, elem: tail.t}
	t.members = append(t.members, tail)
}

func declareTail(t *blockType) (block *blockType, tail string) {
	last := t.members[len(t.members)-1]
	if last.name != "tail" {
		return t, ""
	}
	text := last.declare()
	at := strings.Index(text, "tail[") + len("tail[")
	return &blockType{members: t.members[:len(t.members)-1]}, "\t" + text[:at] + text[strings.Index(text, "]"):] + "\n"
}

func (s *scalarType) random(rng *rand.Rand) uint64 { return rng.Uint64() & s.mask }

// put writes the bits of a scalar.
func (s *scalarType) put(b []byte, v uint64) {
	var w [8]byte
	binary.LittleEndian.PutUint64(w[:], v)
	copy(b[:s.size], w[:])
}

func blockShader(text string, r rules) shaders.Source {
	return shaders.Source{Name: "block.comp", Text: text, Scalar: r == "scalar"}
}

// readBlock has every scalar of a block written out.
func readBlock(c *Case, rng *rand.Rand, r rules, scalars []string, ubo bool) {
	m := &blockMaker{rng: rng, scalars: scalars}
	t := m.block(60)
	kind := "buffer"
	if ubo {
		kind = "uniform"
	} else if rng.IntN(2) == 0 {
		runtimeTail(m, t)
	}
	block, tail := declareTail(t)
	text := blockHeader + structsOf(m) + blockOf(block, fmt.Sprintf("%s, binding = 0) %s", r, kind), "b", tail) +
		"layout(std430, binding = 1) buffer Words { uvec2 words[]; };\nvoid main() {\n"
	leaves := r.leaves(nil, t, "b", 0, index(rng))
	_, size, _ := r.layout(t)
	data, words, want := make([]byte, roundUp(size, 16)), make([][2]uint32, len(leaves)*8),
		make([][2]uint32, len(leaves)*8)
	for i, l := range leaves {
		v := l.scalar.random(rng)
		l.scalar.put(data[l.offset:], v)
		want[i*8] = [2]uint32{uint32(v), uint32(v >> 32)}
		bits := fmt.Sprintf(l.scalar.toWords, l.path)
		if l.scalar.size < 8 {
			bits += ", 0"
		}
		text += fmt.Sprintf("\twords[gl_LocalInvocationID.x + %d] = uvec2(%s);\n", i*8, bits)
	}
	for i := range leaves {
		for lane := 1; lane < 8; lane++ {
			want[i*8+lane] = want[i*8]
		}
	}
	buffers := []any{data, words}
	if ubo {
		buffers[0] = uniform{data}
	}
	c.dispatch(dispatch{shader: blockShader(text+"}\n", r), buffers: buffers, push: []uint32{0}})
	if !wantSlice(c, "scalars", words, want) {
		c.Errorf("%s", text)
	}
}

// writeBlock has every scalar of a block written, and nothing between them.
func writeBlock(c *Case, rng *rand.Rand, r rules, scalars []string) {
	m := &blockMaker{rng: rng, scalars: scalars}
	t := m.block(60)
	if rng.IntN(2) == 0 {
		runtimeTail(m, t)
	}
	block, tail := declareTail(t)
	text := blockHeader + structsOf(m) + blockOf(block, fmt.Sprintf("%s, binding = 0) buffer", r), "b", tail) +
		"layout(std430, binding = 1) buffer Words { uvec2 words[]; };\n" +
		"void main() {\n\tif (gl_LocalInvocationID.x != 0)\n\t\treturn;\n"
	leaves := r.leaves(nil, t, "b", 0, index(rng))
	_, size, _ := r.layout(t)
	data := bytes.Repeat([]byte{0xa7}, roundUp(size, 16))
	want, words := bytes.Clone(data), make([][2]uint32, len(leaves))
	for i, l := range leaves {
		v := l.scalar.random(rng)
		words[i] = [2]uint32{uint32(v), uint32(v >> 32)}
		l.scalar.put(want[l.offset:], v)
		from := fmt.Sprintf("words[%d].x", i)
		if l.scalar.size == 8 {
			from = fmt.Sprintf("words[%d]", i)
		}
		text += fmt.Sprintf("\t%s = %s;\n", l.path, fmt.Sprintf(l.scalar.fromWord, from))
	}
	c.dispatch(dispatch{shader: blockShader(text+"}\n", r), buffers: []any{data, words}, push: []uint32{0}})
	if !wantSlice(c, "bytes", data, want) {
		c.Errorf("%s", text)
	}
}

// copyBlock has whole members copied, in both directions, between the layout and another.
func copyBlock(c *Case, rng *rand.Rand, r rules, scalars []string) {
	m := &blockMaker{rng: rng, scalars: scalars}
	t := m.block(60)
	other := rules([]string{"std140", "std430"}[rng.IntN(2)])
	from, to := r, other
	if rng.IntN(2) == 0 {
		from, to = to, from
	}
	text := blockHeader + structsOf(m) + blockOf(t, fmt.Sprintf("%s, binding = 0) readonly buffer", from), "a", "") +
		blockOf(t, fmt.Sprintf("%s, binding = 1) buffer", to), "b", "") +
		"void main() {\n\tif (gl_LocalInvocationID.x != 0)\n\t\treturn;\n"
	for _, x := range t.members {
		text += fmt.Sprintf("\tb.%s = a.%s;\n", x.name, x.name)
	}
	plain := func(i int) string { return fmt.Sprint(i) }
	reads, writes := from.leaves(nil, t, "", 0, plain), to.leaves(nil, t, "", 0, plain)
	_, fromSize, _ := from.layout(t)
	_, toSize, _ := to.layout(t)
	a, b := make([]byte, roundUp(fromSize, 16)), bytes.Repeat([]byte{0xa7}, roundUp(toSize, 16))
	want := bytes.Clone(b)
	padding := bytes.Repeat([]byte{1}, len(b))
	for i, l := range reads {
		v := l.scalar.random(rng)
		l.scalar.put(a[l.offset:], v)
		l.scalar.put(want[writes[i].offset:], v)
		clear(padding[writes[i].offset:][:l.scalar.size])
	}
	c.dispatch(dispatch{shader: blockShader(text+"}\n", r), buffers: []any{a, b}, push: []uint32{0}})
	for i := range padding { // whole composites may be written with what lies between their members
		if padding[i] != 0 {
			b[i] = want[i]
		}
	}
	if !wantSlice(c, "bytes", b, want) {
		c.Errorf("%s", text)
	}
}
