package gate

import (
	"slices"
	"testing"
)

// TestExit: what AtExit is given is called once, the last first, also what a call gives, and a panic ends nothing.
func TestExit(t *testing.T) {
	var got []int
	AtExit(func() { got = append(got, 1) })
	AtExit(func() {
		got = append(got, 2)
		AtExit(func() { got = append(got, 3) })
		panic("a panic at exit, as this test wants it")
	})
	if Guard[2] != 1 {
		t.Error("the destructor does not know that there is something to call")
	}
	Exit()
	Exit()
	if want := []int{2, 3, 1}; !slices.Equal(got, want) {
		t.Errorf("called %v, want %v", got, want)
	}
}
