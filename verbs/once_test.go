package verbs

import (
	"errors"
	"testing"
)

// TestOnSuccess has a function fail twice before it makes something, once.
func TestOnSuccess(t *testing.T) {
	calls, failure := 0, errors.New("no descriptor is left")
	get := onSuccess(func() (int, error) {
		if calls++; calls < 3 {
			return 0, failure
		}
		return calls, nil
	})
	for i, want := range []struct {
		value int
		err   error
	}{{0, failure}, {0, failure}, {3, nil}, {3, nil}} {
		if v, err := get(); v != want.value || err != want.err {
			t.Errorf("call %d: %d, %v", i, v, err)
		}
	}
}
