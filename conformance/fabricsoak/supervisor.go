package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"farside/conformance/internal/soaking"
	"farside/rdmasim"
)

const (
	ownerRole    = "owner"
	peerRole     = "peer"
	nameVariable = "FARSIDE_FABRICSOAK_NAME" // of the run's regions, so that runs beside it are left alone
	seedVariable = "FARSIDE_FABRICSOAK_SEED"

	// stillness is how long a process may do nothing, on a loaded machine.
	stillness = time.Minute
)

type config struct {
	soaking.Run
	owners, peers int
}

// summary is what came of a run.
type summary struct {
	seed  uint64
	took  time.Duration
	kills map[string]int // by role
	sum   report         // of all processes, as far as they told
}

func (s *summary) String() string {
	return fmt.Sprintf(
		"fabricsoak: %v with seed %d: %d operations, %.1f GiB compared, %d regions; %d owners and %d peers killed\n"+
			"fabricsoak: %d operations met a free, %d an owner's death\n", s.took.Round(time.Second), s.seed, s.sum.Operations,
		float64(s.sum.Checked)/(1<<30), s.sum.Regions, s.kills[ownerRole], s.kills[peerRole], s.sum.Freed, s.sum.Died)
}

// process is an owner or a peer, as the supervisor sees it.
type process struct {
	role   string
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	last   report
	moved  time.Time // when it last did something
	killed bool
}

// event is a line of a process, or its end.
type event struct {
	from  *process
	line  []byte
	ended bool
	err   error // of the end
}

type supervisor struct {
	config
	rng       *rand.Rand
	name      string
	processes []*process // the first of each role is never killed
	events    chan event
	running   int
	sum       summary
}

// soak runs the processes for the duration and lets them end.
func soak(ctx context.Context, c config, p *soaking.Progress) (*summary, error) {
	s := &supervisor{config: c, rng: rand.New(rand.NewPCG(c.Seed, 1)), name: fmt.Sprintf("fabricsoak %d", os.Getpid()),
		events: make(chan event), sum: summary{seed: c.Seed, kills: map[string]int{}}}
	begin := time.Now()
	err := s.run(ctx, p)
	s.end(err != nil)
	p.Close()
	s.sum.took = time.Since(begin)
	if err == nil {
		err = leftovers(ctx, s.name)
	}
	return &s.sum, err
}

func (s *supervisor) run(ctx context.Context, p *soaking.Progress) error {
	for i := range s.owners + s.peers {
		role := peerRole
		if i < s.owners {
			role = ownerRole
		}
		started, err := s.start(role)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, started)
	}
	over, kill, tick := time.After(s.Duration), time.NewTicker(s.KillEvery), time.NewTicker(reportEvery)
	defer kill.Stop()
	defer tick.Stop()
	closing := false
	for s.running > 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over:
			closing = true
			kill.Stop()
			for _, p := range s.processes {
				_ = p.stdin.Close()
			}
		case <-kill.C:
			if err := s.kill(); err != nil {
				return err
			}
		case <-tick.C:
			p.Show(fmt.Sprintf("fabricsoak: %d operations, %.1f GiB compared, %d processes killed", s.sum.sum.Operations,
				float64(s.sum.sum.Checked)/(1<<30), s.sum.kills[ownerRole]+s.sum.kills[peerRole]))
			for _, p := range s.processes {
				if d := time.Since(p.moved); d > stillness && !p.last.Ended {
					return fmt.Errorf("%w: %s %d has done nothing for %v", soaking.ErrLoss, p.role, p.cmd.Process.Pid,
						d.Round(time.Second))
				}
			}
		case e := <-s.events:
			if err := s.take(e, closing); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts a process and has its lines come as events.
func (s *supervisor) start(role string) (*process, error) {
	p := &process{role: role, cmd: exec.Command("/proc/self/exe"), moved: time.Now()}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role, nameVariable+"="+s.name,
		fmt.Sprintf("%s=%d", seedVariable, s.rng.Uint64()))
	p.cmd.Stderr = &p.stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	s.running++
	go func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			s.events <- event{from: p, line: bytes.Clone(in.Bytes())}
		}
		err := p.cmd.Wait()
		s.events <- event{from: p, ended: true, err: err}
	}()
	return p, nil
}

// take deals with a process' line or end.
func (s *supervisor) take(e event, closing bool) error {
	p := e.from
	if e.ended {
		s.running--
		if p.killed || closing && e.err == nil {
			return nil
		}
		return fmt.Errorf("%w: %s %d ended: %v\n%s", soaking.ErrLoss, p.role, p.cmd.Process.Pid, e.err, p.stderr.Bytes())
	}
	var r report
	if err := json.Unmarshal(e.line, &r); err != nil {
		if p.killed {
			return nil // in the middle of a line
		}
		return fmt.Errorf("%w: %s %d says %q", soaking.ErrLoss, p.role, p.cmd.Process.Pid, e.line)
	}
	if r.Operations > p.last.Operations || r.Freed > p.last.Freed || r.Died > p.last.Died {
		p.moved = time.Now()
	}
	sum := &s.sum.sum
	sum.Operations += r.Operations - p.last.Operations
	sum.Checked += r.Checked - p.last.Checked
	sum.Freed += r.Freed - p.last.Freed
	sum.Died += r.Died - p.last.Died
	sum.Regions += r.Regions - p.last.Regions
	p.last = r
	return nil
}

// kill kills a process that may be killed, and starts its successor.
func (s *supervisor) kill() error {
	i := s.rng.IntN(len(s.processes))
	if i == 0 || i == s.owners {
		return nil
	}
	p := s.processes[i]
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	s.sum.kills[p.role]++
	_ = p.stdin.Close()
	next, err := s.start(p.role)
	if err == nil {
		s.processes[i] = next
	}
	return err
}

// end sees to it that no process is left, also after an error.
func (s *supervisor) end(failed bool) {
	for _, p := range s.processes {
		if failed {
			_ = p.cmd.Process.Kill() // has ended already, maybe
		}
		_ = p.stdin.Close()
	}
	for ; s.running > 0; s.running-- {
		for e := range s.events {
			if e.ended {
				break
			}
		}
	}
}

// leftovers looks for what the run has left on the host.
func leftovers(ctx context.Context, name string) error {
	p, err := rdmasim.Open(ctx, "")
	if err != nil {
		return err
	}
	defer p.Close()
	all, err := p.Regions(ctx)
	if err != nil && !errors.Is(err, rdmasim.ErrTimeout) { // owners that are none of this run's
		return err
	}
	for _, r := range all {
		if r.Name == name {
			return fmt.Errorf("%w: process %d still has region %#x", soaking.ErrLoss, r.PID, r.Address)
		}
	}
	for _, dir := range []string{"/dev/shm", os.TempDir(), os.Getenv("XDG_RUNTIME_DIR")} {
		files, _ := filepath.Glob(filepath.Join(dir, "farside*"))
		for _, f := range files {
			if i, err := os.Stat(f); err == nil && strings.Contains(i.Name(), "fabric") {
				return fmt.Errorf("%w: %s is left", soaking.ErrLoss, f)
			}
		}
	}
	return nil
}
