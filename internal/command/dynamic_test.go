package command

import (
	"reflect"
	"testing"

	"farside/internal/vk"
)

// TestGraphicsRecords writes the records of graphics that are written by hand, reads them back, and reads damaged ones.
func TestGraphicsRecords(t *testing.T) {
	var pool Pool
	var w Window
	s := NewStream(&pool, &w)
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	state := SetState{vk.DYNAMIC_STATE_LINE_WIDTH, []uint32{Bits(1.5), 2, 3}}
	buffers := BindVertexBuffers2{3, true, []VertexBuffer{{1, 2, 3, 4}, {5, 6, 7, 8}}}
	draws := DrawMulti{true, 7, 8, []Multi{{1, 2, -3}, {4, 5, 6}, {7, 8, 9}}}
	locations := SetLocations{[]uint32{3, 1, 2}}
	inputs := SetInputs{[]uint32{3, 1, InputWithout, vk.ATTACHMENT_UNUSED}}
	shaders := BindShaders{[]StageShader{{7, uint64(vk.SHADER_STAGE_VERTEX_BIT)}, {0, 1 << 40}}}
	for _, err := range []error{
		s.SetState(state.State, state.Values...),
		s.BindVertexBuffers2(buffers.First, buffers.Strides, buffers.Buffers),
		s.DrawMulti(draws.Indexed, draws.InstanceCount, draws.FirstInstance, draws.Draws),
		s.SetLocations(locations.Locations),
		s.BindShaders(shaders.Shaders),
		s.SetInputs(inputs.Inputs),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.End()
	n := 0
	for r := range s.Records() {
		read := func(r *Record) (any, bool) {
			switch r.Op {
			case OpSetState:
				var c SetState
				ok := r.SetState(&c)
				return c, ok
			case OpBindVertexBuffers2:
				var c BindVertexBuffers2
				ok := r.BindVertexBuffers2(&c)
				return c, ok
			case OpSetLocations:
				var c SetLocations
				ok := r.SetLocations(&c)
				return c, ok
			case OpSetInputs:
				var c SetInputs
				ok := r.SetInputs(&c)
				return c, ok
			case OpBindShaders:
				var c BindShaders
				ok := r.BindShaders(&c)
				return c, ok
			}
			var c DrawMulti
			ok := r.DrawMulti(&c)
			return c, ok
		}
		want := []any{state, buffers, draws, locations, shaders, inputs}[n]
		if got, ok := read(r); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v, %v, want %+v", r.Op, got, ok, want)
		}
		for size := range len(r.words) {
			if _, ok := read(&Record{Op: r.Op, words: r.words[:size]}); ok {
				t.Errorf("%v: a record of %d of %d words is read", r.Op, size, len(r.words))
			}
		}
		if _, ok := read(&Record{Op: r.Op, words: append(r.words[:len(r.words):len(r.words)], 0)}); ok {
			t.Errorf("%v: a record that is too long is read", r.Op)
		}
		n++
	}
	if n != 6 || s.Err() != nil {
		t.Errorf("%d records, %v", n, s.Err())
	}
	if Float(state.Values[0]) != 1.5 {
		t.Error("a float has changed")
	}
	s.Reset()
	pool.Close()
}
