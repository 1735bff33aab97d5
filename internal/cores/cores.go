// Package cores divides a piece of work among the processor's cores.
package cores

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"farside/internal/gate"
	"farside/internal/ieee"
)

// Count is how many cores there are for the work. Widen raises GOMAXPROCS above it later.
var Count = runtime.GOMAXPROCS(0)

// Widen gives the Go scheduler a second P for each core. A thread that sleeps in a system call, as one that waits for a
// fence does, keeps its P for up to 10 ms: with one P for each core that would leave a large copy to a single core. The
// first call stops all goroutines for a moment, so it is left to who first sleeps or leaves work to another thread.
var Widen = sync.OnceFunc(func() { runtime.GOMAXPROCS(2 * Count) })

// Job is a piece of work that is being done.
type Job struct {
	body  func(part int)
	parts int
	taken atomic.Int64
	left  atomic.Uint32 // workers that have it; a futex
	fault atomic.Pointer[any]
}

// pool is the workers and the jobs that they may join. A worker is a goroutine with a thread of its own, which sleeps
// in a futex: to wake it is one system call, and it goes on without waiting for the Go scheduler to find it a thread.
var pool struct {
	start sync.Once
	mu    sync.Mutex
	jobs  []*Job
	posts atomic.Uint32 // the futex: changes when a job is posted
}

var spare = sync.Pool{New: func() any { return new(Job) }}

// Do calls body(0) to body(parts-1), each once, on the calling goroutine and on idle workers, and returns when all have
// returned. The parts are taken in order, by whoever is free: a worker that comes late leaves some to the others. A
// panic or a memory fault in one of them ends its worker's part, and is raised here.
func Do(parts int, body func(part int)) {
	helpers := min(parts, Count) - 1
	if helpers <= 0 {
		for i := range parts {
			body(i)
		}
		return
	}
	start(parts, body, helpers).Finish()
}

// Start has idle workers call body(0) to body(parts-1), each once, while the caller does something else. Finish has to
// be called, once.
func Start(parts int, body func(part int)) *Job { return start(parts, body, min(parts, Count-1)) }

func start(parts int, body func(part int), helpers int) *Job {
	pool.start.Do(startWorkers)
	j := spare.Get().(*Job)
	j.body, j.parts = body, parts
	j.taken.Store(0)
	j.fault.Store(nil)
	pool.mu.Lock()
	pool.jobs = append(pool.jobs, j)
	pool.mu.Unlock()
	pool.posts.Add(1)
	wake(&pool.posts, helpers)
	return j
}

// Finish calls the parts that no worker has taken, and returns when all have returned. A panic or a memory fault in one
// of them is raised here. The job is nobody's any more then.
func (j *Job) Finish() {
	func() {
		defer j.end()
		j.work()
	}()
	reason := j.fault.Load()
	j.body = nil
	spare.Put(j)
	if reason != nil {
		panic(*reason)
	}
}

// work takes parts until none is left.
func (j *Job) work() {
	for i := int(j.taken.Add(1)) - 1; i < j.parts; i = int(j.taken.Add(1)) - 1 {
		j.body(i)
	}
}

// end takes the job off the list, and waits for the workers that have it.
func (j *Job) end() {
	j.taken.Store(int64(j.parts)) // after a panic of the caller's part
	pool.mu.Lock()
	for i := range pool.jobs {
		if pool.jobs[i] == j {
			last := len(pool.jobs) - 1
			pool.jobs[i] = pool.jobs[last]
			pool.jobs[last] = nil
			pool.jobs = pool.jobs[:last]
			break
		}
	}
	pool.mu.Unlock()
	// Not a WaitGroup: the scheduler takes 0.1 ms to go on with a goroutine that an application's thread has called.
	for n := j.left.Load(); n > 0; n = j.left.Load() {
		sleep(&j.left, n)
	}
}

func startWorkers() {
	Widen()
	for range Count - 1 {
		go gate.Run(worker)
	}
}

// worker runs with gate.Room: a stack that had to grow with an application's bad pointer on it, such as 0x40, would end
// the process.
func worker() {
	ieee.Enter()
	debug.SetPanicOnFault(true) // bytes that the application unmapped end the command, not the process
	for {
		posts := pool.posts.Load()
		if j := join(); j != nil {
			j.help()
			continue
		}
		sleep(&pool.posts, posts)
	}
}

// join gives the worker the oldest job that has parts left.
func join() *Job {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for _, j := range pool.jobs {
		if j.taken.Load() < int64(j.parts) {
			j.left.Add(1)
			return j
		}
	}
	return nil
}

func (j *Job) help() {
	defer func() {
		if j.left.Add(^uint32(0)) == 0 {
			wake(&j.left, 1)
		}
	}()
	defer func() {
		if r := recover(); r != nil {
			reason := r // only a panic makes garbage
			j.fault.Store(&reason)
			j.taken.Store(int64(j.parts))
		}
	}()
	j.work()
}
