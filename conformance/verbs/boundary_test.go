package verbs

import (
	"strings"
	"testing"
)

// runs compiles a program of testdata, runs it on Farside's libraries, and looks for the line that says it passed.
func runs(t *testing.T, source string) {
	t.Helper()
	out := output(t, compile(t, source))
	if !strings.HasSuffix(out, "passed\n") {
		t.Errorf("%s: %s", source, out)
	}
}

// TestGarbage calls the functions with stale and wild pointers, with memory that isn't there, and with wrong counts.
func TestGarbage(t *testing.T) { runs(t, "garbage.c") }

// TestExtended is the functions that ibv_qp_ex and ibv_cq_ex point to.
func TestExtended(t *testing.T) { runs(t, "extended.c") }

// TestAbsent asks for what the device says that it doesn't have.
func TestAbsent(t *testing.T) { runs(t, "absent.c") }

// TestEvents is events of completions and asynchronous ones, on descriptors that the program polls itself.
func TestEvents(t *testing.T) { runs(t, "events.c") }

// TestXRC is extended reliable connections.
func TestXRC(t *testing.T) { runs(t, "xrc.c") }

// TestMemory is registrations: at other addresses, changed, from zero, and of the memory of a descriptor.
func TestMemory(t *testing.T) { runs(t, "memory.c") }

// TestHandlersThatCall has handlers call verbs, on threads that are in them and on others, and end the process.
func TestHandlersThatCall(t *testing.T) { runs(t, "handlers.c") }

// TestSignals has handlers of all kinds, and a thousand signals a second for each thread, while there is traffic.
func TestSignals(t *testing.T) { runs(t, "signals.c") }

// TestCancel has threads cancelled that wait for events.
func TestCancel(t *testing.T) { runs(t, "cancel.c") }

// TestRules posts work that can't be, overruns queues, and ends objects in any order, also while they are used.
func TestRules(t *testing.T) { runs(t, "rules.c") }

// TestSurroundings forks, closes descriptors, has none left, has a thousand queue pairs, meddles with what other
// threads use, and leaves while threads work.
func TestSurroundings(t *testing.T) { runs(t, "surroundings.c") }

// TestPolls has a thread poll in vain, and counts how often the runtime's monitor takes a processor meanwhile.
func TestPolls(t *testing.T) { runs(t, "polls.c") }
