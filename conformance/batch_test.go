package conformance

import (
	"context"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Most of the time of a small case goes to its process: the loader, the driver, layers. So cases that ask about the
// cases themselves, on lavapipe and under layers, share processes. A batch only ever says that all is well: what a
// batch did not end, or where anything in it went wrong, runs again in processes of its own.

const batchSize = 24

// batches runs cases of one driver in few processes.
type batches struct {
	driver string
	extra  []string               // of the environment
	well   func(text string) bool // whether nothing in what a batch printed is wrong
	of     map[string]*batch      // by the case's name
	alone  func(*definition) bool // cases that have a process of their own in any case
}

type batch struct {
	once  sync.Once
	names []string
	// By name; empty if anything went wrong.
	outcomes map[string]outcome
}

// collect puts each case into a batch. Neighbours are in different ones, since tests run them at the same time.
func (b *batches) collect(list []definition) {
	b.of = map[string]*batch{}
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" {
		return // a chosen case runs alone
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d definition) bool {
		return d.env != nil || d.bare || d.farsideOnly || b.alone(&d)
	})
	all := make([]batch, (len(list)+batchSize-1)/batchSize)
	for i := range list {
		to := &all[i%len(all)]
		to.names = append(to.names, list[i].name)
		b.of[list[i].name] = to
	}
}

// run gives the outcome of a case, of its batch if all was well there.
func (b *batches) run(ctx context.Context, d *definition) outcome {
	if in := b.of[d.name]; in != nil {
		in.once.Do(func() { b.runBatch(ctx, in) })
		if o, ok := in.outcomes[d.name]; ok {
			return o
		}
	}
	return runChild(ctx, b.driver, d, b.extra...)
}

func (b *batches) runBatch(ctx context.Context, in *batch) {
	text, err := runProcess(ctx, b.driver, in.names, b.extra)
	if err != nil || !b.well(text) {
		return
	}
	outcomes := map[string]outcome{}
	for i, part := range strings.Split(text, caseEnds)[:len(in.names)] {
		if strings.Contains(part, "verdict: pass\n") {
			outcomes[in.names[i]] = outcome{"pass", part}
		} else {
			outcomes[in.names[i]] = outcome{"unsupported", part}
		}
	}
	in.outcomes = outcomes
}

// runCases is the life of the process of a batch: it ends at the first case that fails.
func runCases(names []string) int {
	for _, name := range names {
		if code := runCase(name); code != 0 && code != exitUnsupported {
			return code
		}
		os.Stdout.WriteString(caseEnds)
	}
	return 0
}

// TestBatches: the cases of a batch are told apart, and a batch in which one fails says nothing of the others.
func TestBatches(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	list := []definition{*find("api.buffer.barriers"), *find("api.buffer.all_memory_types")}
	for _, bad := range []bool{false, true} {
		b := batches{driver: "farside", of: map[string]*batch{}, well: func(string) bool { return true }}
		in := &batch{}
		for _, d := range list {
			in.names = append(in.names, d.name)
		}
		if bad {
			in.names = append(in.names, "no.such.case")
		}
		b.runBatch(t.Context(), in)
		if bad && len(in.outcomes) != 0 {
			t.Errorf("outcomes of a batch that failed: %v", in.outcomes)
		}
		for _, d := range list {
			if o := in.outcomes[d.name]; !bad && (o.verdict != "pass" || strings.Count(o.text, "verdict") != 1) {
				t.Errorf("%s: %v", d.name, o)
			}
		}
	}
}
