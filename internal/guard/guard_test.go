package guard

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// access says whether the pages at an address are mapped, whatever their protection.
func taken(t *testing.T, at uintptr) bool {
	t.Helper()
	var vector [1]byte
	_, _, e := unix.Syscall(unix.SYS_MINCORE, at, page, uintptr(unsafe.Pointer(&vector[0])))
	return e == 0
}

// TestAreas: an area knows its borders, and its inside once the mapping has ended; the oldest give way to new ones.
func TestAreas(t *testing.T) {
	about := new(int)
	a, err := Reserve(100, about)
	if err != nil {
		t.Fatal(err)
	}
	if a.End-a.Begin != page || a.About != any(about) {
		t.Errorf("the area is %+v", a)
	}
	for _, c := range []struct {
		at            uintptr
		within, ended bool
	}{{a.Begin - page - 1, false, false}, {a.Begin - page, true, false}, {a.Begin - 1, true, false},
		{a.Begin, false, false}, {a.End - 1, false, false}, {a.End, true, false}, {a.End + page, false, false}} {
		if got, ended := At(c.at); (got == a) != c.within || ended != c.ended {
			t.Errorf("%#x from the begin: %v, ended %v", c.at-a.Begin, got, ended)
		}
	}
	if low, high := desk.low.Load(), desk.high.Load(); low > uint64(a.Begin-page) || high < uint64(a.End+page) {
		t.Errorf("the handler looks from %#x to %#x", low, high)
	}
	if err := a.Retire(); err != nil {
		t.Fatal(err)
	}
	if got, ended := At(a.Begin); got != a || !ended || !taken(t, a.Begin) {
		t.Errorf("after its end: %v, ended %v", got, ended)
	}

	b, err := Reserve(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Leave(); err != nil {
		t.Fatal(err)
	}
	if got, _ := At(b.Begin); got != nil || !taken(t, b.Begin) || taken(t, b.End) {
		t.Errorf("an area that was left is %v", got)
	}
	if err := munmap(b.Begin, page); err != nil {
		t.Fatal(err)
	}

	for range mostAreas {
		c, err := Reserve(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Retire(); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := At(a.Begin); got == a || len(resting) > mostAreas || len(areas) > mostAreas {
		t.Errorf("%d areas rest, %d are there, and the oldest is %v", len(resting), len(areas), got)
	}
}

// TestWatchTwice: the handler goes in front of the one that is there, once.
func TestWatchTwice(t *testing.T) {
	var before, first, second action
	if err := sigaction(nil, &before); err != nil {
		t.Fatal(err)
	}
	for _, a := range []*action{&first, &second} {
		if err := Watch(func(Fault) {}); err != nil {
			t.Fatal(err)
		}
		if err := sigaction(nil, a); err != nil {
			t.Fatal(err)
		}
	}
	if first != second || first.handler != uint64(handlerAddress()) || desk.previous != before.handler ||
		first.mask != before.mask || first.flags&saOnStack == 0 {
		t.Errorf("before %+v, then %+v, then %+v", before, first, second)
	}
	// The runtime still turns faults in Go into panics.
	defer func() {
		if recover() == nil {
			t.Error("a fault in Go was no panic")
		}
	}()
	var nowhere *int
	*nowhere = 1
}
