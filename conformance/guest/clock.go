package main

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	clockJump   = 10 * 24 * time.Hour   // further than any patience or lease
	clockPeriod = 20 * time.Millisecond // shorter than any
)

// disturbClock sets the clock of the day (CLOCK_REALTIME) ten days back, forth, and so on, as long as it isn't stopped.
// stop sets the clock right again. It fails if the clock could not be set, or hasn't been.
func disturbClock() (stop func() error) {
	began := time.Now()
	set := func(ahead time.Duration) error {
		now := unix.NsecToTimespec(began.Round(0).Add(time.Since(began) + ahead).UnixNano())
		return unix.ClockSettime(unix.CLOCK_REALTIME, &now)
	}
	quit, done := make(chan struct{}), make(chan error)
	go func() {
		ticks := time.NewTicker(clockPeriod)
		defer ticks.Stop()
		var failed error
		count := 0
		for ahead := -clockJump; ; ahead = -ahead {
			select {
			case <-ticks.C:
				failed = errors.Join(failed, set(ahead))
				count++
			case <-quit:
				if count == 0 {
					failed = errors.New("it ended before the first jump")
				}
				done <- errors.Join(failed, set(0))
				return
			}
			if failed != nil {
				<-quit
				done <- failed
				return
			}
		}
	}()
	return func() error {
		close(quit)
		if err := <-done; err != nil {
			return fmt.Errorf("the clock of the day: %w", err)
		}
		return nil
	}
}
