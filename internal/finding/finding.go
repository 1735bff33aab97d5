// Package finding keeps what strictness (FARSIDE_STRICT) has found wrong in the application: a line on standard error,
// an event of the journal, and a count, which decides the exit status of the process (FARSIDE_STRICT_EXIT). Package icd
// gives the same findings to debug messengers.
//
// Each kind of finding has a stable [ID] and a row of [Table]. The same finding, about the same object from the same
// place, is told [most] times; all are counted.
package finding

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"farside/internal/config"
	"farside/internal/gate"
	"farside/internal/journal"
	"farside/internal/stderr"
)

// most is how often a finding about one object from one place is told, and mostPlaces how many such are told at all.
const (
	most       = 3
	mostPlaces = 10000
)

// Finding is something wrong in the application.
type Finding struct {
	ID      ID
	Text    string
	Objects []journal.Object // the first is the one that it is about
	Place   uint64           // tells apart what is found about one object: an address of code, an offset
	Stack   []string         // where the application was, or made the object; a line each, innermost first
}

// place is what is told at most a few times.
type place struct {
	id     ID
	object uint64
	at     uint64
}

var state struct {
	strict atomic.Uint32 // config.Strict of the last Begin
	count  atomic.Uint64
	mu     sync.Mutex
	told   map[place]int
	exit   uint8 // the exit status that has been arranged for, 0: none
}

// Begin makes strictness what settings say, for the whole process.
func Begin(settings *config.Settings) {
	state.strict.Store(uint32(settings.Strict))
	if settings.StrictExit == 0 {
		return
	}
	state.mu.Lock()
	first := state.exit == 0
	state.exit = settings.StrictExit
	state.mu.Unlock()
	if first {
		gate.AtExit(leave)
	}
}

// leave arranges for the exit status.
func leave() {
	state.mu.Lock()
	status := state.exit
	state.mu.Unlock()
	if Count() > 0 {
		gate.ExitWith(status)
	}
}

// On says whether strictness looks out for any of what.
func On(what config.Strict) bool { return config.Strict(state.strict.Load())&what != 0 }

// Count is how many findings there were.
func Count() uint64 { return state.count.Load() }

// Broken counts an error that breaks a rule of the specification: with strictness on, it is a finding that has been
// told in its own way.
func Broken() {
	if On(config.StrictAll) {
		state.count.Add(1)
	}
}

// Tell counts a finding, and writes it to standard error and to the journal. It returns false for one that has been
// told often enough: messengers are not told of it either.
func Tell(f *Finding) bool {
	state.count.Add(1)
	if !fresh(f) {
		return false
	}
	if settings, err := config.Read(); err != nil || settings.Log < config.LevelOff {
		_, _ = stderr.Writer.Write([]byte(line(f)))
	}
	if journal.On() {
		e := journal.Event{Kind: journal.Finding, ID: string(f.ID), Text: f.Text, Stack: f.Stack}
		if len(f.Objects) > 0 {
			e.Object = f.Objects[0]
		}
		journal.Emit(e)
	}
	return true
}

func fresh(f *Finding) bool {
	p := place{id: f.ID, at: f.Place}
	if len(f.Objects) > 0 {
		p.object = f.Objects[0].Handle
	}
	state.mu.Lock()
	defer state.mu.Unlock()
	n := state.told[p]
	if n >= most || n == 0 && len(state.told) >= mostPlaces {
		return false
	}
	if state.told == nil {
		state.told = map[place]int{}
	}
	state.told[p] = n + 1
	return true
}

// line is a finding as standard error shows it.
func line(f *Finding) string {
	var b strings.Builder
	kind := "error"
	if RowOf(f.ID).Severity < slog.LevelError {
		kind = "warning"
	}
	fmt.Fprintf(&b, "farside: %s: %s: %s", kind, f.ID, f.Text)
	for i, o := range f.Objects {
		separator := ", "
		if i == 0 {
			separator = " ["
		}
		fmt.Fprintf(&b, "%s%s %#x", separator, o.Type, o.Handle)
		if o.Name != "" {
			fmt.Fprintf(&b, " %q", o.Name)
		}
	}
	if len(f.Objects) > 0 {
		b.WriteByte(']')
	}
	b.WriteByte('\n')
	for _, s := range f.Stack {
		fmt.Fprintf(&b, "    %s\n", s)
	}
	return b.String()
}
