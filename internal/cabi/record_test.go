package cabi

import (
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"farside/internal/command"
	"farside/internal/handle"
)

// slots is a slab: its first slot is a command buffer's, the others are nobody's.
type slots struct {
	memory []uint64
	slab   handle.Slab
	room   []uint64 // where the command buffer's records go
}

const roomWords = 1024

func newSlots(t testing.TB) *slots {
	t.Helper()
	page, err := syscall.Mmap(-1, 0, 4096+roomWords*8, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&page[0])), len(page)/8)
	s := &slots{memory: words[:512], room: words[512:]}
	s.slab.Base.Store(uintptr(unsafe.Pointer(&s.memory[0])))
	s.slab.Size.Store(4096)
	before := commandBuffers
	RecordInto(&s.slab)
	t.Cleanup(func() {
		commandBuffers = before
		_ = syscall.Munmap(page)
	})
	return s
}

func (s *slots) handle() uintptr { return s.slab.Base.Load() }

// open lets the command buffer take a number of words.
func (s *slots) open(words int) {
	for i := range s.room {
		s.room[i] = 0xdddddddddddddddd
	}
	s.memory[1] = uint64(uintptr(unsafe.Pointer(&s.room[0])))
	s.memory[2] = s.memory[1] + uint64(words)*8
	s.memory[3] = 1 // commands of graphics, too
}

// recorded returns the words that were appended. What is behind them must be untouched.
func (s *slots) recorded(t *testing.T) []uint64 {
	t.Helper()
	n := (s.memory[1] - uint64(uintptr(unsafe.Pointer(&s.room[0])))) / 8
	for i, w := range s.room[n:] {
		if w != 0xdddddddddddddddd {
			t.Fatalf("word %d behind the %d that are recorded was written", i, n)
		}
	}
	return s.room[:n]
}

// entered counts the calls of a command that enter Go, and checks that its arguments have arrived.
func entered(t *testing.T, name string, args *[]uintptr) *int {
	n := new(int)
	i := slices.Index(names[:], name)
	before := dispatchers[i]
	dispatchers[i] = func(f *Frame) {
		*n++
		for i, want := range *args {
			if got := f.word(i); got != want {
				t.Errorf("%s: argument %d arrived as %#x, want %#x", name, i, got, want)
			}
		}
	}
	t.Cleanup(func() { dispatchers[i] = before })
	return n
}

// invocation is a call of a recorded command: as the encoder of package command takes it and as C does.
type invocation struct {
	encoder  []reflect.Value
	c        []uintptr
	counts   []int // which of c count the elements of an array
	pointers []int // which of c are pointers
}

// words fills memory with random words.
func words(r *rand.Rand, v reflect.Value) {
	b := unsafe.Slice((*uint32)(v.UnsafePointer()), v.Type().Elem().Size()/4)
	for i := range b {
		b[i] = r.Uint32()
	}
}

// random makes a call with random arguments whose array, if there is one, has n elements. C leaves the upper
// half of a register undefined when the argument is of 32 bits.
func random(r *rand.Rand, encoder reflect.Type, commandBuffer uintptr, n int) *invocation {
	v := &invocation{c: []uintptr{commandBuffer}}
	for i := range encoder.NumIn() {
		t := encoder.In(i)
		word := r.Uint64()
		a := reflect.New(t).Elem()
		switch t.Kind() {
		case reflect.Slice:
			if len(v.counts) > 0 { // a second array has another length, also 0
				n = n * n % 7
			}
			a = reflect.MakeSlice(t, n, n)
			if t.Elem().Kind() == reflect.Uint8 {
				for i := range n {
					a.Index(i).SetUint(uint64(r.IntN(256)))
				}
			} else {
				for i := range n {
					words(r, a.Index(i).Addr())
				}
			}
			v.counts = append(v.counts, len(v.c))
			count := uintptr(n)
			if t.Elem().Size() != 1 {
				count |= uintptr(word) &^ (1<<32 - 1)
			}
			v.pointers = append(v.pointers, len(v.c)+1)
			pointer := a.Pointer()
			if n == 0 {
				pointer = 3
			}
			v.c = append(v.c, count, pointer)
		case reflect.Pointer:
			a = reflect.New(t.Elem())
			words(r, a)
			v.pointers = append(v.pointers, len(v.c))
			v.c = append(v.c, a.Pointer())
		case reflect.Int32:
			a.SetInt(int64(int32(word)))
			v.c = append(v.c, uintptr(word))
		case reflect.Uint32:
			a.SetUint(uint64(uint32(word)))
			v.c = append(v.c, uintptr(word))
		default:
			a.SetUint(word)
			v.c = append(v.c, uintptr(word))
		}
		v.encoder = append(v.encoder, a)
	}
	return v
}

// expected is what the encoder of package command makes of the call.
func (v *invocation) expected(t *testing.T, name string) []uint64 {
	t.Helper()
	var pool command.Pool
	var w command.Window
	s := command.NewStream(&pool, &w)
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	start := w.Cursor
	if err, _ := reflect.ValueOf(s).MethodByName(name).Call(v.encoder)[0].Interface().(error); err != nil {
		t.Fatal(err)
	}
	list := slices.Clone(unsafe.Slice(*(**uint64)(unsafe.Pointer(&start)), (w.Cursor-start)/8))
	s.End()
	s.Reset()
	pool.Close()
	return list
}

// recordedOps are the commands that streams hold, without vkCmd; enterGo says which always enter Go.
func recordedOps() (names []string) {
	for op := command.OpFillBuffer; !strings.HasPrefix(op.String(), "Op("); op++ {
		names = append(names, strings.TrimPrefix(op.String(), "vkCmd"))
	}
	return names
}

var enterGo = map[string]bool{"WaitEvents": true, "ExecuteCommands": true}

// TestRecordingStubs calls the stub of every recorded command: it must leave what the encoder leaves.
func TestRecordingStubs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := newSlots(t)
	for _, name := range recordedOps() {
		signature := reflect.ValueOf(command.NewStream(nil, nil)).MethodByName(name).Type()
		entry := Entry("vkCmd" + name)
		if entry == 0 {
			t.Fatalf("no entry for vkCmd%s", name)
		}
		var call *invocation
		calls := entered(t, "vkCmd"+name, new([]uintptr))
		for _, n := range []int{4, 8, 1, 2, 3, 5, 7, 51} {
			if name == "UpdateBuffer" || name == "PushConstants" {
				n *= 4
			}
			call = random(r, signature, s.handle(), n)
			s.open(roomWords)
			purego.SyscallN(entry, call.c...)
			if enterGo[name] {
				continue
			}
			want := call.expected(t, name)
			if got := s.recorded(t); !slices.Equal(got, want) {
				t.Errorf("%s with %d elements: recorded\n%x, want\n%x", name, n, got, want)
			}
			// Where there is exactly enough room.
			s.open(len(want))
			purego.SyscallN(entry, call.c...)
			if got := s.recorded(t); !slices.Equal(got, want) {
				t.Errorf("%s into a tight room: recorded\n%x, want\n%x", name, got, want)
			}
			runtime.KeepAlive(call)
		}
		if enterGo[name] {
			if *calls == 0 {
				t.Errorf("%s does not enter Go", name)
			}
			continue
		}
		if *calls != 0 {
			t.Errorf("%s entered Go %d times", name, *calls)
		}
	}
}

// forGraphics says whether a command is taken only where the queue family has graphics.
func forGraphics(name string) bool {
	return strings.HasPrefix(name, "Draw") || strings.HasPrefix(name, "Set") && !strings.HasSuffix(name, "Event") ||
		strings.HasPrefix(name, "BindIndex") || name == "BeginQuery" || name == "EndQuery"
}

// TestRecordingStubsLeave calls the stubs with what they must leave to Go, where all arguments must arrive.
func TestRecordingStubsLeave(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	s := newSlots(t)
	for _, name := range recordedOps() {
		if enterGo[name] {
			continue
		}
		signature := reflect.ValueOf(command.NewStream(nil, nil)).MethodByName(name).Type()
		var args []uintptr
		calls := entered(t, "vkCmd"+name, &args)
		attempt := func(what string, c []uintptr) {
			t.Helper()
			before := *calls
			args = c
			purego.SyscallN(Entry("vkCmd"+name), c...)
			if *calls != before+1 {
				t.Errorf("%s %s does not enter Go", name, what)
			}
			if got := s.recorded(t); len(got) != 0 {
				t.Errorf("%s %s is recorded: %x", name, what, got)
			}
		}
		const n = 4
		call := random(r, signature, s.handle(), n)
		with := func(i int, word uintptr) []uintptr {
			c := slices.Clone(call.c)
			c[i] = word
			return c
		}
		full := len(call.expected(t, name))
		s.open(full - 1)
		attempt("without room", call.c)
		s.open(roomWords)
		if s.memory[3] = 0; forGraphics(name) {
			attempt("without graphics", call.c)
		}
		s.memory[3] = 1
		s.open(roomWords)
		for _, h := range []uintptr{0, 1, 64, s.handle() + 1, s.handle() + 8, s.handle() - 8, s.handle() - 64,
			s.handle() + 4096,
			uintptr(unsafe.Pointer(&s.room[0])), 1 << 62, ^uintptr(0)} {
			attempt("on a foreign handle", with(0, h))
		}
		attempt("on an empty slot", with(0, s.handle()+64))
		for n, i := range call.counts {
			if n == 0 {
				attempt("of no elements", with(i, 0xabcdef<<32))
			}
			attempt("of many elements", with(i, 0xfffffffc))
			attempt("of 4097 elements", with(i, 4097))
			if name == "UpdateBuffer" || name == "PushConstants" {
				attempt("of odd size", with(i, 6))
				attempt("of huge size", with(i, 1<<63))
			}
		}
		for _, i := range call.pointers {
			for _, p := range []uintptr{0, 1, 4095, 1 << 49, 1 << 63, ^uintptr(0) - 7} {
				attempt("from a bad address", with(i, p))
			}
		}
		s.memory[1], s.memory[2] = 0, 0
		before := *calls
		args = call.c
		purego.SyscallN(Entry("vkCmd"+name), call.c...)
		if *calls != before+1 {
			t.Errorf("%s while not recording does not enter Go", name)
		}
		runtime.KeepAlive(call)
	}
}

func TestOrderingStubs(t *testing.T) {
	s := newSlots(t)
	for _, name := range []string{"vkCmdPipelineBarrier", "vkCmdPipelineBarrier2"} {
		args := []uintptr{s.handle(), 1, 2, 3, 4, 5, 6, 7, 8, 9}
		if name == "vkCmdPipelineBarrier2" {
			args = args[:2]
		}
		calls := entered(t, name, &args)
		s.open(roomWords)
		purego.SyscallN(Entry(name), args...)
		if *calls != 0 || len(s.recorded(t)) != 0 {
			t.Errorf("%s while recording: entered Go %d times", name, *calls)
		}
		s.open(0)
		purego.SyscallN(Entry(name), args...)
		if *calls != 0 {
			t.Errorf("%s without room entered Go", name)
		}
		s.memory[1], s.memory[2] = 0, 0
		for i, h := range []uintptr{s.handle(), s.handle() + 64, s.handle() + 4096, s.handle() + 8, 0} {
			args[0] = h
			purego.SyscallN(Entry(name), args...)
			if *calls != i+1 {
				t.Errorf("%s on %#x does not enter Go", name, h)
			}
		}
	}
}

// BenchmarkRecord is the time of the commands from a C loop.
func BenchmarkRecord(b *testing.B) {
	s := newSlots(b)
	for _, name := range []string{"vkCmdFillBuffer", "vkCmdCopyBuffer", "vkCmdPipelineBarrier"} {
		b.Run(name, func(b *testing.B) {
			s.open(roomWords)
			b.ReportMetric(c.record(Entry(name), s.handle(), s.handle()+8, int64(b.N)), "ns/op")
		})
	}
}

// BenchmarkRecordParallel records vkCmdCopyBuffer on all cores, each into a command buffer of its own.
func BenchmarkRecordParallel(b *testing.B) {
	s := newSlots(b)
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		slot := s.memory[next.Add(1)*8:][:8]
		room := make([]uint64, roomWords)
		slot[1] = uint64(uintptr(unsafe.Pointer(&room[0])))
		slot[2] = slot[1] + roomWords*8
		for pb.Next() {
			c.record(Entry("vkCmdCopyBuffer"), uintptr(unsafe.Pointer(&slot[0])), uintptr(unsafe.Pointer(&slot[1])), 1000)
		}
		runtime.KeepAlive(room)
	})
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/command")
}
