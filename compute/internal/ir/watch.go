package ir

import "fmt"

// Watcher looks at a graph after each pass: it validates the graph, or writes it down, or both. A graph without one is
// not looked at.
type Watcher struct {
	validates bool
	dump      func(stage, text string)
	stages    int // that have been written down
	effects   effectOrder
}

// ValidateAll says whether each compilation validates its graph after each pass: set by tests, before they compile.
var ValidateAll = false

// NewWatcher is a watcher that hands each stage to dump, if that is not nil; nil if nobody wants one.
func NewWatcher(dump func(stage, text string)) *Watcher {
	if !ValidateAll && dump == nil {
		return nil
	}
	return &Watcher{validates: true, dump: dump}
}

// largestValidated is how many nodes and blocks a graph may have to be validated. Larger ones are made by tests of the
// budget; for these the validator's time would count.
const largestValidated = 1 << 14

// did tells the watcher that a pass has been done. A graph that is not valid then is a fault of that pass.
func (g *Graph) did(pass string) {
	w := g.Watch
	if w == nil {
		return
	}
	w.Write(pass, g.String)
	if !w.validates || len(g.Nodes)+len(g.Blocks) > largestValidated {
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

// Write hands the text of a stage to the dump, with the number of the stage.
func (w *Watcher) Write(stage string, text func() string) {
	if w != nil && w.dump != nil {
		w.dump(fmt.Sprintf("%02d-%s", w.stages, stage), text())
		w.stages++
	}
}

// Renumbered tells the watcher that nodes have other numbers now.
func (w *Watcher) Renumbered() {
	if w != nil {
		w.effects = nil
	}
}
