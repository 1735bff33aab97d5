package compute

import "fmt"

// watcher looks at a graph after each pass: it validates the graph, or writes it down, or both. A graph without one is
// not looked at.
type watcher struct {
	validates bool
	dump      func(stage, text string)
	stages    int // that have been written down
	effects   effectOrder
}

// validateGraphs says whether each compilation validates its graph after each pass: set by tests, before they compile.
var validateGraphs = false

// newWatcher is a watcher that hands each stage to dump, if that is not nil; nil if nobody wants one.
func newWatcher(dump func(stage, text string)) *watcher {
	if !validateGraphs && dump == nil {
		return nil
	}
	return &watcher{validates: true, dump: dump}
}

// largestValidated is how many nodes and blocks a graph may have to be validated. Larger ones are made by tests of the
// budget; for these the validator's time would count.
const largestValidated = 1 << 14

// did tells the watcher that a pass has been done. A graph that is not valid then is a fault of that pass.
func (g *graph) did(pass string) {
	w := g.watch
	if w == nil {
		return
	}
	w.write(pass, g.String)
	if !w.validates || len(g.nodes)+len(g.blocks) > largestValidated {
		w.effects = nil
		return
	}
	v, err := g.validate()
	if err == nil {
		err = w.effects.keptBy(pass, v)
	}
	if err == nil && pass == lastPass {
		err = v.uniformity()
	}
	if err != nil {
		panic(fmt.Sprintf("the graph is wrong after %s: %v", pass, err))
	}
	w.effects = v.effectOrder()
}

// write hands the text of a stage to the dump, with the number of the stage.
func (w *watcher) write(stage string, text func() string) {
	if w != nil && w.dump != nil {
		w.dump(fmt.Sprintf("%02d-%s", w.stages, stage), text())
		w.stages++
	}
}

// renumbered tells the watcher that nodes have other numbers now.
func (w *watcher) renumbered() {
	if w != nil {
		w.effects = nil
	}
}
