package exec

import (
	"errors"
	"sync"
	"testing"

	"farside/compute"
	"farside/internal/command"
	"farside/internal/descriptor"
	"farside/internal/draw"
	"farside/internal/vk"
)

// stageShader is a stage that does nothing. It counts the batches that have begun, and those that are open.
type stageShader struct {
	modes       compute.StageModes
	made        int // batches: one for a series, without workers
	begun, open int
	err         error // of the ends
}

func (s *stageShader) Inputs() []compute.Variable       { return nil }
func (s *stageShader) Outputs() []compute.Variable      { return nil }
func (s *stageShader) Stage() *compute.StageModes       { return &s.modes }
func (s *stageShader) NewBatch(uint64) compute.Batch    { s.made++; return s }
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
		{"constants that are read", func(s *command.Stream) error { return s.PushConstants(0, 0, 4, []byte{1, 0, 0, 0}) }, 1,
			true},
		{"state again", func(s *command.Stream) error { return s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 7) }, 1,
			false},
		{"viewport", func(s *command.Stream) error { return s.SetViewport(0, []vk.Viewport{{Width: 1}}) }, 1, false},
		{"scissor", func(s *command.Stream) error { return s.SetScissor(0, []vk.Rect2D{{}}) }, 1, false},
		{"state", func(s *command.Stream) error { return s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 1) }, 2, false},
		{"pipeline", func(s *command.Stream) error { return s.BindPipeline(graphics1, 1) }, 2, false},
		{"the same pipeline", func(s *command.Stream) error { return s.BindPipeline(graphics1, 3) }, 1, false},
		{"barrier", func(s *command.Stream) error { return s.Barrier() }, 2, false},
		{"query", func(s *command.Stream) error { return s.BeginQuery(1, 0, 0) }, 2, false},
		{"update", func(s *command.Stream) error { return s.UpdateBuffer(1, 0, make([]byte, 8)) }, 2, false},
	} {
		*vertex, *fragment = stageShader{}, stageShader{}
		fragment.modes.Constants = test.reads
		if err := d.execute(t, func(s *command.Stream) error {
			return errors.Join(s.BindPipeline(graphics1, 3), buffers(s, false),
				s.SetState(vk.DYNAMIC_STATE_STENCIL_REFERENCE, 3, 7), s.Draw(3, 1, 0, 0), test.add(s),
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

// seen is what shaders would find in a draw.
type seen struct {
	changed                  draw.Changes
	environment              *compute.Environment // of fragments
	constant                 byte
	vertex, fragment, pushed uint64 // bytes of buffers
}

func see(d *draw.Draw, set uint32) seen {
	return seen{d.Changed, d.Fragment, d.Fragment.PushConstants[4], d.Vertex.Bindings.Memory(0, 1, 0).Size,
		d.Fragment.Bindings.Memory(0, 1, 0).Size, d.Fragment.Bindings.Memory(set, 0, 0).Size}
}

// TestSeriesEnvironments has each draw of a series find what was bound for it, however long it waits.
func TestSeriesEnvironments(t *testing.T) {
	d := newDrawTest(t)
	d.pass.Colors = nil
	vertex, fragment := d.shaders()
	vertex.modes.Sets, fragment.modes.Sets, fragment.modes.Constants = 1, 3, true
	d.buffer(t, 1, 64)
	d.sets[1] = descriptor.NewSet(layout(t), 0)
	write := bufferWrite(1, 0, 1, 0, 8)
	write.Type = vk.DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC
	must(t, d.sets[1].Write(&write))
	d.sets[2] = d.sets[1].Clone()
	pushes := pushLayout(t, 1)
	var before []seen // of the draws of the series
	var draws []draw.Draw
	executeDraw = func(s *draw.Series, c *draw.Draw) error {
		for i := range draws {
			if now := see(&draws[i], 1); now.constant != before[i].constant || now.fragment != before[i].fragment ||
				now.pushed != before[i].pushed {
				t.Errorf("draw %d finds %+v behind command %d, no longer %+v", i, now, len(draws), before[i])
			}
		}
		draws, before = append(draws, *c), append(before, see(c, 1))
		return s.Draw(c)
	}
	defer func() { executeDraw = (*draw.Series).Draw }()
	bind := func(s *command.Stream, set vk.DescriptorSet, offset uint32) error {
		return s.BindDescriptorSets(graphics1, 0, 0, []vk.DescriptorSet{set}, []uint32{offset})
	}
	push := func(s *command.Stream, size uint64) error {
		return s.PushDescriptorSet(graphics1, pushes, 1, []descriptor.Write{bufferWrite(0, 0, 1, 0, size)})
	}
	if err := d.execute(t, func(s *command.Stream) error {
		draw := func() error { return s.Draw(3, 1, 0, 0) }
		return errors.Join(s.BindPipeline(graphics1, 1), bind(s, 1, 0), push(s, 16), draw(), draw(), // 1
			bind(s, 1, 0), s.PushConstants(0, 0, 4, make([]byte, 4)), draw(), // 2: the same again
			bind(s, 1, 56), s.Draw(0, 1, 0, 0), draw(), bind(s, 2, 60), draw(), // 4
			push(s, 32), draw(), push(s, 48), draw(), // 6
			s.PushConstants(0, 0, 4, []byte{9, 0, 0, 0}), draw()) // 7
	}); err != nil {
		t.Fatal(err)
	}
	want := []seen{{0, nil, 0, 8, 8, 16}, {0, nil, 0, 8, 8, 16}, {0, nil, 0, 8, 8, 16},
		{draw.ChangedBindings, nil, 0, 8, 8, 16}, {draw.ChangedBindings, nil, 0, 4, 4, 16}, {0, nil, 0, 4, 4, 32},
		{0, nil, 0, 4, 4, 48}, {0, nil, 9, 4, 4, 48}}
	if len(before) != len(want) {
		t.Fatalf("%d draws, want %d", len(before), len(want))
	}
	others := 0
	for i, got := range before {
		if i > 0 && got.environment != before[i-1].environment {
			others++
		}
		if got.environment = nil; i > 0 && got != want[i] {
			t.Errorf("draw %d finds %+v, want %+v", i, got, want[i])
		}
	}
	if others != 5 || vertex.made != 1 || fragment.made != 1 || vertex.begun != 3 {
		t.Errorf("%d changes of the environment, %d and %d series, %d beginnings", others, vertex.made, fragment.made,
			vertex.begun)
	}
	testManyEnvironments(t, d, vertex, push)
}

// testManyEnvironments has a series end when it has too many environments.
func testManyEnvironments(t *testing.T, d *drawTest, vertex *stageShader,
	push func(*command.Stream, uint64) error) {
	t.Helper()
	executeDraw = (*draw.Series).Draw
	vertex.made = 0
	err := d.execute(t, func(s *command.Stream) error {
		err := errors.Join(s.BindPipeline(graphics1, 1), push(s, 16))
		for i := range uint64(mostEnvironments + 1) {
			err = errors.Join(err, push(s, 1+i%64), s.Draw(3, 1, 0, 0))
		}
		return err
	})
	if err != nil || vertex.made != 2 {
		t.Errorf("%d series: %v", vertex.made, err)
	}
}

// TestSeriesLookUps has shaders of draws that wait look buffers up while commands do: for the race detector.
func TestSeriesLookUps(t *testing.T) {
	d := newDrawTest(t)
	d.pass.Colors = nil
	_, fragment := d.shaders()
	fragment.modes.Sets = 1
	d.buffer(t, 2, 64)
	d.buffer(t, 3, 64)
	d.sets[1] = descriptor.NewSet(layout(t), 0)
	write := bufferWrite(0, 0, 2, 0, 8)
	must(t, d.sets[1].Write(&write))
	var waits sync.WaitGroup
	executeDraw = func(s *draw.Series, c *draw.Draw) error {
		if waits.Wait(); c.First == 0 {
			find := c.Fragment.Bindings
			waits.Go(func() { find.Memory(0, 0, 0) })
		}
		return s.Draw(c)
	}
	defer func() { executeDraw = (*draw.Series).Draw }()
	must(t, d.execute(t, func(s *command.Stream) error {
		return errors.Join(s.BindPipeline(graphics1, 1),
			s.BindDescriptorSets(graphics1, 0, 0, []vk.DescriptorSet{1}, []uint32{0}), s.Draw(3, 1, 0, 0),
			s.BindVertexBuffers2(0, false, []command.VertexBuffer{{Buffer: 3, Size: 8}}), s.Draw(3, 1, 1, 0))
	}))
}
