package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"farside/conformance/vulkan"
)

// Most of the time of a small case goes to its process: the loader, the driver, layers. So cases share processes, as
// they do in the CTS. On lavapipe and under layers, where they ask about the cases themselves, a batch only ever says
// that all is well: where anything in it went wrong, its cases run again in processes of their own. On Farside alone a
// case that fails after others has failed.

const batchSize = 24

// batches runs cases of one driver in few processes.
type batches struct {
	driver string
	extra  []string               // of the environment
	well   func(text string) bool // whether nothing in what a batch printed is wrong
	of     map[string]*batch      // by the case's name
	alone  func(*definition) bool // cases that have a process of their own in any case
	final  bool                   // a case that fails in a batch doesn't run again
	keeps  string                 // a library that is loaded once for all instances of a batch
}

type batch struct {
	once  sync.Once
	names []string
	// By name; those of the cases that have to run alone are missing.
	outcomes map[string]outcome
}

// collect puts each case into a batch. Neighbours are in different ones, since tests run them at the same time.
func (b *batches) collect(list []definition) {
	b.of = map[string]*batch{}
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" {
		return // a chosen case runs alone
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d definition) bool {
		return d.env != nil || d.bare || b.alone(&d)
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
	text, err := runProcess(ctx, b.driver, in.names, append(slices.Clone(b.extra), keptEnv+"="+b.keeps))
	if !b.final && (err != nil || !b.well(text)) {
		return
	}
	in.outcomes = map[string]outcome{}
	parts := strings.Split(text, caseEnds)
	ended := min(len(parts)-1, len(in.names))
	for i, name := range in.names[:ended] {
		in.outcomes[name] = outcome{"unsupported", parts[i]}
		if strings.Contains(parts[i], "verdict: pass\n") {
			in.outcomes[name] = outcome{"pass", parts[i]}
		}
	}
	if err != nil { // in the case that didn't end, or at the process's end
		last := min(ended, len(in.names)-1)
		in.outcomes[in.names[last]] = outcome{"fail", fmt.Sprintf("%s\nprocess of %s: %v", parts[len(parts)-1],
			strings.Join(in.names[:last+1], " "), err)}
	}
}

// keptEnv names libraries that the process of a batch keeps from its first instance to its last.
const keptEnv = "FARSIDE_CASE_KEEPS"

// runCases is the life of the process of a batch: it ends at the first case that fails.
func runCases(names []string) int {
	for _, library := range strings.Fields(os.Getenv(keptEnv)) {
		if err := vulkan.Keep(library); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for _, name := range names {
		if code := runCase(name); code != 0 && code != exitUnsupported {
			return code
		}
		os.Stdout.WriteString(caseEnds)
	}
	return 0
}

// TestBatches: the cases of a batch are told apart. Where one fails, those before it have passed if that is final, and
// the batch says nothing of others.
func TestBatches(t *testing.T) {
	if !strings.Contains(*drivers, "farside") {
		t.Skip("the driver farside is not among -drivers")
	}
	good := []string{"api.buffer.barriers", "api.buffer.all_memory_types"}
	for _, c := range []struct {
		names []string
		final bool
		want  map[string]string // verdicts
	}{
		{good, false, map[string]string{good[0]: "pass", good[1]: "pass"}},
		{append(slices.Clone(good), "no.such.case"), false, map[string]string{}},
		{[]string{good[0], "no.such.case", good[1]}, true, map[string]string{good[0]: "pass", "no.such.case": "fail"}},
	} {
		b := batches{driver: "farside", final: c.final, well: func(string) bool { return true }}
		in := &batch{names: c.names}
		b.runBatch(t.Context(), in)
		got := map[string]string{}
		for name, o := range in.outcomes {
			got[name] = o.verdict
			if strings.Count(o.text, "verdict") > 1 {
				t.Errorf("%s has the text of several cases: %s", name, o.text)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.names, got, c.want)
		}
	}
}
