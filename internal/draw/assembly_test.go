package draw

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"farside/compute"
	"farside/internal/texel"
	"farside/internal/vk"
	"farside/spirv"
)

// TestTopologies has the primitives of each topology, their order of vertices, and the provoking ones.
func TestTopologies(t *testing.T) {
	const restart = math.MaxUint32
	for _, c := range []struct {
		topology    vk.PrimitiveTopology
		vertices    []uint32
		want        string // vertices of primitives
		first, last string // provoking vertices
	}{
		{vk.PRIMITIVE_TOPOLOGY_POINT_LIST, []uint32{0, 1, restart, 2}, "0 1 2", "0 1 2", "0 1 2"},
		{vk.PRIMITIVE_TOPOLOGY_LINE_LIST, []uint32{0, 1, 2, restart, 3, 4}, "0-1 3-4", "0 3", "1 4"},
		{vk.PRIMITIVE_TOPOLOGY_LINE_STRIP, []uint32{0, 1, 2, restart, 3, 4}, "0-1 1-2 3-4", "0 1 3", "1 2 4"},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, []uint32{0, 1, restart, 2, 3, 4, 5}, "2-3-4", "2", "4"},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP, []uint32{0, 1, 2, 3, 4, restart, 5, 6, 7},
			"0-1-2 1-3-2 2-3-4 5-6-7", "0 1 2 5", "2 3 4 7"},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, []uint32{0, 1, 2, 3, restart, 4, 5, 6}, "1-2-0 2-3-0 5-6-4", "1 2 5",
			"2 3 6"},
		{vk.PRIMITIVE_TOPOLOGY_LINE_LIST_WITH_ADJACENCY, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8}, "1-2 5-6", "1 5", "2 6"},
		{vk.PRIMITIVE_TOPOLOGY_LINE_STRIP_WITH_ADJACENCY, []uint32{0, 1, 2, 3, 4, restart, 5, 6, 7, 8}, "1-2 2-3 6-7",
			"1 2 6", "2 3 7"},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST_WITH_ADJACENCY, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
			"0-2-4 6-8-10", "0 6", "4 10"},
		{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP_WITH_ADJACENCY, []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
			"0-2-4 2-6-4 4-6-8", "0 2 4", "4 6 8"},
	} {
		for _, last := range []bool{false, true} {
			var a assembler
			a.begin(&State{Topology: c.topology, ProvokingLast: last})
			var got, provokers []string
			var p primitive
			for _, v := range c.vertices {
				if v == restart {
					a.restart()
					continue
				}
				if a.push(v, &p) {
					text := fmt.Sprint(p.vertex[0])
					for _, v := range p.vertex[1:p.corners] {
						text += fmt.Sprint("-", v)
					}
					if p.id != uint32(len(got)) {
						t.Errorf("%v: primitive %d has the id %d", c.topology, len(got), p.id)
					}
					got, provokers = append(got, text), append(provokers, fmt.Sprint(p.vertex[p.provoker]))
				}
			}
			want := c.first
			if last {
				want = c.last
			}
			if all := fmt.Sprint(got); all != "["+c.want+"]" {
				t.Errorf("%v: %s, not %s", c.topology, all, c.want)
			}
			if all := fmt.Sprint(provokers); all != "["+want+"]" {
				t.Errorf("%v, last %v: provoking are %s, not %s", c.topology, last, all, want)
			}
		}
	}
}

// record makes a vertex shader that keeps what it gets: a list of inputs for each run of a lane.
func record(in []compute.Variable) (*goShader, *[][]uint32) {
	runs := new([][]uint32)
	return &goShader{in: in, out: builtins(spirv.BuiltInPosition, 4), lanes: 8, code: func(l *lane) bool {
		*runs = append(*runs, slices.Clone(l.in))
		return true
	}}, runs
}

// TestIndices has all types of indices, offsets, restarts, and reads beyond the end of the buffer.
func TestIndices(t *testing.T) {
	for _, kind := range []vk.IndexType{vk.INDEX_TYPE_UINT8, vk.INDEX_TYPE_UINT16, vk.INDEX_TYPE_UINT32} {
		for _, restart := range []bool{false, true} {
			s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 0)
			vs, runs := record(join(builtins(spirv.BuiltInVertexIndex, 1), builtins(spirv.BuiltInInstanceIndex, 1),
				builtins(spirv.BuiltInBaseVertex, 1), builtins(spirv.BuiltInBaseInstance, 1),
				builtins(spirv.BuiltInDrawIndex, 1)))
			s.state.Vertex, s.state.Topology, s.state.Restart = vs, vk.PRIMITIVE_TOPOLOGY_POINT_LIST, restart
			for _, v := range []uint32{9, 200, math.MaxUint32, 3} {
				switch kind {
				case vk.INDEX_TYPE_UINT8:
					s.Indices = append(s.Indices, byte(v))
				case vk.INDEX_TYPE_UINT16:
					s.Indices = binary.LittleEndian.AppendUint16(s.Indices, uint16(v))
				default:
					s.Indices = binary.LittleEndian.AppendUint32(s.Indices, v)
				}
			}
			s.Indexed, s.IndexType, s.First, s.Count = true, kind, 1, 5
			s.VertexOffset, s.Instance, s.Instances, s.DrawIndex = -1, 4, 2, 11
			s.draw(t)
			var want [][]uint32
			largest := map[vk.IndexType]uint32{vk.INDEX_TYPE_UINT8: 255, vk.INDEX_TYPE_UINT16: 65535,
				vk.INDEX_TYPE_UINT32: math.MaxUint32}[kind]
			for instance := range uint32(2) {
				for _, v := range []uint32{200, largest, 3, 0} { // the second one beyond the end is in the cache
					if v == largest && restart {
						continue
					}
					want = append(want, []uint32{v - 1, 4 + instance, math.MaxUint32, 4, 11})
				}
			}
			if !slices.EqualFunc(*runs, want, slices.Equal) {
				t.Errorf("%v, restart %v: %v, not %v", kind, restart, *runs, want)
			}
			count := uint64(10)
			if restart {
				count = 8
			}
			if s.stats.Counts[countVertices] != count || s.stats.Counts[countPrimitives] != count {
				t.Errorf("%v, restart %v: counts are %+v", kind, restart, s.stats)
			}
		}
	}
}

// TestInstancing has divisors, and vertices beyond the end of the buffer.
func TestInstancing(t *testing.T) {
	s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 0)
	vs, runs := record(join(varying(0, 1, compute.Uint), varying(1, 1, compute.Uint), varying(2, 1, compute.Uint),
		varying(3, 2, compute.Uint)))
	s.state.Vertex, s.state.Topology = vs, vk.PRIMITIVE_TOPOLOGY_POINT_LIST
	s.state.Bindings = map[uint32]VertexBinding{0: {Stride: 4}, 1: {Stride: 4, Instanced: true, Divisor: 1},
		2: {Stride: 4, Instanced: true, Divisor: 2}, 3: {Stride: 4, Instanced: true}}
	s.state.Attributes = nil
	var data []byte
	for i := range uint32(5) {
		data = binary.LittleEndian.AppendUint32(data, 100+i)
	}
	for i := range uint32(4) {
		s.state.Attributes = append(s.state.Attributes, VertexAttribute{Location: i, Binding: i, Format: vk.FORMAT_R32_UINT})
		s.Buffers = append(s.Buffers, VertexBuffer{data})
	}
	s.First, s.Count, s.Instance, s.Instances = 3, 3, 1, 3
	s.draw(t)
	var want [][]uint32
	for instance := range uint32(3) {
		for _, v := range []uint32{103, 104, 0} { // the last one is beyond the end
			want = append(want, []uint32{v, 101 + instance, 101 + instance/2, 101, 0})
		}
	}
	if !slices.EqualFunc(*runs, want, slices.Equal) {
		t.Errorf("%v, not %v", *runs, want)
	}
}

// TestVertexFormats reads every format as an attribute and compares with its codec, or with integers for scaled ones.
func TestVertexFormats(t *testing.T) {
	formats, scaled := vertexFormats(), 0
	for f, format := range formats {
		numeric := numericOf(format.codec)
		if format.scaled {
			numeric = compute.Float
			scaled++
		}
		in := varying(0, 4, numeric)
		if format.codec.Wide() {
			in = nil
			for i := range uint32(8) {
				in = append(in, compute.Variable{Location: i / 4, Component: i % 4 &^ 1, Half: uint8(i % 2), Width: 64,
					Numeric: numeric})
			}
		}
		s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 0)
		vs, runs := record(in)
		s.state.Vertex, s.state.Topology = vs, vk.PRIMITIVE_TOPOLOGY_POINT_LIST
		size := format.codec.Size()
		s.state.Attributes = []VertexAttribute{{Format: f, Offset: 3}}
		s.state.Bindings = map[uint32]VertexBinding{0: {Stride: uint32(size + 1)}}
		data := make([]byte, 3+2*size)
		for i := range data {
			data[i] = byte(i*37 + 11)
		}
		s.Buffers, s.Count = []VertexBuffer{{data}}, 2 // the second vertex lacks a byte
		s.draw(t)
		for vertex, texels := range [][]byte{data[3:], make([]byte, size)} {
			want := wantWords(format.codec, format.scaled, texels)
			if got := (*runs)[vertex]; !slices.Equal(got, want) {
				t.Errorf("%v: vertex %d is %x, not %x", f, vertex, got, want)
			}
		}
	}
	if scaled != 26 || len(formats) < 130 {
		t.Errorf("%d formats, %d scaled ones", len(formats), scaled)
	}
}

// wantWords is what an attribute is in the shader.
func wantWords(codec *texel.Codec, scaled bool, texels []byte) (words []uint32) {
	var numbers [4]uint64
	switch codec.Class() {
	case texel.Float:
		var v [1][4]float64
		codec.DecodeFloat(v[:], texels)
		for i, c := range v[0] {
			numbers[i] = uint64(math.Float32bits(float32(c)))
			if codec.Wide() {
				numbers[i] = math.Float64bits(c)
			}
		}
	case texel.Uint:
		var v [1][4]uint64
		codec.DecodeUint(v[:], texels)
		for i, c := range v[0] {
			numbers[i] = c
			if scaled {
				numbers[i] = uint64(math.Float32bits(float32(c)))
			}
		}
	default:
		var v [1][4]int64
		codec.DecodeSint(v[:], texels)
		for i, c := range v[0] {
			numbers[i] = uint64(c)
			if scaled {
				numbers[i] = uint64(math.Float32bits(float32(c)))
			}
		}
	}
	for _, n := range numbers {
		words = append(words, uint32(n))
		if codec.Wide() {
			words = append(words, uint32(n>>32))
		}
	}
	return words
}

// TestBatches has primitives of many batches: strips go on, and every vertex is there.
func TestBatches(t *testing.T) {
	for _, topology := range []vk.PrimitiveTopology{vk.PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
		vk.PRIMITIVE_TOPOLOGY_TRIANGLE_FAN, vk.PRIMITIVE_TOPOLOGY_LINE_STRIP, vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST} {
		s := newScene(t, vk.FORMAT_R8_UNORM, 2, 2, 1, 0)
		vs, runs := record(builtins(spirv.BuiltInVertexIndex, 1))
		s.state.Vertex, s.state.Topology, s.Count, s.Instances = vs, topology, 99, 3
		s.draw(t)
		seen := map[uint32]bool{}
		for _, r := range *runs {
			seen[r[0]] = true
		}
		primitives := uint64(3 * (99 - 2))
		switch topology {
		case vk.PRIMITIVE_TOPOLOGY_LINE_STRIP:
			primitives = 3 * 98
		case vk.PRIMITIVE_TOPOLOGY_TRIANGLE_LIST:
			primitives = 3 * 33
		}
		if len(seen) != 99 || s.stats.Counts[countClipIn] != primitives {
			t.Errorf("%v: %d vertices, %d of %d primitives", topology, len(seen), s.stats.Counts[countClipIn], primitives)
		}
	}
}
