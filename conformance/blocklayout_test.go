package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Blocks of random members, laid out by the rules of the chapter "Offset and Stride Assignment" as GLSL names them.

// rules are std140, std430 or scalar.
type rules string

// blockType is the type of a member of a block: a scalar, a vector or a matrix, an array or a structure.
type blockType struct {
	scalar        *scalarType
	columns, rows int // 1 and 1 for a scalar, 1 and n for a vector
	rowMajor      bool
	length        int // of an array
	elem          *blockType
	name          string // of a structure
	members       []blockMember
}

type blockMember struct {
	name string
	t    *blockType
	of   bool // of a block, not of another structure
}

// scalarType is a scalar of GLSL and how its bits are moved from and to words.
type scalarType struct {
	name     string // "float"
	vector   string // the prefix of its vectors: "" for vec3
	matrix   string // the prefix of its matrices: "mat", "" for none
	size     int
	toWords  string // of one or two words
	fromWord string
	mask     uint64 // bits that random values may have
}

var scalarTypes = map[string]*scalarType{
	"float":    {"float", "vec", "mat", 4, "floatBitsToUint(%s)", "uintBitsToFloat(%s)", 0xbfffffff},
	"int":      {"int", "ivec", "", 4, "uint(%s)", "int(%s)", 0xffffffff},
	"uint":     {"uint", "uvec", "", 4, "%s", "%s", 0xffffffff},
	"bool":     {"bool", "bvec", "", 4, "uint(%s)", "bool(%s)", 1},
	"double":   {"double", "dvec", "dmat", 8, "unpackDouble2x32(%s)", "packDouble2x32(%s)", 0xbfffffffffffffff},
	"int64_t":  {"int64_t", "i64vec", "", 8, "unpackUint2x32(uint64_t(%s))", "int64_t(packUint2x32(%s))", 1<<64 - 1},
	"uint64_t": {"uint64_t", "u64vec", "", 8, "unpackUint2x32(%s)", "packUint2x32(%s)", 1<<64 - 1},
	"int16_t":  {"int16_t", "i16vec", "", 2, "uint(uint16_t(%s))", "int16_t(%s)", 0xffff},
	"uint16_t": {"uint16_t", "u16vec", "", 2, "uint(%s)", "uint16_t(%s)", 0xffff},
	"float16_t": {"float16_t", "f16vec", "f16mat", 2, "uint(float16BitsToUint16(%s))", "uint16BitsToFloat16(uint16_t(%s))",
		0xbfff},
	"int8_t":  {"int8_t", "i8vec", "", 1, "uint(uint8_t(%s))", "int8_t(%s)", 0xff},
	"uint8_t": {"uint8_t", "u8vec", "", 1, "uint(%s)", "uint8_t(%s)", 0xff},
}

func (t *blockType) glsl() string {
	switch {
	case t.elem != nil:
		n := t.length
		e := t.elem.glsl()
		base, dims, _ := strings.Cut(e, "[")
		if dims != "" {
			dims = "[" + dims
		}
		return fmt.Sprintf("%s[%d]%s", base, n, dims)
	case t.members != nil:
		return t.name
	case t.columns > 1:
		return fmt.Sprintf("%s%dx%d", t.scalar.matrix, t.columns, t.rows)
	case t.rows > 1:
		return fmt.Sprintf("%s%d", t.scalar.vector, t.rows)
	}
	return t.scalar.name
}

// matrix is a matrix in t, if there is one.
func (t *blockType) matrix() *blockType {
	switch {
	case t.elem != nil:
		return t.elem.matrix()
	case t.columns > 1:
		return t
	}
	for _, m := range t.members {
		if found := m.t.matrix(); found != nil {
			return found
		}
	}
	return nil
}

// declare is a declaration of a member. The members of blocks say in which order the matrices in them are.
func (m blockMember) declare() string {
	order := ""
	if matrix := m.t.matrix(); m.of && matrix != nil {
		order = "layout(column_major) "
		if matrix.rowMajor {
			order = "layout(row_major) "
		}
	}
	base, dims, _ := strings.Cut(m.t.glsl(), "[")
	if dims != "" {
		dims = "[" + dims
	}
	return fmt.Sprintf("%s%s %s%s;", order, base, m.name, dims)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// layout is the alignment and the size of t in bytes, and of an array or a matrix the stride.
func (r rules) layout(t *blockType) (align, size, stride int) {
	outer := func(a int) int {
		if r == "std140" {
			return roundUp(a, 16)
		}
		return a
	}
	vector := func(n int) (align, size int) {
		if r == "scalar" {
			return t.scalar.size, t.scalar.size * n
		}
		return t.scalar.size * []int{0, 1, 2, 4, 4}[n], t.scalar.size * n
	}
	switch {
	case t.elem != nil:
		a, s, _ := r.layout(t.elem)
		align = outer(a)
		stride = roundUp(s, align)
		return align, stride * t.length, stride
	case t.members != nil:
		align = 1
		for _, m := range t.members {
			a, s, _ := r.layout(m.t)
			align = max(align, a)
			size = roundUp(size, a) + s
		}
		align = outer(align)
		return align, roundUp(size, align), 0
	case t.columns > 1:
		vectors, n := t.columns, t.rows
		if t.rowMajor {
			vectors, n = n, vectors
		}
		a, s := vector(n)
		align = outer(a)
		stride = roundUp(s, align)
		return align, stride * vectors, stride
	}
	align, size = vector(t.rows)
	return align, size, 0
}

// leaf is a scalar of a block.
type leaf struct {
	path   string
	offset int
	scalar *scalarType
}

// leaves appends all scalars of t; index spells an index of an array.
func (r rules) leaves(list []leaf, t *blockType, path string, offset int, index func(int) string) []leaf {
	_, _, stride := r.layout(t)
	switch {
	case t.elem != nil:
		for i := range t.length {
			list = r.leaves(list, t.elem, path+"["+index(i)+"]", offset+i*stride, index)
		}
	case t.members != nil:
		at := 0
		for _, m := range t.members {
			a, s, _ := r.layout(m.t)
			at = roundUp(at, a)
			list = r.leaves(list, m.t, path+"."+m.name, offset+at, index)
			at += s
		}
	case t.columns > 1:
		for c := range t.columns {
			for row := range t.rows {
				at := c*stride + row*t.scalar.size
				if t.rowMajor {
					at = row*stride + c*t.scalar.size
				}
				list = append(list, leaf{fmt.Sprintf("%s[%s][%s]", path, index(c), index(row)), offset + at, t.scalar})
			}
		}
	case t.rows > 1:
		for row := range t.rows {
			list = append(list, leaf{path + "[" + index(row) + "]", offset + row*t.scalar.size, t.scalar})
		}
	default:
		list = append(list, leaf{path, offset, t.scalar})
	}
	return list
}

// blockMaker makes random types.
type blockMaker struct {
	rng     *rand.Rand
	scalars []string
	structs []*blockType // in the order of their declaration
	order   bool         // of the matrices: row-major
}

func (m *blockMaker) random(depth int) *blockType {
	kind := m.rng.IntN(10)
	if depth <= 0 {
		kind = m.rng.IntN(6)
	}
	s := scalarTypes[m.scalars[m.rng.IntN(len(m.scalars))]]
	switch {
	case kind < 2:
		return &blockType{scalar: s, columns: 1, rows: 1}
	case kind < 4:
		return &blockType{scalar: s, columns: 1, rows: 2 + m.rng.IntN(3)}
	case kind < 6:
		for _, name := range m.scalars {
			if s.matrix == "" {
				s = scalarTypes[name]
			}
		}
		if s.matrix == "" {
			return &blockType{scalar: s, columns: 1, rows: 3}
		}
		return &blockType{scalar: s, columns: 2 + m.rng.IntN(3), rows: 2 + m.rng.IntN(3), rowMajor: m.order}
	case kind < 8:
		return &blockType{length: 1 + m.rng.IntN(4), elem: m.random(depth - 1)}
	}
	return m.structure(depth-1, 1+m.rng.IntN(4))
}

func (m *blockMaker) structure(depth, members int) *blockType {
	t := &blockType{}
	for i := range members {
		t.members = append(t.members, blockMember{fmt.Sprintf("m%d", i), m.random(depth), false})
	}
	t.name = fmt.Sprintf("S%d", len(m.structs))
	m.structs = append(m.structs, t)
	return t
}

// member is a random member of a block.
func (m *blockMaker) member(name string) blockMember {
	m.order = m.rng.IntN(2) == 0
	return blockMember{name, m.random(2), true}
}

// block is a random block of at most so many scalars.
func (m *blockMaker) block(most int) *blockType {
	for {
		m.structs = nil
		t := &blockType{}
		for i := range 2 + m.rng.IntN(4) {
			t.members = append(t.members, m.member(fmt.Sprintf("m%d", i)))
		}
		if n := len(rules("std430").leaves(nil, t, "", 0, func(int) string { return "" })); n <= most {
			return t
		}
	}
}
