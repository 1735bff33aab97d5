package verbs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"farside/internal/cabi"
	"farside/internal/callsite"
	"farside/internal/config"
	"farside/internal/finding"
	"farside/internal/journal"
	"farside/rdmasim"
)

// originOf is where a call comes from, with FARSIDE_STRICT=leaks; nil without, and for no call.
func originOf(c *cabi.Call) *callsite.Origin {
	if c == nil || !finding.On(config.StrictLeaks) {
		return nil
	}
	o := callsite.Origin(callsite.Walk(c.Caller()))
	return &o
}

// origins are where the application opened a context and made its objects, with FARSIDE_STRICT=leaks. What librdmacm
// opens and makes for itself has none.
type origins struct {
	opened *callsite.Origin

	mu   sync.Mutex
	made map[uintptr]madeObject // by the address of the structure
}

type madeObject struct {
	kind string // the structure's name
	at   *callsite.Origin
}

// made counts an object of the context that a call makes.
func (ctx *openContext) made(c *cabi.Call, kind string, at uintptr) {
	ctx.objects.Add(1)
	if o := originOf(c); o != nil {
		ctx.origins.mu.Lock()
		defer ctx.origins.mu.Unlock()
		if ctx.origins.made == nil {
			ctx.origins.made = map[uintptr]madeObject{}
		}
		ctx.origins.made[at] = madeObject{kind, o}
	}
}

// ended counts an object that is destroyed.
func (ctx *openContext) ended(at uintptr) {
	ctx.objects.Add(-1)
	ctx.origins.mu.Lock()
	defer ctx.origins.mu.Unlock()
	delete(ctx.origins.made, at)
}

// left are the objects that live.
func (ctx *openContext) left() map[uintptr]madeObject {
	ctx.origins.mu.Lock()
	defer ctx.origins.mu.Unlock()
	return maps.Clone(ctx.origins.made)
}

// tellLeft tells of the objects that a context is closed with.
func (ctx *openContext) tellLeft() {
	left := ctx.left()
	for _, at := range slices.Sorted(maps.Keys(left)) {
		tellObject(finding.LeakedObject, fmt.Sprintf("the context of %s is closed, and %s was not destroyed", ctx.device.name,
			left[at].kind), left[at], at)
	}
}

func tellObject(id finding.ID, text string, o madeObject, at uintptr) {
	finding.Tell(&finding.Finding{ID: id, Text: text, Place: o.at.Place(), Stack: o.at.Lines("made"),
		Objects: []journal.Object{{Type: o.kind, Handle: uint64(at)}}})
}

// tellLeftAtExit tells what the application leaves to the end of the process.
func tellLeftAtExit() {
	for _, ctx := range contexts.all() {
		left := ctx.left()
		if o := ctx.origins.opened; o != nil {
			tellObject(finding.LeftAtExit, fmt.Sprintf("the process ends, and the context of %s was not closed%s",
				ctx.device.name, census(left)), madeObject{"ibv_context", o}, ctx.at)
			continue
		}
		for _, at := range slices.Sorted(maps.Keys(left)) {
			tellObject(finding.LeftAtExit, fmt.Sprintf("the process ends, and %s was not destroyed", left[at].kind), left[at],
				at)
		}
	}
}

// census counts objects by their kinds.
func census(left map[uintptr]madeObject) string {
	count := map[string]int{}
	for _, o := range left {
		count[o.kind]++
	}
	var parts []string
	for kind, n := range count {
		parts = append(parts, fmt.Sprintf("%d %s", n, kind))
	}
	if parts == nil {
		return ""
	}
	slices.Sort(parts)
	return ", nor were its objects destroyed: " + strings.Join(parts, ", ")
}

// tellFreed tells of memory that is registered after it was freed.
func tellFreed(by *callsite.Origin, address, length uint64, err error) {
	if finding.On(config.StrictLeaks) && errors.Is(err, rdmasim.ErrFreed) {
		finding.Tell(&finding.Finding{ID: finding.FreedAddress, Place: address, Stack: by.Lines("registered"),
			Text: fmt.Sprintf("%d bytes at remote address %#x are registered, whose memory has been freed", length, address)})
	}
}
