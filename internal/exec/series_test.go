package exec

import (
	"errors"
	"testing"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/draw"
	"farside/internal/vk"
)

// stageShader is a stage that does nothing. It counts the batches that have begun, and those that are open.
type stageShader struct {
	modes       compute.StageModes
	begun, open int
	err         error // of the ends
}

func (s *stageShader) Inputs() []compute.Variable       { return nil }
func (s *stageShader) Outputs() []compute.Variable      { return nil }
func (s *stageShader) Stage() *compute.StageModes       { return &s.modes }
func (s *stageShader) NewBatch() compute.Batch          { return s }
func (s *stageShader) Lanes() int                       { return 8 }
func (s *stageShader) Begin(*compute.Environment) error { s.begun++; s.open++; return nil }
func (s *stageShader) Input(int) []uint32               { return nil }
func (s *stageShader) Output(int) []uint32              { return nil }
func (s *stageShader) Run(_, _ []uint8) bool            { return true }
func (s *stageShader) End() error                       { s.open--; return s.err }
func (s *stageShader) Release()                         {}
func (d *drawTest) shaders() (vertex, fragment *stageShader) {
	vertex, fragment = new(stageShader), new(stageShader)
	for _, p := range d.pipelines {
		if p != nil && p.Graphics != nil {
			p.Graphics.State.Vertex, p.Graphics.State.Fragment = vertex, fragment
		}
	}
	return vertex, fragment
}

// TestSeries has draws join as long as no command comes that could matter, and end with the command buffer.
func TestSeries(t *testing.T) {
	d := newDrawTest(t)
	executeDraw = (*draw.Series).Draw
	d.pass.Colors = nil
	vertex, fragment := d.shaders()
	var err error
	d.pools[1], err = NewDrawQueryPool(vk.QUERY_TYPE_PIPELINE_STATISTICS, 2,
		vk.QUERY_PIPELINE_STATISTIC_INPUT_ASSEMBLY_VERTICES_BIT)
	must(t, err)
	buffers := func(s *command.Stream, strides bool) error {
		return s.BindVertexBuffers2(3, strides, []command.VertexBuffer{{Buffer: 1, Size: 8, Stride: 4}})
	}
	for _, test := range []struct {
		name  string
		add   func(s *command.Stream) error // between two draws
		want  int                           // series
		reads bool                          // the fragment shader reads push constants
	}{
		{"nothing", func(*command.Stream) error { return nil }, 1, true},
		{"vertex buffers", func(s *command.Stream) error { return buffers(s, false) }, 1, true},
		{"strides", func(s *command.Stream) error { return buffers(s, true) }, 2, false},
		{"indices", func(s *command.Stream) error { return s.BindIndexBuffer(1, 0, vk.INDEX_TYPE_UINT16) }, 1, true},
		{"constants", func(s *command.Stream) error { return s.PushConstants(0, 0, 4, make([]byte, 8)) }, 1, false},
		{"constants that are read", func(s *command.Stream) error { return s.PushConstants(0, 0, 4, make([]byte, 8)) }, 2,
			true},
		{"state", func(s *command.Stream) error { return s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 1) }, 2, false},
		{"pipeline", func(s *command.Stream) error { return s.BindPipeline(graphics1, 3) }, 2, false},
		{"barrier", func(s *command.Stream) error { return s.Barrier() }, 2, false},
		{"query", func(s *command.Stream) error { return s.BeginQuery(1, 0, 0) }, 2, false},
		{"update", func(s *command.Stream) error { return s.UpdateBuffer(1, 0, make([]byte, 8)) }, 2, false},
	} {
		*vertex, *fragment = stageShader{}, stageShader{}
		fragment.modes.Constants = test.reads
		if err := d.execute(t, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 3), buffers(s, false), s.Draw(3, 1, 0, 0), test.add(s),
				s.Draw(3, 1, 0, 0), s.DrawMulti(false, 1, 0, []command.Multi{{Count: 3}, {Count: 3}}))
		}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if vertex.begun != test.want || fragment.begun != test.want || vertex.open != 0 || fragment.open != 0 {
			t.Errorf("%s: %d and %d series, want %d; %d and %d are open", test.name, vertex.begun, fragment.begun, test.want,
				vertex.open, fragment.open)
		}
	}
	testSeriesAsked(t, d, vertex)
}

// testSeriesAsked has queries count the draws between their ends, nobody's draws join where somebody asks about each
// command, and errors be told of the last draw.
func testSeriesAsked(t *testing.T, d *drawTest, vertex *stageShader) {
	t.Helper()
	two := func(s *command.Stream) error {
		return errors.Join(s.BindPipeline(graphics1, 1), s.Draw(3, 1, 0, 0), s.Draw(4, 1, 0, 0))
	}
	*vertex = stageShader{}
	if err := d.execute(t, func(s *command.Stream) error {
		return errors.Join(two(s), s.BeginQuery(1, 1, 0), two(s), s.EndQuery(1, 1), two(s))
	}); err != nil {
		t.Fatal(err)
	}
	if got := d.pools[1].more[1]; got != 7 || vertex.begun != 3 {
		t.Errorf("the query has counted %d vertices, in %d series", got, vertex.begun)
	}
	*vertex = stageShader{err: errors.New("bad")}
	err := d.execute(t, func(s *command.Stream) error { return errors.Join(two(s), s.Barrier()) })
	if err == nil || err.Error() != "command 2, vkCmdDraw: bad" || vk.ResultOf(err) != vk.ERROR_DEVICE_LOST {
		t.Errorf("the error is %v", err)
	}
	*vertex = stageShader{}
	d.Watch = func(*Access) {}
	if err := d.execute(t, two); err != nil || vertex.begun != 2 {
		t.Errorf("%d series while somebody watches: %v", vertex.begun, err)
	}
	d.Watch = nil
	*vertex = stageShader{}
	err = d.execute(t, func(s *command.Stream) error {
		return errors.Join(two(s), s.BindIndexBuffer(1, 1, vk.INDEX_TYPE_UINT16))
	})
	if err == nil || vertex.begun != 1 || vertex.open != 0 {
		t.Errorf("%d series and %d batches are left by a command that fails: %v", vertex.begun, vertex.open, err)
	}
}
