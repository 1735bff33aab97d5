package verbs

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"farside/internal/cabi"
	"farside/internal/ibv"
	"farside/verbs/internal/engine"
)

// patience is how long a thread waits for another one that has begun to poll a queue, or to build work requests, and
// has not ended it: more is taken for a program that forgets to.
const patience = 10 * time.Second

var errNotEnded = errors.New("a thread has begun and not ended it")

// acquire locks mu, and gives up after a while: an application that never unlocks it must not hang.
func acquire(mu *sync.Mutex) bool {
	if mu.TryLock() {
		return true
	}
	end := time.Now().Add(patience)
	for pause := time.Microsecond; time.Now().Before(end); pause = min(2*pause, time.Millisecond) {
		if mu.TryLock() {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// startPoll is start_poll of struct ibv_cq_ex: queue, attributes. ENOENT says that there is no completion.
func startPoll(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil || c.Args[1] != 0 && at[ibv.PollCQAttr](c.Args[1]).CompMask != 0 {
		c.Fail(unix.EINVAL)
		return
	}
	if !acquire(&q.polling) {
		fail(c, unix.EBUSY, errNotEnded)
		return
	}
	if !q.next() {
		q.polling.Unlock()
		c.Result = uintptr(unix.ENOENT)
	}
}

// next takes a completion, and shows what struct ibv_cq_ex has of it.
func (q *completionQueue) next() bool {
	if !q.engine.Poll(&q.current) {
		return false
	}
	x := at[ibv.CQEx](q.at)
	x.Status, x.WRID = q.current.Status, q.current.WRID
	return true
}

// nextPoll is next_poll of struct ibv_cq_ex.
func nextPoll(c *cabi.Call) {
	q := completionQueues.get(c.Args[0])
	if q == nil {
		c.Fail(unix.EINVAL)
		return
	}
	if !q.next() {
		c.Result = uintptr(unix.ENOENT)
	}
}

// endPoll is end_poll of struct ibv_cq_ex.
func endPoll(c *cabi.Call) {
	if q := completionQueues.get(c.Args[0]); q != nil {
		q.polling.TryLock() // an end without a start must not be fatal
		q.polling.Unlock()
	}
}

// reader is a read function of struct ibv_cq_ex.
func reader(read func(*engine.WC) uint64) func(*cabi.Call) {
	return func(c *cabi.Call) {
		if q := completionQueues.get(c.Args[0]); q != nil {
			c.Result = uintptr(read(&q.current))
		}
	}
}

// readWallclock is read_completion_wallclock_ns: the time of day of a completion.
func readWallclock(c *cabi.Call) {
	if q := completionQueues.get(c.Args[0]); q != nil {
		ago := q.context.engine.Device.Clock() - q.current.Timestamp
		c.Result = uintptr(uint64(time.Now().UnixNano()) - ago)
	}
}
