package syncobj

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Every holder of a shared payload keeps a lock on the file, which goes when its process dies, and counts
// itself in the state block, from which only a clean release takes it out. A payload is abandoned when nobody
// else holds the lock and the count says that somebody was there. A payload that another holder lies about is
// waited for until the timeout.
//
// Nobody is told of a death. So a wait that has lasted for orphanGrace is handed to the checker, one
// goroutine for the process that runs only while there are such waits.
const (
	orphanGrace = int64(50 * time.Millisecond)
	checkEvery  = 50 * time.Millisecond
)

// abandoned says whether all other holders of a shared payload are gone, one of them without releasing it,
// and this process is not going to signal it either.
func (p *Payload) abandoned() bool {
	return p.pending.Load() <= 0 && p.state.holders.Load() > 1 && !p.shared.heldElsewhere()
}

func (s *shared) heldElsewhere() bool {
	lock := unix.Flock_t{Type: unix.F_WRLCK, Whence: unix.SEEK_SET, Len: 1}
	err := unix.FcntlFlock(uintptr(s.file.Int()), unix.F_OFD_GETLK, &lock)
	return err != nil || lock.Type != unix.F_UNLCK
}

// checker looks after the waits for shared payloads that last.
type checker struct {
	mu      sync.Mutex
	waits   map[uint64][]Point
	last    uint64 // the latest key
	running bool
}

var checked = checker{waits: map[uint64][]Point{}}

// add looks at the points at once and then at every tick, until remove. The caller keeps their payloads
// alive.
func (c *checker) add(points []Point) (key uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.waits[c.last] = points
	look(points)
	if !c.running {
		c.running = true
		go c.run()
	}
	return c.last
}

func (c *checker) remove(key uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waits, key)
}

func (c *checker) run() {
	for {
		time.Sleep(checkEvery)
		c.mu.Lock()
		if len(c.waits) == 0 {
			c.running = false
			c.mu.Unlock()
			return
		}
		for _, points := range c.waits {
			look(points)
		}
		c.mu.Unlock()
	}
}

// look wakes the sleepers of the payloads that are abandoned, and of those that were signalled by somebody
// who was killed before it could wake them.
func look(points []Point) {
	for i := range points {
		p := points[i].Payload
		switch {
		case p.shared == nil:
		case points[i].reached():
			p.wakeAll()
		case !p.orphaned.Load() && p.Orphaned():
			p.orphan()
		}
	}
}
