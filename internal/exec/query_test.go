package exec

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime/debug"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"farside/internal/syncobj"
	"farside/internal/vk"
)

func timestamps(t testing.TB, count uint32) *QueryPool {
	t.Helper()
	p, err := NewQueryPool(vk.QUERY_TYPE_TIMESTAMP, count)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustWrite(t testing.TB, p *QueryPool, query uint32, value uint64) {
	t.Helper()
	if err := p.Write(query, value, &CmdWriteTimestampRules); err != nil {
		t.Fatal(err)
	}
}

func TestNewQueryPool(t *testing.T) {
	for _, c := range []struct {
		kind   vk.QueryType
		count  uint32
		result vk.Result
		vuid   string
	}{
		{vk.QUERY_TYPE_TIMESTAMP, 1, vk.SUCCESS, ""},
		{vk.QUERY_TYPE_OCCLUSION, 64, vk.SUCCESS, ""},
		{vk.QUERY_TYPE_TIMESTAMP, 0, vk.ERROR_UNKNOWN, "VUID-VkQueryPoolCreateInfo-queryCount-02763"},
		{vk.QUERY_TYPE_TIMESTAMP, math.MaxUint32, vk.ERROR_OUT_OF_HOST_MEMORY, ""},
		{vk.QUERY_TYPE_PIPELINE_STATISTICS, 1, vk.ERROR_UNKNOWN, "VUID-VkQueryPoolCreateInfo-queryType-00791"},
		{vk.QUERY_TYPE_PERFORMANCE_QUERY_KHR, 1, vk.ERROR_UNKNOWN, "VUID-VkQueryPoolCreateInfo-queryType-parameter"},
		{-7, 1, vk.ERROR_UNKNOWN, "VUID-VkQueryPoolCreateInfo-queryType-parameter"},
	} {
		p, err := NewQueryPool(c.kind, c.count)
		if vk.ResultOf(err) != c.result || vk.VUIDOf(err).String() != c.vuid || (p == nil) != (err != nil) {
			t.Errorf("%d of %v: %v, %v %q", c.count, c.kind, p, err, vk.VUIDOf(err).String())
		}
	}
}

// TestResults holds every combination of flags to the layout of the chapter "Query Operation": queries 0 and 2
// of three are available, and what lies between and behind the results stays as it was.
func TestResults(t *testing.T) {
	const value = 0x1122334455667788
	p := timestamps(t, 5)
	mustWrite(t, p, 1, value)
	mustWrite(t, p, 3, value+1)
	for flags := range vk.QueryResultFlags(vk.QUERY_RESULT_PARTIAL_BIT) {
		if flags&vk.QUERY_RESULT_WAIT_BIT != 0 {
			continue // TestWait
		}
		size := 4
		if flags&vk.QUERY_RESULT_64_BIT != 0 {
			size = 8
		}
		const stride = 24
		dst := make([]byte, 3*stride)
		want := make([]byte, len(dst))
		for i := range dst {
			dst[i], want[i] = 0xaa, 0xaa
		}
		store := func(at int, v uint64) {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			copy(want[at:at+size], b[:])
		}
		store(0, value)
		store(2*stride, value+1)
		if flags&vk.QUERY_RESULT_WITH_AVAILABILITY_BIT != 0 {
			store(0+size, 1)
			store(stride+size, 0)
			store(2*stride+size, 1)
		}
		if err := p.Results(1, 3, dst, stride, flags, nil, &GetQueryPoolResultsRules); !errors.Is(err, ErrNotReady) {
			t.Errorf("%v: %v", flags, err)
		}
		if string(dst) != string(want) {
			t.Errorf("%v: % x, want % x", flags, dst, want)
		}
		if err := p.Results(3, 1, dst, 0, flags, nil, &GetQueryPoolResultsRules); err != nil {
			t.Errorf("%v of an available query: %v", flags, err)
		}
	}
	if err := p.Reset(1, 2, &ResetQueryPoolRules); err != nil {
		t.Fatal(err)
	}
	var dst [8]byte
	if err := p.Results(1, 1, dst[:], 8, vk.QUERY_RESULT_64_BIT, nil, &GetQueryPoolResultsRules); !errors.Is(err,
		ErrNotReady) {
		t.Errorf("after the reset: %v", err)
	}
	if err := p.Results(3, 1, dst[:], 8, vk.QUERY_RESULT_64_BIT, nil, &GetQueryPoolResultsRules); err != nil {
		t.Errorf("a query that was not reset: %v", err)
	}
}

// An occlusion query is never available here: its partial result is 0, and nobody can wait for it.
func TestOcclusion(t *testing.T) {
	p, err := NewQueryPool(vk.QUERY_TYPE_OCCLUSION, 2)
	if err != nil {
		t.Fatal(err)
	}
	dst := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	if err := p.Results(0, 1, dst, 0, vk.QUERY_RESULT_PARTIAL_BIT|vk.QUERY_RESULT_WITH_AVAILABILITY_BIT, nil,
		&GetQueryPoolResultsRules); err != nil || string(dst) != string(make([]byte, 8)) {
		t.Errorf("partial: %v, %v", err, dst)
	}
	if err := p.Results(0, 2, dst, 4, vk.QUERY_RESULT_WAIT_BIT, nil,
		&GetQueryPoolResultsRules); vk.ResultOf(err) != vk.ERROR_UNKNOWN {
		t.Errorf("waiting: %v", err)
	}
	if err := p.Write(0, 1, &CmdWriteTimestampRules); vk.VUIDOf(err).String() !=
		"VUID-vkCmdWriteTimestamp-queryPool-01416" {
		t.Errorf("timestamp: %v", err)
	}
}

func TestQueryBounds(t *testing.T) {
	p := timestamps(t, 4)
	for q := range uint32(4) {
		mustWrite(t, p, q, 1)
	}
	if err := p.Write(4, 1, &CmdWriteTimestampRules); vk.VUIDOf(err).String() != "VUID-vkCmdWriteTimestamp-query-04904" {
		t.Error(err)
	}
	for _, c := range []struct {
		first, count uint32
		room         int
		stride       uint64
		flags        vk.QueryResultFlags
		vuid         string
	}{
		{0, 4, 16, 4, 0, ""},
		{0, 0, 0, 0, 0, ""},
		{3, 1, 4, math.MaxUint64, 0, ""},
		{4, 0, 16, 4, 0, "firstQuery-09436"},
		{math.MaxUint32, 2, 16, 4, 0, "firstQuery-09436"},
		{1, 4, 16, 4, 0, "firstQuery-09437"},
		{1, math.MaxUint32, 16, 4, 0, "firstQuery-09437"},
		{0, 2, 16, 0, 0, "queryCount-09438"},
		{0, 1, 16, 4, vk.QUERY_RESULT_PARTIAL_BIT, "queryType-09439"},
		{0, 1, 16, 4, 1 << 9, "flags-parameter"},
		{0, 4, 15, 4, 0, "dataSize-00817"},
		{0, 1, 7, 8, vk.QUERY_RESULT_64_BIT, "dataSize-00817"},
		{0, 1, 8, 8, vk.QUERY_RESULT_64_BIT | vk.QUERY_RESULT_WITH_AVAILABILITY_BIT, "dataSize-00817"},
		{0, 2, 16, math.MaxUint64, 0, "dataSize-00817"},
		{0, 3, 16, 1 << 63, 0, "dataSize-00817"},
	} {
		err := p.Results(c.first, c.count, make([]byte, c.room), c.stride, c.flags, nil, &GetQueryPoolResultsRules)
		if want := "VUID-vkGetQueryPoolResults-" + c.vuid; (err == nil) != (c.vuid == "") || err != nil &&
			vk.VUIDOf(err).String() != want {
			t.Errorf("%+v: %v (%q)", c, err, vk.VUIDOf(err).String())
		}
	}
	for _, r := range [][2]uint32{{4, 1}, {0, 5}, {3, math.MaxUint32}} {
		if err := p.Reset(r[0], r[1], &ResetQueryPoolRules); err == nil {
			t.Errorf("reset of %d queries from %d on", r[1], r[0])
		}
	}
	if err := p.Results(0, 4, make([]byte, 16), 4, 0, nil, &GetQueryPoolResultsRules); err != nil {
		t.Errorf("a refused reset did something: %v", err)
	}
}

// TestWait lets four readers wait for all queries while they are written one by one in random order.
func TestWait(t *testing.T) {
	const count = 16
	p := timestamps(t, count)
	results := make(chan [count]uint64)
	for range 4 {
		go func() {
			dst := make([]byte, 8*count)
			err := p.Results(0, count, dst, 8, vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WAIT_BIT, nil, &GetQueryPoolResultsRules)
			if err != nil {
				t.Error(err)
			}
			var got [count]uint64
			for i := range got {
				got[i] = binary.LittleEndian.Uint64(dst[8*i:])
			}
			results <- got
		}()
	}
	for i := range uint32(count) {
		mustWrite(t, p, i*7%count, 100+uint64(i*7%count))
	}
	for range 4 {
		for i, v := range <-results {
			if v != 100+uint64(i) {
				t.Errorf("query %d: %d", i, v)
			}
		}
	}
	if n := p.waiting.Load(); n != 0 || len(p.waiters) != 0 {
		t.Errorf("%d waiters are left", n)
	}
}

// TestWriteBeforeRegistration is a reader's wait step by step: a query that becomes available between its look and its
// registration, which nobody is told of, is found by the second look; one that becomes available later is told.
func TestWriteBeforeRegistration(t *testing.T) {
	p := timestamps(t, 2)
	mustWrite(t, p, 0, 1)
	if p.register(0).Value() != 1 {
		t.Error("a reader sleeps although the query became available in front of its registration")
	}
	ready := p.register(1)
	if ready.Value() != 0 {
		t.Error("a reader does not wait for its query")
	}
	mustWrite(t, p, 1, 1)
	if ready.Value() != 1 {
		t.Error("a reader sleeps although the query became available behind its registration")
	}
	if n := p.waiting.Load(); n != 0 || len(p.waiters) != 0 {
		t.Errorf("%d waiters are left", n)
	}
}

// blocked returns once n readers wait in Results.
func blocked(t *testing.T, p *QueryPool, n int32) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); p.waiting.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d readers wait, want %d", p.waiting.Load(), n)
		}
	}
}

// Readers in ascending-order writes wake once, for the last query; a device that is lost wakes all.
func TestWaitEnds(t *testing.T) {
	p := timestamps(t, 3)
	lost := syncobj.New(syncobj.Fence, 0)
	done := make(chan error)
	for range 3 {
		go func() {
			done <- p.Results(0, 3, make([]byte, 12), 4, vk.QUERY_RESULT_WAIT_BIT, lost, &GetQueryPoolResultsRules)
		}()
	}
	blocked(t, p, 3)
	mustWrite(t, p, 0, 1)
	mustWrite(t, p, 1, 1)
	if n := p.waiting.Load(); n != 3 {
		t.Errorf("%d readers wait for the last query, want 3", n)
	}
	lost.Signal(1)
	for range 3 {
		if err := <-done; vk.ResultOf(err) != vk.ERROR_DEVICE_LOST {
			t.Error(err)
		}
	}
	if n := p.waiting.Load(); n != 0 {
		t.Errorf("%d waiters are left", n)
	}
}

// A reader must see a query's value once it sees its availability, whoever writes at the same time.
func TestWriteWhileReading(t *testing.T) {
	p := timestamps(t, 1)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for i := uint64(1); ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			p.Reset(0, 1, &ResetQueryPoolRules)
			p.Write(0, i, &CmdWriteTimestampRules)
		}
	})
	dst := make([]byte, 16)
	var last uint64
	for range 2000 {
		err := p.Results(0, 1, dst, 0, vk.QUERY_RESULT_64_BIT|vk.QUERY_RESULT_WAIT_BIT|vk.QUERY_RESULT_WITH_AVAILABILITY_BIT,
			nil, &GetQueryPoolResultsRules)
		if errors.Is(err, ErrNotReady) {
			continue // reset again after the wait
		}
		if err != nil {
			t.Fatal(err)
		}
		v := binary.LittleEndian.Uint64(dst)
		if v < last || v == 0 || binary.LittleEndian.Uint64(dst[8:]) != 1 {
			t.Fatalf("value %d after %d", v, last)
		}
		last = v
	}
	close(stop)
	wg.Wait()
}

// torn returns a pool of one query, whose value and availability lie on two pages, and a function that takes one of
// the pages away, or gives both back. So a test sees in which order they are used: the first use of a page that isn't
// there ends it.
func torn(t *testing.T) (p *QueryPool, take func(page int)) {
	t.Helper()
	size := unix.Getpagesize()
	m, err := unix.Mmap(-1, 0, 2*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	q := (*query)(unsafe.Pointer(&m[uintptr(size)-unsafe.Offsetof(query{}.available)]))
	return &QueryPool{kind: vk.QUERY_TYPE_TIMESTAMP, queries: unsafe.Slice(q, 1)}, func(page int) {
		must(t, unix.Mprotect(m, unix.PROT_READ|unix.PROT_WRITE))
		if page >= 0 {
			must(t, unix.Mprotect(m[page*size:][:size], unix.PROT_NONE))
		}
	}
}

// faults says whether f uses memory that isn't there.
func faults(f func()) (fault bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { fault = recover() != nil }()
	f()
	return false
}

// TestQueryOrder: a value is stored before its availability, and loaded after it.
func TestQueryOrder(t *testing.T) {
	const values, availabilities, neither = 0, 1, -1
	p, take := torn(t)
	take(availabilities)
	if !faults(func() { p.Write(0, 5, &CmdWriteTimestampRules) }) {
		t.Error("a query was written without its availability")
	}
	take(neither)
	if v := p.queries[0].value.Load(); v != 5 {
		t.Errorf("in front of the availability, the value is %d, want 5", v)
	}
	mustWrite(t, p, 0, 6)
	take(values)
	if !faults(func() { p.Write(0, 7, &CmdWriteTimestampRules) }) {
		t.Error("a query was written without its value")
	}
	must(t, p.Reset(0, 1, &ResetQueryPoolRules))
	if faults(func() { p.Write(0, 8, &CmdWriteTimestampRules) }); p.queries[0].available.Load() {
		t.Error("a query is available although it has no value")
	}
	var err error
	if faults(func() { err = p.Results(0, 1, make([]byte, 4), 4, 0, nil, &GetQueryPoolResultsRules) }) {
		t.Error("the value of a query that isn't available was read")
	}
	if !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
	take(neither)
}

// TestNow: the clock is CLOCK_MONOTONIC itself, not one with another epoch.
func TestNow(t *testing.T) {
	monotonic := func() uint64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
			t.Fatal(err)
		}
		return uint64(ts.Nano())
	}
	for range 1000 {
		before := monotonic()
		now := Now()
		if after := monotonic(); now < before || now > after {
			t.Fatalf("%d is not between %d and %d", now, before, after)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		Now()
	}
}

func BenchmarkWriteTimestamp(b *testing.B) {
	p := timestamps(b, 1)
	b.ReportAllocs()
	for b.Loop() {
		p.Write(0, Now(), &CmdWriteTimestampRules)
	}
}
