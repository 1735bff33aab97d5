package verbs

import "sync"

// onSuccess returns what f made when it first succeeded. After an error, which may pass, the next call tries again.
func onSuccess[T any](f func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var made T
	var done bool
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if !done {
			v, err := f()
			if err != nil {
				return v, err
			}
			made, done = v, true
		}
		return made, nil
	}
}
