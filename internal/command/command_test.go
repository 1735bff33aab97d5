package command

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"farside/internal/descriptor"
	"farside/internal/vk"
)

// mapped counts the chunks of the process that the system has not got back.
var mapped = struct {
	sync.Mutex
	count  int
	refuse bool
}{}

// unexported has values compared by all of their fields: colours are bytes that nobody outside of vk sees.
var unexported = cmp.Exporter(func(reflect.Type) bool { return true })

func TestMain(m *testing.M) {
	mmap = func(fd int, offset int64, length, prot, flags int) ([]byte, error) {
		mapped.Lock()
		defer mapped.Unlock()
		if mapped.refuse {
			return nil, syscall.ENOMEM
		}
		mapped.count++
		return syscall.Mmap(fd, offset, length, prot, flags)
	}
	munmap = func(b []byte) error {
		mapped.Lock()
		defer mapped.Unlock()
		mapped.count--
		return syscall.Munmap(b)
	}
	os.Exit(m.Run())
}

// recorder is a stream and what it needs. At the test's end all of its memory must be back.
type recorder struct {
	*Stream
	window Window
	memory Pool
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	before := mapped.count
	r := &recorder{}
	r.Stream = NewStream(&r.memory, &r.window)
	t.Cleanup(func() {
		r.Reset()
		r.memory.Close()
		if mapped.count != before {
			t.Errorf("%d chunks are mapped, %d were before", mapped.count, before)
		}
	})
	r.begin(t)
	return r
}

func (r *recorder) begin(t testing.TB) {
	t.Helper()
	if err := r.Begin(); err != nil {
		t.Fatal(err)
	}
}

func (r *recorder) records(t testing.TB) []Record {
	t.Helper()
	r.End()
	var list []Record
	for record := range r.Records() {
		list = append(list, *record)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// random fills v, and what it points to, with anything.
func random(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+r.IntN(9), 10))
		for i := range v.Len() {
			random(r, v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		random(r, v.Elem())
	case reflect.Array:
		for i := range v.Len() {
			random(r, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				random(r, v.Field(i))
			}
		}
	case reflect.Float32:
		v.SetFloat(float64(r.Float32()))
	case reflect.Int32:
		v.SetInt(int64(int32(r.Uint32())))
	default:
		v.SetUint(r.Uint64() >> (64 - v.Type().Bits()))
	}
}

// decode reads a record by the decoder of a name.
func decode(r *Record, name string) (command reflect.Value, ok bool) {
	f := reflect.ValueOf(r).MethodByName(name)
	c := reflect.New(f.Type().In(0).Elem())
	ok = f.Call([]reflect.Value{c})[0].Bool()
	return c.Elem(), ok
}

// TestEveryCommand records each command with random arguments and reads it back.
func TestEveryCommand(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for op := OpFillBuffer; int(op) < len(opNames); op++ {
		name := strings.TrimPrefix(op.String(), "vkCmd")
		for range 20 {
			s := newRecorder(t)
			encode := reflect.ValueOf(s.Stream).MethodByName(name)
			args := make([]reflect.Value, encode.Type().NumIn())
			for i := range args {
				args[i] = reflect.New(encode.Type().In(i)).Elem()
				random(r, args[i])
			}
			if err, _ := encode.Call(args)[0].Interface().(error); err != nil {
				t.Fatal(err)
			}
			list := s.records(t)
			if len(list) != 1 || list[0].Op != op {
				t.Fatalf("%v: recorded %v", op, list)
			}
			got, ok := decode(&list[0], name)
			if !ok {
				t.Fatalf("%v: not read back", op)
			}
			for i := range args {
				if want, got := args[i].Interface(), got.Field(i).Interface(); !cmp.Equal(want, got, unexported) {
					t.Errorf("%v: argument %d is %v, want %v", op, i, got, want)
				}
			}
			// A record that is shorter or longer by a word is none.
			for _, words := range [][]uint64{list[0].words[:max(len(list[0].words)-1, 0)], append(list[0].words, 0)} {
				if len(words) == len(list[0].words) {
					continue // the command has no arguments
				}
				if _, bad := decode(&Record{Op: op, words: words}, name); bad {
					t.Errorf("%v: a record of %d words instead of %d is read", op, len(words), len(list[0].words))
				}
			}
			if _, other := decode(&Record{Op: op + 1, words: list[0].words}, name); other {
				t.Errorf("%v: the record of another op is read", op)
			}
		}
	}
}

func TestRecordLayout(t *testing.T) {
	s := newRecorder(t)
	if err := s.BlitImage(7, vk.IMAGE_LAYOUT_PRESENT_SRC_KHR, 8, -1, []vk.ImageBlit{{}, {}},
		vk.FILTER_LINEAR); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateBuffer(9, 4, []byte("abcdefghijkl")); err != nil {
		t.Fatal(err)
	}
	s.End()
	got := s.chunks[0].words[:s.chunks[0].used]
	want := make([]uint64, 7+20+6)
	copy(want, []uint64{uint64(OpBlitImage) | 27<<32, 7, 1000001002, 8, 0xffffffff, 2, 1})
	copy(want[27:], []uint64{uint64(OpUpdateBuffer) | 6<<32, 9, 4, 12,
		binary.NativeEndian.Uint64([]byte("abcdefgh")), binary.NativeEndian.Uint64([]byte("ijkl\x00\x00\x00\x00"))})
	if !slices.Equal(want, got) {
		t.Errorf("recorded %x, want %x", got, want)
	}
}

func TestDebugLabel(t *testing.T) {
	s := newRecorder(t)
	want := DebugLabel{LabelInsert, [4]float32{1, .5, .25, 0}, []byte("a label")}
	if err := s.DebugLabel(want.Kind, want.Color, string(want.Name)); err != nil {
		t.Fatal(err)
	}
	if err := s.DebugLabel(LabelEnd, [4]float32{}, ""); err != nil {
		t.Fatal(err)
	}
	list := s.records(t)
	if len(list) != 2 {
		t.Fatalf("%d records", len(list))
	}
	if got := new(DebugLabel); !list[0].DebugLabel(got) || !cmp.Equal(want, *got, unexported) {
		t.Errorf("%v", got)
	}
	if got := new(DebugLabel); !list[1].DebugLabel(got) || got.Kind != LabelEnd || len(got.Name) != 0 {
		t.Errorf("%v", got)
	}
	for n := range list[0].words {
		if (&Record{Op: OpDebugLabel, words: list[0].words[:n]}).DebugLabel(new(DebugLabel)) {
			t.Errorf("a label of %d words is read", n)
		}
	}
}

// TestGrows records across chunks, with records that no chunk of the usual size holds.
func TestGrows(t *testing.T) {
	s := newRecorder(t)
	before := mapped.count - 1
	for round := range 3 {
		big := bytes.Repeat([]byte{byte(round + 1)}, 200_000)
		for i := range 5000 {
			if err := s.FillBuffer(vk.Buffer(i), 0, 4, uint32(i)); err != nil {
				t.Fatal(err)
			}
			if i%1000 == 500 {
				if err := s.UpdateBuffer(vk.Buffer(i), 0, big); err != nil {
					t.Fatal(err)
				}
			}
		}
		list := s.records(t)
		if len(list) != 5005 {
			t.Fatalf("%d records", len(list))
		}
		fills, updates := 0, 0
		for _, r := range list {
			if c := new(UpdateBuffer); r.UpdateBuffer(c) && bytes.Equal(c.Data, big) {
				updates++
			} else if c := new(FillBuffer); r.FillBuffer(c) && c.Data == uint32(fills) {
				fills++
			}
		}
		if fills != 5000 || updates != 5 {
			t.Fatalf("%d fills and %d updates", fills, updates)
		}
		if n := mapped.count - before; round > 0 && n > 15 {
			t.Errorf("round %d: %d chunks, so they are not reused", round, n)
		}
		s.Reset()
		if s.window != (Window{}) {
			t.Errorf("the window of a reset stream is %v", s.window)
		}
		s.begin(t)
	}
	s.Reset()
	s.memory.Trim()
	if mapped.count != before {
		t.Errorf("%d chunks are left after Trim", mapped.count-before)
	}
}

// TestPoolClosesFirst resets a stream after its pool is gone.
func TestPoolClosesFirst(t *testing.T) {
	before := mapped.count
	var p Pool
	var w Window
	s := NewStream(&p, &w)
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	p.Close()
	if err := s.FillBuffer(1, 0, 4, 2); err != nil {
		t.Fatal(err)
	}
	s.End()
	for r := range s.Records() {
		if c := new(FillBuffer); !r.FillBuffer(c) || c.DstBuffer != 1 {
			t.Errorf("read %v", c)
		}
	}
	s.Reset()
	if mapped.count != before {
		t.Errorf("%d chunks are left", mapped.count-before)
	}
}

func TestNoMemory(t *testing.T) {
	s := newRecorder(t)
	mapped.refuse = true
	defer func() { mapped.refuse = false }()
	n := 0
	for err := error(nil); err == nil; n++ {
		if err = s.FillBuffer(vk.Buffer(n), 0, 4, 0); err != nil && !errors.Is(err, ErrMemory) {
			t.Fatal(err)
		}
	}
	if err := s.UpdateBuffer(1, 0, make([]byte, 1<<20)); !errors.Is(err, ErrMemory) {
		t.Errorf("a large record: %v", err)
	}
	// What was recorded before stays.
	if list := s.records(t); len(list) != n-1 {
		t.Errorf("%d records, want %d", len(list), n-1)
	}
	var w Window
	if err := NewStream(&Pool{}, &w).Begin(); !errors.Is(err, ErrMemory) || w != (Window{}) {
		t.Errorf("Begin: %v, %v", err, w)
	}
}

// TestFaultLeavesNoRecord copies from memory that is not there.
func TestFaultLeavesNoRecord(t *testing.T) {
	s := newRecorder(t)
	if err := s.FillBuffer(1, 0, 4, 0); err != nil {
		t.Fatal(err)
	}
	page, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_NONE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Munmap(page) }()
	func() {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = s.UpdateBuffer(1, 0, page[:64])
	}()
	if list := s.records(t); len(list) != 1 {
		t.Errorf("%d records", len(list))
	}
}

// TestStrayWindow lets the application overwrite the window.
func TestStrayWindow(t *testing.T) {
	for _, w := range []Window{{}, {8, 16}, {^uintptr(0), ^uintptr(0)}} {
		s := newRecorder(t)
		s.window = w
		if err := s.FillBuffer(1, 0, 4, 0); err != nil {
			t.Fatal(err)
		}
		s.window = w
		s.End()
		for range s.Records() {
			t.Error("a record")
		}
		if s.Err() == nil {
			t.Error("the damage is not seen")
		}
		s.Reset()
		s.begin(t)
		if list := s.records(t); len(list) != 0 {
			t.Errorf("%d records after Reset", len(list))
		}
	}
}

func TestOpString(t *testing.T) {
	for op, want := range map[Op]string{0: "Op(0)", OpCopyImage: "vkCmdCopyImage", OpDebugLabel: "debug label",
		OpPushDescriptorSet: "vkCmdPushDescriptorSet", OpDeviceMask: "vkCmdSetDeviceMask", 4711: "Op(4711)"} {
		if op.String() != want {
			t.Errorf("%d is %q", uint32(op), op)
		}
	}
}

// consume reads a record by every decoder and all that it points to.
func consume(r *Record) (sum uint64) {
	v := reflect.ValueOf(r)
	for i := range v.NumMethod() {
		c, ok := decode(r, v.Type().Method(i).Name)
		if !ok {
			continue
		}
		for i := range c.NumField() {
			f := c.Field(i)
			if f.CanInterface() && f.Kind() == reflect.Slice && f.Len() > 0 {
				first, last := f.Index(0).Interface(), f.Index(f.Len()-1).Interface()
				if cmp.Equal(first, last, unexported) {
					sum++
				}
			} else if f.Kind() == reflect.Pointer && f.Elem().IsZero() {
				sum++
			}
		}
	}
	if c := new(PushDescriptorSet); r.PushDescriptorSet(c) {
		for w := range c.Writes() {
			for _, b := range w.Data {
				sum += uint64(b)
			}
		}
	}
	return sum
}

// TestBarrier records barriers with what they hand over.
func TestBarrier(t *testing.T) {
	s := newRecorder(t)
	want := []Transfer{
		{Type: vk.OBJECT_TYPE_BUFFER, Src: 0, Dst: vk.QUEUE_FAMILY_EXTERNAL, Handle: 5, Offset: 6, Size: 7},
		{Type: vk.OBJECT_TYPE_IMAGE, Src: vk.QUEUE_FAMILY_FOREIGN_EXT, Old: 1, New: 2, Handle: 3, Size: vk.WHOLE_SIZE,
			Range: vk.ImageSubresourceRange{AspectMask: 1, BaseMipLevel: 2, LevelCount: 3, BaseArrayLayer: 4, LayerCount: 5}},
	}
	if err := errors.Join(s.Barrier(), s.Barrier(want...)); err != nil {
		t.Fatal(err)
	}
	list := s.records(t)
	if got := new(Barrier); !list[0].Barrier(got) || len(got.Transfers) != 0 {
		t.Errorf("a barrier without transfers has %v", got)
	}
	if got := new(Barrier); !list[1].Barrier(got) || !cmp.Equal(want, got.Transfers, unexported) {
		t.Errorf("%s", cmp.Diff(want, got.Transfers, unexported))
	}
	for n := range list[1].words {
		got := new(Barrier)
		if (&Record{Op: OpBarrier, words: list[1].words[:n]}).Barrier(got) {
			t.Errorf("%d words of %d are %v", n, len(list[1].words), got)
		}
	}
}

// FuzzRecords takes any bytes for a stream.
func FuzzRecords(f *testing.F) {
	s := newRecorder(f)
	for _, err := range []error{
		s.FillBuffer(1, 0, 4, 5),
		s.CopyBuffer(1, 2, make([]vk.BufferCopy, 3)),
		s.ClearColorImage(1, 2, &vk.ClearColorValue{}, make([]vk.ImageSubresourceRange, 2)),
		s.WaitEvents([]vk.Event{1, 2}, 3, 4),
		s.DebugLabel(LabelBegin, [4]float32{}, "label"),
		s.Barrier(Transfer{Src: vk.QUEUE_FAMILY_EXTERNAL}, Transfer{}),
		s.DeviceMask(2),
		s.PushDescriptorSet(1, &descriptor.Layout{}, 0,
			[]descriptor.Write{{Count: 1, Type: vk.DESCRIPTOR_TYPE_STORAGE_BUFFER, Data: make([]byte, 24)}}),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	s.End()
	valid := bytesOf(s.chunks[0].words[:s.chunks[0].used])
	f.Add(bytes.Clone(valid))
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Add(binary.NativeEndian.AppendUint64(nil, uint64(OpCopyBuffer)|4<<32))
	f.Fuzz(func(t *testing.T, data []byte) {
		words := make([]uint64, len(data)/8)
		copy(bytesOf(words), data)
		// The words stand at the end of their memory, as in a full chunk.
		s := Stream{chunks: []chunk{{words, len(words)}}, layouts: []*descriptor.Layout{{}}}
		n := 0
		for r := range s.Records() {
			consume(r)
			n += 1 + len(r.words)
		}
		if n != len(words) && s.Err() == nil {
			t.Errorf("the walk ended at word %d of %d without an error", n, len(words))
		}
	})
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	s := newRecorder(t)
	regions := make([]vk.BufferCopy, 2)
	if n := testing.AllocsPerRun(100, func() {
		if s.FillBuffer(1, 0, 4, 5) != nil || s.CopyBuffer(1, 2, regions) != nil {
			t.Error("not recorded")
		}
	}); n != 0 {
		t.Errorf("%v allocations to record", n)
	}
	s.End()
	if n := testing.AllocsPerRun(100, func() {
		for r := range s.Records() {
			if c := new(CopyBuffer); r.CopyBuffer(c) && len(c.Regions) != 2 {
				t.Error("not read back")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations to read", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	s := newRecorder(b)
	for i := 0; b.Loop(); i++ {
		if i == 1000 {
			i = 0
			s.Reset()
			s.begin(b)
		}
		if err := s.FillBuffer(1, 0, 4, 5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is the time to walk over and decode a record.
func BenchmarkRead(b *testing.B) {
	s := newRecorder(b)
	const n = 1000
	for range n {
		if err := s.FillBuffer(1, 0, 4, 5); err != nil {
			b.Fatal(err)
		}
	}
	s.End()
	var sum uint64
	for b.Loop() {
		for r := range s.Records() {
			c := new(FillBuffer)
			r.FillBuffer(c)
			sum += c.Size
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
	_ = sum
}
