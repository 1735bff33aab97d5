// Package late is the random numbers by which FARSIDE_STRICT=rdma makes operations on remote memory take their time.
package late

import (
	"math/rand/v2"
	"sync"
	"time"

	"farside/internal/config"
	"farside/internal/log"
	"farside/internal/stderr"
	"farside/internal/unlike"
)

// Posted work whose queue pair was idle takes at least Least and at most Most, and one in One of the work behind it: an
// adapter's latency, not its bandwidth.
const (
	Least = 2 * time.Millisecond
	Most  = 5 * time.Millisecond
	One   = 8
)

var state struct {
	once   sync.Once
	mu     sync.Mutex
	random *rand.Rand
}

// Chance returns a number below n at random, which FARSIDE_STRICT_SEED repeats.
func Chance(n int64) int64 {
	state.once.Do(func() {
		seed := unlike.Uint64()
		if settings, err := config.Read(); err == nil && settings.StrictSeed != 0 {
			seed = settings.StrictSeed
		}
		log.New(stderr.Writer).Info("remote operations take their time at random", "FARSIDE_STRICT_SEED", seed)
		state.random = rand.New(rand.NewPCG(seed, 1))
	})
	state.mu.Lock()
	defer state.mu.Unlock()
	return state.random.Int64N(n)
}

// Between returns a time between least and most at random.
func Between(least, most time.Duration) time.Duration {
	return least + time.Duration(Chance(int64(most-least)))
}

// Posted returns how long posted work is put off; first says that its queue pair was idle.
func Posted(first bool) time.Duration {
	if first || Chance(One) == 0 {
		return Between(Least, Most)
	}
	return 0
}
