package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/internal/soaking"
	"farside/conformance/shaders"
)

const (
	standstill = 60 * time.Second // how long a link may take to carry another round
	lateness   = 20 * time.Second // how long a wait may outlast its timeout, on a loaded machine
	witness    = 0                // the node that is never killed
	restartMax = 400 * time.Millisecond
)

type config struct {
	soaking.Run
	nodes int
	draw  bool   // what is sent is drawn into shared images
	cache string // the directory with the nodes' shaders
}

// A worker is a node's process, as the supervisor sees it.
type worker struct {
	index      int
	cmd        *exec.Cmd
	socket     socket
	stderr     tail
	ready      bool
	stopped    bool
	generation int // of its device
	rounds     [2]uint64
	heavy      heaviness
}

// An event is a message of a worker, or the end of its socket.
type event struct {
	w *worker
	m message
	// err is not nil when the worker is gone.
	err error
}

// A ring is the supervisor's state, which only its goroutine touches.
type ring struct {
	config
	rng     *rand.Rand
	workers []*worker // by index; nil while one is dead
	links   []*link   // link i goes from node i to the next
	events  chan event
	starts  chan int // nodes whose successors are to start
	final   bool     // links stay closed
	sum     summary
}

// summary is what came of a run.
type summary struct {
	seed          uint64
	took          time.Duration
	rounds        uint64 // that were checked
	kills, lost   int    // processes; devices
	opened        int    // links
	late          time.Duration
	before, after soaking.Usage // of the witness
}

func (s summary) String() string {
	return fmt.Sprintf(
		"soak: %v with seed %d: %d rounds of %d KiB checked (%.1f GiB), %d processes killed, %d devices lost, "+
			"%d links opened\n"+
			"soak: the latest wait outlasted its timeout by %v\n"+
			"soak: the witness had %v, and has %v\n",
		s.took.Round(time.Second), s.seed, s.rounds, bufferSize>>10, float64(s.rounds)*bufferSize/(1<<30), s.kills, s.lost,
		s.opened,
		s.late.Round(time.Millisecond), s.before, s.after)
}

// soak runs the ring for its duration and lets it come to rest.
func soak(ctx context.Context, c config, p *soaking.Progress) (summary, error) {
	if c.draw {
		var err error
		if c.cache, err = os.MkdirTemp("", "farside-soak-"); err != nil {
			return summary{}, err
		}
		defer os.RemoveAll(c.cache)
	}
	r := &ring{config: c, rng: rand.New(rand.NewPCG(c.Seed, 1)), workers: make([]*worker, c.nodes),
		events: make(chan event), starts: make(chan int, c.nodes), sum: summary{seed: c.Seed}}
	for i := range c.nodes {
		r.links = append(r.links, &link{writer: i, reader: (i + 1) % c.nodes})
		if err := r.start(i); err != nil {
			return r.sum, err
		}
	}
	began := time.Now()
	err := r.run(ctx, p)
	p.Close()
	r.sum.took = time.Since(began)
	r.sum.before, r.sum.after = r.workers[witness].heavy.first, r.workers[witness].heavy.now
	for _, w := range r.workers {
		if w != nil {
			_ = w.cmd.Process.Kill()
			_ = w.cmd.Wait()
			w.socket.Close()
			if err != nil {
				fmt.Fprintf(os.Stderr, "node %d:\n%s", w.index, w.stderr.String())
			}
		}
	}
	return r.sum, err
}

// start starts node i.
func (r *ring) start(i int) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	defer theirs.Close()
	w := &worker{index: i}
	if w.socket, err = newSocket(os.NewFile(uintptr(pair[0]), "socket")); err != nil {
		return err
	}
	w.cmd = exec.Command(os.Args[0])
	w.cmd.Env = append(os.Environ(), nodeVariable+"="+strconv.Itoa(i))
	if r.draw {
		w.cmd.Env = append(w.cmd.Env, drawVariable+"=1", shaders.CacheEnv+"="+r.cache)
	}
	w.cmd.ExtraFiles = []*os.File{theirs}
	w.cmd.Stderr = &w.stderr
	if err := w.cmd.Start(); err != nil {
		return err
	}
	r.workers[i] = w
	go func() {
		for {
			m, err := w.socket.receive()
			r.events <- event{w, m, err}
			if err != nil {
				return
			}
		}
	}()
	return nil
}

// run is the supervisor's loop.
func (r *ring) run(ctx context.Context, p *soaking.Progress) error {
	end := time.NewTimer(r.Duration)
	kill := time.NewTicker(r.KillEvery)
	look := time.NewTicker(time.Second)
	for {
		var err error
		select {
		case <-ctx.Done():
			return errors.New("interrupted")
		case <-end.C:
			kill.Stop()
			r.final = true
			for _, l := range r.links {
				l.settle = l.rounds + 1
			}
		case <-kill.C:
			r.kill()
		case i := <-r.starts:
			err = r.start(i)
		case e := <-r.events:
			err = r.hear(e)
		case <-look.C:
			p.Show(fmt.Sprintf("soak: %d rounds checked, %d killed, %d devices lost", r.sum.rounds, r.sum.kills, r.sum.lost))
			for _, l := range r.links {
				if time.Since(l.moved) > standstill && !l.moved.IsZero() {
					err = fmt.Errorf("%w: nothing has come from node %d to node %d for %v; the link: %v", soaking.ErrLoss, l.writer,
						l.reader, standstill, l)
				}
			}
		}
		if err != nil {
			return err
		}
		if r.settle() {
			return nil
		}
	}
}

// kill kills one of the nodes, except for the witness, and has its successor started a little later.
func (r *ring) kill() {
	i := 1 + r.rng.IntN(r.nodes-1)
	w := r.workers[i]
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	w.socket.Close()
	r.workers[i] = nil
	r.sum.kills++
	r.down(i)
	delay := time.Duration(r.rng.Int64N(int64(restartMax)))
	time.AfterFunc(delay, func() { r.starts <- i })
}

// down closes the links of a node that is dead or has lost its device.
func (r *ring) down(i int) {
	for _, l := range r.links {
		if l.writer == i {
			l.sides[right] = absent
			l.reset = true
		}
		if l.reader == i {
			l.sides[left] = absent
			l.reset = true
		}
	}
}

// hear handles what a worker says.
func (r *ring) hear(e event) error {
	w := e.w
	if r.workers[w.index] != w { // it was killed
		closeAll(e.m.fds)
		return nil
	}
	if e.err != nil {
		if w.stopped {
			return nil
		}
		return fmt.Errorf("%w: node %d died by itself", soaking.ErrLoss, w.index)
	}
	m := e.m
	switch m.words[0] {
	case "ready":
		w.ready = true
		w.generation++
		for _, l := range r.links {
			if l.writer == w.index {
				l.sides[right] = idle
			}
			if l.reader == w.index {
				l.sides[left] = idle
			}
		}
		return nil
	case "lost":
		w.ready = false
		r.sum.lost++
		r.down(w.index)
		return nil
	case "fail":
		return fmt.Errorf("%w: node %d: %s", soaking.ErrLoss, w.index, m.text())
	case "stopped":
		w.stopped = true
		return nil
	case "report":
		return r.report(w, m)
	}
	l := r.links[w.index]
	if m.side() == left {
		l = r.links[(w.index+r.nodes-1)%r.nodes]
	}
	l.hear(m)
	return nil
}

// report takes in a worker's numbers.
func (r *ring) report(w *worker, m message) error {
	var n [7]uint64
	for i := range n {
		v, err := strconv.ParseUint(m.words[1+i], 10, 64)
		if err != nil {
			return err
		}
		n[i] = v
	}
	l := r.links[(w.index+r.nodes-1)%r.nodes]
	if checked := n[1] - w.rounds[left]; checked > 0 {
		r.sum.rounds += checked
		l.rounds += checked
		l.moved = time.Now()
	}
	w.rounds = [2]uint64{n[0], n[1]}
	late := time.Duration(n[2])
	r.sum.late = max(r.sum.late, late)
	if late > lateness {
		return fmt.Errorf("%w: a wait of node %d has outlasted its timeout by %v", soaking.ErrLoss, w.index, late)
	}
	if l.open() && r.links[w.index].open() {
		if err := w.heavy.add(soaking.Usage{Descriptors: int(n[3]), Shared: int(n[4]), Mappings: int(n[5]),
			Resident: int(n[6])}); err != nil {
			return fmt.Errorf("%w: node %d, which still lives: %w", soaking.ErrLoss, w.index, err)
		}
	}
	return nil
}

// settle lets every link take its next step. At the end, when each has carried another round, it closes them
// and stops the nodes, and says whether all have stopped.
func (r *ring) settle() (stopped bool) {
	closed := 0
	for _, l := range r.links {
		stay := r.final && l.rounds >= l.settle
		if stay && l.open() {
			l.reset = true
		}
		l.step(r, stay)
		if stay && l.sides == [2]state{idle, idle} && !l.reset {
			closed++
		}
	}
	if closed < len(r.links) {
		return false
	}
	stopped = true
	for _, w := range r.workers {
		if w.ready {
			w.ready = false
			_ = w.socket.send(nil, "stop")
		}
		stopped = stopped && w.stopped
	}
	return stopped
}

// A heaviness follows a node's usage, whose growth is a leak.
type heaviness struct {
	reports    int
	first, now soaking.Usage // the most of the first reports, and what came last
}

// warmUp is how many reports the runtimes of a process have to grow to their size.
const warmUp = 24

func (h *heaviness) add(u soaking.Usage) error {
	h.now = u
	h.reports++
	if h.reports <= warmUp {
		h.first = soaking.Usage{
			Descriptors: max(h.first.Descriptors, u.Descriptors), Shared: max(h.first.Shared, u.Shared),
			Mappings: max(h.first.Mappings, u.Mappings), Resident: max(h.first.Resident, u.Resident),
		}
		return nil
	}
	f := h.first
	if u.Descriptors > f.Descriptors+soaking.RuntimeDescriptors || u.Shared > f.Shared ||
		u.Mappings > f.Mappings+f.Mappings/4+32 || u.Resident > f.Resident+f.Resident/4+32<<10 {
		return fmt.Errorf("it had %v, and has %v", f, u)
	}
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct{ bytes.Buffer }

const tailSize = 8 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.Buffer.Write(b)
	if extra := t.Len() - tailSize; extra > 0 {
		t.Next(extra)
	}
	return len(b), nil
}
