package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	// batchSize is how many cases a process is given at most. Starting deqp-vk takes about as long as ten cases.
	batchSize = 500
	// maxAttempts is how often a flake is run, the first time included.
	maxAttempts = 4
	// maxStrikes is after how many processes in a row that ran no case at all a shard gives up.
	maxStrikes = 3
)

// run runs the plan's cases in shards, in each of the ways, and returns the results of each way by name. What belongs
// to one batch of cases runs in all ways before the next, so that a machine that gets busy slows down all of them.
// After an error, or when the context ends, the results are those that there are.
func (p *plan) run(ctx context.Context, ways []*deqp, shards int, bar *progress) ([]map[string]result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		results = make([]map[string]result, len(ways))
		todo    []string
		flaky   = map[string]bool{}
		mu      sync.Mutex
		group   sync.WaitGroup
	)
	for w := range ways {
		results[w] = make(map[string]result, len(p.cases))
	}
	for _, c := range p.cases {
		switch {
		case c.skip >= 0:
			for w := range ways {
				results[w][c.name] = result{name: c.name, status: skipped, detail: p.skips[c.skip].reason}
			}
			bar.add(len(ways))
		default:
			todo = append(todo, c.name)
			flaky[c.name] = c.flake >= 0 && c.expected < 0
		}
	}
	// A few batches a shard, so that no shard is left with all of the slow ones.
	batches := make(chan []string, len(todo))
	for batch := range slices.Chunk(todo, min(batchSize, len(todo)/(4*shards)+1)) {
		batches <- batch
	}
	close(batches)
	for range shards {
		group.Go(func() {
			var list []*shard
			for w, d := range ways {
				list = append(list, &shard{deqp: d, flaky: flaky, bar: bar, keep: func(r result) error {
					// On disk at once, as the logs of all failures may be more than memory holds.
					err := saveLog(d.dir, r)
					r.log, r.console = "", ""
					mu.Lock()
					defer mu.Unlock()
					results[w][r.name] = r
					return err
				}})
			}
			for batch := range batches {
				for _, s := range list {
					if err := s.run(ctx, batch); err != nil {
						cancel(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	return results, context.Cause(ctx)
}

// shard runs one batch after the other, each in as many processes as it takes.
type shard struct {
	deqp    *deqp
	flaky   map[string]bool
	keep    func(result) error
	bar     *progress
	strikes int // processes in a row that ran no case
}

func (s *shard) run(ctx context.Context, names []string) error {
	for len(names) > 0 {
		ticked := 0
		o, err := s.deqp.run(ctx, names, func() {
			ticked++
			s.bar.add(1)
		})
		if err != nil {
			for _, r := range o.results {
				err = errors.Join(err, s.keep(r))
			}
			return err
		}
		results, rest := settle(names, o)
		if s.strikes++; len(o.results) > 0 || o.open != "" {
			s.strikes = 0
		}
		for _, r := range results {
			if err := s.keep(r); err != nil {
				return err
			}
			if r.status.bad() && s.flaky[r.name] {
				if r, err = s.repeat(ctx, r); err == nil {
					err = s.keep(r)
				}
				if err != nil {
					return err
				}
			}
			if r.status.bad() {
				s.bar.bad()
			}
		}
		s.bar.add(len(results) - ticked)
		if s.strikes == maxStrikes {
			return fmt.Errorf("%d processes in a row ran no case; of the last: %s", maxStrikes, results[0].detail)
		}
		names = rest
	}
	return nil
}

// repeat runs a failed flake by itself until it is good or has had its attempts.
func (s *shard) repeat(ctx context.Context, r result) (result, error) {
	for attempt := 2; attempt <= maxAttempts; attempt++ {
		o, err := s.deqp.run(ctx, []string{r.name}, func() {})
		if err != nil {
			return r, err
		}
		if results, _ := settle([]string{r.name}, o); !results[0].status.bad() {
			results[0].flaked = true
			results[0].detail = fmt.Sprintf("attempt %d: %s", attempt, results[0].detail)
			return results[0], nil
		}
	}
	return r, nil
}

// settle says how the cases went that a process was given, and which are left for the next process. Of a process
// that ended otherwise than by itself, one case is held to be the cause: the one that was running, else the one
// that ended last, else the first. So every process accounts for at least one case.
//
// deqp-vk leaves cases out and ends by itself after VK_ERROR_DEVICE_LOST, after an error of resources, and after
// one that it holds for fatal. These are results of the case; nobody else is to blame then.
func settle(names []string, o outcome) (results []result, rest []string) {
	left := make(map[string]bool, len(names))
	for _, name := range names {
		left[name] = true
	}
	for _, r := range o.results {
		if left[r.name] {
			delete(left, r.name)
			results = append(results, r)
		}
	}
	rest = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !left[name] })
	how := result{status: crashed, detail: o.abnormal}
	if o.timedOut {
		how.status = timedOut
	}
	if how.detail == "" {
		how.detail = "deqp-vk ended by itself"
	}
	blame := func(name, when string) {
		r := how
		r.name, r.detail, r.console = name, when+r.detail, about(o.console, name)
		results = append(results, r)
	}
	switch {
	case left[o.open]:
		blame(o.open, "")
		rest = slices.DeleteFunc(rest, func(name string) bool { return name == o.open })
	case o.abnormal != "" && len(results) > 0:
		if last := results[len(results)-1]; last.status < crashed {
			results = results[:len(results)-1]
			blame(last.name, fmt.Sprintf("after its end (%s): ", last.status))
		}
	case len(results) == 0:
		blame(rest[0], "before it began: ")
		rest = rest[1:]
	}
	return results, rest
}
