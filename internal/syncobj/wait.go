package syncobj

import (
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"farside/internal/cores"
	"farside/internal/vk"
)

// Point is a state of a payload that can be waited for: the signal of a fence or binary semaphore, or a value
// of a timeline.
type Point struct {
	Payload *Payload
	Value   uint64 // timelines only
}

// target is the value at which the point is reached.
func (pt *Point) target() uint64 {
	if pt.Payload.kind != Timeline {
		return 1
	}
	return pt.Value
}

func (pt *Point) reached() bool { return pt.Payload.state.value.Load() >= pt.target() }

// forever is the deadline that never comes.
const forever = math.MaxInt64

// sleeps counts how often a blocking futex call has returned, other than for a signal handler. A wait that is
// not disturbed adds one.
var sleeps atomic.Uint64

// Wait blocks until one of the points is reached, or all of them; no points are reached at once. It does not
// consume the signal of a binary semaphore: TryWait does that. timeout is in nanoseconds, math.MaxUint64 for
// none; 0 never blocks. It returns nil, or
//
//   - ErrTimeout, not before the timeout;
//   - ErrStopped when stop, which may be nil, is signalled first;
//   - ErrOrphaned when the points can never be reached again: one of them if all are wanted, or else all;
//   - an ERROR_OUT_OF_HOST_MEMORY when the kernel refuses to let the thread sleep.
func Wait(points []Point, all bool, timeout uint64, stop *Payload) error {
	if reached(points, all) {
		return nil
	}
	if timeout != 0 {
		return block(points, all, deadlineAfter(timeout), stop)
	}
	if stop != nil && stop.state.value.Load() != 0 {
		return ErrStopped
	}
	orphans := 0
	for i := range points {
		if !points[i].reached() && points[i].Payload.Orphaned() {
			orphans++
		}
	}
	if orphans == len(points) || all && orphans > 0 {
		return ErrOrphaned
	}
	return ErrTimeout
}

func reached(points []Point, all bool) bool {
	for i := range points {
		if points[i].reached() != all {
			return !all
		}
	}
	return all || len(points) == 0
}

// deadlineAfter is timeout nanoseconds from now on CLOCK_MONOTONIC.
func deadlineAfter(timeout uint64) int64 {
	now := monotonic()
	if timeout >= uint64(forever-now) {
		return forever
	}
	return now + int64(timeout)
}

// monotonic is the time that futex deadlines are counted in, nanoseconds.
func monotonic() int64 {
	var ts unix.Timespec
	// It can't fail: the clock exists and ts is writable.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return ts.Nano()
}

func block(points []Point, all bool, deadline int64, stop *Payload) error {
	cores.Widen()
	if !all && len(points) > maxFutexes-1 {
		return anyOfMany(slices.Clone(points), deadline, stop)
	}
	// A wait for a shared payload that lasts is handed to the checker, which looks whether anybody is left.
	check := int64(forever)
	for i := range points {
		if points[i].Payload.shared != nil {
			check = monotonic() + orphanGrace
			break
		}
	}
	var s sleeper
	for first := true; ; first = false {
		s.n = 0
		done, err := s.arm(points, all)
		if done {
			return err
		}
		if stop != nil {
			if s.add(stop, 1, true) {
				return ErrStopped
			}
		}
		if !first && min(deadline, check) != forever {
			now := monotonic()
			if now >= deadline {
				return ErrTimeout
			}
			if now >= check {
				check = forever
				defer checked.remove(checked.add(slices.Clone(points)))
				continue
			}
		}
		switch errno := s.sleep(min(deadline, check)); errno {
		case 0, unix.EAGAIN, unix.ETIMEDOUT:
			sleeps.Add(1)
		case unix.EINTR:
		default:
			return vk.Errorf(vk.ERROR_OUT_OF_HOST_MEMORY, vk.NoVUID, "futex: %w", errno)
		}
	}
}

// arm fills s with what the wait has to be woken by; done says that there is nothing to wait for.
//
// A wait for all sleeps on the first point that is not reached: the others are looked at afterwards, when
// many will have been reached, so that signals wake it only where it waits. Those among the others that can
// become orphans are in s as well, but not registered: a signal does not wake it, the loss of one does.
func (s *sleeper) arm(points []Point, all bool) (done bool, err error) {
	orphans := 0
	for i := range points {
		pt := &points[i]
		p := pt.Payload
		switch {
		case !all:
			if s.add(p, pt.target(), true) {
				return true, nil
			}
		case pt.reached():
			continue
		case s.n == 0:
			if s.add(p, pt.target(), true) {
				continue
			}
		case (p.shared != nil || p.syncFile != nil) && s.n < maxFutexes-1:
			if s.add(p, pt.target(), false) {
				continue
			}
		default:
			continue
		}
		if p.orphaned.Load() && p.Orphaned() {
			if all {
				return true, ErrOrphaned
			}
			orphans++
		}
	}
	if orphans == len(points) {
		return true, ErrOrphaned
	}
	return s.n == 0, nil
}

// add puts p among what wakes s up, unless its target is reached already. The order is the package comment's.
func (s *sleeper) add(p *Payload, target uint64, register bool) (reached bool) {
	st := p.state
	seq := st.seq.Load()
	for register {
		wanted := st.wanted.Load()
		if wanted <= target || st.wanted.CompareAndSwap(wanted, target) {
			break
		}
	}
	if st.value.Load() >= target {
		return true
	}
	s.push(p, seq)
	return false
}

// anyOfMany waits for one of more points than one futex call takes: each part of them in a goroutine of its
// own. A part has fewer than maxFutexes points, and so isn't divided again.
func anyOfMany(points []Point, deadline int64, stop *Payload) error {
	decided := New(Fence, 0)
	results := make(chan error)
	running := 0
	start := func(part []Point, success error) {
		running++
		go func() {
			err := block(part, false, deadline, decided)
			if err == nil {
				err = success
			}
			results <- err
		}()
	}
	for part := range slices.Chunk(points, maxFutexes-1) {
		start(part, nil)
	}
	orphans, parts := 0, running
	if stop != nil {
		start([]Point{{Payload: stop}}, ErrStopped)
	}
	var result error
	for isDecided := false; running > 0; running-- {
		err := <-results
		if err == ErrOrphaned {
			orphans++
		}
		if !isDecided && (err != ErrOrphaned || orphans == parts) {
			isDecided, result = true, err
			_ = decided.Signal(1) // a fence's signal doesn't fail
		}
	}
	return result
}
