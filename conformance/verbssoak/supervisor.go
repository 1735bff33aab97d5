package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"farside/conformance/internal/soaking"
)

const (
	// stillness is how long a node may do nothing, on a loaded machine.
	stillness = 2 * time.Minute
	// stopMost bounds how long a node is stopped: less than its peers' patience.
	stopMost = 400 * time.Millisecond
	tickTime = 100 * time.Millisecond
	// What the first node may hold more at the end than at first, however many others have died. Mappings of the last of
	// these go with the garbage, whose time may not have come.
	mostDescriptors = soaking.RuntimeDescriptors
	mostShared      = 24
	mostResident    = 96 << 10 // KiB
)

type config struct {
	soaking.Run
	nodes int
	apart bool // on two hosts
}

// summary is what came of a run.
type summary struct {
	seed         uint64
	took         time.Duration
	kills, stops int
	sum          tally
}

func (s *summary) String() string {
	return fmt.Sprintf("verbssoak: %v with seed %d: %d operations on %d links, %.1f GiB compared; "+
		"%d processes killed, %d stopped, %d links lost by deaths\n", s.took.Round(time.Second), s.seed, s.sum.operations,
		s.sum.links, float64(s.sum.compared)/(1<<30), s.kills, s.stops, s.sum.lost)
}

type supervisor struct {
	config
	rng     *rand.Rand
	program string
	hosts   hosts   // nil for this one alone
	nodes   []*node // by slot; the first is never killed
	dead    map[int]bool
	sockets []string // inodes of sockets with names that nodes have had
	events  chan event
	running int
	first   soaking.Usage // of the first node, when it was ready
	sum     summary
}

// soak runs the nodes for the duration, lets them end, and looks for what is left.
func soak(ctx context.Context, c config, p *soaking.Progress) (*summary, error) {
	s := &supervisor{config: c, rng: rand.New(rand.NewPCG(c.Seed, 1)), dead: map[int]bool{}, events: make(chan event),
		sum: summary{seed: c.Seed}}
	dir, err := os.MkdirTemp("", "farside-verbssoak-")
	if err != nil {
		return &s.sum, err
	}
	defer os.RemoveAll(dir)
	if s.program, err = compile(ctx, dir); err != nil {
		return &s.sum, err
	}
	if c.apart {
		if s.hosts, err = newHosts(); err != nil {
			return &s.sum, err
		}
		defer s.hosts.close()
	}
	shared := sharedFiles()
	begin := time.Now()
	err = s.run(ctx, p)
	s.end()
	p.Close()
	s.sum.took = time.Since(begin)
	if err == nil {
		err = s.leftovers(shared)
	}
	return &s.sum, err
}

func (s *supervisor) run(ctx context.Context, p *soaking.Progress) error {
	for slot := range s.config.nodes {
		n, err := s.start(slot)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
	}
	over, kill, tick := time.After(s.Duration), time.NewTicker(s.KillEvery), time.NewTicker(tickTime)
	defer kill.Stop()
	defer tick.Stop()
	closing := false
	for !closing || !s.allQuiet() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			closing = true
			kill.Stop()
			for _, n := range s.nodes {
				if n.port != 0 {
					n.tell("quiet")
				}
			}
		case <-kill.C:
			if err := s.disturb(); err != nil {
				return err
			}
		case <-tick.C:
			p.Show(fmt.Sprintf("verbssoak: %d operations, %.1f GiB compared, %d processes killed, %d stopped",
				s.sum.sum.operations, float64(s.sum.sum.compared)/(1<<30), s.sum.kills, s.sum.stops))
			for _, n := range s.nodes {
				if d := time.Since(n.moved); d > stillness && !n.quiet {
					return fmt.Errorf("%w: process %d has done nothing for %v", soaking.ErrLoss, n.pid(), d.Round(time.Second))
				}
			}
		case e := <-s.events:
			if err := s.take(e, closing); err != nil {
				return err
			}
		}
	}
	return s.close(ctx)
}

func (s *supervisor) allQuiet() bool {
	for _, n := range s.nodes {
		if !n.quiet {
			return false
		}
	}
	return true
}

// take deals with a node's line or end.
func (s *supervisor) take(e event, closing bool) error {
	n := e.from
	if e.ended {
		s.running--
		n.ended = true
		if n.killed {
			return nil
		}
		return fmt.Errorf("%w: process %d ended: %v\n%s", soaking.ErrLoss, n.pid(), e.err, n.stderr.Bytes())
	}
	word, rest, _ := strings.Cut(e.line, " ")
	switch word {
	case "socket":
		s.sockets = append(s.sockets, rest)
	case "ready":
		return s.ready(n, rest, closing)
	case "lost":
		pid, how, _ := strings.Cut(rest, " ")
		if number, err := strconv.Atoi(pid); err != nil || !s.dead[number] && !n.killed {
			return fmt.Errorf("%w: process %d lost a link to process %s, which lives: %s", soaking.ErrLoss, n.pid(), pid, how)
		}
	case "tally":
		var t tally
		if _, err := fmt.Sscan(rest, &t.operations, &t.compared, &t.links, &t.lost); err != nil {
			break // in the middle of a line
		}
		if t.operations > n.tally.operations || t.lost > n.tally.lost {
			n.moved = time.Now()
		}
		sum := &s.sum.sum
		sum.operations += t.operations - n.tally.operations
		sum.compared += t.compared - n.tally.compared
		sum.links += t.links - n.tally.links
		sum.lost += t.lost - n.tally.lost
		n.tally = t
	case "quiet":
		n.quiet = true
	}
	return nil
}

// ready tells the others of a new node, and it of them.
func (s *supervisor) ready(n *node, port string, closing bool) error {
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n.killed {
		return nil
	}
	n.port = uint16(number)
	if n.slot == 0 {
		if s.first, err = soaking.MeasureProcess(n.pid()); err != nil {
			return err
		}
	}
	for _, other := range s.nodes {
		if other == n || other.port == 0 {
			continue
		}
		other.tell("peer %d %d %s %d", n.slot, n.pid(), n.address, n.port)
		n.tell("peer %d %d %s %d", other.slot, other.pid(), other.address, other.port)
	}
	if closing {
		n.tell("quiet")
	}
	return nil
}

// disturb kills a node and starts its successor, or stops one for a while.
func (s *supervisor) disturb() error {
	n := s.nodes[s.rng.IntN(len(s.nodes))]
	if n.port == 0 {
		return nil
	}
	if n.slot == 0 || s.rng.IntN(3) == 0 {
		return s.stop(n)
	}
	s.dead[n.pid()], n.killed = true, true
	if err := n.cmd.Process.Kill(); err != nil {
		return err
	}
	s.sum.kills++
	_ = n.stdin.Close()
	for _, other := range s.nodes {
		if other != n && other.port != 0 {
			other.tell("gone %d", n.pid())
		}
	}
	next, err := s.start(n.slot)
	if err == nil {
		s.nodes[n.slot] = next
	}
	return err
}

// stop stops a node for a while.
func (s *supervisor) stop(n *node) error {
	if err := n.cmd.Process.Signal(unix.SIGSTOP); err != nil {
		return err
	}
	s.sum.stops++
	time.AfterFunc(time.Duration(s.rng.Int64N(int64(stopMost))), func() { _ = n.cmd.Process.Signal(unix.SIGCONT) })
	return nil
}

// close ends the nodes, the first one last, and looks whether it holds what it held.
func (s *supervisor) close(ctx context.Context) error {
	for _, n := range s.nodes[1:] {
		if err := s.await(ctx, n); err != nil {
			return err
		}
	}
	if err := s.shrink(s.nodes[0]); err != nil {
		return err
	}
	return s.await(ctx, s.nodes[0])
}

// await lets a node end, which must succeed.
func (s *supervisor) await(ctx context.Context, n *node) error {
	_ = n.stdin.Close()
	late := time.After(stillness)
	for !n.ended {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return fmt.Errorf("%w: process %d does not end", soaking.ErrLoss, n.pid())
		case e := <-s.events:
			if e.ended && e.err == nil {
				s.running--
				e.from.ended = true
				continue
			}
			if err := s.take(e, true); err != nil {
				return err
			}
		}
	}
	return nil
}

// shrink waits until a node holds no more than it may.
func (s *supervisor) shrink(n *node) error {
	var now soaking.Usage
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		var err error
		if now, err = soaking.MeasureProcess(n.pid()); err != nil {
			return err
		}
		if now.Descriptors <= s.first.Descriptors+mostDescriptors && now.Shared <= s.first.Shared+mostShared &&
			now.Resident <= s.first.Resident+mostResident {
			return nil
		}
	}
	return fmt.Errorf("%w: process %d holds %v; at first %v", soaking.ErrLoss, n.pid(), now, s.first)
}

// end sees to it that no process is left, also after an error.
func (s *supervisor) end() {
	for _, n := range s.nodes {
		_ = n.stdin.Close()
		if !n.ended {
			_ = n.cmd.Process.Kill()
		}
	}
	for s.running > 0 {
		if e := <-s.events; e.ended {
			s.running--
		}
	}
}

// leftovers looks for names of sockets and files that the nodes have left.
func (s *supervisor) leftovers(before map[string]bool) error {
	tables := []string{"/proc/net/unix"}
	for _, h := range s.hosts {
		tables = append(tables, fmt.Sprintf("/proc/%d/net/unix", h.cmd.Process.Pid))
	}
	left := map[string]bool{}
	for _, t := range tables {
		table, err := os.ReadFile(t)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(table)) {
			if f := strings.Fields(line); len(f) > 6 {
				left[f[6]] = true
			}
		}
	}
	for _, inode := range s.sockets {
		if left[inode] {
			return fmt.Errorf("%w: socket %s is left", soaking.ErrLoss, inode)
		}
	}
	for name := range sharedFiles() {
		if !before[name] && strings.HasPrefix(name, "farside-verbs") {
			return fmt.Errorf("%w: /dev/shm/%s is left", soaking.ErrLoss, name)
		}
	}
	return nil
}

// sharedFiles are the names in /dev/shm.
func sharedFiles() map[string]bool {
	names := map[string]bool{}
	list, _ := os.ReadDir("/dev/shm")
	for _, f := range list {
		names[f.Name()] = true
	}
	return names
}
